"""A run at one moment, as the live view shows it, and quantities computed from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from behavesim.base.config import Settings
from behavesim.base.notices import Notice
from behavesim.state.events import GroupName
from behavesim.state.state import RunState

FEW = 10
"""Number of candidates from which the remaining time and means per reply are shown: earlier they change too much."""
LONG = 200
"""Number of candidates without a better program after which an island counts as stuck, if the budget is 800 or more.

With a smaller budget it is a quarter of the budget.
"""


@dataclass(frozen=True)
class Moment:
    """A run at one moment; `run` is its name.

    `active_s` is the time the run has been active, in seconds, pauses between sessions left out. `rate` is the recent
    number of candidates registered per second, 0 if unknown. `cost_usd` is the cost of all requests so far in USD; it
    includes estimates, and is None if a price is unknown.
    `facts` are the method's own lines for the live view, by name. `is_warming` is true while the comparison of
    behaviours is being loaded or compiled. `notices` are the messages of this session, oldest first.
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
        """Seconds until the budget is spent at the present rate; None before FEW candidates, or at a rate of 0."""
        if self.state.registered < FEW or self.rate <= 0:
            return None
        return (self.settings.budget - self.state.registered) / self.rate

    @property
    def waiting(self) -> int:
        """Number of open candidates that wait for a reply; notes do not count."""
        return sum(candidate.reply is None for candidate in self.state.open.values())  # few: at most the window

    @property
    def evaluating(self) -> int:
        """Number of candidates that have a reply, and whose evaluation has not ended."""
        return sum(c.reply is not None and c.outcome is None for c in self.state.open.values())

    @property
    def answered(self) -> int:
        """Number of candidates that were asked for in the whole run and do not wait for a reply."""
        return self.state.asked - self.waiting

    @property
    def long(self) -> int:
        """Number of candidates without a better program after which an island counts as stuck; at least 1."""
        return max(1, min(LONG, self.settings.budget // 4))

    @property
    def stuck(self) -> list[GroupName]:
        """Names of the islands without a better program for `long` candidates or more; empty islands do not count."""
        bests = {name: group.bests for name, group in self.state.islands.items() if group.members}
        return [name for name, best in bests.items() if best and self.state.registered - best[-1][0] >= self.long]
