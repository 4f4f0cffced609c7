"""Service tiers: asked for, recorded as answered, and never left out, since they differ in price."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from behavesim.base.errors import ProposerError
from behavesim.proposers.openai_settings import OpenAISettings
from behavesim.proposers.retry import RetryLimits
from tests.proposers import chat_server as chat
from tests.proposers.asking import KEY, OWN, prompt, replies


def answers_in(tier: object, **counts: Any) -> chat.Answer:
    document = json.loads(chat.says("a reply").body)
    return chat.document(document | {"service_tier": tier, "usage": {**chat.USAGE, **counts}})


async def test_the_tier_is_asked_for_and_recorded_as_answered(proposer_of: Any, server: Any) -> None:
    server.behaviour = lambda asked: answers_in("flex")
    async with proposer_of(service_tier="flex") as proposer:
        reply = await proposer.propose(prompt(), 0)
    assert server.asked[0].body["service_tier"] == "flex"
    assert reply.calls == (replace(OWN, tier="flex"),)


@pytest.mark.parametrize(
    "counts",
    [
        {"prompt_tokens_details": {"cached_tokens": 20, "cache_write_tokens": 70}},
        {"cache_creation_input_tokens": 70},
    ],
)
async def test_tokens_written_to_a_cache_are_recorded(proposer_of: Any, server: Any, counts: Any) -> None:
    server.behaviour = lambda asked: answers_in(None, **counts)
    async with proposer_of() as proposer:
        reply = await proposer.propose(prompt(), 0)
    assert reply.calls == (replace(OWN, cache_write=70),)


@pytest.mark.parametrize("tier", [None, 3, ["flex"], {"a": 1}, ""])
async def test_a_tier_that_is_no_word_is_none(proposer_of: Any, server: Any, tier: object) -> None:
    server.behaviour = lambda asked: answers_in(tier)
    async with proposer_of() as proposer:
        assert not (await proposer.propose(prompt(), 0)).calls[0].tier


async def test_a_key_that_comes_back_as_a_tier_is_not_kept(proposer_of: Any, server: Any) -> None:
    server.behaviour = lambda asked: answers_in(f"flex-{KEY}\x1b[2J" + "x" * 100)
    async with proposer_of() as proposer:
        tier = (await proposer.propose(prompt(), 0)).calls[0].tier
    assert tier.startswith("flex-…\\u001b[2J")
    assert len(tier) <= 50


@pytest.mark.parametrize(
    ("asked", "answered", "is_said"),
    [
        ("flex", "default", True),
        ("priority", "default", True),
        ("flex", "flex", False),
        ("fast", "priority", False),
        ("auto", "default", False),
        ("flex", None, False),
        (None, "default", False),
    ],
)
async def test_another_tier_than_the_one_asked_for_is_said_once(
    proposer_of: Any, server: Any, asked: str | None, answered: str | None, is_said: bool
) -> None:
    server.behaviour = lambda request: answers_in(answered)
    notes: list[str] = []
    async with proposer_of(service_tier=asked, notes=notes.append) as proposer:
        await replies(proposer, 10)
    expected = f"asked for service tier {asked}, and answered in {answered}, which is what is billed"
    assert notes == ([expected] if is_said else [])


async def test_a_tier_that_is_refused_stops_the_run_and_is_not_left_out(proposer_of: Any, server: Any) -> None:
    server.behaviour = lambda asked: chat.fails(400, "Flex is not available", param="service_tier")
    async with proposer_of(service_tier="flex") as proposer:
        with pytest.raises(ProposerError, match="choose another with --set service_tier=NAME"):
            await proposer.propose(prompt(), 0)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("settings", "request_s"),
    [
        ({}, 300.0),
        ({"service_tier": "priority"}, 300.0),
        ({"service_tier": "flex"}, 900.0),
        ({"service_tier": "flex", "request_timeout_s": 60.0}, 60.0),
        ({"request_timeout_s": 60.0}, 60.0),
    ],
)
def test_flex_is_given_more_time_unless_told_otherwise(settings: dict[str, Any], request_s: float) -> None:
    assert OpenAISettings(**settings).retry_limits().request_s == request_s


def test_flex_may_be_unavailable_for_longer() -> None:
    flex, usual = OpenAISettings(service_tier="flex").retry_limits(), RetryLimits()
    assert flex.start_s > usual.start_s and flex.outage_s > usual.outage_s
