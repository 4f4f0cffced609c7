"""The openai proposer against a real server on this machine, which misbehaves in every way we could think of."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from typing import Any

import pytest

from behavesim.errors import ProposerError, UsageError
from behavesim.events import Prompt, Reply, Usage
from behavesim.proposers.openai import OpenAIProposer, Patience, Sampling

KEY = "sk-planted-0123456789abcdef"
OWN = Usage(prompt=100, cached=20, completion=50, reasoning=10)


def prompt(text: str = "hello") -> Prompt:
    return Prompt(text, "improve")


async def replies(proposer: OpenAIProposer, count: int) -> list[Reply]:
    return await asyncio.gather(*(proposer.propose(prompt(f"p{ticket}"), ticket) for ticket in range(count)))


async def test_a_reply_has_the_text_the_model_the_reason_and_the_usage(proposer_of: Any, server: Any) -> None:
    async with proposer_of() as proposer:
        reply = await proposer.propose(prompt("what?"), 3)
    assert reply == Reply("reply to what?", "m", (OWN,), "stop")
    assert server.asked[0].headers["Authorization"] == f"Bearer {KEY}"


async def test_a_request_holds_the_settings_and_nothing_that_was_not_set(proposer_of: Any, server: Any) -> None:
    settings = {"temperature": 0.5, "max_tokens": 99, "reasoning_effort": "low", "system_prompt": "be brief"}
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


FAULTS = [
    "fails(429)",
    "fails(429).with_headers(Retry_After='0.02')",
    "fails(429).with_headers(Retry_After='Wed, 21 Oct 2015 07:28:00 GMT')",
    "fails(500)",
    "fails(503)",
    "fails(503).with_headers(Retry_After='0.02')",
    "fails(529)",
    "fails(408)",
    "reset()",
    "cut_off()",
    "invalid_json()",
    "document([])",
    "document({'error': {'code': 502, 'message': 'upstream'}})",
    "document({'error': {'code': 429, 'message': 'upstream'}})",
    "no_choices()",
    "null_content()",
    "says('  ')",
    "says('half a rep', 'error')",
    "stall(5)",
]


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_passing_fault_is_ridden_out(proposer_of: Any, server: Any, chat: Any, fault: str) -> None:
    server.behaviour = chat.script(eval(fault, vars(chat)), eval(fault, vars(chat)))
    async with proposer_of() as proposer:
        reply = await proposer.propose(prompt(), 0)
    assert reply.text == "reply to hello"
    assert reply.calls[-1] == OWN
    assert len(server.asked) == 3


async def test_every_answered_request_is_in_the_ledger_and_no_other(proposer_of: Any, server: Any, chat: Any) -> None:
    server.behaviour = chat.script(chat.fails(500), chat.null_content(), chat.reset(), chat.stall(5))
    async with proposer_of() as proposer:
        reply = await proposer.propose(prompt(), 0)
    assert reply.calls == (Usage(0, 0, 0, 0), OWN, OWN)


@pytest.mark.parametrize("nothing", ["no_choices()", "null_content()"])
async def test_a_reply_that_stays_empty_is_returned_as_such(
    proposer_of: Any, server: Any, chat: Any, nothing: str
) -> None:
    server.behaviour = chat.script(then=eval(nothing, vars(chat)))
    async with proposer_of(patience=Patience(empty=2, backoff_s=0.001)) as proposer:
        reply = await proposer.propose(prompt(), 0)
    assert (reply.text, reply.calls) == ("", (OWN, OWN, OWN))


@pytest.mark.parametrize("reason", ["length", "content_filter"])
async def test_a_reply_that_would_end_so_again_is_not_asked_for_again(
    proposer_of: Any, server: Any, chat: Any, reason: str
) -> None:
    server.behaviour = chat.script(then=chat.says(None, reason))
    async with proposer_of() as proposer:
        reply = await proposer.propose(prompt(), 0)
    assert (reply.text, reply.finish_reason, len(server.asked)) == ("", reason, 1)


FILTERED = [
    "fails(400, code='content_filter')",
    "fails(403, 'Your input was flagged')",
    "says(None, refusal='I will not')",
]


@pytest.mark.parametrize("filtered", FILTERED)
async def test_a_filtered_prompt_is_a_reply(proposer_of: Any, server: Any, chat: Any, filtered: str) -> None:
    server.behaviour = chat.script(then=eval(filtered, vars(chat)))
    async with proposer_of() as proposer:
        assert (await proposer.propose(prompt(), 0)).finish_reason == "content_filter"


FATAL = [
    ("fails(401, 'Incorrect API key provided: sk-planted-0123456789abcdef')", "check OPENAI_API_KEY"),
    ("fails(401)", "check OPENAI_API_KEY"),
    ("fails(402, 'Insufficient Balance')", "no credit"),
    ("fails(403, 'Country not supported')", "Country not supported"),
    ("fails(404, 'The model `m` does not exist', 'model_not_found')", "--model"),
    ("fails(404, 'model \"m\" not found, try pulling it first')", "--model"),
    ("fails(400, 'm is not a valid model ID')", "--model"),
    ("fails(404, 'Not Found')", "OPENAI_BASE_URL"),
    ("Answer(404, b'<html>nginx</html>')", "OPENAI_BASE_URL"),
    ("fails(429, 'You exceeded your current quota', 'insufficient_quota')", "top it up"),
    ("fails(400, 'Invalid request of some other kind')", "some other kind"),
]


@pytest.mark.parametrize(("fatal", "advice"), FATAL)
async def test_a_lasting_refusal_stops_the_run_with_one_line_of_advice(
    proposer_of: Any, server: Any, chat: Any, fatal: str, advice: str
) -> None:
    server.behaviour = chat.script(then=eval(fatal, vars(chat)))
    async with proposer_of() as proposer:
        with pytest.raises(ProposerError, match=advice) as caught:
            await proposer.propose(prompt(), 0)
    assert "\n" not in str(caught.value)
    assert len(server.asked) == 1


async def test_a_refusal_in_the_middle_stops_every_further_request(proposer_of: Any, server: Any, chat: Any) -> None:
    server.behaviour = chat.script(*[chat.echo] * 20, then=chat.fails(401))
    async with proposer_of(connections=4) as proposer:
        tasks = [asyncio.create_task(proposer.propose(prompt(), ticket)) for ticket in range(200)]
        results = await asyncio.gather(*tasks, return_exceptions=True)
    assert Counter(type(result) for result in results) == {Reply: 20, ProposerError: 180}
    assert len(server.asked) <= 20 + 4


async def test_a_url_without_version_is_asked_under_v1(
    proposer_of: Any, server: Any, chat: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.behaviour = lambda asked: chat.echo(asked) if asked.path.startswith("/v1/") else chat.fails(404, "Not Found")
    monkeypatch.setattr(server, "url", server.url.removesuffix("/v1"))
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    notes: list[str] = []
    monkeypatch.setenv("OPENAI_API_KEY", "")
    async with OpenAIProposer(Sampling({"m": 1.0}), 8, notes=notes.append) as proposer:
        assert {reply.text for reply in await replies(proposer, 20)} == {f"reply to p{n}" for n in range(20)}
    assert len(notes) == 1
    assert "/v1" in notes[0]


def refusing(chat: Any, *parameters: str) -> Any:
    """Refuses each of the parameters by name, as OpenAI does, as long as it comes."""

    def behave(asked: Any) -> Any:
        for name in parameters:
            if name in asked.body:
                text = f"Unsupported parameter: '{name}' is not supported with this model."
                return chat.fails(400, text, "unsupported_parameter", name)
        return chat.echo(asked)

    return behave


async def test_a_refused_parameter_is_dropped_once_for_all_and_noted(proposer_of: Any, server: Any, chat: Any) -> None:
    server.behaviour = refusing(chat, "temperature", "reasoning_effort", "top_k")
    notes: list[str] = []
    settings = {"temperature": 0.5, "reasoning_effort": "low", "extra_body": {"top_k": 5}}
    async with proposer_of(connections=2, notes=notes.append, **settings) as proposer:
        assert len(await replies(proposer, 30)) == 30
    assert len(notes) == 3
    assert all("'temperature'" in note or "'reasoning_effort'" in note or "'top_k'" in note for note in notes)
    assert len(server.asked) <= 30 + 3 * 2


async def test_the_token_limit_goes_by_its_other_name_where_the_first_is_refused(
    proposer_of: Any, server: Any, chat: Any
) -> None:
    server.behaviour = refusing(chat, "max_tokens")
    async with proposer_of(max_tokens=7) as proposer:
        await proposer.propose(prompt(), 0)
    assert server.asked[-1].body["max_completion_tokens"] == 7
    assert "max_tokens" not in server.asked[-1].body


async def test_a_refusal_that_names_the_parameter_in_words_is_understood(
    proposer_of: Any, server: Any, chat: Any
) -> None:
    refusal = chat.fails(422, "Extra inputs are not permitted: body.temperature")
    server.behaviour = lambda asked: refusal if "temperature" in asked.body else chat.echo(asked)
    async with proposer_of(temperature=1.0) as proposer:
        assert (await proposer.propose(prompt(), 0)).text == "reply to hello"


async def test_a_model_without_a_system_role_gets_the_system_prompt_in_the_prompt(
    proposer_of: Any, server: Any, chat: Any
) -> None:
    refusal = chat.fails(400, "System role not supported")
    server.behaviour = lambda asked: refusal if len(asked.body["messages"]) > 1 else chat.echo(asked)
    async with proposer_of(system_prompt="be brief") as proposer:
        assert (await proposer.propose(prompt(), 0)).text == "reply to be brief\n\nhello"


async def test_what_one_model_refuses_another_may_still_get(proposer_of: Any, server: Any, chat: Any) -> None:
    refuse = refusing(chat, "temperature")
    server.behaviour = lambda asked: refuse(asked) if asked.body["model"] == "picky" else chat.echo(asked)
    async with proposer_of(models={"picky": 1.0, "easy": 1.0}, temperature=0.3) as proposer:
        answered = await replies(proposer, 20)
    assert {reply.model for reply in answered} == {"picky", "easy"}
    assert all("temperature" in asked.body for asked in server.asked if asked.body["model"] == "easy")


async def test_a_prompt_longer_than_the_context_is_given_up_and_noted(proposer_of: Any, server: Any, chat: Any) -> None:
    too_long = chat.fails(
        400, "This model's maximum context length is 10 tokens", "context_length_exceeded", "messages"
    )
    server.behaviour = lambda asked: too_long if asked.prompt == "p1" else chat.echo(asked)
    notes: list[str] = []
    async with proposer_of(notes=notes.append) as proposer:
        texts = [reply.text for reply in await replies(proposer, 3)]
    assert texts == ["reply to p0", "", "reply to p2"]
    assert "candidate 1" in notes[0]


async def test_a_prompt_that_always_fails_is_given_up_while_others_are_answered(
    proposer_of: Any, server: Any, chat: Any
) -> None:
    server.behaviour = lambda asked: chat.fails(500) if asked.prompt == "p1" else chat.echo(asked).after(0.01)
    async with proposer_of(connections=2, patience=Patience(attempts=3, backoff_s=0.001)) as proposer:
        answered = await replies(proposer, 20)
    assert [ticket for ticket, reply in enumerate(answered) if not reply.text] == [1]
    assert len(answered[1].calls) == 3


async def test_an_endpoint_that_never_answers_stops_the_run(
    proposer_of: Any, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    async with OpenAIProposer(Sampling({"m": 1.0}), patience=Patience(start_s=0.1, backoff_s=0.01)) as proposer:
        with pytest.raises(ProposerError, match="no reply for"):
            await proposer.propose(prompt(), 0)


async def test_a_thousand_requests_never_exceed_the_limit_of_eight(proposer_of: Any, server: Any, chat: Any) -> None:
    server.behaviour = chat.slow(chat.echo, 0.001)
    async with proposer_of(connections=8) as proposer:
        answered = await replies(proposer, 1000)
    assert [reply.text for reply in answered] == [f"reply to p{ticket}" for ticket in range(1000)]
    assert server.most_in_flight == 8
    assert len(server.asked) == 1000


async def test_with_a_fifth_of_faults_every_ticket_gets_its_own_reply_exactly_once(
    proposer_of: Any, server: Any, chat: Any
) -> None:
    server.behaviour = chat.faulty(0.2, seed=1)
    async with proposer_of(connections=16, patience=Patience(request_s=0.3, backoff_s=0.005)) as proposer:
        answered = await replies(proposer, 300)
    assert [reply.text for reply in answered] == [f"reply to p{ticket}" for ticket in range(300)]
    assert len(server.asked) > 300


async def test_replies_out_of_order_reach_the_tickets_they_belong_to(proposer_of: Any, server: Any, chat: Any) -> None:
    server.behaviour = lambda asked: chat.echo(asked).after(0.03 * (7 * asked.number % 5))
    async with proposer_of() as proposer:
        answered = await replies(proposer, 40)
    assert [reply.text for reply in answered] == [f"reply to p{ticket}" for ticket in range(40)]


async def test_models_are_drawn_by_weight_as_a_function_of_the_ticket(proposer_of: Any) -> None:
    async with (
        proposer_of(models={"a": 3.0, "b": 1.0}, seed=5) as one,
        proposer_of(models={"a": 3.0, "b": 1.0}, seed=5, temperature=1.0) as other,
    ):
        first, second = await replies(one, 200), await replies(other, 200)
    assert [reply.model for reply in first] == [reply.model for reply in second]
    assert 120 <= sum(reply.model == "a" for reply in first) <= 180


async def test_the_key_is_in_no_note_error_or_log(
    proposer_of: Any, server: Any, chat: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    leak = f"your key {KEY} is wrong"
    notes: list[str] = []
    server.behaviour = chat.script(
        chat.fails(500, leak),
        chat.fails(429, leak),
        chat.fails(400, f"{leak}: temperature", param="temperature"),
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
    async with OpenAIProposer(Sampling({"m": 1.0})) as proposer:
        assert (await proposer.propose(prompt(), 0)).text == "reply to hello"


@pytest.mark.parametrize(
    ("url", "key", "advice"),
    [
        ("", "", "set OPENAI_API_KEY"),
        ("localhost:8000/v1", "k", "full URL"),
        ("ftp://host/v1", "k", "full URL"),
        ("", "sk-two\nlines", "a line end"),
    ],
)
def test_an_unusable_environment_is_refused_before_anything_is_sent(
    monkeypatch: pytest.MonkeyPatch, url: str, key: str, advice: str
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(UsageError, match=advice) as caught:
        OpenAIProposer(Sampling({"m": 1.0}))
    assert "two" not in str(caught.value)


async def test_a_cancelled_request_gives_its_place_back(proposer_of: Any, server: Any, chat: Any) -> None:
    server.behaviour = chat.script(*[chat.stall(5)] * 4)
    async with proposer_of(connections=2, patience=Patience()) as proposer:
        tasks = [asyncio.create_task(proposer.propose(prompt(), ticket)) for ticket in range(4)]
        while len(server.asked) < 2:
            await asyncio.sleep(0.001)
        server.behaviour = chat.echo
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert len(await replies(proposer, 10)) == 10


@pytest.mark.parametrize("noise", [b"", b"SSH-2.0-OpenSSH_9.6\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"])
async def test_a_server_that_speaks_something_else_counts_as_a_fault(
    monkeypatch: pytest.MonkeyPatch, noise: bytes
) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(noise)
        writer.close()

    listening = await asyncio.start_server(answer, "127.0.0.1", 0)
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}")
    patience = Patience(request_s=0.5, start_s=0.05, backoff_s=0.01)
    async with listening, OpenAIProposer(Sampling({"m": 1.0}), patience=patience) as proposer:
        with pytest.raises(ProposerError, match="no reply for"):
            await proposer.propose(prompt(), 0)
