"""What `doctor` says of an endpoint and its models; never the key, and never to anybody else."""

from __future__ import annotations

import asyncio
import gc
import json
import os
from collections.abc import AsyncIterator
from typing import Any

import pytest

from behavesim.application.machine import NOT_ASKED, Findings, findings, remarks
from behavesim.proposers.openai_settings import OPENAI
from behavesim.proposers.prices import PriceList
from behavesim.sandbox.isolation import LEVELS
from tests.proposers import chat_server as chat
from tests.proposers.asking import KEY

NOWHERE, OPEN_AI = PriceList(""), PriceList(OPENAI)


def unpriced(model: str) -> str:
    """What is said of a model that no list knows."""
    price = f"""'prices={{"{model}" = {{prompt = USD, completion = USD}}}}' (for a million tokens each)"""
    return f"its price is unknown: --max-cost needs --set {price}"


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[chat.ChatServer]:
    """A running server that the environment names as the endpoint, with a key; the sandbox is not looked at."""

    async def closed() -> dict[str, str]:
        return {"sandbox": "strong"}

    monkeypatch.setattr("behavesim.application.machine._sandbox", closed)
    monkeypatch.setattr("behavesim.application.machine._evaluators", closed)
    async with chat.ChatServer() as running:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        yield running


async def said(*models: str) -> dict[str, Any]:
    found = (await findings(models)).found
    assert KEY not in json.dumps(found)
    return dict(found)


async def test_the_models_of_an_endpoint_are_compared_with_those_to_be_asked(server: Any) -> None:
    server.models = lambda asked: chat.lists(gpt_6_luna=None, gpt_5_nano="2999-12-11", gpt_4="2024-01-01")
    found = await said("gpt-6-luna", "gpt-5-nano", "gpt-4", "gpt-6-lunar", "zzz")
    assert found["endpoint"] == "127.0.0.1 answers; models listed: 3"
    assert found["model gpt-6-luna"] == f"served; {unpriced('gpt-6-luna')}"
    assert (
        found["model gpt-5-nano"]
        == f"served, and ends on 2999-12-11; choose another with --model; {unpriced('gpt-5-nano')}"
    )
    assert found["model gpt-4"] == f"ended on 2024-01-01; choose another with --model; {unpriced('gpt-4')}"
    assert found["model gpt-6-lunar"] == f"not served; did you mean 'gpt-6-luna'?; {unpriced('gpt-6-lunar')}"
    assert found["model zzz"] == f"not served; choose another with --model; {unpriced('zzz')}"
    assert found["prices"].startswith("genai-prices ")
    (asked,) = server.asked
    assert (asked.path, asked.headers["Authorization"]) == ("/v1/models", f"Bearer {KEY}")


def test_the_price_list_has_its_say_on_the_models_of_its_vendors() -> None:
    mistral = PriceList("https://api.mistral.ai/v1")
    assert remarks("gpt-6-luna", {"gpt-6-luna": None}, OPEN_AI, "2026-11-22") == ["served"]
    assert remarks("m", {"m": None}, NOWHERE, "2026-11-22") == ["served", unpriced("m")]
    old = "mistral-tiny"
    assert "its vendor is going to end it" in remarks(old, {old: None}, mistral, "2026-11-22")


async def test_the_version_is_added_where_the_url_lacks_it(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url.removesuffix("/v1"))
    assert (await said("m"))["model m"] == f"served; {unpriced('m')}"
    assert [asked.path for asked in server.asked] == ["/models", "/v1/models"]


