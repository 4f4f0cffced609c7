"""A portfolio: a few good programs that behave differently, and what else the same work could buy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from behavesim.analysis.candidates import Candidate
from behavesim.analysis.table import COUNT, DISTANCE, FRACTION, SCORE, Cell, Column, Table, cells_of
from behavesim.base.errors import UsageError
from behavesim.similarity.clustering import BASE, DiverseBest, Preference
from behavesim.similarity.measure import BehaveSim
from behavesim.task import Objective
from behavesim.trajectory import AlgorithmRun, pack_states

# Clearing: choose good programs that behave differently, from the feasible candidates of runs on one problem.


# A program's scores, one per instance, in the task's unit.
Scores = tuple[float, ...]
# Number of behaviours added between two checks whether enough programs are chosen; it bounds unneeded work.
AT_ONCE = 256


@dataclass(frozen=True)
class Entrant:
    """A feasible program that may be chosen; `run` is its run's name, `behaviour` has one item per instance.

    `score` is the task's mean of `scores`.
    """

    run: str
    candidate: int
    source: str
    score: float
    scores: Scores
    behaviour: Sequence[AlgorithmRun]
    program: str = ""
    """The hash of the program's normal form, equal for equal programs; "" if it is unknown."""

    @property
    def key(self) -> tuple[str, int]:
        """The run's name and the candidate's number, which identify the program among several runs."""
        return self.run, self.candidate


def entrants(run: str, feasible: Iterable[tuple[Candidate, Sequence[AlgorithmRun]]]) -> list[Entrant]:
    """Return the feasible candidates of the run named `run` as entrants; each is given with its behaviour."""
    return [
        Entrant(run, each.candidate, each.source or "", each.score, each.scores, behaviour, each.program_hash)
        for each, behaviour in feasible
        if each.score is not None
    ]


@dataclass(frozen=True)
class Clearing:
    """Chooses programs with good scores that are far from one another (clearing).

    Two programs are far apart if their distance 1 − BehaveSim is at least `radius` times the median distance of the
    first hundred distinct behaviours. With a radius of 0 behaviours only have to differ.
    """

    objective: Objective
    measure: BehaveSim
    radius: float

    def of(self, entrants: Sequence[Entrant], count: int) -> list[Entrant]:
        """Return at most `count` of the programs, best first, each far from all before it.

        Of programs with equal behaviour only the best can be chosen. Ties go to the shorter source, then to the earlier
        entrant. A smaller `count` returns the first programs of a larger one. Raises TrajectoryError if the measure
        fails.
        """
        preferences = self._preferences(entrants)
        ranking = sorted(preferences)
        niches, chosen = DiverseBest(self.measure), list[int]()
        # The median distance of these decides what is far. They are the first in the order of the search, and not the
        # best, so that the unit stays what the search itself used while programs come.
        for preference in preferences[:BASE]:
            niches.add(entrants[preference[2]].behaviour, preference)
        # The best first, a part at a time: a run of thousands needs few of them, and each one costs comparisons.
        for first in range(0, len(ranking), AT_ONCE):
            best = ranking[: first + AT_ONCE]
            for preference in best[first:]:
                niches.add(entrants[preference[2]].behaviour, preference)
            chosen = niches.clear(self.radius, count)
            # If the last one chosen is among the best, so are all: programs with worse scores cannot change the choice.
            if len(chosen) == count and chosen[-1] in {place for _, _, place in best}:
                break
        return [entrants[place] for place in chosen]

    def _preferences(self, entrants: Sequence[Entrant]) -> list[Preference]:
        """Return the sort key of the best program of each behaviour, in the order in which behaviours first appear."""
        best: dict[bytes, Preference] = {}
        for place, each in enumerate(entrants):
            preference = (-self.objective.utility(each.score), len(each.source), place)
            behaviour = pack_states(each.behaviour)
            best[behaviour] = min(preference, best.get(behaviour, preference))
        return list(best.values())


# When a set of programs is not worth its work: what else that work could buy.


# The name of the rival that is the portfolio itself.
SET = "the programs of the set"


@dataclass(frozen=True)
class Alternative:
    """A way to spend work on the validation instances, and the best score that it found on each of them.

    `programs` is how many programs it runs, `runs` how many runs of them an instance gets. `cpu_s` is the CPU time on
    all instances, improvement included.
    """

    name: str
    programs: int
    runs: int
    cpu_s: float
    scores: tuple[float, ...]


@dataclass(frozen=True)
class Rival(Alternative):
    """A way to spend work, its mean score, and on how many instances it is `better` or `worse` than the set."""

    score: float
    better: int
    worse: int


def rivals_of(
    tried: Sequence[Alternative], objective: Objective, mean: Callable[[Sequence[float]], float]
) -> tuple[Rival, ...]:
    """Return all ways that were tried, one of which must be SET, best score first, then least CPU time."""
    (ours,) = (each.scores for each in tried if each.name == SET)
    found: list[Rival] = []
    for each in tried:
        pairs = zip(each.scores, ours, strict=True)
        gains = [objective.utility(score) - objective.utility(our) for score, our in pairs]
        better, worse = sum(gain > 0 for gain in gains), sum(gain < 0 for gain in gains)
        found.append(Rival(**vars(each), score=mean(each.scores), better=better, worse=worse))
    return tuple(sorted(found, key=lambda each: (-objective.utility(each.score), each.cpu_s)))


