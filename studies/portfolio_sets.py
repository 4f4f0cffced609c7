"""The ways to choose k programs of a run (each returns at most ten in order), their losses, and the data kept."""

from __future__ import annotations

import hashlib
import lzma
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from behavesim.analysis.candidates import Candidate
from behavesim.analysis.portfolio import PortfolioCandidate
from behavesim.analysis.run import Run
from behavesim.base.errors import UsageError
from behavesim.code_similarity.text import subtree_distances
from behavesim.similarity import BehaveSim
from behavesim.similarity.clustering import median_distance, select_apart
from behavesim.task import Direction, TaskReference
from behavesim.trajectory import AlgorithmRun, Trajectory

# Compressed JSON files of finished studies: one document, or one a line.


Kind = TypeVar("Kind")

# xz's slowest setting: such a file is committed once and read often.
PRESET = 9 | lzma.PRESET_EXTREME


def write_documents(path: Path, documents: Sequence[Kind], kind: type[Kind]) -> None:
    """Write documents of one type, one a line, into an xz file, which is replaced; OSError if it cannot be written."""
    adapter = TypeAdapter(kind)
    with lzma.open(path, "wb", preset=PRESET) as file:
        file.writelines(adapter.dump_json(document) + b"\n" for document in documents)


def read_documents(path: Path, kind: type[Kind], maker: str) -> list[Kind]:
    """Read what `write_documents` wrote, at least one document.

    Raises UsageError if the file is missing, damaged or another; it names the script that makes such files, `maker`.
    """
    try:
        with lzma.open(path, "rb") as file:
            first, *others = file
        return [TypeAdapter(kind).validate_json(line) for line in (first, *others)]
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}; {maker} makes it of finished runs") from None
    # EOFError: the file ends early; ValueError: it is empty, or its JSON is something else
    except (EOFError, lzma.LZMAError, ValueError):
        raise UsageError(f"{path} is damaged, or not made by {maker}; take it from the project again") from None


# The stored data of the study: extracts of runs, and scores on fresh instances, in small compressed files.


# The script that makes the files.
MAKER = "experiments/portfolio/tables.py"
# Maximum number of programs in a set.
TOP = 10
# Significant digits that are kept of scores on fresh instances.
DIGITS = 8
# Resolution of stored vectors: coordinates are rounded to multiples of 1/PARTS.
PARTS = 10**6

# A stored trajectory: the last state of prefixes, or the change of each vector from the one before, in units of
# 1/PARTS. Changes compress well: most are 0.
Stored = tuple[int, ...] | tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Program:
    """A program of a run: its candidate, its text, and its score on each instance of the search."""

    candidate: int
    source: str
    scores: tuple[float, ...]

    @property
    def name(self) -> str:
        """The program's key among the scores on fresh instances."""
        return name_of(self.source)


@dataclass(frozen=True)
class KeptRun:
    """The programs of a run from which sets are chosen."""

    task: str
    """The task's name, or the name of its file without the suffix."""
    method: str
    seed: int
    programs: tuple[Program, ...]
    """One for each behaviour, that with the shortest text, in the order in which the behaviours appeared."""
    behaviours: tuple[tuple[Stored, ...], ...]
    """The trajectories of each of `programs`, one for each instance."""
    best: tuple[Program, ...]
    """The ten best distinct programs by score, or all if fewer; some may share a behaviour."""

    def trajectories(self) -> list[tuple[Trajectory, ...]]:
        """Return the trajectories of each of `programs`, one for each instance."""
        return [tuple(map(_trajectory, behaviour)) for behaviour in self.behaviours]


@dataclass(frozen=True)
class Fresh:
    """Scores on fresh instances, a number for each instance. Dictionaries are keyed by `Program.name`.

    The last three hold the best program of each run, if the task has such values, and are empty otherwise.
    """

    template: list[float]
    """Scores of the task's template."""
    references: list[float]
    """The best score known on each instance."""
    scores: dict[str, list[float] | None]
    """Scores of each program; None for a program that failed."""
    starts: dict[str, list[list[float]]]
    """Scores from each of ten starts, shape (starts, instances)."""
    two_opt: dict[str, list[float]]
    """Scores after 2-opt."""
    two_opt_time: dict[str, float]
    """Time of 2-opt in units of the program's own time."""


