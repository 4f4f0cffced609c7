"""The openai proposer against a real server on this machine: requests, replies, models, parameters, keys."""

from __future__ import annotations

import asyncio
import logging
import os
from base64 import b64encode
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import pytest

from behavesim.base.errors import ProposerError, UsageError
from behavesim.engine.admission import settings_from_person
from behavesim.proposers.openai_settings import OpenAISettings
from behavesim.proposers.retry import RetryLimits
from behavesim.state.events import Reply
from behavesim.state.requests import Requests
from tests.proposers import chat_server as chat
from tests.proposers.asking import KEY, OWN, openai_proposer, prompt, replies


async def test_a_reply_has_the_text_the_model_the_reason_and_the_usage(proposer_of: Any, server: Any) -> None:
    async with proposer_of() as proposer:
        reply = await proposer.propose(prompt("what?"), 3)
    assert reply == Reply("reply to what?", "m", (OWN,), "stop")
    assert server.asked[0].headers["Authorization"] == f"Bearer {KEY}"


async def test_a_request_says_nothing_of_the_machine(proposer_of: Any, server: Any) -> None:
    async with proposer_of() as proposer:
        await proposer.propose(prompt(), 0)
    told = {name.lower() for name in server.asked[0].headers}
    assert told.isdisjoint({"x-stainless-os", "x-stainless-arch", "x-stainless-runtime-version"})


async def test_a_request_holds_the_settings_and_nothing_that_was_not_set(proposer_of: Any, server: Any) -> None:
    settings = {"temperature": 0.5, "max_completion_tokens": 99, "reasoning_effort": "low", "system_prompt": "be brief"}
    async with proposer_of(**settings, extra_body={"top_k": 5}) as proposer, proposer_of() as plain:
        await proposer.propose(prompt(), 0)
        await plain.propose(prompt(), 0)
    assert server.asked[0].body == {
        "model": "m",
        "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hello"}],
        "temperature": 0.5,
        "max_tokens": 99,
        "reasoning_effort": "low",
        "top_k": 5,
    }
    assert server.asked[1].body == {"model": "m", "messages": [{"role": "user", "content": "hello"}]}


