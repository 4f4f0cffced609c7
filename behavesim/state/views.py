"""What a run counts and remembers of its candidates: outcomes and tokens, ideas, models and behaviours."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from behavesim.base.tokens import NO_TOKENS, Tokens
from behavesim.state.events import TEMPLATE, CandidateId, Evaluated, Rejected, Reply
from behavesim.state.members import OpenCandidate
from behavesim.task import Objective
from behavesim.trajectory import AlgorithmRun, pack_states

if TYPE_CHECKING:
    from behavesim.similarity import Archive, BehaveSim

# Number of the last candidates to remember, to tell whether a run still finds feasible and new programs.
RECENT = 100


@dataclass
class Tally:
    """Counts over a run so far, for caps, warnings and people. No method decides by them."""

    # candidates with a score, registered or not, without the template
    feasible: int = 0
    # rejected candidates by reason, registered or not. One that is asked for again counts with its last outcome.
    rejected: Counter[str] = field(default_factory=Counter)
    # evaluations that said nothing of a program and were repeated alone, by reason: "clock", "memory" or "cpu"
    put_off: Counter[str] = field(default_factory=Counter)
    # times a rejected candidate was asked for again
    repairs: int = 0
    # whether each of the last RECENT registered candidates was feasible, oldest first
    recent: deque[bool] = field(default_factory=lambda: deque(maxlen=RECENT))
    # feasible candidates with exactly the program text of an earlier one, so they were not run
    repeated_programs: int = 0
    # feasible candidates with exactly the trajectories of an earlier feasible one, by a hash of them
    repeated_behaviours: int = 0
    # whether each of the last RECENT feasible candidates repeated an earlier one's trajectories, oldest first
    recent_repeats: deque[bool] = field(default_factory=lambda: deque(maxlen=RECENT))
    # CPU seconds of all programs that were run, template and rejected ones included; copies were not run
    cpu_s: float = 0.0
    # tokens and cost of all requests that have a reply, by the name of the model
    tokens: dict[str, Tokens] = field(default_factory=dict)
    # by model, for each field the most that one reply took, with all its requests; estimates are included
    largest: dict[str, Tokens] = field(default_factory=dict)
    # requests that were sent and never answered, those of earlier sessions included. They may have been billed.
    unanswered: int = 0
    # the most requests that were sent in vain for one reply
    most_unanswered: int = 0
    _behaviours: set[int] = field(default_factory=set)  # hashes: trajectories would be most of the memory of a run

    @property
    def outcomes(self) -> int:
        """The number of candidates that were evaluated or rejected, registered or not, without the template."""
        return self.feasible + self.rejected.total()

    def take_reply(self, reply: Reply) -> None:
        """Count the tokens and the unanswered requests of a reply."""
        self.unanswered += reply.unanswered
        self.most_unanswered = max(self.most_unanswered, reply.unanswered)
        known = self.tokens.setdefault(reply.model, NO_TOKENS)
        if reply.calls:  # a reply without a request says nothing about the size of the next request
            own = Tokens.of(reply.calls)
            self.tokens[reply.model] = known + own
            self.largest[reply.model] = self.largest.get(reply.model, NO_TOKENS).or_more(own.with_estimates())

    def take_outcome(self, outcome: Evaluated | Rejected) -> None:
        """Count the outcome of a candidate; for the template, only the CPU time."""
        # a copy was not run: its time is the original's
        self.cpu_s += outcome.cpu_s if outcome.copy_of is None else 0.0
        if isinstance(outcome, Rejected):
            if outcome.stage != "tune":  # nobody wrote a program that failed
                self.rejected[outcome.reason] += 1
        elif outcome.candidate != TEMPLATE:
            self.feasible += 1
            self.repeated_programs += outcome.copy_of is not None
            # collisions are fine for a count; decisions compare in full
            behaviour = hash(pack_states(outcome.trajectories))
            is_repeated = behaviour in self._behaviours
            self.repeated_behaviours += is_repeated
            self.recent_repeats.append(is_repeated)
            self._behaviours.add(behaviour)

    def take_failure_in_race(self, reason: str) -> None:
        """Count a feasible candidate as rejected for this reason: it failed on further instances."""
        self.feasible -= 1
        self.rejected[reason] += 1

    def take_repair(self, rejected: Rejected) -> None:
        """Count a repair: the candidate of `rejected` was asked for again, so that this rejection no longer counts."""
        self.rejected[rejected.reason] -= 1
        self.rejected = +self.rejected  # drops reasons with a count of 0
        self.repairs += 1


# What a run remembers of its registered candidates for prompts: best scores, ideas and failures, all bounded.


# Number of rejected candidates that are remembered, the latest ones. A prompt looks among them for those that were
# written from the programs that it shows.
FAILED = 100
# Largest number of ideas of good programs that are remembered.
IDEAS = 8


@dataclass(frozen=True)
class Failed:
    """A rejected candidate, without its source, and the programs that its prompt showed."""

    parents: tuple[CandidateId, ...]
    rejected: Rejected


# Number of feasible candidates that are remembered for each program that they were written from, the latest ones.
ATTEMPTS = 12


@dataclass(frozen=True)
class Attempt:
    """A feasible candidate with a thought, which is not empty: what it tried, and what became of it."""

    candidate: CandidateId
    score: float
    thought: str
    operator: str
    scores: tuple[float, ...] = ()


@dataclass
class PromptHistory:
    """What prompts say of all registered candidates of a run.

    Candidates that are not registered yet do not count, so the order in which replies arrive does not matter.
    """

    # number of registered candidates with a score
    ran: int = 0
    # number of registered candidates that were rejected
    failed: int = 0
    # the best score of any registered candidate on each instance; empty before the first with a score
    best_scores: tuple[float, ...] = ()
    # the best programs by their ideas, best first, at most IDEAS; of equally good ones the latest first, as the others
    # were told before; programs with one idea count once, by the best score
    ideas: tuple[Attempt, ...] = ()
    # the last FAILED candidates that were rejected, in the order of their numbers
    failures: deque[Failed] = field(default_factory=lambda: deque(maxlen=FAILED))
    # by program, the last ATTEMPTS feasible candidates with a thought whose prompt showed it as a parent
    attempts: dict[CandidateId, deque[Attempt]] = field(default_factory=dict)

    def take(self, registered: OpenCandidate, objective: Objective) -> None:
        """Count a candidate that is registered now; it must have an outcome."""
        outcome = registered.outcome
        if isinstance(outcome, Rejected):
            self.failed += 1
            self.failures.append(Failed(registered.asked.parents, replace(outcome, source="")))
        elif isinstance(outcome, Evaluated):
            self.ran += 1
            known = self.best_scores or outcome.scores
            self.best_scores = tuple(map(objective.best, zip(known, outcome.scores, strict=False)))
            if outcome.thought and not registered.is_tuned:
                asked = registered.asked
                attempt = Attempt(
                    outcome.candidate, outcome.score, outcome.thought, asked.prompt.operator, outcome.scores
                )
                self._take_idea(attempt, objective)
                for parent in asked.parents:
                    if parent != TEMPLATE:  # every first program would be an attempt at it
                        self.attempts.setdefault(parent, deque(maxlen=ATTEMPTS)).append(attempt)

    def _take_idea(self, idea: Attempt, objective: Objective) -> None:
        same = next((each for each in self.ideas if each.thought == idea.thought), None)
        if same and objective.utility(same.score) >= objective.utility(idea.score):
            return
        kept = [idea, *(each for each in self.ideas if each is not same)]
        # `sorted` is stable: of equally good programs the latest stays first
        self.ideas = tuple(sorted(kept, key=lambda each: -objective.utility(each.score))[:IDEAS])


# What each model has done for a run, by which later questions may choose a model.


@dataclass(frozen=True)
class ModelRecord:
    """What one model has done so far, counted over the registered candidates whose last reply it wrote."""

    # number of registered candidates whose last reply this model wrote
    candidates: int = 0
    # number of these candidates that score better than the best program that their prompt showed
    gains: int = 0
    # tokens and cost of the last reply to each of these candidates, summed; earlier replies do not count
    tokens: Tokens = NO_TOKENS


def add_to_record(models: dict[str, ModelRecord], registered: OpenCandidate, utility: float | None) -> None:
    """Count a registered candidate in `models`, in the record of the model that wrote its last reply.

    `utility` is the candidate's score, turned so that higher is better; None if it was rejected. A reply without a
    request, such as the program that a person injected, is not counted.
    """
    reply, bar = registered.reply, registered.baseline_utility
    if reply is None or not reply.calls:
        return
    before = models.get(reply.model, ModelRecord())
    is_gain = utility is not None and bar is not None and utility > bar
    models[reply.model] = ModelRecord(
        before.candidates + 1, before.gains + is_gain, before.tokens + Tokens.of(reply.calls)
    )


# The different behaviours of a run so far, one line for each: programs that behave alike share one.


# Largest number of groups; after that a new program joins the nearest group, however far it is.
#
# There is a limit because each new program is compared with the first program of each group.
MOST = 24
# Number of distances, the first ones, whose median is the unit of the radius. Later ones would change it little.
SAMPLE = 200


@dataclass(frozen=True)
class BehaviourGroup:
    """Programs that behave alike: how many, and the score and idea of the best one.

    If that one has no idea, `idea` is that of the best one before it; "" if there is none either.
    """

    count: int
    score: float
    idea: str


class BehaviourGroups:
    """Divides programs, one after another, into groups; the first program of a group represents it."""

    def __init__(self, measure: BehaveSim, radius: float, sign: int) -> None:
        """Begin without programs, which `measure` will compare.

        A distance of more than `radius` times the median distance begins a new group. `sign` is 1 if greater scores are
        better, and -1 if lower ones are.
        """
        self._measure = measure
        self._radius = radius
        self._sign = sign
        self._leaders: Archive | None = None
        self._groups: list[BehaviourGroup] = []
        self._distances: list[float] = []

    def add(self, algorithm: Sequence[AlgorithmRun], score: float, idea: str) -> None:
        """Add a program to the group nearest to it, or to a new one; raises TrajectoryError if it does not fit them."""
        from behavesim.similarity import Archive

        if self._leaders is None:
            self._leaders = Archive()
        far = 1.0 - self._measure.one_vs_many(algorithm, self._leaders) if self._groups else np.empty(0)
        apart = self._radius * float(np.median(self._distances)) if self._distances else 0.0
        self._distances += far.tolist()[: SAMPLE - len(self._distances)]
        if far.size and (far.min() <= apart or len(self._groups) == MOST):
            self._join(int(far.argmin()), score, idea)
        else:
            self._leaders.append(algorithm)
            self._groups.append(BehaviourGroup(1, score, idea))

    def best(self) -> list[BehaviourGroup]:
        """Return all groups, those with the best scores first."""
        return sorted(self._groups, key=lambda group: -self._sign * group.score)

    def _join(self, number: int, score: float, idea: str) -> None:
        group = replace(self._groups[number], count=self._groups[number].count + 1)
        is_better = self._sign * score > self._sign * group.score
        self._groups[number] = replace(group, score=score, idea=idea or group.idea) if is_better else group
