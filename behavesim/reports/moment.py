"""A run at one moment, and what follows from that alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from behavesim.base.config import Settings
from behavesim.base.notices import Notice
from behavesim.state.events import GroupName
from behavesim.state.state import RunState

FEW = 10
"""Candidates from which on a rate says something of the time that is left."""
LONG = 200
"""Candidates without a better program after which a group is stuck; a quarter of the budget where that is less."""


@dataclass(frozen=True)
class Moment:
    """A run at one moment.

    `rate` is candidates registered a second of late; `cost_usd`, estimates included, is None where a price is
    unknown; `facts` is what the method has to say of itself; `is_warming` says that the comparison is being loaded,
    which includes compiling it where it is the first on a machine. `notices` is what was said of the run in this
    session, in order.
    """

    run: str
    settings: Settings
    state: RunState
    active_s: float
    rate: float
    cost_usd: float | None
    facts: Mapping[str, str] = field(default_factory=dict)
    is_warming: bool = False
    notices: tuple[Notice, ...] = ()

    @property
    def left_s(self) -> float | None:
        """Seconds until the budget is spent at the present rate; None while too few are registered to speak of one."""
        if self.state.registered < FEW or self.rate <= 0:
            return None
        return (self.settings.budget - self.state.registered) / self.rate

    @property
    def waiting(self) -> int:
        """Candidates that wait for a reply."""
        return sum(candidate.reply is None for candidate in self.state.open.values())

    @property
    def evaluating(self) -> int:
        """Candidates whose reply has come and whose evaluation has not."""
        return sum(c.reply is not None and c.outcome is None for c in self.state.open.values())

    @property
    def answered(self) -> int:
        """Candidates whose reply has come."""
        return self.state.asked - self.waiting

    @property
    def long(self) -> int:
        """Candidates for which a group may go without a better program before it is stuck."""
        return max(1, min(LONG, self.settings.budget // 4))

    @property
    def stuck(self) -> list[GroupName]:
        """The groups that have had no better program for so long, nor been arranged anew."""
        bests = {name: group.bests for name, group in self.state.islands.items() if group.members}
        return [name for name, best in bests.items() if best and self.state.registered - best[-1][0] >= self.long]
