"""No reply that costs money is taken for free because nobody said what it took, and each says what it cost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from behavesim.base.errors import PartError
from behavesim.base.tokens import MOST_TOKENS, MOST_USD, Usage, estimate_tokens
from behavesim.proposers.priced import LONGEST_NAME, LONGEST_REPLY, PricedProposer, check_reply
from behavesim.state.events import Prompt, Reply, Responded
from behavesim.store.codec import decode, encode
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
    assert [call.cost_usd for call in reply.calls] == [1.5, 0.5, 0.01 * (3 + estimate_tokens("a reply"))]
    assert (await PricedProposer(Answering(OWN), None).propose(prompt(), 0)).calls[0].cost_usd is None


async def test_a_reply_that_lists_no_call_was_one_where_it_costs_money_and_none_where_it_does_not() -> None:
    paid = await PricedProposer(Answering(), unknown).propose(prompt("what?"), 0)
    estimate = Usage(estimated_prompt=estimate_tokens("what?"), estimated_completion=estimate_tokens("a reply"))
    assert paid.calls == (estimate,)
    free = await PricedProposer(Answering(), None).propose(prompt("what?"), 0)
    assert free.calls == ()


async def test_a_prompt_that_was_given_up_counts_as_no_request_but_those_that_may_be_billed() -> None:
    class Refused:
        async def propose(self, prompt: Prompt, number: int) -> Reply:
            return Reply("", "m", unanswered=1, fault="the endpoint failed (502)")

    given_up = await PricedProposer(Refused(), a_cent_a_token).propose(prompt("what?"), 0)
    assert (given_up.calls, given_up.unanswered) == ((), 1)


TEXT = st.text(st.characters(), max_size=30) | st.sampled_from(["\ud83d", "a\udc80b", "\x00", "\x1b[2J\n", "x" * 999])
NUMBER = (
    st.integers()
    | st.floats()
    | st.booleans()
    | st.sampled_from([10**30, -(10**400), 7.0, np.int64(7), np.float32("nan"), Decimal(1), Fraction(1, 3), 1j])
)
ANYTHING = st.none() | TEXT | NUMBER | st.binary(max_size=9) | st.lists(NUMBER, max_size=2) | st.just(object())
USAGE = st.builds(Usage, **dict.fromkeys(Usage.__dataclass_fields__, ANYTHING))
REPLY = st.builds(
    Reply,
    text=TEXT | ANYTHING,
    model=TEXT | ANYTHING,
    calls=st.lists(USAGE, max_size=3).map(tuple) | st.lists(USAGE | ANYTHING, max_size=2) | ANYTHING,
    finish_reason=TEXT | ANYTHING,
    unanswered=NUMBER | ANYTHING,
    fault=TEXT | ANYTHING,
)
GOOD = st.builds(Reply, TEXT, TEXT, st.lists(USAGE, max_size=3).map(tuple), st.none() | TEXT, st.integers(0, 9), TEXT)


@given(GOOD | REPLY | ANYTHING | USAGE)
@settings(max_examples=150, deadline=None)
@example(Reply("x" * (LONGEST_REPLY + 1), "m" * 999, [Usage(cost_usd=float("nan"))], "\ud83d", np.int64(2)))  # type: ignore[arg-type]
def test_whatever_a_proposer_returns_can_be_stored_and_counted_or_is_a_mistake_in_a_line(found: Any) -> None:
    try:
        reply = check_reply(found, "Own")
    except PartError as error:
        said = str(error)
        assert said.isprintable() and said.startswith("the proposer Own ")
        return
    assert decode(*encode(Responded(0, reply))) == Responded(0, reply)
    assert check_reply(reply, "Own") == reply, "a replay would change it"
    assert len(reply.text) <= LONGEST_REPLY
    assert reply.model.isprintable() and len(reply.model) <= LONGEST_NAME
    for call in reply.calls:
        known = {name: value for name, value in vars(call).items() if value is not None}
        tier, cost = known.pop("tier", ""), known.pop("cost_usd", 0.0)
        assert tier.isprintable()
        assert type(cost) is float and 0 <= cost < MOST_USD
        assert all(type(count) is int and 0 <= count < MOST_TOKENS for count in known.values())


async def cancelled() -> Reply:
    raise asyncio.CancelledError


MISTAKES: list[tuple[Callable[..., Any], str]] = [
    (lambda *_: Reply("text", "m"), "must define `async def propose`"),
    (lambda *_: cancelled(), "cancelled its own request"),
    (lambda *_: asyncio.sleep(0, "text"), r"must return a behavesim\.Reply, not str"),
    (lambda *_: asyncio.sleep(0, Reply("text", "m", (10,))), "`calls` must be Usage, in a tuple, not int"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("propose", "said"), MISTAKES)
async def test_a_mistake_of_a_proposer_is_said_in_a_line(propose: Callable[..., Any], said: str) -> None:
    own = type("Own", (), {"propose": staticmethod(propose)})()
    with pytest.raises(PartError, match=f"the proposer Own .*{said}"):
        await PricedProposer(own, None).propose(prompt(), 0)