async def test_an_endpoint_without_keys_is_sent_none(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    assert (await said("m"))["endpoint"] == "127.0.0.1 answers; models listed: 1"
    assert "Authorization" not in server.asked[0].headers


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (chat.fails(401, f"no such key: {KEY}"), "refuses the key (401); check OPENAI_API_KEY"),
        (chat.fails(403, KEY), "gives no list of models (403)"),
        (chat.fails(500, KEY), "gives no list of models (500)"),
        (chat.fails(404, KEY), "has no list of models"),
        (
            chat.fails(302, KEY).with_headers(Location=f"https://login.example/sso/{KEY}?back={KEY}"),
            "redirects to login.example (302); if that is a login page, log in there, else put its address into "
            "OPENAI_BASE_URL",
        ),
        (chat.fails(302, KEY).with_headers(Location="http://[::1/"), "gives no list of models (302)"),
        (chat.reset(), "cannot be reached ( closed the connection without an answer; its own log may say why)"),
        (
            chat.web_page(title="Sign in to the network"),
            "answers with no list of models; the endpoint answered with a web page (Sign in to the network); "
            "check OPENAI_BASE_URL",
        ),
        (chat.invalid_json(), "answers with no list of models; check OPENAI_BASE_URL"),
        (chat.document([1, None, {}]), "answers with no list of models; check OPENAI_BASE_URL"),
        (chat.document({"data": {"a": 1}}), "answers with no list of models; check OPENAI_BASE_URL"),
        (chat.document({"data": None}), "answers; models listed: 0"),
        (
            chat.document({"data": [{"id": 3, "shutdown_date": 4}, {"id": "m", "shutdown_date": [5]}]}),
            "answers; models listed: 1",
        ),
    ],
)
async def test_whatever_an_endpoint_answers_is_said_in_one_line(
    server: Any, answer: chat.Answer, expected: str
) -> None:
    server.models = lambda asked: answer
    assert (await said("m"))["endpoint"].removeprefix("127.0.0.1 ").replace(server.url[7:-3], "") == expected


async def test_a_key_that_comes_back_as_a_model_s_name_is_not_shown(server: Any) -> None:
    server.models = lambda asked: chat.document({"data": [{"id": f"model-{KEY}", "shutdown_date": KEY}]})
    assert (await said("model-x"))["model model-x"] == f"not served; did you mean 'model-…'?; {unpriced('model-x')}"


async def test_without_an_endpoint_nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    checked = await findings(["gpt-6-luna"])
    found = checked.found
    assert found["endpoint"] == "not asked"
    assert "offline proposer" in str(found["key"])
    assert not checked.broken
    assert str(found["sandbox"]).split(";")[0] in LEVELS
    assert str(found["evaluators"]).split(";")[0] in LEVELS
    assert os.environ.get("OPENAI_API_KEY") is None


async def test_an_endpoint_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    found = await said("m")
    assert found["endpoint"].startswith("127.0.0.1 cannot be reached (")
    monkeypatch.setenv("OPENAI_BASE_URL", "nonsense")
    assert "OPENAI_BASE_URL must be a full URL" in (await said("m"))["endpoint"]


async def test_an_endpoint_that_does_not_answer_is_something_to_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    assert (await findings(["m"])).broken == ("endpoint",)


async def test_the_endpoint_of_a_url_is_said_to_be_asked_without_a_key(
    server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    checked = await findings(["m"])
    assert checked.found["key"] == "not set: the endpoint of OPENAI_BASE_URL is asked without one"
    assert not checked.broken


@pytest.mark.parametrize(
    ("found", "broken", "verdict"),
    [
        ({}, (), "ready for offline runs; to ask a model, set OPENAI_API_KEY"),
        ({"endpoint": "h answers", "model m": "served"}, (), "ready for runs with a model"),
        (
            {"sandbox": "partial; no seccomp"},
            (),
            "ready for offline runs; to ask a model, set OPENAI_API_KEY; isolation is weak: --allow-weak-isolation",
        ),
        ({"model m": "not served; did you mean 'n'?"}, (), "ready for offline runs; NOT READY for model m: see below"),
        ({}, ("endpoint", "evaluators"), "ready for offline runs; NOT READY for endpoint and evaluators: see below"),
        ({}, ("sandbox",), "NOT READY: the sandbox must be repaired first; its line says why"),
    ],
)
def test_one_line_says_what_it_is_ready_for(found: dict[str, str], broken: tuple[str, ...], verdict: str) -> None:
    assert Findings({"endpoint": NOT_ASKED, "sandbox": "strong+", **found}, broken).verdict == verdict


async def test_a_check_that_is_cancelled_leaves_no_other_unawaited(monkeypatch, recwarn) -> None:
    async def cancelled(models: Any) -> dict[str, str]:
        raise asyncio.CancelledError

    monkeypatch.setattr("behavesim.application.machine._endpoint", cancelled)
    with pytest.raises(asyncio.CancelledError):
        await findings([])
    gc.collect()
    assert [str(each.message) for each in recwarn] == []
