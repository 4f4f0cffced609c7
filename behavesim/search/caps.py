"""What ends a run: its budget of candidates, the caps on calls, tokens, money and time, and too many rejections."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from behavesim.base.config import Settings
from behavesim.base.heartbeat import Heartbeat
from behavesim.base.tokens import Price, Spending, Tokens
from behavesim.state.state import RunState

ENOUGH = 50
"""Candidates that must be registered before the share of rejected ones says anything."""


@dataclass(frozen=True)
class Caps:
    """The limits of a run; each holds over all its sessions, and None is no limit.

    What is not known counts at the cautious end: tokens that an endpoint did not count as estimated from the text, and
    a request that is under way or was given up unanswered as the largest so far. While nothing was answered, one goes
    alone. So a cap is overrun only by what is larger than everything before it.
    """

    budget: int
    price: Price
    max_calls: int | None = None
    max_tokens: int | None = None
    max_cost_usd: float | None = None
    max_time_s: float | None = None
    active_before_s: float = 0.0
    clock: Heartbeat = field(default_factory=Heartbeat)
    since: float = 0.0
    max_rejected_share: float = 1.0

    @classmethod
    def of(cls, settings: Settings, price: Price, clock: Heartbeat, active_before_s: float) -> Caps:
        """The limits of a session that begins now, of a run that has been active for so many seconds before."""
        return cls(
            settings.budget,
            price,
            max_calls=settings.max_calls,
            max_tokens=settings.max_tokens,
            max_cost_usd=settings.max_cost_usd,
            max_time_s=settings.max_time_s,
            max_rejected_share=settings.max_rejected_share,
            active_before_s=active_before_s,
            clock=clock,
            since=clock(),
        )

    @property
    def limits_requests(self) -> bool:
        """Return whether a cap depends on what requests take."""
        return any(limit is not None for limit in (self.max_calls, self.max_tokens, self.max_cost_usd))

    def forbids_candidate(self, state: RunState, unasked: int = 0) -> str | None:
        """Return the name of the limit that forbids another candidate, or None. `unasked` as in `forbids_request`."""
        return "budget" if state.asked >= self.budget and not unasked else self.forbids_request(state, unasked)

    def forbids_request(self, state: RunState, unasked: int = 0) -> str | None:
        """Return the cap that one more request could overrun, for a candidate, repair or note; or None.

        `unasked` is the number of open questions that a resumed run has not sent again yet.
        """
        if (ended := self.ends_run(state)) is not None:
            return ended
        if not self.limits_requests:
            return None
        spent = self.spending(state)
        replies = [Spending.of({model: largest}, self.price) for model, largest in state.tally.largest.items()]
        sent = state.waiting - unasked + 1
        ahead = state.tally.unanswered + sent * (1 + state.tally.most_unanswered)
        unknown = math.inf if sent > 1 else 0.0

        def could_overrun(limit: float | None, amount: Callable[[Spending], float], first: float) -> bool:
            largest = max(map(amount, replies), default=first)
            return limit is not None and amount(spent) + ahead * largest > limit

        if could_overrun(self.max_calls, lambda spending: spending.calls, first=1.0):
            return "max_calls"
        if could_overrun(self.max_tokens, lambda spending: spending.prompt + spending.completion, first=unknown):
            return "max_tokens"
        if could_overrun(self.max_cost_usd, lambda spending: spending.cost_usd or 0.0, first=unknown):
            return "max_cost"
        return None

    def ends_run(self, state: RunState) -> str | None:
        """Return the name of the cap that ends the run at once, with what is under way; or None."""
        if self.left_s() <= 0:
            return "max_time"
        if rejected_share(state) > self.max_rejected_share:
            return "max_rejected_share"
        if self.max_cost_usd is not None and self.spending(state).cost_usd is None:
            return "unknown_price"
        return None

    def spending(self, state: RunState) -> Spending:
        """Return what the run has taken so far."""
        return Spending.of(state.tally.tokens, self.price)

    def active_s(self) -> float:
        """Return the seconds that the run has been active, without pauses between sessions."""
        return self.active_before_s + self.clock() - self.since

    def left_s(self) -> float:
        """Return the seconds until the run's time is up; infinity without a limit."""
        return math.inf if self.max_time_s is None else self.max_time_s - self.active_s()


def is_capped(settings: Settings) -> bool:
    """Return whether a cap on calls, tokens, money or time is set."""
    caps = (
        settings.max_calls,
        settings.max_tokens,
        settings.max_cost_usd,
        settings.max_time_s,
    )
    return any(cap is not None for cap in caps)


def rejected_share(state: RunState) -> float:
    """Return the share of rejected candidates among the last registered, 0 to 1; 0 for fewer than ENOUGH."""
    recent = state.tally.recent
    return recent.count(False) / len(recent) if len(recent) >= ENOUGH else 0.0


def spent(tokens: Mapping[str, Tokens], price: Price) -> float | None:
    """What all requests cost in USD as far as their tokens were reported.

    None where a price is unknown, or where an endpoint reported no tokens at all.
    """
    total = 0.0
    for model, used in tokens.items():
        cost = price(model, used) if used.calls else 0.0
        if cost is None or (used.calls and used.unreported == used.calls):
            return None
        total += cost
    return total
