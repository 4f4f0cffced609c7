"""Adds costs, and estimates of tokens that no endpoint counted, to the requests of each reply."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from behavesim.base.plugins import failures_named
from behavesim.base.tokens import Usage
from behavesim.state.events import Prompt, Reply
from behavesim.state.protocols import Responder

Cost = Callable[[str, Usage], float | None]
"""Returns a request's cost in USD at today's prices, for a model's name and its tokens; None if it is unknown."""


class PricedProposer:
    """Passes prompts to another proposer and adds missing token estimates and costs to its replies."""

    def __init__(self, proposer: Responder, cost: Cost | None) -> None:
        """`cost` gives the price of a request of `proposer`; it is None for a proposer that costs no money."""
        self._proposer = proposer
        self._cost = cost

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        """Return the other proposer's reply, with tokens for each of its calls, and a cost in USD if that is known.

        A reply that lists no calls counts as one call if it costs money. Raises whatever the other proposer raises, but
        PartError if a user's own proposer raises an exception that is no BehavesimError.
        """
        with failures_named(type(self._proposer), "proposer"):
            reply = await self._proposer.propose(prompt, number)
        # A proposer of a user's own need not list calls; a reply that may cost something counts as one all the same.
        calls = reply.calls or ((Usage(),) if self._cost else ())
        estimated = (call.with_estimates(prompt.text, reply.text) for call in calls)
        return replace(reply, calls=tuple(self._priced(reply.model, call) for call in estimated))

    def _priced(self, model: str, call: Usage) -> Usage:
        """Return a request's tokens with their cost, unless it has one or the other proposer costs no money."""
        if self._cost is None or call.cost_usd is not None:
            return call
        return replace(call, cost_usd=self._cost(model, call))
