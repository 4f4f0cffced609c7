"""A portfolio: a few good programs of one or more runs that behave differently."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from behavesim.analysis.table import COUNT, DISTANCE, FRACTION, PROGRAMS, SCORE, Cell, Column, Table, cells_of
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
class PortfolioCandidate:
    """A feasible program that may be chosen, of the run named `run`; `behaviour` has one item per instance."""

    run: str
    candidate: int
    source: str
    score: float
    scores: Scores
    behaviour: Sequence[AlgorithmRun]
    program: str = ""  # the hash of the program's normal form, equal for equal programs; "" if unknown

    @property
    def key(self) -> tuple[str, int]:
        """The run's name and the candidate's number, which identify the program among several runs."""
        return self.run, self.candidate


@dataclass(frozen=True)
class Clearing:
    """The rule by which programs with good scores are chosen that are far from one another (clearing, Pétrowski 1996).

    Two programs are far apart if their distance 1 − BehaveSim is at least `radius` times the median distance of the
    first hundred distinct behaviours. With a radius of 0 behaviours only have to differ.
    """

    objective: Objective
    measure: BehaveSim
    radius: float

    def choose(self, candidates: Sequence[PortfolioCandidate], count: int) -> list[PortfolioCandidate]:
        """Return at most `count` of the programs, best first, each far from all before it.

        Of programs with equal behaviour only the best can be chosen. Ties go to the shorter source, then to the earlier
        candidate. A smaller `count` returns the first programs of a larger one.
        """
        preferences = self._preferences(candidates)
        ranking = sorted(preferences)
        niches, chosen = DiverseBest(self.measure), list[int]()
        # The median distance of these decides what is far. They are the first in the order of the search, and not the
        # best, so that the unit stays what the search itself used while programs come.
        for preference in preferences[:BASE]:
            niches.add(candidates[preference[2]].behaviour, preference)
        # The best first, a part at a time: a run of thousands needs few of them, and each one costs comparisons.
        for first in range(0, len(ranking), AT_ONCE):
            best = ranking[: first + AT_ONCE]
            for preference in best[first:]:
                niches.add(candidates[preference[2]].behaviour, preference)
            chosen = niches.select(self.radius, count)
            # If the last one chosen is among the best, so are all: programs with worse scores cannot change the choice.
            if len(chosen) == count and chosen[-1] in {place for _, _, place in best}:
                break
        return [candidates[place] for place in chosen]

    def _preferences(self, candidates: Sequence[PortfolioCandidate]) -> list[Preference]:
        best: dict[bytes, Preference] = {}
        for place, each in enumerate(candidates):
            preference = (-self.objective.utility(each.score), len(each.source), place)
            behaviour = pack_states(each.behaviour)
            best[behaviour] = min(preference, best.get(behaviour, preference))
        return list(best.values())


# Returns a program's score from its scores on all instances: the task's `mean_score`.
Mean = Callable[[Sequence[float]], float]


@dataclass(frozen=True)
class PortfolioProgram:
    """A program of a portfolio, and what it adds to those before it; gaps are fractions.

    `together` is the mean over the search's instances of the best score among this program and those before it. `wins`
    are the instances, from 1, on which it is the best of all. `alike` is the number of distinct programs with its
    behaviour, `nearest` its smallest distance to a program before it. `adds` is how much it improves `together`, a
    fraction. `validation…` are the same on validation instances, None if a program was not tried there.
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
    """At most `wanted` programs that behave differently, best first.

    `failed` are pairs of run and candidate that were chosen but left out, since they failed on validation instances.
    """

    wanted: int
    members: tuple[PortfolioProgram, ...]
    failed: tuple[tuple[str, int], ...] = ()

    @property
    def together_gap(self) -> float | None:
        """The gap of the best of all programs' scores on each search instance; None if unknown."""
        return self.members[-1].together_gap if self.members else None

    def tables(self) -> tuple[Table, ...]:
        """Return a table of the programs and, for several instances, one that says where each is best."""
        has_several = bool(self.members) and len(self.members[0].scores) > 1
        return (self.table(), self.wins()) if has_several else (self.table(),)

    def table(self) -> Table:
        """Return a row per program, with the score of the portfolio up to that program."""
        columns = (
            Column("programs", COUNT, title="first"),
            Column("program", PROGRAMS),
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
            (place, self._name(each), *cells_of(each, columns[2:])) for place, each in enumerate(self.members, 1)
        ]
        return Table("portfolio", "programs that behave differently", columns, tuple(rows), self._caption())

    def wins(self) -> Table:
        """Return a row per program: its score on each instance, and where it is the best."""
        instances = range(1, len(self.members[0].scores) + 1)
        scores = (Column(f"instance_{number}", SCORE, title=str(number)) for number in instances)
        columns = (Column("program", PROGRAMS), Column("wins", title="best on"), *scores)
        rows: list[tuple[Cell, ...]] = [
            (self._name(each), ", ".join(map(str, each.wins)), *each.scores) for each in self.members
        ]
        return Table("portfolio_scores", "their scores on the search's instances", columns, tuple(rows))

    def _name(self, member: PortfolioProgram) -> str:
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
    candidates: Sequence[PortfolioCandidate],
    clearing: Clearing,
    count: int,
    validation: Mapping[tuple[str, int], Scores | None] | None = None,
    mean: Mean = fmean,
) -> Portfolio:
    """Choose at most `count` of the candidates, which must be of one task, by `clearing`.

    `validation` has scores on validation instances by run and candidate, None for a program that failed there. A chosen
    program that failed is left out and not replaced; these scores change nothing else in the choice. `mean` is the
    task's `mean_score`. Raises UsageError if `count` is less than 1.
    """
    if count < 1:
        raise UsageError(f"a portfolio holds one program or more; {count} were asked for")
    tried = validation or {}
    # the choice knows search scores alone: validation scores decide only who failed, so they stay an honest check
    chosen = clearing.choose(candidates, count)
    failed = tuple(each.key for each in chosen if each.key in tried and tried[each.key] is None)
    kept = [each for each in chosen if each.key not in failed]
    return Portfolio(count, _members(kept, _programs(candidates), clearing, tried, mean), failed)