def verdict(rivals: Sequence[Rival]) -> str:
    """Return a text on the rivals, best first: which one wins, and whether a single program beats the set."""
    best, ours = rivals[0], next(each for each in rivals if each.name == SET)
    if best is ours:
        return "the portfolio is better than every alternative tried at no more runs of programs"
    said = f"best here: {best.name}, {best.score:.6g} on validation instances; the portfolio has {ours.score:.6g}"
    alone = next((each for each in rivals[: rivals.index(ours)] if each.programs == 1), None)
    if alone is None:
        return said
    verb = "equal" if alone.score == ours.score else "beat"
    return f"{said}\none program is enough to {verb} the portfolio: {alone.name}, {alone.score:.6g}"


def table(rivals: Sequence[Rival]) -> Table:
    """Return a table with a row per rival, best first."""
    columns = (
        Column("rival", title="what is run"),
        Column("runs", COUNT, title="runs an instance"),
        Column("cpu_s", SCORE, title="CPU s"),
        Column("score", SCORE, title="best, mean"),
        Column("against", title="instances better / worse than the portfolio"),
    )
    rows = tuple((each.name, each.runs, each.cpu_s, each.score, f"{each.better} / {each.worse}") for each in rivals)
    caption = "On validation instances: they are few, and nothing is tested."
    return Table("rivals", "alternatives at the same cost", columns, rows, caption)


# Returns a program's score from its scores on all instances: the task's `mean_score`.
Mean = Callable[[Sequence[float]], float]


@dataclass(frozen=True)
class PortfolioProgram:
    """A program of a portfolio: its run and candidate, and its score, gap and `scores` on the search's instances.

    `together` is the mean over the search's instances of the best score among this program and those before it;
    `together_gap` is the gap of that mean. Gaps are fractions, None if unknown. `wins` are the instances, counted from
    1, on which this program is the best of the whole portfolio; ties go to the first. `alike` is the number of distinct
    programs with its behaviour, itself included. `nearest` is its smallest distance 1 − BehaveSim to a program before
    it, None for the first. `validation` is its mean score on validation instances, None if it was not tried there.
    `validation_together` is `together` on those instances, None unless all programs were tried. `adds` is how much this
    program improves `together` over the programs before it, as a fraction of that score: None for the first, or if that
    score is 0. `validation_adds` is the same for `validation_together`.
    """

    run: str
    candidate: int
    score: float
    gap: float | None
    together: float
    together_gap: float | None
    wins: tuple[int, ...]
    scores: Scores
    alike: int
    nearest: float | None
    validation: float | None = None
    validation_together: float | None = None
    adds: float | None = None
    validation_adds: float | None = None


@dataclass(frozen=True)
class Portfolio:
    """At most `wanted` programs that behave differently, best first; fewer if there are no more or some `failed`.

    `failed` are pairs of run and candidate that were chosen but left out, since they failed on validation instances.
    """

    wanted: int
    members: tuple[PortfolioProgram, ...]
    failed: tuple[tuple[str, int], ...] = ()

    @property
    def together_gap(self) -> float | None:
        """The gap of all programs together, the best of their scores on each search instance; None if unknown."""
        return self.members[-1].together_gap if self.members else None

    def tables(self) -> tuple[Table, ...]:
        """Return a table of the programs and, if the search has several instances, one that says where each is best."""
        has_several = bool(self.members) and len(self.members[0].scores) > 1
        return (self.table(), self.wins()) if has_several else (self.table(),)

    def table(self) -> Table:
        """Return a table with a row per program, which includes the score of the portfolio up to that program."""
        columns = (
            Column("programs", COUNT, title="first"),
            Column("program"),
            Column("score", SCORE),
            Column("gap", FRACTION),
            Column("together", SCORE, title="best so far"),
            Column("adds", FRACTION, title="gain from adding it"),
            Column("validation", SCORE, title="on validation"),
            Column("validation_together", SCORE, title="best so far there"),
            Column("validation_adds", FRACTION, title="gain there"),
            Column("nearest", DISTANCE, title="distance to those above"),
            Column("alike", COUNT, title="same behaviour"),
        )
        rows: list[tuple[Cell, ...]] = [
            (place, self._named(each), *cells_of(each, columns[2:])) for place, each in enumerate(self.members, 1)
        ]
        return Table("portfolio", "programs that behave differently", columns, tuple(rows), self._caption())

    def wins(self) -> Table:
        """Return a row per program: its score on each instance, and where it is the best; IndexError without one."""
        instances = range(1, len(self.members[0].scores) + 1)
        scores = (Column(f"instance_{number}", SCORE, title=str(number)) for number in instances)
        columns = (Column("program"), Column("wins", title="best on"), *scores)
        rows: list[tuple[Cell, ...]] = [
            (self._named(each), ", ".join(map(str, each.wins)), *each.scores) for each in self.members
        ]
        return Table("portfolio_scores", "their scores on the search's instances", columns, tuple(rows))

    def _named(self, member: PortfolioProgram) -> str:
        """Return a program's name in tables: its number, after the run's name if there are several runs."""
        is_one = len({each.run for each in self.members}) == 1
        return str(member.candidate) if is_one else f"{member.run} {member.candidate}"

    def _caption(self) -> str:
        said = []
        if self.failed:
            named = ", ".join(f"candidate {candidate} of {run}" for run, candidate in self.failed)
            said.append(f"Left out because they failed on validation instances: {named}.")
        if (found := len(self.members) + len(self.failed)) < self.wanted:
            said.append(f"No other program behaves differently enough: {found} of {self.wanted}.")
        said.append(
            "These are scores on the search's instances, on which the programs were chosen; expect worse on others."
        )
        return " ".join(said)


