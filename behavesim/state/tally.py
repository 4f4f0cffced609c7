"""The tally of a run: what its candidates came to and what its requests took, for people and for caps."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field

from behavesim.base.tokens import NO_TOKENS, Tokens
from behavesim.state.events import TEMPLATE, Evaluated, Rejected, Reply
from behavesim.trajectory import packed

RECENT = 100
"""The last candidates, by which it is known whether a run comes to anything any more."""


def _last_ones() -> deque[bool]:
    return deque(maxlen=RECENT)


@dataclass
class Tally:
    """Counts that no decision of a method goes by."""

    feasible: int = 0
    """Candidates with a score."""
    rejected: Counter[str] = field(default_factory=Counter)
    """Candidates that came to nothing, by reason; a repaired one counts as what became of it in the end."""
    repairs: int = 0
    """Times a rejected candidate was asked for again."""
    recent: deque[bool] = field(default_factory=_last_ones)
    """Whether each of the candidates registered last was feasible."""
    repeated_programs: int = 0
    """Feasible candidates whose text was known already."""
    repeated_behaviours: int = 0
    """Feasible candidates that do exactly what another one did before."""
    recent_repeats: deque[bool] = field(default_factory=_last_ones)
    """Whether each of the candidates that were evaluated last did exactly what another one did before."""
    cpu_s: float = 0.0
    """CPU seconds that programs took."""
    tokens: dict[str, Tokens] = field(default_factory=dict)
    """What the replies of each model took together, by its name."""
    largest: dict[str, Tokens] = field(default_factory=dict)
    """The most calls, prompt and completion that any single reply of a model took, estimates included."""
    unanswered: int = 0
    """Requests that were sent and never answered, which may have been billed all the same."""
    most_unanswered: int = 0
    """The most of them for any single reply."""
    _behaviours: set[int] = field(default_factory=set)  # hashes: trajectories would be most of the memory of a run

    @property
    def outcomes(self) -> int:
        """Candidates of which it is known what they came to."""
        return self.feasible + self.rejected.total()

    def take_reply(self, reply: Reply) -> None:
        """Count what a reply took."""
        self.unanswered += reply.unanswered
        self.most_unanswered = max(self.most_unanswered, reply.unanswered)
        known = self.tokens.setdefault(reply.model, NO_TOKENS)
        if reply.calls:  # what nobody was asked for says nothing of what the next request may take
            own = Tokens.of(reply.calls)
            self.tokens[reply.model] = known + own
            self.largest[reply.model] = self.largest.get(reply.model, NO_TOKENS).or_more(own.with_estimates())

    def take_outcome(self, outcome: Evaluated | Rejected) -> None:
        """Count what became of a candidate, or of the template."""
        self.cpu_s += outcome.cpu_s if outcome.copy_of is None else 0.0
        if isinstance(outcome, Rejected):
            self.rejected[outcome.reason] += 1
        elif outcome.candidate != TEMPLATE:
            self.feasible += 1
            self.repeated_programs += outcome.copy_of is not None
            behaviour = hash(packed(outcome.trajectories))  # for a count that people read; decisions compare in full
            is_repeated = behaviour in self._behaviours
            self.repeated_behaviours += is_repeated
            self.recent_repeats.append(is_repeated)
            self._behaviours.add(behaviour)

    def take_repair(self, rejected: Rejected) -> None:
        """Count a rejected candidate as open again."""
        self.rejected[rejected.reason] -= 1
        self.rejected = +self.rejected  # without the reasons that nobody was rejected for in the end
        self.repairs += 1
