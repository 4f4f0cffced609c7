"""Two races: of a candidate on further search instances, and of a run's best programs on fresh instances.

The first says whether a candidate is judged on further instances, and the score that it has once it stops. Its
trajectories are compared on the search instances, block 0. As long as it could be the best program, it goes on to
further blocks, each as large as all before it. Few candidates do: most are behind the leader on block 0 already.

From irace (López-Ibáñez et al. 2016) this takes that a program meets one rival on one instance after the other, and is
dropped once paired differences speak against it; from successive halving (Jamieson and Talwalkar 2016) that blocks
double; from OCBA (Chen et al. 2000) that repetitions go to those near the best, by difference over standard error.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from behavesim.base.errors import JournalError
from behavesim.state.events import TEMPLATE, CandidateId, FreshBegun, FreshScored, GoneOn, RaceEnded
from behavesim.task import Objective

if TYPE_CHECKING:
    from behavesim.state.members import Member, OpenCandidate
    from behavesim.state.state import RunState

# A candidate goes on as long as its mean difference to the leader plus this many standard errors is above 0.
#
# With 1, a candidate as good as the leader is dropped at a block with probability 1/6, and one that is a standard error
# behind goes on with 1/2. A false drop costs one of thousands of candidates, and a false keep costs as many evaluations
# as all blocks before it: irace's 5 % level would keep ten times as many that are worse.
STANDARD_ERRORS = 1.0


def relative_gains(scores: Sequence[float], template: Sequence[float], objective: Objective) -> tuple[float, ...]:
    """Return (program − template) / |template| on each instance that both saw, turned so that higher is better.

    Where the template scores 0, it is the plain difference.
    """
    utility = objective.utility
    return tuple(
        (utility(ours) - utility(base)) / (abs(base) or 1.0) for ours, base in zip(scores, template, strict=False)
    )


def next_in_race(state: RunState, candidate: OpenCandidate, most: int) -> GoneOn | RaceEnded:
    """Return whether a feasible candidate, which is registered next, goes on, or the score with which it stops.

    `most` is the number of further instances of the race. Raises JournalError if the template's scores are missing.
    """
    template, leader = state.template, state.leader
    assert template is not None and leader is not None, "the template comes before all candidates"
    begun = len(template.scores)
    if len(leader.all_scores) != begun + most or len(template.all_scores) != begun + most:
        raise JournalError(f"candidate {leader.candidate} leads and was not judged on all instances of the race")
    base = template.all_scores
    ours = relative_gains(candidate.all_scores, base, state.objective)
    theirs = relative_gains(leader.all_scores, base, state.objective)
    differences = [a - b for a, b in zip(ours, theirs, strict=False)]
    left = begun + most - len(ours)
    if left and mean(differences) + STANDARD_ERRORS * (_standard_error(differences) or 0.0) > 0:
        # a rest smaller than the first block joins this one, so that no block is smaller than that
        count = left if left - len(ours) < begun else len(ours)
        return GoneOn(candidate.id, len(ours), count)
    gain, error = mean(ours), _standard_error(ours)
    if left:
        gain, error = _control(ours, theirs, differences)
    unit = abs(template.score) or 1.0
    score = state.objective.utility(template.utility + gain * unit)
    return RaceEnded(candidate.id, score, None if error is None else error * unit, len(ours))


def _control(
    ours: Sequence[float], theirs: Sequence[float], differences: Sequence[float]
) -> tuple[float, float | None]:
    """Return the gain on all instances of a candidate that saw the first few, and its standard error if known."""
    # The leader, which saw all, is the control: its mean gain on all, plus the mean difference on those that both saw.
    # The mean of the candidate's own gains would not do. A leader was chosen for its luck on block 0, too, and loses
    # that on the others: whatever copies its luck and was dropped would stand above it.
    #
    # In 200 simulated searches of 300 candidates, half of them close copies of the leader, the program that led at the
    # end was truly .0026 behind the best one with this estimate, .011 with means, and .014 without a race.
    gain = mean(theirs) + mean(differences)
    spread, apart = variance(ours), variance(differences)
    if spread is None or apart is None:
        return gain, None
    seen, known = len(ours), len(theirs)  # the difference estimator of double sampling (Cochran 1977, 12.8)
    return gain, math.sqrt(apart * (1 / seen - 1 / known) + spread / known)


def is_mean(score: float, scores: Sequence[float]) -> bool:
    """Return whether a score is the mean of the scores on single instances, but for rounding."""
    return bool(scores) and math.isclose(score, mean(scores), rel_tol=1e-9)


def mean_error(score: float, scores: Sequence[float], template: Member, objective: Objective) -> float | None:
    """Return the standard error of a score without a race; None if it is unknown or the score is no mean of `scores`.

    It is that of the difference to the template, in the unit of the score: the sizes of instances, which differ for all
    programs alike, do not count.
    """
    if len(scores) != len(template.scores) or not is_mean(score, scores):
        return None
    error = _standard_error(relative_gains(scores, template.scores, objective))
    return None if error is None else error * (abs(template.score) or 1.0)


def mean(values: Sequence[float]) -> float:
    """Return the mean of values, at least one; `fsum` is exact, so that their order changes no bit of it."""
    try:
        return math.fsum(values) / len(values)
    except OverflowError:  # the sum is beyond the largest float, and the mean is not
        return math.fsum(value / len(values) for value in values)


def variance(values: Sequence[float]) -> float | None:
    """Return the sample variance of values; None for fewer than two, which say nothing of it."""
    if len(values) < 2:
        return None
    return _squares(values) / (len(values) - 1)


def _squares(values: Sequence[float]) -> float:
    """Return the sum of the squared distances of values from their mean; infinite if no float is so large."""
    middle = mean(values)
    try:
        return math.fsum((value - middle) ** 2 for value in values)
    except OverflowError:
        return math.inf


def _standard_error(values: Sequence[float]) -> float | None:
    spread = variance(values)
    return None if spread is None else math.sqrt(spread / len(values))


# The race of a run's best programs on fresh instances: who goes on, who wins, and how certain that is.
#
# Pure functions of committed scores, so that a resumed run goes on with the race and `verify` derives it again.
#
# All certainty rests on one confidence sequence: intervals that hold with 95 % together for *all* numbers of instances,
# so that a race may look after each block and stop when it likes. It is the mixture of t tests (Lai 1976; Wang and
# Ramdas 2024) over effects of about one standard deviation. It assumes gains that are drawn independently, and normal.
# Heavy tails that are the same on both sides only make it wider than need be; gains that lean far to one side break it,
# as they break every interval for values without bounds. Empirical Bernstein and betting intervals (Waudby-Smith and
# Ramdas 2024) need bounds, which relative gains do not have. `benchmarks/champion.py` simulates all this.


# Intervals of gains, all programs together, miss at most this often. So do all claims that two programs differ.
ERROR = 0.05
# Most fresh instances of a race: they are made before it begins.
MOST_INSTANCES = 500
# Most evaluations that a race costs unless the settings say how many.
MOST_EVALUATIONS = 1500


@dataclass(frozen=True)
class Interval:
    """A mean, and the bounds that hold with the wanted certainty; they are infinite where too little is known."""

    mean: float
    low: float
    high: float


def interval(values: Sequence[float], error: float) -> Interval:
    """Return the mean of values and its interval, which is wrong with probability `error` at most, however often asked.

    It has no bounds while there are too few values, or if all are equal: then nothing is known of their spread.
    """
    count, middle = len(values), mean(values)
    squares = _squares(values)
    # The likelihood ratio of the mixture is sqrt(1/spread) × ((1 + x) / (1 + x/spread))^(count/2), x = t²/(count − 1).
    # It exceeds 1/error at any time with probability `error` at most (Ville); this is solved for x.
    spread = 1.0 + count
    ratio = (math.sqrt(spread) / error) ** (2 / count)
    nearly = 1e-9 * max(map(abs, values))
    if count < 2 or squares <= count * (nearly * nearly) or ratio >= spread:
        return Interval(middle, -math.inf, math.inf)
    x = (ratio - 1) / (1 - ratio / spread)
    half = math.sqrt(x * squares / count)
    return Interval(middle, middle - half, middle + half)


@dataclass(frozen=True)
class Block:
    """The next instances of a race: their first number, how many, and the programs that go on to them."""

    first: int
    count: int
    programs: tuple[CandidateId, ...]


@dataclass(frozen=True)
class Certificate:
    """What a race says of a program: the gain on the template, a fraction, on `fresh` instances, and its interval.

    The interval is None where too few instances were seen, and for the template. The program is better, with certainty,
    than `told_apart_from` of the `others`, the programs besides it and the template that worked.
    """

    candidate: CandidateId
    gain: float
    interval: tuple[float, float] | None
    fresh: int
    told_apart_from: int
    others: int


def describe(found: Certificate) -> str:
    """Return what a race says of a program, as a line for people without a full stop."""
    on = f"{found.fresh} fresh instances, none seen before"
    if found.candidate == TEMPLATE:
        return f"none of the {found.others} programs that raced does better than the template; {on}"
    sign = 1 if found.gain >= 0 else -1
    much = f"{100 * abs(found.gain):.2f} % {'better' if sign > 0 else 'worse'} than the template"
    if found.interval is None:
        return f"{much} on {on}: too few to say how certain that is"
    low, high = sorted(100 * sign * bound for bound in found.interval)
    unclear = ", not told apart from it" if low <= 0 else ""
    others = f"told apart from {found.told_apart_from} of {found.others} others"
    return f"{much} [{low:.2f}, {high:.2f}] on instances like these{unclear}, {others}; {on}"


def usual_purse(budget: int, search: int, validation: int, shortlist: int) -> int:
    """Return how many evaluations of one program on one instance a race may cost unless a person says so; 0: no race.

    It is half as many as those of the search, at most MOST_EVALUATIONS. `search` and `validation` are the lengths of
    these splits. Where it does not give each program twice as many fresh instances as both have, these choose better.
    """
    purse = min(budget * search // 2, MOST_EVALUATIONS)
    return purse if purse >= 2 * (shortlist + 1) * (search + validation) else 0


def most_instances(size: int, purse: int) -> int:
    """Return the largest number of instances of a race, whose first block has `size`; see `FreshBegun`."""
    # at least two programs go on to a block, the leader and the template
    return max(size, min(MOST_INSTANCES, size + purse // 2))


@dataclass
class FreshRace:
    """A race as far as it is committed; `apply` alone changes it."""

    begun: FreshBegun
    objective: Objective
    """The objective of the task."""
    scores: dict[CandidateId, tuple[float, ...]] = field(default_factory=dict)
    """The scores of each program on the instances that it saw, from `begun.first` on."""
    failed: set[CandidateId] = field(default_factory=set)
    seen: int = 0
    """Instances that the race has used."""
    spent: int = 0
    """Evaluations of one program on one instance that it took."""

    def apply(self, event: FreshScored) -> None:
        """Add the scores of a block."""
        for program, scores in event.scores.items():
            self.scores[program] = self.scores.get(program, ()) + tuple(scores)
            if not scores:
                self.failed.add(program)
        self.seen += event.count
        self.spent += event.count * len(event.scores)

    @property
    def last_number(self) -> int:
        """The number below which all instances are that the race may use."""
        return self.begun.first + most_instances(self.begun.size, self.begun.purse)

    @property
    def next_number(self) -> int:
        """The number of the first instance that the race has not used."""
        return self.begun.first + self.seen

    def gains(self) -> dict[CandidateId, tuple[float, ...]]:
        """Return the gain on the template, on each instance that both saw, of all programs that did not fail."""
        base = self.scores.get(TEMPLATE, ())
        return {
            program: relative_gains(self.scores[program], base, self.objective)
            for program in self.begun.programs
            if program not in self.failed and self.scores.get(program)
        }

    def next_block(self) -> Block | None:
        """Return the next block; None if the race is over.

        The first block is for all programs. It is over when one stands apart from all others, the purse is used up, or
        the template fails: without it there is no gain.
        """
        begun = self.begun
        if not self.seen:
            return Block(begun.first, begun.size, begun.programs)
        left, room = begun.purse - self.spent, MOST_INSTANCES - self.seen
        if TEMPLATE in self.failed or left <= 0 or room <= 0:
            return None
        gains = {program: seen for program, seen in self.gains().items() if len(seen) == self.seen}
        best = leader(gains)
        going = [program for program in gains if program == best or not self.is_apart(gains, best, program)]
        if len(going) < 2:
            return None
        # the template goes on in any case: all gains are on it
        going.sort(key=lambda program: (program not in (best, TEMPLATE), -mean(gains[program])))
        going = list(dict.fromkeys([*going[:1], TEMPLATE, *going[1:]]))
        # Where the purse does not pay as many instances again for all, only the best go on.
        going = going[: max(2, left // self.seen)]
        count = min(self.seen, left // len(going), room)
        chosen = tuple(program for program in begun.programs if program in going)
        return Block(self.next_number, count, chosen) if count else None

    @property
    def winner(self) -> CandidateId | None:
        """The program with the greatest gain of those that saw all instances; None if the template or all failed."""
        if TEMPLATE in self.failed or not self.seen:
            return None
        return leader({program: seen for program, seen in self.gains().items() if len(seen) == self.seen})

    def certificate(self, program: CandidateId) -> Certificate | None:
        """Return what the race says of a program; None if it did not take part, or it or the template failed."""
        gains = self.gains()
        if TEMPLATE in self.failed or program not in gains:
            return None
        others = [other for other in gains if other not in (program, TEMPLATE)]
        found = interval(gains[program], ERROR / max(1, len(self.begun.programs) - 1))
        bounds = (found.low, found.high) if math.isfinite(found.low) and program != TEMPLATE else None
        apart = sum(self.is_apart(gains, program, other) for other in others)
        return Certificate(program, found.mean, bounds, len(gains[program]), apart, len(others))

    def is_apart(self, gains: Mapping[CandidateId, Sequence[float]], best: CandidateId, other: CandidateId) -> bool:
        """Return whether `best` is better than another program with certainty, on the instances that both saw."""
        # Any program may come to lead, so that all pairs are tests, and each gets its share of the error (Bonferroni).
        programs = len(self.begun.programs)
        differences = [a - b for a, b in zip(gains[best], gains[other], strict=False)]
        return interval(differences, ERROR / (programs * (programs - 1) / 2)).low > 0


def leader(gains: Mapping[CandidateId, Sequence[float]]) -> CandidateId:
    """Return the program with the greatest mean gain; ties go to the one that comes first."""
    return max(gains, key=lambda program: mean(gains[program]))


# Without a race: how large a difference of two programs' scores is chance.


# Student's t that is exceeded on either side with 5 %, by degrees of freedom from 1; `_student` has more.
_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)


def told_apart(ours: Sequence[float], theirs: Sequence[float]) -> bool:
    """Return whether two programs' scores on the same instances differ by more than chance: a paired t test at 5 %.

    With fewer than two instances, or if all differences are equal, nothing says what chance is: any difference counts.
    """
    differences = [a - b for a, b in zip(ours, theirs, strict=False)]
    if not any(differences):
        return False
    if len(differences) < 2:
        return True
    return abs(mean(differences)) > chance(_spread(differences), len(differences))


class HasScores(Protocol):
    """A program with scores."""

    @property
    def score(self) -> float | None:
        """Its score; None if it is unknown."""

    @property
    def scores(self) -> Sequence[float]:
        """Its score on each instance."""


def scores_told_apart(one: HasScores, other: HasScores) -> bool | None:
    """Whether two programs' scores on the same instances differ by more than chance; None if one is no mean of them."""
    if any(each.score is None or not is_mean(each.score, each.scores) for each in (one, other)):
        return None
    return told_apart(one.scores, other.scores)