def portfolio(
    entrants: Sequence[Entrant],
    clearing: Clearing,
    count: int,
    validation: Mapping[tuple[str, int], Scores | None] | None = None,
    mean: Mean = fmean,
) -> Portfolio:
    """Choose at most `count` of the entrants, which must be of one task, by `clearing`.

    `validation` maps programs, by run and candidate, to their scores on validation instances, or to None if they failed
    there. A chosen program that failed is left out and not replaced; these scores change nothing else in the choice.
    `mean` is the task's `mean_score`. Raises UsageError if `count` is less than 1, TrajectoryError if the measure
    fails, and as `mean` does.
    """
    if count < 1:
        raise UsageError(f"a portfolio holds one program or more; {count} were asked for")
    tried = validation or {}
    chosen = clearing.of(entrants, count)
    failed = tuple(each.key for each in chosen if each.key in tried and tried[each.key] is None)
    kept = [each for each in chosen if each.key not in failed]
    return Portfolio(count, _members(kept, _programs(entrants), clearing, tried, mean), failed)


def _members(
    kept: Sequence[Entrant],
    alike: Mapping[bytes, int],
    clearing: Clearing,
    validation: Mapping[tuple[str, int], Scores | None],
    mean: Mean,
) -> tuple[PortfolioProgram, ...]:
    """Return the programs `kept`, in order, with all their numbers; `alike` counts programs by packed behaviour."""
    objective = clearing.objective
    together = _together([each.scores for each in kept], objective, mean)
    there = [validation.get(each.key) or () for each in kept]
    # without a program that was not tried, the portfolio would look worse than it is
    there_together: Sequence[float | None] = _together(there, objective, mean) if all(there) else [None] * len(kept)
    best = _best(objective)
    nearest = _nearest(kept, clearing.measure)
    columns = list(zip(*(each.scores for each in kept), strict=True))
    winners = [column.index(best(column)) for column in columns]  # ties go to the first program
    return tuple(
        PortfolioProgram(
            run=each.run,
            candidate=each.candidate,
            score=each.score,
            gap=objective.gap(each.score),
            together=together[place],
            together_gap=objective.gap(together[place]),
            wins=tuple(number for number, winner in enumerate(winners, 1) if winner == place),
            scores=each.scores,
            alike=alike[pack_states(each.behaviour)],
            nearest=nearest[place],
            validation=mean(there[place]) if there[place] else None,
            validation_together=there_together[place],
            adds=_adds(together, place, objective),
            validation_adds=_adds(there_together, place, objective),
        )
        for place, each in enumerate(kept)
    )


def _programs(entrants: Sequence[Entrant]) -> Mapping[bytes, int]:
    """Return the number of distinct entrants by packed behaviour; one whose hash is unknown counts as distinct."""
    distinct = {(pack_states(each.behaviour), each.program or each.key) for each in entrants}
    return Counter(behaviour for behaviour, _ in distinct)


def _together(scores: Sequence[Scores], objective: Objective, mean: Mean) -> list[float]:
    best = _best(objective)
    return [mean([best(on) for on in zip(*scores[: place + 1], strict=True)]) for place in range(len(scores))]


def _adds(together: Sequence[float | None], place: int, objective: Objective) -> float | None:
    """Return how much `together` improves at a place, as a fraction of the value before."""
    # None at the first place, if one of the two values is unknown, or if the one before is 0.
    now, before = together[place], together[place - 1] if place else None
    return None if now is None or not before else (objective.utility(now) - objective.utility(before)) / abs(before)


def _best(objective: Objective) -> Callable[[Iterable[float]], float]:
    return max if objective.direction == "maximise" else min


def _nearest(kept: Sequence[Entrant], measure: BehaveSim) -> list[float | None]:
    """Return each program's smallest distance to those before it; None for the first."""
    similarity = measure.matrix([each.behaviour for each in kept])
    return [1.0 - float(similarity[place, :place].max()) if place else None for place in range(len(kept))]
