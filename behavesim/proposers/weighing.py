"""What replies took, said of each of them: as the endpoint counted it, or else as estimated from the text."""

from __future__ import annotations

from dataclasses import replace

from behavesim.events import Prompt, Reply, Usage
from behavesim.plugins import failures_named
from behavesim.protocols import Proposer


class Weighing:
    """Answers as another proposer does; what costs money and says nothing of it is estimated, and never nothing."""

    def __init__(self, proposer: Proposer, costs_money: bool) -> None:
        self._proposer = proposer
        self._costs_money = costs_money

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        """The reply, each of its calls with what it took; where it lists none and costs money, it was one call.

        Raises PartError where a proposer of one's own fails.
        """
        with failures_named(type(self._proposer), "proposer"):
            reply = await self._proposer.propose(prompt, number)
        calls = reply.calls or ((Usage(),) if self._costs_money else ())
        return replace(reply, calls=tuple(call.with_estimates(prompt.text, reply.text) for call in calls))
