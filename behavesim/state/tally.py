"""Counts of a run's outcomes and of the tokens of its requests, for people and for caps."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field

from behavesim.base.tokens import NO_TOKENS, Tokens
from behavesim.state.events import TEMPLATE, Evaluated, Rejected, Reply
from behavesim.trajectory import packed

RECENT = 100
"""How many of the last candidates are remembered, to tell whether a run still finds feasible and new programs."""


def _recent() -> deque[bool]:
    return deque(maxlen=RECENT)


@dataclass
class Tally:
    """Counts over a run so far. No method decides by them."""

    feasible: int = 0
    """Candidates with a score."""
    rejected: Counter[str] = field(default_factory=Counter)
    """Rejected candidates by reason. A repaired candidate counts with its last outcome only."""
    repairs: int = 0
    """Times a rejected candidate was asked for again."""
    recent: deque[bool] = field(default_factory=_recent)
    """Whether each of the last RECENT registered candidates was feasible, oldest first."""
    repeated_programs: int = 0
    """Feasible candidates with the same text as an earlier one."""
    repeated_behaviours: int = 0
    """Feasible candidates with exactly the trajectories of an earlier one."""
    recent_repeats: deque[bool] = field(default_factory=_recent)
    """Whether each of the last RECENT feasible candidates repeated an earlier one's trajectories, oldest first."""
    cpu_s: float = 0.0
    """CPU seconds of all programs that were run, the template included."""
    tokens: dict[str, Tokens] = field(default_factory=dict)
    """Total tokens and cost of all replies, by the name of the model."""
    largest: dict[str, Tokens] = field(default_factory=dict)
    """By model: the maximum of calls, of prompt tokens and of completion tokens in one reply, estimates included."""
    unanswered: int = 0
    """Requests that were sent and never answered. They may have been billed."""
    most_unanswered: int = 0
    """The maximum of unanswered requests for one reply."""
    _behaviours: set[int] = field(default_factory=set)  # hashes: trajectories would be most of the memory of a run

    @property
    def outcomes(self) -> int:
        """The number of candidates that were evaluated or rejected, registered or not."""
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
        """Count the outcome of a candidate. Of the template, count the CPU time only."""
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
        """Take a rejection back, because its candidate was asked for again; count the repair."""
        self.rejected[rejected.reason] -= 1
        self.rejected = +self.rejected  # drops reasons with a count of 0
        self.repairs += 1