def to_stored(run: Run) -> KeptRun:
    """Return what the study stores of a run; coordinates of vectors are rounded to multiples of 1/PARTS.

    Raises UsageError if its trajectories are neither prefixes nor vectors, JournalError if its journal cannot be read.
    """
    entrants = run.portfolio_candidates()
    behaviours: dict[Sequence[Any], Any] = {}
    for each in entrants:
        first = behaviours.setdefault(each.behaviour, each)
        if len(each.source) < len(first.source):  # equal behaviour, equal score
            behaviours[each.behaviour] = each
    programs = tuple(map(_program, behaviours.values()))
    did = tuple(tuple(map(_stored, behaviour)) for behaviour in behaviours)
    best = tuple(map(_program, run.ranked()[:TOP]))
    return KeptRun(Path(run.settings.task).stem, run.settings.method, run.settings.seed, programs, did, best)


def write_runs(path: Path, runs: Sequence[KeptRun]) -> None:
    """Write the runs into an xz file, which is replaced; raises OSError if it cannot be written."""
    write_documents(path, runs, KeptRun)


def read_runs(path: Path) -> list[KeptRun]:
    """Read what `write_runs` wrote; raises UsageError if the file is missing, damaged or of another kind."""
    return read_documents(path, KeptRun, MAKER)


def write_fresh(path: Path, fresh: Fresh) -> None:
    """Write the scores on fresh instances into an xz file, which is replaced; OSError if it cannot be written."""
    write_documents(path, [fresh], Fresh)


def read_fresh(path: Path) -> Fresh:
    """Read what `write_fresh` wrote; raises UsageError if the file is missing, damaged or of another kind."""
    return read_documents(path, Fresh, MAKER)[0]


def name_of(source: str) -> str:
    """Return a program's key in the tables of scores: the first 16 hexadecimal digits of its text's SHA-256."""
    return hashlib.sha256(source.encode()).hexdigest()[:16]


def round_scores(scores: Sequence[float]) -> list[float]:
    """Return the scores rounded to DIGITS significant digits."""
    return [float(f"{score:.{DIGITS}g}") for score in scores]


def _program(candidate: Candidate | PortfolioCandidate) -> Program:
    return Program(candidate.candidate, candidate.source or "", candidate.scores)


def _stored(run: AlgorithmRun) -> Stored:
    if not isinstance(run, Trajectory) or run.kind not in ("prefixes", "vectors"):
        raise UsageError("the study of portfolios keeps runs whose trajectories are prefixes or vectors")
    if run.kind == "prefixes":
        return tuple(run.data.tolist())
    # Whole numbers, so that summing the changes gives back what was stored; the first change is from 0.
    changes = np.diff(np.rint(run.data * PARTS).astype(int), axis=0, prepend=0)
    return tuple(map(tuple, changes.tolist()))


def _trajectory(stored: Stored) -> Trajectory:
    numbers = np.array(stored)
    return Trajectory.prefixes(numbers) if numbers.ndim == 1 else Trajectory.vectors(numbers.cumsum(axis=0) / PARTS)


# Shape (N, N): distances between the programs of a ranking, row and column 0 for the best.
#
# They are 1 − BehaveSim in [0, 1], or `subtree_distances` of the texts.
Distances = NDArray[np.float64]
# Ranks (from 0) of the chosen programs, in the order in which they were chosen.
Ranks = tuple[int, ...]
# The sets that each way chooses, keyed by its name: one set, or several whose losses are averaged.
Sets = Mapping[str, tuple[tuple[Program, ...], ...]]

# The clearing radius as a fraction of the median distance, as in `behavesim recommend`.
RADIUS = 0.3
# Number of behaviours, those found first, over which the median distance is taken.
BASE = 100
# Number of random permutations of the distances, for the control.
DRAWS = 20
# Numbers of search instances on which sets are chosen in addition to all instances.
FEW = (1, 2)
# Largest number of other runs whose chosen ranks are applied to a run.
DONORS = 5