def _members(
    kept: Sequence[PortfolioCandidate],
    alike: Mapping[bytes, int],
    clearing: Clearing,
    validation: Mapping[tuple[str, int], Scores | None],
    mean: Mean,
) -> tuple[PortfolioProgram, ...]:
    objective = clearing.objective
    together = _together([each.scores for each in kept], objective, mean)
    there = [validation.get(each.key) or () for each in kept]
    # without a program that was not tried, the portfolio would look worse than it is
    there_together: Sequence[float | None] = _together(there, objective, mean) if all(there) else [None] * len(kept)
    similarity = clearing.measure.matrix([each.behaviour for each in kept])
    columns = list(zip(*(each.scores for each in kept), strict=True))
    winners = [column.index(objective.best(column)) for column in columns]  # ties go to the first program
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
            nearest=1.0 - float(similarity[place, :place].max()) if place else None,
            validation=mean(there[place]) if there[place] else None,
            validation_together=there_together[place],
            adds=_adds(together, place, objective),
            validation_adds=_adds(there_together, place, objective),
        )
        for place, each in enumerate(kept)
    )


def _programs(candidates: Sequence[PortfolioCandidate]) -> Mapping[bytes, int]:
    distinct = {(pack_states(each.behaviour), each.program or each.key) for each in candidates}
    return Counter(behaviour for behaviour, _ in distinct)


def _together(scores: Sequence[Scores], objective: Objective, mean: Mean) -> list[float]:
    return [mean([objective.best(on) for on in zip(*scores[: place + 1], strict=True)]) for place in range(len(scores))]


def _adds(together: Sequence[float | None], place: int, objective: Objective) -> float | None:
    # None at the first place, if one of the two values is unknown, or if the one before is 0.
    now, before = together[place], together[place - 1] if place else None
    return None if now is None or not before else (objective.utility(now) - objective.utility(before)) / abs(before)
