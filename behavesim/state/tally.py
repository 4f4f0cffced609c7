"""Counts of a run's outcomes and of the tokens of its requests, for people and for caps."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field

from behavesim.base.tokens import NO_TOKENS, Tokens
from behavesim.state.events import TEMPLATE, Evaluated, Rejected, Reply
from behavesim.trajectory import packed

RECENT = 100
"""Number of the last candidates to remember, to tell whether a run still finds feasible and new programs."""


@dataclass
class Tally:
    """Counts over a run so far, for caps, warnings and people. No method decides by them."""

    feasible: int = 0
    """Candidates with a score, registered or not, without the template."""
    rejected: Counter[str] = field(default_factory=Counter)
    """Rejected candidates by reason, registered or not. One that is asked for again counts with its last outcome."""
    put_off: Counter[str] = field(default_factory=Counter)
    """Evaluations that said nothing of a program and were repeated alone, by reason: "clock", "memory" or "cpu"."""
    repairs: int = 0
    """Times a rejected candidate was asked for again."""
    recent: deque[bool] = field(default_factory=lambda: deque(maxlen=RECENT))
    """Whether each of the last RECENT registered candidates was feasible, oldest first."""
    repeated_programs: int = 0
    """Feasible candidates with exactly the program text of an earlier one, so they were not run."""
    repeated_behaviours: int = 0
    """Feasible candidates with exactly the trajectories of an earlier feasible one, by a hash of them."""
    recent_repeats: deque[bool] = field(default_factory=lambda: deque(maxlen=RECENT))
    """Whether each of the last RECENT feasible candidates repeated an earlier one's trajectories, oldest first."""
    cpu_s: float = 0.0
    """CPU seconds of all programs that were run, template and rejected ones included; copies were not run."""
    tokens: dict[str, Tokens] = field(default_factory=dict)
    """Tokens and cost of all requests that have a reply, by the name of the model."""
    largest: dict[str, Tokens] = field(default_factory=dict)
    """By model, for each field the most that one reply took, with all its requests; estimates are included."""
    unanswered: int = 0
    """Requests that were sent and never answered, those of earlier sessions included. They may have been billed."""
    most_unanswered: int = 0
    """The most requests that were sent in vain for one reply."""
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
            self.rejected[outcome.reason] += 1
        elif outcome.candidate != TEMPLATE:
            self.feasible += 1
            self.repeated_programs += outcome.copy_of is not None
            behaviour = hash(packed(outcome.trajectories))  # collisions are fine for a count; decisions compare in full
            is_repeated = behaviour in self._behaviours
            self.repeated_behaviours += is_repeated
            self.recent_repeats.append(is_repeated)
            self._behaviours.add(behaviour)

    def take_repair(self, rejected: Rejected) -> None:
        """Count a repair: the candidate of `rejected` was asked for again, so that this rejection no longer counts."""
        self.rejected[rejected.reason] -= 1
        self.rejected = +self.rejected  # drops reasons with a count of 0
        self.repairs += 1
