"""What ends a run: its budget of candidates, and the caps on calls, tokens, money and time."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from behavesim.state import RunState, Tokens

Price = Callable[[str, Tokens], float | None]
"""The cost of some tokens of a model in USD; None where its price is unknown."""


@dataclass(frozen=True)
class Caps:
    """The limits of a run; each holds over all its sessions, and None is no limit.

    A request in flight counts as the mean of those answered so far, so that a cap is not overrun by what is under way.
    """

    budget: int
    price: Price
    max_calls: int | None = None
    max_tokens: int | None = None
    max_cost_usd: float | None = None
    max_time_s: float | None = None
    active_before_s: float = 0.0
    clock: Callable[[], float] = time.monotonic
    since: float = 0.0

    def reached(self, state: RunState) -> str | None:
        """The name of the limit that forbids another candidate; None while there is none."""
        return "budget" if state.asked >= self.budget else self.exhausted(state)

    def exhausted(self, state: RunState) -> str | None:
        """The name of the cap that forbids another request, be it for a new candidate or a repair."""
        in_flight = sum(candidate.reply is None for candidate in state.open.values())
        calls = sum(tokens.calls for tokens in state.tokens.values())
        total = sum(tokens.prompt + tokens.completion for tokens in state.tokens.values())
        cost = self.cost(state)
        share = 1 + in_flight / calls if calls else 1.0
        if self.max_calls is not None and calls + in_flight >= self.max_calls:
            return "max_calls"
        if self.max_tokens is not None and total * share >= self.max_tokens:
            return "max_tokens"
        if self.max_cost_usd is not None and cost is not None and cost * share >= self.max_cost_usd:
            return "max_cost"
        if self.max_time_s is not None and self.active_s() >= self.max_time_s:
            return "max_time"
        return None

    def cost(self, state: RunState) -> float | None:
        """What the run has cost so far in USD; None where a price is unknown."""
        return spent(state.tokens, self.price)

    def active_s(self) -> float:
        """Seconds the run has been active, pauses between sessions left out."""
        return self.active_before_s + self.clock() - self.since


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