@dataclass(frozen=True)
class Ranking:
    """The N behaviours of a run on some search instances, best first."""

    programs: tuple[Program, ...]
    """One for each behaviour."""
    costs: NDArray[np.float64]
    """Shape (N, instances); lower is better."""
    distances: Distances
    base: NDArray[np.intp]
    """The ranks of the first BASE behaviours found."""

    def cleared(self, distances: Distances, least: float | None = None) -> Ranks:
        """Return at most TOP ranks, in order, of programs at least `least` from all chosen before.

        `least` is a distance in the unit of `distances`; None uses the clearing radius of these distances.
        """
        apart = least_of(distances, self.base) if least is None else least
        return tuple(select_apart(len(distances), TOP, apart, distances.__getitem__))

    def shuffled(self, seed: int) -> list[Ranks]:
        """Return DRAWS sets of ranks as a control, each cleared after a random permutation of the distances.

        Draw d permutes with the generator of [seed, d]; all use the clearing radius of the true distances.
        """
        least = least_of(self.distances, self.base)  # of the true distances, so that only the deal differs
        deals = [np.random.default_rng([seed, draw]).permutation(len(self.programs)) for draw in range(DRAWS)]
        return [self.cleared(self.distances[np.ix_(deal, deal)], least) for deal in deals]

    def greedy(self) -> Ranks:
        """Return the best program, then repeatedly the one that most improves the set's mean best cost, at most TOP.

        Ties go to the better rank.
        """
        chosen = [0]
        while len(chosen) < min(TOP, len(self.programs)):
            together = np.minimum(self.costs, self.costs[chosen].min(axis=0)).mean(axis=1)
            together[chosen] = np.inf  # else one already chosen would tie with all that add nothing
            chosen.append(int(together.argmin()))
        return tuple(chosen)

    def at(self, ranks: Ranks) -> Ranks:
        """Return ranks chosen in another run, in order, as ranks of this one, all different.

        A rank that this run does not have, or that is taken already, becomes the next better one that is not taken. It
        is left out if there is none.
        """
        chosen: list[int] = []
        for rank in ranks:
            place = min(rank, len(self.programs) - 1)
            while place in chosen:
                place -= 1
            if place >= 0:
                chosen.append(place)
        return tuple(chosen)

    def of(self, ranks: Ranks) -> tuple[Program, ...]:
        """Return the programs of these ranks (from 0), in the given order."""
        return tuple(self.programs[rank] for rank in ranks)


def ranking(run: KeptRun, apart: NDArray[np.float64], direction: Direction) -> Ranking:
    """Rank the behaviours of a run by mean score on its first instances, as many as `apart` has.

    `apart` has the distances of the run's programs on each of them, shape (instances, N, N). `direction` says which
    scores are better. On fewer instances than the run has, programs that behave equally on them count once. Ties go to
    the shorter text, then to the lower candidate.
    """
    count = len(apart)
    sign = 1 if direction == "minimise" else -1

    def preference(place: int) -> tuple[float, int, int]:
        program = run.programs[place]
        return sign * math.fsum(program.scores[:count]) / count, len(program.source), program.candidate

    groups: dict[Hashable, list[int]] = {}
    for place, behaviour in enumerate(run.behaviours):  # rounding can make two different behaviours equal
        groups.setdefault(behaviour[:count] if count < len(behaviour) else place, []).append(place)
    standing = [min(places, key=preference) for places in groups.values()]  # in the order in which behaviours came
    order = sorted(range(len(standing)), key=lambda number: preference(standing[number]))
    places = [standing[number] for number in order]
    costs = sign * np.array([run.programs[place].scores[:count] for place in places])
    distances = apart[np.ix_(range(count), places, places)].mean(axis=0)
    base = np.array([rank for rank, number in enumerate(order) if number < BASE], dtype=np.intp)
    return Ranking(tuple(run.programs[place] for place in places), costs, distances, base)


def least_of(distances: Distances, base: NDArray[np.intp]) -> float:
    """Return the clearing radius: RADIUS times the median distance between the ranks in `base`; 0 for one or none."""
    return RADIUS * median_distance(distances[np.ix_(base, base)])


def sets_of(runs: Sequence[KeptRun], measure: BehaveSim, direction: Direction) -> list[Sets]:
    """Return the sets of each run by every way of choosing, in the order of `runs`.

    The runs must share task and method: "same ranks" takes ranks from one another. `direction` says which scores of the
    task are better. Raises TrajectoryError if the trajectories of a run cannot be compared.
    """
    apart = [1 - measure.per_instance(run.trajectories()) for run in runs]
    wholes = [ranking(run, each, direction) for run, each in zip(runs, apart, strict=True)]
    cleared = [whole.cleared(whole.distances) for whole in wholes]
    found: list[Sets] = []
    for place, (run, whole) in enumerate(zip(runs, wholes, strict=True)):
        donors = [cleared[(place + step) % len(runs)] for step in range(1, min(DONORS, len(runs) - 1) + 1)]
        sets = {
            "cleared": (whole.of(cleared[place]),),
            "by score": (run.best,),
            "exact": (whole.programs[:TOP],),
            "same ranks": tuple(whole.of(whole.at(ranks)) for ranks in donors),
            "shuffled": tuple(map(whole.of, whole.shuffled(run.seed))),
            "by text": (whole.of(whole.cleared(subtree_distances([program.source for program in whole.programs]))),),
            f"greedy at {len(apart[place])}": (whole.of(whole.greedy()),),
        }
        for count in FEW:
            if count < len(apart[place]):
                part = ranking(run, apart[place][:count], direction)
                sets[f"greedy at {count}"] = (part.of(part.greedy()),)
                sets[f"cleared at {count}"] = (part.of(part.cleared(part.distances)),)
        found.append(sets)
    return found


