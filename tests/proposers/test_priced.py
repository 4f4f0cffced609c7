"""No reply that costs money is taken for free because nobody said what it took, and each says what it cost."""

from __future__ import annotations

from dataclasses import replace

from behavesim.base.tokens import Usage, estimated_tokens
from behavesim.proposers.priced import PricedProposer
from behavesim.state.events import Prompt, Reply
from tests.proposers.asking import OWN, prompt


class Answering:
    """Answers with calls as told."""

    def __init__(self, *calls: Usage) -> None:
        self._calls = calls

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        return Reply("a reply", "m", self._calls)


def unknown(model: str, usage: Usage) -> float | None:
    return None


def a_cent_a_token(model: str, usage: Usage) -> float | None:
    return 0.01 * ((usage.prompt or 0) + (usage.completion or usage.estimated_completion or 0))


async def test_what_was_counted_stays_as_it_is() -> None:
    reply = await PricedProposer(Answering(OWN), unknown).propose(prompt(), 0)
    assert reply == Reply("a reply", "m", (OWN,))


async def test_each_request_says_what_it_cost_with_the_estimates_unless_somebody_has_said_it() -> None:
    said = replace(OWN, cost_usd=0.5)
    reply = await PricedProposer(Answering(OWN, said, Usage(prompt=3)), a_cent_a_token).propose(prompt(), 0)
    assert [call.cost_usd for call in reply.calls] == [1.5, 0.5, 0.01 * (3 + estimated_tokens("a reply"))]
    assert (await PricedProposer(Answering(OWN), None).propose(prompt(), 0)).calls[0].cost_usd is None


async def test_a_reply_that_lists_no_call_was_one_where_it_costs_money_and_none_where_it_does_not() -> None:
    paid = await PricedProposer(Answering(), unknown).propose(prompt("what?"), 0)
    estimate = Usage(estimated_prompt=estimated_tokens("what?"), estimated_completion=estimated_tokens("a reply"))
    assert paid.calls == (estimate,)
    free = await PricedProposer(Answering(), None).propose(prompt("what?"), 0)
    assert free.calls == ()
