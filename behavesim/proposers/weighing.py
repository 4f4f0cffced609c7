"""Adds tokens and cost to the requests of each reply: tokens as counted by the endpoint, else estimated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from behavesim.base.plugins import failures_named
from behavesim.base.tokens import Usage
from behavesim.state.events import Prompt, Reply
from behavesim.state.protocols import Responder

Cost = Callable[[str, Usage], float | None]
"""Function from a model and a request's tokens to its cost in USD at today's prices; None if that is unknown."""


class Weighing:
    """Passes prompts to another proposer and adds missing token estimates and costs to its replies."""

    def __init__(self, proposer: Responder, cost: Cost | None) -> None:
        """`cost` gives the price of a request; None for a proposer that costs no money."""
        self._proposer = proposer
        self._cost = cost

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        """Return the other proposer's reply, with tokens for each of its calls, and a cost in USD if that is known.

        A reply that lists no calls counts as one call if it costs money. Raises PartError if a proposer from a user's
        own file raises, and whatever BehavesimError the other proposer raises.
        """
        with failures_named(type(self._proposer), "proposer"):
            reply = await self._proposer.propose(prompt, number)
        calls = reply.calls or ((Usage(),) if self._cost else ())
        weighed = (call.with_estimates(prompt.text, reply.text) for call in calls)
        return replace(reply, calls=tuple(self._priced(reply.model, call) for call in weighed))

    def _priced(self, model: str, call: Usage) -> Usage:
        """Return the call with its cost in USD, unless it has one already or costs no money."""
        if self._cost is None or call.cost_usd is not None:
            return call
        return replace(call, cost_usd=self._cost(model, call))