class MayHaveRaced(HasScores, Protocol):
    """A program with scores, which a race in the search may have judged on further instances."""

    @property
    def raced(self) -> Sequence[float]:
        """Its scores on further instances."""

    @property
    def all_scores(self) -> Sequence[float]:
        """Its score on each instance that it was judged on."""


def told_apart_in_run(one: MayHaveRaced, other: MayHaveRaced, template: MayHaveRaced) -> bool | None:
    """As `scores_told_apart`; in a run with a race, whose scores are estimates, on all instances that both saw."""
    return told_apart(one.all_scores, other.all_scores) if template.raced else scores_told_apart(one, other)


def gain_told_apart(best: MayHaveRaced, template: MayHaveRaced) -> bool | None:
    """Whether a gain on the template is more than chance; None if unknown, as it is on one instance."""
    return told_apart_in_run(best, template, template) if len(template.scores) > 1 else None


def chance(spread: float, count: int) -> float:
    """Return the largest mean of `count` paired differences that chance explains; `spread` is their deviation."""
    return _student(count - 1) * spread / math.sqrt(count)


def spread_of_pairs(programs: Sequence[Sequence[float]], objective: Objective) -> float | None:
    """Return the standard deviation of relative differences between the first program and each other, by instance.

    It is the median over the others that differ by more on one instance than on another; None if there is none.
    """
    found = []
    for other in programs[1:]:
        if len(other) == len(programs[0]) > 1:
            found.append(_spread(relative_gains(programs[0], other, objective)))
    found = sorted(filter(None, found))
    return found[len(found) // 2] if found else None


def _student(freedom: int) -> float:
    # the expansion is right to three digits from 16 degrees on
    return _T[freedom - 1] if freedom <= len(_T) else 1.95996 + 2.3723 / freedom + 2.8225 / freedom**2


def _spread(values: Sequence[float]) -> float:
    found = variance(values)
    assert found is not None, "there are at least two"
    return math.sqrt(found)
