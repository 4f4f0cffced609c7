"""What replies took, said of each of them: as the endpoint counted it, or else as estimated, and what that costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from behavesim.base.plugins import failures_named
from behavesim.base.tokens import Usage
from behavesim.state.events import Prompt, Reply
from behavesim.state.protocols import Responder

Cost = Callable[[str, Usage], float | None]
"""What a request to a model costs in USD if made now; None where that is unknown."""


class Weighing:
    """Answers as another proposer does; what costs money and says nothing of it is estimated, and never nothing."""

    def __init__(self, proposer: Responder, cost: Cost | None) -> None:
        """`cost` is None of a proposer that costs no money."""
        self._proposer = proposer
        self._cost = cost

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        """The reply, each of its calls with what it took; where it lists none and costs money, it was one call.

        Raises PartError where a proposer of one's own fails.
        """
        with failures_named(type(self._proposer), "proposer"):
            reply = await self._proposer.propose(prompt, number)
        calls = reply.calls or ((Usage(),) if self._cost else ())
        weighed = (call.with_estimates(prompt.text, reply.text) for call in calls)
        return replace(reply, calls=tuple(self._priced(reply.model, call) for call in weighed))

    def _priced(self, model: str, call: Usage) -> Usage:
        """With its cost, where nobody has said it yet."""
        if self._cost is None or call.cost_usd is not None:
            return call
        return replace(call, cost_usd=self._cost(model, call))