async def test_a_url_without_version_is_asked_under_v1(
    proposer_of: Any, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.behaviour = lambda asked: chat.echo(asked) if asked.path.startswith("/v1/") else chat.fails(404, "Not Found")
    monkeypatch.setattr(server, "url", server.url.removesuffix("/v1"))
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    notes: list[str] = []
    monkeypatch.setenv("OPENAI_API_KEY", "")
    async with openai_proposer(8, notes=notes.append) as proposer:
        assert {reply.text for reply in await replies(proposer, 20)} == {f"reply to p{n}" for n in range(20)}
    assert len(notes) == 1
    assert "/v1" in notes[0]


def refusing(*parameters: str) -> Any:
    """Refuses each of the parameters by name, as OpenAI does, as long as it comes."""

    def behave(asked: Any) -> Any:
        for name in parameters:
            if name in asked.body:
                text = f"Unsupported parameter: '{name}' is not supported with this model."
                return chat.fails(400, text, "unsupported_parameter", name)
        return chat.echo(asked)

    return behave


async def test_a_refused_parameter_is_dropped_once_for_all_and_noted(proposer_of: Any, server: Any) -> None:
    server.behaviour = refusing("temperature", "reasoning_effort")
    notes: list[str] = []
    settings = {"temperature": 0.5, "reasoning_effort": "low"}
    async with proposer_of(connections=2, notes=notes.append, **settings) as proposer:
        assert len(await replies(proposer, 30)) == 30
    assert len(notes) == 2
    assert all("'temperature'" in note or "'reasoning_effort'" in note for note in notes)
    assert len(server.asked) <= 30 + 2 * 2


async def test_the_token_limit_goes_by_its_other_name_where_the_first_is_refused(proposer_of: Any, server: Any) -> None:
    server.behaviour = refusing("max_tokens")
    async with proposer_of(max_completion_tokens=7) as proposer:
        await proposer.propose(prompt(), 0)
    assert server.asked[-1].body["max_completion_tokens"] == 7
    assert "max_tokens" not in server.asked[-1].body


def forbidden(*place: object) -> chat.Answer:
    """The refusal of a field that FastAPI does not know."""
    detail = [{"type": "extra_forbidden", "loc": ["body", *place], "msg": "Extra inputs are not permitted"}]
    return replace(chat.document({"detail": detail}), status=422)


SETTINGS = {"temperature": 1.0, "max_completion_tokens": 7, "system_prompt": "be brief", "service_tier": "flex"}
EXTRA = {"provider": {"data_collection": "deny"}, "top_k": 5}
REFUSALS = [
    (forbidden("temperature"), "temperature"),
    (chat.fails(400, "no", "unsupported_value", "messages[0].role"), "system"),
    *(
        (chat.fails(400, "no", code, "temperature"), "temperature")
        for code in ("unknown_parameter", "unsupported_value")
    ),
    # whatever else a refusal says, in whatever words, no parameter is left out
    (chat.fails(400, "max_tokens is too large: 7", "invalid_value", "max_tokens"), ""),
    (chat.fails(400, "max_tokens is too large: 7", None, "max_tokens"), ""),
    (chat.fails(400, "the upstream provider refused; unsupported_parameter temperature"), ""),
    (chat.fails(400, "no", "unsupported_parameter", "provider"), ""),
    (chat.fails(400, "no", "unsupported_parameter", "model"), ""),
    (chat.fails(400, "no", "unsupported_parameter", "seed"), ""),
    (chat.fails(400, "no", "unsupported_parameter", "service_tier"), ""),
    (chat.fails(400, "System role not supported"), ""),
    (forbidden("provider", "data_collection"), ""),
    (forbidden("top_k"), ""),
    (forbidden(), ""),
]


@pytest.mark.parametrize(("refusal", "dropped"), REFUSALS)
async def test_a_parameter_is_dropped_only_by_a_code_that_names_it_and_never_what_a_person_wrote_into_extra_body(
    proposer_of: Any, server: Any, refusal: chat.Answer, dropped: str
) -> None:
    server.behaviour = chat.script(refusal)
    async with proposer_of(**SETTINGS, extra_body=EXTRA) as proposer:
        if dropped:
            assert (await proposer.propose(prompt(), 0)).text.startswith("reply to ")
        else:
            with pytest.raises(ProposerError, match=r"refuses the (request|service tier) \(4"):
                await proposer.propose(prompt(), 0)
    first, *others = [asked.body for asked in server.asked]
    assert len(others) == bool(dropped)
    for body in others:
        assert body["messages"][-1]["content"] == ("be brief\n\nhello" if dropped == "system" else "hello")
        assert first.keys() - body.keys() == {dropped} - {"system"}
        assert body["provider"] == EXTRA["provider"]


async def test_no_word_in_an_error_stops_a_run_that_gets_replies(proposer_of: Any, server: Any) -> None:
    words = (
        "the model m does not exist here, unknown model, model_not_found, insufficient_quota, flagged, too many tokens"
    )
    server.behaviour = lambda asked: chat.fails(400, words) if asked.prompt == "p1" else chat.echo(asked)
    async with proposer_of(connections=1) as proposer:
        answered = await replies(proposer, 3)
    assert [bool(reply.text) for reply in answered] == [True, False, True]


async def test_what_one_model_refuses_another_may_still_get(proposer_of: Any, server: Any) -> None:
    refuse = refusing("temperature")
    server.behaviour = lambda asked: refuse(asked) if asked.body["model"] == "picky" else chat.echo(asked)
    async with proposer_of(models={"picky": 1.0, "easy": 1.0}, temperature=0.3) as proposer:
        answered = await replies(proposer, 20)
    assert {reply.model for reply in answered} == {"picky", "easy"}
    assert all("temperature" in asked.body for asked in server.asked if asked.body["model"] == "easy")


async def test_hundreds_of_requests_never_exceed_the_limit_of_eight(proposer_of: Any, server: Any) -> None:
    server.behaviour = chat.slow(chat.echo, 0.01)
    async with proposer_of(connections=8) as proposer:
        answered = await replies(proposer, 250)
    assert [reply.text for reply in answered] == [f"reply to p{number}" for number in range(250)]
    assert server.most_in_flight == 8
    assert len(server.asked) == 250


async def test_replies_out_of_order_reach_the_candidates_they_belong_to(proposer_of: Any, server: Any) -> None:
    server.behaviour = lambda asked: chat.echo(asked).after(0.03 * (7 * asked.number % 5))
    async with proposer_of() as proposer:
        answered = await replies(proposer, 40)
    assert [reply.text for reply in answered] == [f"reply to p{number}" for number in range(40)]


async def test_models_are_drawn_by_weight_as_a_function_of_the_candidate(proposer_of: Any) -> None:
    async with (
        proposer_of(models={"a": 3.0, "b": 1.0}, seed=5) as one,
        proposer_of(models={"a": 3.0, "b": 1.0}, seed=5, temperature=1.0) as other,
    ):
        first, second = await replies(one, 200), await replies(other, 200)
    assert [reply.model for reply in first] == [reply.model for reply in second]
    assert 120 <= sum(reply.model == "a" for reply in first) <= 180


def test_a_strong_model_writes_every_kth_candidate_and_changes_no_other_draw() -> None:
    plain = OpenAISettings(models={"a": 1, "b": 1})
    settings = OpenAISettings(models={"a": 1, "b": 1}, strong_model="s", strong_every=3)
    asked = [settings.model_of(0, number) for number in range(9)]
    assert [number for number, model in enumerate(asked) if model == "s"] == [2, 5, 8]
    others = [number for number in range(-9, 9) if number < 0 or number % 3 != 2]
    assert all(settings.model_of(0, number) == plain.model_of(0, number) for number in others)
    assert settings.models_asked() == ("a", "b", "s")


@pytest.mark.parametrize(
    "models",
    [{}, {"a": -1.0, "b": 2.0}, {"a": 0.0, "b": 0.0}, {"a": 1e308, "b": 1e308}],
    ids=["none", "negative", "all 0", "too large a sum"],
)
def test_weights_by_which_no_model_can_be_drawn_are_refused_in_one_line(models: Any) -> None:
    with pytest.raises(UsageError, match=r"^setting models should give each model a weight of 0 or more, .* not \{"):
        settings_from_person({"task": "tsp", "proposer": "openai", "models": models})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"models": {"": 1.0}}, r"setting models should name each model"),  # as of a variable that is not set
        ({"extra_body": {"model": "dear"}}, r"setting extra_body should leave out 'model'"),  # its price is another
        ({"extra_body": {"messages": []}}, r"setting extra_body should leave out 'messages'"),
    ],
)
def test_a_request_that_a_run_could_not_ask_or_price_is_refused(given: Any, said: str) -> None:
    with pytest.raises(UsageError, match=f"^{said}"):
        settings_from_person({"task": "tsp", "proposer": "openai", **given})


