"""No reply that costs money is taken for free because nobody said what it took."""

from __future__ import annotations

from behavesim.events import Prompt, Reply, Usage, estimated_tokens
from behavesim.proposers.weighing import Weighing
from tests.proposers.asking import OWN, prompt


class Answering:
    """Answers with calls as told."""

    def __init__(self, *calls: Usage) -> None:
        self._calls = calls

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        return Reply("a reply", "m", self._calls)


async def test_what_was_counted_stays_as_it_is() -> None:
    reply = await Weighing(Answering(OWN), costs_money=True).propose(prompt(), 0)
    assert reply == Reply("a reply", "m", (OWN,))


async def test_a_reply_that_lists_no_call_was_one_where_it_costs_money_and_none_where_it_does_not() -> None:
    paid = await Weighing(Answering(), costs_money=True).propose(prompt("what?"), 0)
    estimate = Usage(estimated_prompt=estimated_tokens("what?"), estimated_completion=estimated_tokens("a reply"))
    assert paid.calls == (estimate,)
    free = await Weighing(Answering(), costs_money=False).propose(prompt("what?"), 0)
    assert free.calls == ()
