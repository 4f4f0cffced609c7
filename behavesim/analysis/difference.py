"""How programs of a run differ: two of them, the similarity of several, and their steps for playback on a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import unified_diff
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from behavesim.analysis.candidates import Candidate
from behavesim.analysis.run import Run
from behavesim.analysis.statistics import average_ranks
from behavesim.analysis.table import COUNT, DISTANCE, SCORE, Column, Table, cells_of
from behavesim.base.errors import TaskError, UsageError
from behavesim.base.text import ScoreSource, parse
from behavesim.code_similarity.metric import missing, of_source, source_matrix
from behavesim.prompts.behaviour_diff import first_difference, step_in_words
from behavesim.similarity import BehaveSim
from behavesim.state.events import TEMPLATE
from behavesim.task import Bins, Disks, InWords, Route, Task, instances_of
from behavesim.task.calls import picture_of
from behavesim.task.task import Picture
from behavesim.trajectory import AlgorithmRun, Kind, Trajectory, trajectories_of


@dataclass(frozen=True)
class DiffedProgram:
    """One of the two programs; its score and gap are None unless it is feasible."""

    candidate: int
    status: str
    score: float | None
    gap: float | None


@dataclass(frozen=True)
class InstanceDifference:
    """How two programs differ on one instance; instances and steps are counted from 1.

    `a_did` and `b_did` say in words what each did at the first step at which they differ; None if there is none.
    """

    instance: int
    a_score: float
    b_score: float
    similarity: float
    step: int | None
    a_did: str | None
    b_did: str | None


@dataclass(frozen=True)
class ProgramDifference:
    """Two programs of a run, and the `diff` of their texts; behaviour is compared if both are feasible."""

    run: str
    score_source: ScoreSource
    a: DiffedProgram
    b: DiffedProgram
    diff: str
    similarity: float | None
    instances: tuple[InstanceDifference, ...]

    def table(self) -> Table:
        """Return a table with a row per instance."""
        columns = (
            Column("instance", COUNT),
            Column("a_score", SCORE, title="score of a"),
            Column("b_score", SCORE, title="score of b"),
            Column("similarity", DISTANCE, is_whole=True),
            Column("step", COUNT, title="step"),
            Column("a_did", title="what a does"),
            Column("b_did", title="what b does"),
        )
        rows = tuple(cells_of(each, columns) for each in self.instances)
        is_same = bool(self.instances) and all(i.step is None for i in self.instances)
        caption = "They do exactly the same on all instances." if is_same else ""
        return Table(
            "instances", "the first step at which they differ, and what each does there", columns, rows, caption
        )


def program_difference(run: Run, a: int, b: int) -> ProgramDifference:
    """Return how candidates `a` and `b` of a run differ; -1 is the template.

    Raises UsageError if one does not exist or has no program, or if the task fails to put a step in words.
    """
    one, other = run.candidate(a), run.candidate(b)
    left, right = (_source(each).rstrip("\n").split("\n") for each in (one, other))
    diff = "\n".join(unified_diff(left, right, _name(one.candidate), _name(other.candidate), lineterm=""))
    are_feasible = one.status == other.status == "feasible"
    similarity, instances = _behaviour(run, one, other) if are_feasible else (None, ())
    sides = _side(run, one), _side(run, other)
    return ProgramDifference(run.folder.run, run.score_source, *sides, diff, similarity, instances)


def _behaviour(run: Run, one: Candidate, other: Candidate) -> tuple[float, tuple[InstanceDifference, ...]]:
    behaviours = run.trajectories([one.candidate, other.candidate])
    measure, words = run.measure(), InWords(run.task())
    found = []
    for index, (left, right) in enumerate(zip(*behaviours, strict=True)):
        scores, similarity = (one.scores[index], other.scores[index]), measure.similarity(left, right)
        if (step := first_difference(left, right)) is None:
            found.append(InstanceDifference(index + 1, *scores, similarity, None, None, None))
        else:
            a_did, b_did = (step_in_words(each, index, step, words) for each in (left, right))
            found.append(InstanceDifference(index + 1, *scores, similarity, step + 1, a_did, b_did))
    return measure.between(*behaviours), tuple(found)


def _name(number: int) -> str:
    return "template" if number == TEMPLATE else f"candidate {number}"


def _source(candidate: Candidate) -> str:
    if not candidate.source:
        why = "it is open" if candidate.reason is None else f"{candidate.stage}: {candidate.reason}"
        raise UsageError(f"candidate {candidate.candidate} has no program to compare ({why})")
    return candidate.source


def _side(run: Run, candidate: Candidate) -> DiffedProgram:
    return DiffedProgram(candidate.candidate, candidate.status, candidate.score, run.gap(candidate.score))


# Similarities of several programs by behaviour and by source, and how far both agree (paper, "Algorithm Analysis").


# Largest number of programs compared: as many as the two dendrograms can label legibly.
PROGRAMS = 30
# Largest total length of sources, in characters, whose syntax trees are compared when the user named no metric.
#
# Up to it the comparison takes seconds; its time grows at least with the square of a program's length.
AST_CHARACTERS = 30_000
# Rows of an (N, N) matrix of similarities.
Matrix = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class ProgramSimilarities:
    """The (N, N) similarities of N programs over all instances, and in `per_instance` on each instance alone.

    `settings` are those of BehaveSim, if `metric` is its measure; for a metric of source they are empty.
    """

    labels: tuple[str, ...]
    matrix: Matrix
    metric: str
    settings: Mapping[str, float | str] = field(default_factory=dict)
    per_instance: tuple[Matrix, ...] = ()

    def tables(self) -> tuple[Table, ...]:
        """Return the matrix over all instances as a table, then that of each instance if there are several."""
        alone = ((f"instance {number}", matrix) for number, matrix in enumerate(self.per_instance, 1))
        every = (
            ("all instances" if self.per_instance else "similarity", self.matrix),
            *(alone if len(self.per_instance) > 1 else ()),
        )
        columns = (Column("program", title=""), *(Column(str(k), DISTANCE) for k in range(1, len(self.labels) + 1)))
        names = [f"{number} {label}" for number, label in enumerate(self.labels, 1)]
        return tuple(
            Table(title, title, columns, tuple((name, *row) for name, row in zip(names, matrix, strict=True)))
            for title, matrix in every
        )


def similarities(
    labels: Sequence[str], behaviours: Sequence[tuple[AlgorithmRun, ...]], measure: BehaveSim
) -> ProgramSimilarities:
    """Return the similarities by behaviour of at least one program; raises TrajectoryError if the measure fails."""
    settings = {name: getattr(measure, name) for name in ("normaliser", "truncate", "skip", "clip")}
    matrix, per_instance = measure.matrix(behaviours), measure.per_instance(behaviours)
    return ProgramSimilarities(
        tuple(labels),
        _tuples(matrix.tolist()),
        measure.measure,
        settings,
        tuple(map(_tuples, per_instance.tolist())),
    )


def similarities_of_source(programs: Sequence[tuple[str, str]], metric: str) -> ProgramSimilarities:
    """Return the similarities by source of at least one program, each a label and a source.

    Raises UsageError if the metric's package is missing or a program is not Python.
    """
    labels, sources = zip(*programs, strict=True)
    return ProgramSimilarities(labels, _tuples(source_matrix(of_source(metric, sources), sources).tolist()), metric)


def _tuples(matrix: Sequence[Sequence[float]]) -> Matrix:
    return tuple(map(tuple, matrix))


@dataclass(frozen=True)
class Pair:
    """Two candidates with their similarity by BehaveSim and by a metric of their source, both at most 1."""

    a: int
    b: int
    behaviour: float
    source: float


@dataclass(frozen=True)
class Agreement:
    """The (N, N) similarities of N candidates of a run, by BehaveSim and by the source metric `metric`."""

    candidates: tuple[int, ...]
    behaviour: NDArray[np.float64]
    source: NDArray[np.float64]
    metric: str

    def disagreements(self) -> list[Pair]:
        """Return all pairs of candidates, those whose ranks in the two similarities differ most first."""
        rows, columns = np.triu_indices(len(self.candidates), 1)
        behaviour, source = self.behaviour[rows, columns], self.source[rows, columns]
        order = np.argsort(-np.abs(average_ranks(behaviour) - average_ranks(source)), kind="stable")
        return [
            Pair(self.candidates[rows[k]], self.candidates[columns[k]], float(behaviour[k]), float(source[k]))
            for k in order
        ]


def agreement(run: Run, metric: str | None = None, most: int = PROGRAMS) -> Agreement:
    """Compare the candidates that are in a group now by behaviour and by source; of more than `most`, so many.

    `metric` names the source metric, one of `code_similarity.metric.NAMES`. None chooses one: CodeBLEU as in the paper
    if it is installed; otherwise `ast`; `rouge` if the sources are too long for syntax trees or are not Python. Raises
    UsageError if the groups hold fewer than two candidates, or if the metric cannot be used.
    """
    members = candidates_in_groups(run)
    if len(members) < 2:
        raise UsageError(f"run {run.folder.run} holds {len(members)} programs; clustering takes two or more")
    # drawn with a fixed seed, so that every report of the run compares the same programs
    chosen = np.random.default_rng([run.settings.seed, PROGRAMS]).permutation(members)[:most]
    candidates = tuple(sorted(chosen.tolist()))  # in order of numbers, as the page lists them
    sources = [run.candidate(candidate).source or "" for candidate in candidates]
    name = _affordable(sources) if metric is None else metric
    similar = source_matrix(of_source(name, sources), sources)
    return Agreement(candidates, run.matrix(candidates), similar, name)


def candidates_in_groups(run: Run) -> list[int]:
    """Return the numbers of all candidates that are in a group now, ascending, without the template."""
    return sorted({member for group in run.state.groups.values() for member in group.members if member >= 0})


def _affordable(sources: list[str]) -> str:
    if not missing("codebleu", None):
        return "codebleu"
    return "ast" if sum(map(len, sources)) <= AST_CHARACTERS and all(map(_is_python, sources)) else "rouge"


def _is_python(source: str) -> bool:
    try:
        parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # a null byte; nested too deep
        return False
    return True


# The trajectories of a run's best programs, for replay on a page, and the steps at which they differ.


# Largest number of instances shown, the first ones: a page offers them in one menu.
INSTANCES = 5
# Largest total of numbers in all trajectories shown, 0.2 to 0.8 MB of text: a page stays small enough to send.
NUMBERS = 40_000


@dataclass(frozen=True)
class Performance:
    """What a program did on one instance, state by state; of prefixes, each state is the decision that was added."""

    candidate: int
    score: float
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Scene:
    """What programs did on one instance of the search; `picture` says how to draw it.

    `first_difference[i][j]` is the first step, counted from 1, at which programs i and j differ; None if they never do.
    """

    instance: int
    kind: Kind
    picture: Picture | None
    programs: tuple[Performance, ...]
    first_difference: tuple[tuple[int | None, ...], ...]


def playback(run: Run, candidates: Sequence[int]) -> tuple[Scene, ...]:
    """Return the scenes of the first five instances, without pictures, for feasible candidates in the given order.

    A candidate and all after it are left out once the trajectories together have more than NUMBERS numbers. Of samples,
    only the first trajectory is shown.
    """
    # the page compares whole programs: one that fits on some instances alone would leave holes in its menus
    did = [[trajectories_of(each)[0] for each in behaviour[:INSTANCES]] for behaviour in run.trajectories(candidates)]
    sizes = accumulate(sum(each.data.size for each in behaviour) for behaviour in did)
    affordable = [behaviour for behaviour, size in zip(did, sizes, strict=True) if size <= NUMBERS]
    by_instance = zip(*affordable, strict=True)
    return tuple(_scene(run, number, candidates, did) for number, did in enumerate(by_instance, 1))


def with_pictures(task: Task, scenes: Sequence[Scene]) -> tuple[Scene, ...]:
    """Return the scenes with the pictures of the task's instances; scenes of instances it no longer has are left out.

    Raises TaskError if a picture does not fit the trajectories there, or if the task's code raises.
    """
    # only here the task is needed: without it the scenes are shown without pictures
    instances = instances_of(task, "search") if scenes else ()
    # The task may have fewer instances today than those that the run was made on.
    pictured = tuple(
        replace(scene, picture=picture_of(task, instance)) for scene, instance in zip(scenes, instances, strict=False)
    )
    for scene in pictured:
        if not all(_fits(scene, each.values) for each in scene.programs):
            raise TaskError(f"`picture` of task {task.name!r} does not suit its trajectories: {scene.picture!r:.80}")
    return pictured


def _fits(scene: Scene, values: Sequence[Any]) -> bool:
    match scene.picture:
        case Route(places):
            return scene.kind == "prefixes" and min(values) >= 0 and max(values) < len(places)
        case Bins(sizes):
            return scene.kind == "prefixes" and min(values) >= 0 and len(values) <= len(sizes)
        case Disks():
            return scene.kind == "vectors" and len(values[0]) % 3 == 0
        case None:
            return True


def _scene(run: Run, number: int, candidates: Sequence[int], did: Sequence[Trajectory]) -> Scene:
    shown = zip(candidates, did, strict=False)
    return Scene(
        instance=number,
        kind=did[0].kind,
        picture=None,
        programs=tuple(Performance(c, run.candidate(c).scores[number - 1], tuple(each.values())) for c, each in shown),
        first_difference=tuple(
            tuple(None if (index := first_difference(a, b)) is None else index + 1 for b in did) for a in did
        ),
    )