async def test_the_key_is_in_no_note_error_or_log(
    proposer_of: Any, server: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    leak = f"your key {KEY} is wrong"
    notes: list[str] = []
    server.behaviour = chat.script(
        chat.fails(500, leak),
        chat.fails(429, leak),
        chat.fails(400, f"{leak}: temperature", "unsupported_value", "temperature"),
        chat.echo,
        then=chat.fails(403, f"{leak} {KEY}"),
    )
    async with proposer_of(temperature=0.1, notes=notes.append) as proposer:
        await proposer.propose(prompt(), 0)
        with pytest.raises(ProposerError) as caught:
            await proposer.propose(prompt(), 1)
    assert len(notes) >= 2
    assert KEY not in " ".join([*notes, str(caught.value), repr(caught.value), caplog.text, repr(proposer)])
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


async def test_an_endpoint_of_ones_own_needs_no_key(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    async with openai_proposer() as proposer:
        assert (await proposer.propose(prompt(), 0)).text == "reply to hello"


async def test_user_and_password_of_a_url_take_the_place_of_the_key(
    server: Any, proposer_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url.replace("//", "//me:secret@"))
    async with openai_proposer() as proposer:
        await proposer.propose(prompt(), 0)
    assert server.asked[0].headers["Authorization"] == "Basic bWU6c2VjcmV0"


@pytest.mark.parametrize("key", ["", KEY])
async def test_headers_of_the_environment_are_sent_as_the_package_reads_them_and_kept_secret(
    server: Any, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", key)
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-1")
    monkeypatch.setenv(
        "OPENAI_CUSTOM_HEADERS", "Authorization: Digest 0123456789\nX-Gateway-Token: abcdefghijkl\nX-Team: us"
    )
    server.behaviour = chat.script(then=chat.says("Digest 0123456789, abcdefghijkl"))
    async with openai_proposer() as proposer:
        assert (await proposer.propose(prompt(), 0)).text == "…, …"
    sent = {name.lower(): value for name, value in server.asked[0].headers.items()}
    assert (sent["openai-organization"], sent["openai-project"], sent["x-team"]) == ("org-1", "proj-1", "us")
    assert (sent["authorization"], sent["x-gateway-token"]) == ("Digest 0123456789", "abcdefghijkl")


@pytest.mark.parametrize("headers", ["X-A: b\rc", "X-A: ü", "X A: b", ": b", "X-A: b\nX\x00: c"])
def test_headers_of_the_environment_that_cannot_be_sent_are_refused(
    monkeypatch: pytest.MonkeyPatch, headers: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr("os.environ", {**os.environ, "OPENAI_CUSTOM_HEADERS": headers})
    with pytest.raises(UsageError, match="OPENAI_CUSTOM_HEADERS must be lines"):
        openai_proposer()


SENT = [
    ("Authorization: Bearer 0f1e2d3c4b5a", "", "0f1e2d3c4b5a"),
    ("Cookie: theme=dark; session=0f1e2d3c4b5a==", "", "0f1e2d3c4b5a=="),
    ("X-Anything: 0f1e2d3c4b5a", "", "0f1e2d3c4b5a"),
    ("", "?api-key=0f1e2d3c4b5a&api-version=2026-11-27", "0f1e2d3c4b5a"),
    ("", "?sig=0f1e%2F2d3c4b5a", "0f1e/2d3c4b5a"),
    ("", "0f1e2d3c4b5a@", "0f1e2d3c4b5a"),
]


@pytest.mark.parametrize(("headers", "url", "leak"), SENT)
async def test_no_part_of_what_is_sent_as_a_secret_comes_back_into_a_reply_a_notice_an_error_or_the_log(
    server: Any,
    proposer_of: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    headers: str,
    url: str,
    leak: str,
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr("os.environ", {**os.environ, "OPENAI_CUSTOM_HEADERS": headers})
    place = server.url.replace("//", f"//{url}") if url.endswith("@") else server.url + url
    monkeypatch.setattr("os.environ", {**os.environ, "OPENAI_BASE_URL": place})
    server.behaviour = chat.script(chat.fails(500, f"got {leak}"), chat.says(f"got {leak}"), then=chat.fails(403, leak))
    notes: list[str] = []
    async with openai_proposer(limits=RetryLimits(backoff_s=0.001), notes=notes.append) as proposer:
        reply = await proposer.propose(prompt(), 0)
        with pytest.raises(ProposerError) as caught:
            await proposer.propose(prompt(), 1)
    assert reply.text == "got …"
    assert not any("0f1e" in text for text in (*notes, str(caught.value), caplog.text))


def test_settings_that_hold_a_key_are_refused_since_they_are_kept(proposer_of: Any) -> None:
    for key in (KEY, "hf_" + "a1B2" * 9):
        with pytest.raises(UsageError, match="OPENAI_CUSTOM_HEADERS"):
            proposer_of(extra_body={"api_key": key})


PASSWORD = "correct/horse battery"


@pytest.mark.parametrize("form", ["{plain}", "{quoted}", "{sent}", "{password}", "u:{plain}"])
async def test_the_password_of_a_url_is_hidden_in_whatever_form_a_failing_server_shows_it(
    server: Any, proposer_of: Any, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    quoted = quote(PASSWORD, safe="")
    sent, password = b64encode(f"me:{PASSWORD}".encode()).decode(), b64encode(PASSWORD.encode()).decode()
    forms = {"plain": PASSWORD, "quoted": quoted, "sent": sent, "password": password}
    monkeypatch.setenv("OPENAI_BASE_URL", server.url.replace("//", f"//me:{quoted}@"))
    leak = form.format(**forms)
    server.behaviour = chat.script(chat.fails(500, f"got {leak}"), chat.says(f"got {leak}"), then=chat.fails(403, leak))
    notes: list[str] = []
    async with openai_proposer(limits=RetryLimits(backoff_s=0.001), notes=notes.append) as proposer:
        reply = await proposer.propose(prompt(), 0)
        with pytest.raises(ProposerError) as caught:
            await proposer.propose(prompt(), 1)
    assert server.asked[0].headers["Authorization"] == f"Basic {sent}"
    assert "got" in reply.text
    assert not any(leak.rstrip("=") in text for text in (*notes, reply.text, str(caught.value)))


UNSEEN = [
    "\u200b",
    "\u200d",
    "\u2060",
    "\ufeff",
    "\u00ad",
    "\ufe0f",
    "\u034f",
    "\u115f",
    "\x00",
    "\x1b",
    "\n",
    " ",
    "\ud800",
]


@pytest.mark.parametrize("unseen", UNSEEN, ids=ascii)
async def test_a_key_that_is_split_by_what_nobody_sees_is_hidden(proposer_of: Any, server: Any, unseen: str) -> None:
    split = [f"{KEY[:9]}{unseen}{KEY[9:]}", unseen.join(KEY), 3 * unseen + f"{KEY[:1]}{2 * unseen}{KEY[1:]}"]
    server.behaviour = chat.script(*[chat.says(f"key = '{key}'") for key in split])
    async with proposer_of() as proposer:
        for number in range(len(split)):
            text = (await proposer.propose(prompt(), number)).text
            assert "".join(c for c in text if "!" <= c <= "~") == "key=''"
            assert "…" in text


async def test_what_was_billed_before_a_stop_is_counted_though_no_reply_came_about(
    server: Any, proposer_of: Any
) -> None:
    requests = Requests()
    server.behaviour = chat.script(chat.null_content(), chat.fails(429), chat.null_content(), then=chat.fails(401))
    async with openai_proposer(limits=RetryLimits(backoff_s=0.001), requests=requests) as proposer:
        with pytest.raises(ProposerError):
            await proposer.propose(prompt(), 0)
    assert requests.unreported == 2
    assert requests.under_way == 0


async def test_a_request_that_is_cancelled_on_its_way_is_counted(server: Any, proposer_of: Any) -> None:
    requests = Requests()
    server.behaviour = chat.script(chat.null_content(), then=chat.stall(60))
    async with openai_proposer(limits=RetryLimits(backoff_s=0.001), requests=requests) as proposer:
        asked = asyncio.create_task(proposer.propose(prompt(), 0))
        while len(server.asked) < 2:
            await asyncio.sleep(0.001)
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)
    assert requests.unreported == 2


@pytest.mark.parametrize(
    ("url", "key", "advice"),
    [
        ("", "", "set OPENAI_API_KEY"),
        ("localhost:8000/v1", "k", "full URL"),
        ("ftp://host/v1", "k", "full URL"),
        ("http://host:99999/v1", "k", "full URL"),
        ("http://a..b/v1", "k", "full URL"),
        ("http://[::1/v1", "k", "full URL"),
        ("http://host\x1b[2J/v1", "k", "full URL"),
        ("", "sk-two\nlines", "a line end"),
        ("http://host/\udc80", "k", "full URL"),
    ],
)
def test_an_unusable_environment_is_refused_before_anything_is_sent(
    monkeypatch: pytest.MonkeyPatch, url: str, key: str, advice: str
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(UsageError, match=advice) as caught:
        openai_proposer()
    assert "two" not in str(caught.value)


async def test_a_cancelled_request_gives_its_place_back(proposer_of: Any, server: Any) -> None:
    server.behaviour = chat.script(*[chat.stall(5)] * 4)
    async with proposer_of(connections=2, limits=RetryLimits()) as proposer:
        tasks = [asyncio.create_task(proposer.propose(prompt(), number)) for number in range(4)]
        while len(server.asked) < 2:
            await asyncio.sleep(0.001)
        server.behaviour = chat.echo
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert len(await replies(proposer, 10)) == 10


async def test_a_model_that_only_the_responses_api_serves_is_asked_there(proposer_of: Any, server: Any) -> None:
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}
    server.behaviour = chat.by_responses_alone(chat.responds(thought, chat.message("a program")))
    notes: list[str] = []
    settings = {"temperature": 0.5, "max_completion_tokens": 99, "reasoning_effort": "low", "system_prompt": "be brief"}
    asked = {**settings, "response_format": "json_schema", "extra_body": {"top_p": 0.9}}
    async with proposer_of(notes=notes.append, **asked) as proposer:
        first = await proposer.propose(prompt(), 0)
        assert await proposer.propose(prompt(), 1) == Reply("a program", "m", (OWN,), "stop")
        await proposer.propose(prompt(), -1)
    assert (first.text, first.fault, first.calls[-1]) == ("a program", "", OWN)
    assert [each.path for each in server.asked] == ["/v1/chat/completions", *["/v1/responses"] * 3]
    body = dict(server.asked[1].body)
    form = body.pop("text")["format"]
    assert (form["type"], form["name"], form["strict"], form["schema"]["required"]) == (
        *("json_schema", "program", True),
        ["idea", "program"],
    )
    assert body == {
        "model": "m",
        "input": "hello",
        "instructions": "be brief",
        "temperature": 0.5,
        "max_output_tokens": 99,
        "reasoning": {"effort": "low"},
        "store": False,
        "top_p": 0.9,
    }
    assert server.asked[3].body == body  # a note is prose
    assert ["is asked by the Responses API from now on" in note for note in notes] == [True]


RESPONSES = [
    (
        "responds(message('half'), status='incomplete', incomplete_details={'reason': 'max_output_tokens'})",
        "half",
        "length",
    ),
    ("responds(status='incomplete', incomplete_details={'reason': 'content_filter'})", "", "content_filter"),
    ("responds(message('', type='refusal', refusal='I cannot'))", "I cannot", "content_filter"),
    (
        "responds({'type': 'function_call', 'name': 'f', 'arguments': 'def f(): ...'})",
        "```python\ndef f(): ...\n```",
        "stop",
    ),
    ("responds({'type': 'reasoning', 'content': [{'type': 'reasoning_text', 'text': 'all'}]})", "all", "stop"),
    ("responds('odd', {'type': 'message', 'content': None}, message('a'), message('b'))", "ab", "stop"),
]


@pytest.mark.parametrize(("given", "text", "reason"), RESPONSES)
async def test_an_answer_of_the_responses_api_means_what_a_completion_does(
    proposer_of: Any, server: Any, given: str, text: str, reason: str
) -> None:
    server.behaviour = chat.by_responses_alone(eval(given, vars(chat)))
    async with proposer_of() as proposer:
        reply = await proposer.propose(prompt(), 0)
    assert (reply.text, reply.finish_reason, reply.calls[-1]) == (text, reason, OWN)


async def test_a_fault_of_the_responses_api_is_ridden_out_and_what_the_model_refuses_is_left_out(
    proposer_of: Any, server: Any
) -> None:
    failed = chat.responds(status="failed", error={"code": "server_error", "message": "broke"})
    refused = [
        chat.fails(400, "no", "unsupported_parameter", param)
        for param in ("reasoning.effort", "instructions", "temperature")
    ]
    server.behaviour = chat.by_responses_alone(failed, *refused, chat.responds(chat.message("done")))
    async with proposer_of(temperature=1, reasoning_effort="low", system_prompt="be brief") as proposer:
        assert (await proposer.propose(prompt(), 0)).text == "done"
    assert server.asked[-1].body == {"model": "m", "input": "be brief\n\nhello", "store": False}


async def test_a_model_that_no_api_serves_stops_the_run_with_one_line_of_advice(proposer_of: Any, server: Any) -> None:
    server.behaviour = chat.script(then=chat.fails(404, "only supported in v1/responses", param="model"))
    async with proposer_of() as proposer:
        with pytest.raises(ProposerError, match=r"v1/responses; choose another with --model") as caught:
            await proposer.propose(prompt(), 0)
    assert "\n" not in str(caught.value)
    assert [each.path for each in server.asked] == ["/v1/chat/completions", "/v1/responses"]
