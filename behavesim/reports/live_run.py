"""A run as the live view shows it at one moment: its state, its progress, and what it has spent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from behavesim.base.config import Settings
from behavesim.base.notices import Notice
from behavesim.base.text import dollars
from behavesim.base.tokens import NO_TOKENS, Tokens
from behavesim.state.events import GroupName
from behavesim.state.state import RunState

FEW = 10
"""Number of candidates from which the remaining time and means per reply are shown: earlier they change too much."""
LONG = 200
"""Number of candidates without a better program after which an island counts as stuck, if the budget is 800 or more.

With a smaller budget it is a quarter of the budget.
"""


@dataclass(frozen=True)
class LiveRun:
    """A run as it is at one moment; `run` is its name.

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


def spending(live: LiveRun) -> dict[str, str | None]:
    """Return facts on requests, tokens and cost, with their caps; no facts if no request was answered.

    "requests" is None without a cap on them. Tokens are "unknown" if no answer reported them and none are
    estimated; the cost is "unknown" if a price is. What holds estimates is marked with "about".
    """
    used, settings = live.state.tally.tokens.values(), live.settings
    whole = sum((each.with_estimates() for each in used), NO_TOKENS)
    if not whole.calls:
        return {}
    is_estimated = any(each.estimated_prompt or each.estimated_completion for each in used)
    return {
        "requests": None if settings.max_calls is None else f"{whole.calls:,} of {settings.max_calls:,}",
        "tokens": _tokens(live, whole, is_estimated),
        "cost": f"{'about ' if is_estimated and live.cost_usd is not None else ''}{_cost(live)}",
    }


def _tokens(live: LiveRun, whole: Tokens, is_estimated: bool) -> str:
    """Return the tokens used, their cap, and how many a minute; "unknown" if nothing is known of them."""
    if whole.unreported == whole.calls and not is_estimated:
        return "unknown"
    most = live.settings.max_tokens
    known = f"{whole.prompt:,} in, {whole.completion:,} out{'' if most is None else f' of {most:,}'}"
    known = f"about {known}, estimated from the text" if is_estimated else known
    a_reply = _a_reply(live, whole.prompt + whole.completion)
    return known if a_reply is None or not live.rate else f"{known}; {60 * a_reply * live.rate:,.0f}/min"


def _cost(live: LiveRun) -> str:
    """Return the cost, its cap, and what an hour and the whole budget cost at the present rate."""
    most = live.settings.max_cost_usd
    known = f"{dollars(live.cost_usd)}{'' if most is None else f' of {dollars(most)}'}"
    a_reply = _a_reply(live, live.cost_usd)
    if a_reply is None:
        return known
    an_hour = f"{dollars(3600 * a_reply * live.rate)}/h, " if live.rate else ""
    return f"{known}; {an_hour}{dollars(a_reply * live.settings.budget)} for the whole budget"


def _a_reply(live: LiveRun, amount: float | None) -> float | None:
    """Return the total `amount` divided by the number of replies; None if it is None, or before FEW replies."""
    return amount / live.answered if amount is not None and live.answered >= FEW else None