# The losses of sets on fresh instances: how much worse they are than the best scores known.


# Name of the sets that the study is about: programs that behave differently.
OURS = "cleared"
# Rivals of a set at equal work: the best program from more starts, and its solution improved by 2-opt.
EQUAL_WORK = ("starts", "2-opt")


@dataclass(frozen=True)
class Losses:
    """How much worse than the best known scores the sets of a run are on fresh instances (a loss, as a fraction)."""

    task: str
    method: str
    seed: int
    sets: Mapping[str, tuple[float, ...]]
    """By a set's name the mean loss of the best of its first k = 1 … 10 programs; EQUAL_WORK's if measured."""
    cleared: int
    """Number of programs in the cleared set."""
    two_opt_time: float | None
    """Time of 2-opt in units of the best program's own time; None if it was not measured."""


def losses_in(file: Path) -> Iterator[Losses]:
    """Yield the losses of each run in `file`, NAME.jsonl.xz; fresh scores are those in NAME.fresh.json.xz beside it.

    Raises UsageError if one of them is missing or damaged, or if the runs' task is unknown; TrajectoryError if
    trajectories of a run cannot be compared.
    """
    runs, fresh = read_runs(file), read_fresh(file.with_name(file.name.replace(".jsonl.", ".fresh.json.")))
    task = TaskReference(runs[0].task).load()
    measure, direction = BehaveSim(normaliser=task.normaliser), task.objective.direction
    for method in dict.fromkeys(run.method for run in runs):
        here = [run for run in runs if run.method == method]
        for run, sets in zip(here, sets_of(here, measure, direction), strict=True):
            losses = {
                name: tuple(np.mean([_curve(each, fresh, direction) for each in drawn], axis=0).tolist())
                for name, drawn in sets.items()
            }
            time = fresh.two_opt_time.get(run.best[0].name)
            losses |= _equal_work(run.best[0], fresh, direction)
            yield Losses(run.task, run.method, run.seed, losses, len(sets[OURS][0]), time)


def _curve(programs: Sequence[Program], fresh: Fresh, direction: Direction) -> list[float]:
    """Return ten mean losses (fractions): of the best of the first 1, 2, … 10 programs on each instance."""
    # If there are fewer programs, the last values are those of all. `direction` is the task's. A program that fails on
    # fresh instances counts as the template.
    scores = [fresh.scores[program.name] or fresh.template for program in programs]
    best: list[float] = np.minimum.accumulate(_short(scores, fresh, direction)).mean(axis=1).tolist()
    return best + [best[-1]] * (TOP - len(best))


def _equal_work(best: Program, fresh: Fresh, direction: Direction) -> dict[str, tuple[float, ...]]:
    """Return ten losses of a run's best program by each name of EQUAL_WORK; empty if they were not measured."""
    # The k-th is that of k starts; after 2-opt all ten are equal.
    if best.name not in fresh.starts:
        return {}
    starts = np.minimum.accumulate(_short(fresh.starts[best.name], fresh, direction)).mean(axis=1)
    improved = float(_short([fresh.two_opt[best.name]], fresh, direction).mean())
    return dict(zip(EQUAL_WORK, (tuple(starts.tolist()), (improved,) * TOP), strict=True))


def _short(scores: Sequence[Sequence[float]], fresh: Fresh, direction: Direction) -> NDArray[np.float64]:
    """Return how much worse scores are than the best known (`fresh.references`), as fractions, (programs, instances).

    A negative fraction is better than the best known. `scores` has a row for each program, in the task's unit.
    """
    relative: NDArray[np.float64] = np.array(scores, dtype=np.float64) / np.array(fresh.references)
    return relative - 1 if direction == "minimise" else 1 - relative
