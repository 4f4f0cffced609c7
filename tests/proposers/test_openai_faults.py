"""A real server on this machine misbehaves in every way we could think of, and the openai proposer copes."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from behavesim.base.errors import ProposerError
from behavesim.base.heartbeat import Heartbeat
from behavesim.base.tokens import Usage
from behavesim.proposers import retry
from behavesim.proposers.openai_answers import answer
from behavesim.proposers.openai_settings import Terms
from behavesim.proposers.retry import Completion, Fault, RetryLimits, RetryPolicy
from behavesim.proposers.secrets import Secrets
from behavesim.state.events import Reply, note_number
from behavesim.state.requests import Requests
from tests.proposers import chat_server as chat
from tests.proposers.asking import OWN, context, openai_proposer, prompt, replies

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
]


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_passing_fault_is_ridden_out(proposer_of: Any, server: Any, fault: str) -> None:
    server.behaviour = chat.script(eval(fault, vars(chat)), eval(fault, vars(chat)))
    async with proposer_of() as proposer:
        reply = await proposer.propose(prompt(), 0)
    assert reply.text == "reply to hello"
    assert reply.calls[-1] == OWN
    assert len(server.asked) == 3


async def test_a_stalled_request_is_let_go_and_asked_again(proposer_of: Any, server: Any) -> None:
    server.behaviour = chat.script(chat.stall(60))
    async with proposer_of(1, chat.UNTIRING, world=chat.Hurried(server)) as proposer:
        reply = await proposer.propose(prompt(), 0)
    assert reply.text == "reply to hello"
    assert len(server.asked) > len(reply.calls)


async def test_every_answered_request_is_in_the_ledger_and_no_other(proposer_of: Any, server: Any) -> None:
    server.behaviour = chat.script(chat.fails(500), chat.null_content(), chat.reset(), chat.cut_off())
    async with proposer_of() as proposer:
        reply = await proposer.propose(prompt(), 0)
    assert reply.calls == (Usage(0, 0, 0, 0), OWN, OWN)


@pytest.mark.parametrize("nothing", ["no_choices()", "null_content()"])
async def test_a_reply_that_stays_empty_is_returned_as_such(proposer_of: Any, server: Any, nothing: str) -> None:
    server.behaviour = chat.script(then=eval(nothing, vars(chat)))
    async with proposer_of(limits=RetryLimits(empty=2, backoff_s=0.001)) as proposer:
        reply = await proposer.propose(prompt(), 0)
    assert (reply.text, reply.calls) == ("", (OWN, OWN, OWN))


@pytest.mark.parametrize("reason", ["length", "max_tokens", "content_filter"])
async def test_a_reply_that_would_end_so_again_is_not_asked_for_again(
    proposer_of: Any, server: Any, reason: str
) -> None:
    server.behaviour = chat.script(then=chat.says(None, reason))
    async with proposer_of() as proposer:
        reply = await proposer.propose(prompt(), 0)
    assert (reply.text, reply.finish_reason, len(server.asked)) == ("", reason, 1)


FILTERED = [
    "fails(400, code='content_filter')",
    "replace(document({'error': {'code': 403, 'message': 'no', 'metadata': {'flagged_input': 'a'}}}), status=403)",
    "says(None, refusal='I will not')",
]


@pytest.mark.parametrize("filtered", FILTERED)
async def test_a_filtered_prompt_is_a_reply(proposer_of: Any, server: Any, filtered: str) -> None:
    server.behaviour = chat.script(then=eval(filtered, vars(chat)))
    async with proposer_of() as proposer:
        assert (await proposer.propose(prompt(), 0)).finish_reason == "content_filter"


FATAL = [
    ("fails(401, 'Incorrect API key provided: sk-planted-0123456789abcdef')", "check OPENAI_API_KEY"),
    ("fails(401)", "check OPENAI_API_KEY"),
    ("fails(402, 'Insufficient Balance')", "no credit"),
    ("fails(403, 'Country not supported')", "Country not supported"),
    ("fails(404, 'The model `m` does not exist', 'model_not_found')", "`behavesim doctor --model NAME` asks"),
    ("fails(404, 'model \"m\" not found, try pulling it first')", "--model"),
    ("fails(403, 'Your input was flagged')", "check what the key may use"),
    ("fails(404, 'Not Found')", "OPENAI_BASE_URL"),
    ("Answer(404, b'<html>nginx</html>')", "OPENAI_BASE_URL"),
    ("fails(429, 'You exceeded your current quota', 'insufficient_quota')", "top it up"),
    ("fails(400, 'Invalid request of some other kind')", "some other kind"),
    (
        "fails(429, 'daily limit').with_headers(Retry_After='86400')",
        "resume the run in 24 hours, when the pause is over",
    ),
    ("fails(503).with_headers(Retry_After='1e12')", "resume the run in 11,574,075 days"),
    ("fails(429).with_headers(Retry_After='Mon, 12 Oct 2099 00:00:00 GMT')", r"resume the run in 2\d,\d{3} days"),
    ("fails(500).with_headers(Retry_After='86400')", "resume the run in"),
]


@pytest.mark.parametrize(("fatal", "advice"), FATAL)
async def test_a_lasting_refusal_stops_the_run_with_one_line_of_advice(
    proposer_of: Any, server: Any, fatal: str, advice: str
) -> None:
    server.behaviour = chat.script(then=eval(fatal, vars(chat)))
    async with proposer_of() as proposer:
        with pytest.raises(ProposerError, match=advice) as caught:
            await proposer.propose(prompt(), 0)
    assert "\n" not in str(caught.value)
    assert len(server.asked) == 1


ENDLESS = ["fails(400, 'model ' * 600_000)", "replace(web_page(), status=418, body=b'<html>' + b'<' * 3_000_000)"]


@pytest.mark.parametrize("endless", ENDLESS)
async def test_an_error_of_megabytes_is_read_like_any_other(proposer_of: Any, server: Any, endless: str) -> None:
    server.behaviour = chat.script(then=eval(endless, vars(chat)))
    async with proposer_of() as proposer:
        with pytest.raises(ProposerError, match="the endpoint refuses the request"):
            await proposer.propose(prompt(), 0)


async def test_a_refusal_in_the_middle_stops_every_further_request(proposer_of: Any, server: Any) -> None:
    server.behaviour = chat.script(*[chat.echo] * 20, then=chat.fails(401))
    async with proposer_of(connections=4) as proposer:
        tasks = [asyncio.create_task(proposer.propose(prompt(), number)) for number in range(200)]
        results = await asyncio.gather(*tasks, return_exceptions=True)
    assert Counter(type(result) for result in results) == {Reply: 20, ProposerError: 180}
    assert len(server.asked) <= 20 + 4


TOO_LONG = [
    "fails(400, \"This model's maximum is 10 tokens\", 'context_length_exceeded', 'messages')",
    "replace(document({'error': {'code': 400, 'type': 'exceed_context_size_error', 'message': 'no'}}), status=400)",
    "fails(413, 'Payload Too Large')",
]


@pytest.mark.parametrize("too_long", TOO_LONG)
async def test_a_prompt_longer_than_the_context_is_given_up_and_noted(
    proposer_of: Any, server: Any, too_long: str
) -> None:
    refused = eval(too_long, vars(chat))
    server.behaviour = lambda asked: refused if asked.prompt == "p1" else chat.echo(asked)
    notes: list[str] = []
    async with proposer_of(notes=notes.append) as proposer:
        texts = [reply.text for reply in await replies(proposer, 3)]
    assert texts == ["reply to p0", "", "reply to p2"]
    assert "candidate 1" in notes[0] and "the prompt is longer than the model takes" in notes[0]


async def test_a_note_that_is_given_up_is_told_by_its_own_number(proposer_of: Any, server: Any) -> None:
    server.behaviour = lambda asked: eval(TOO_LONG[0], vars(chat))
    notes: list[str] = []
    async with proposer_of(notes=notes.append) as proposer:
        assert (await proposer.propose(prompt(), note_number(3))).fault
    assert notes[0].startswith("the prompt of note 3 is given up: ")


async def test_a_prompt_that_always_fails_is_given_up_while_others_are_answered(proposer_of: Any, server: Any) -> None:
    server.behaviour = lambda asked: chat.fails(500) if asked.prompt == "p1" else chat.echo(asked).after(0.01)
    async with proposer_of(connections=2, limits=RetryLimits(attempts=3, backoff_s=0.001)) as proposer:
        answered = await replies(proposer, 20)
    assert [number for number, reply in enumerate(answered) if not reply.text] == [1]
    assert len(answered[1].calls) >= 3


async def test_an_endpoint_that_never_answers_stops_the_run(
    proposer_of: Any, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    async with openai_proposer(limits=RetryLimits(start_s=0.1, backoff_s=0.01)) as proposer:
        with pytest.raises(ProposerError, match="no reply for"):
            await proposer.propose(prompt(), 0)


async def test_silence_is_borne_no_longer_than_patience_lasts(
    monkeypatch: pytest.MonkeyPatch, proposer_of: Any
) -> None:
    now = [0.0]
    clock = Heartbeat(world=lambda: now[0], busy=lambda: 0.0)

    async def sleep(seconds: float) -> None:
        for _ in range(100):
            now[0] += seconds / 100
            clock()

    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setattr(retry, "asyncio", SimpleNamespace(**{**vars(asyncio), "sleep": sleep}))
    async with openai_proposer(clock=clock) as proposer:
        with pytest.raises(ProposerError, match="no reply for 6"):
            await proposer.propose(prompt(), 0)
    assert 60 < now[0] < 63


async def test_with_a_fifth_of_faults_every_candidate_gets_its_own_reply_exactly_once(
    proposer_of: Any, server: Any
) -> None:
    server.behaviour = chat.faulty(0.2, seed=1)
    async with proposer_of(16, chat.UNTIRING, world=chat.Hurried(server)) as proposer:
        answered = await replies(proposer, 120)
    assert [reply.text for reply in answered] == [f"reply to p{number}" for number in range(120)]
    assert len(server.asked) > 120


async def test_a_pause_for_which_the_run_stops_is_not_said_to_be_waited_for(proposer_of: Any, server: Any) -> None:
    server.behaviour = chat.script(then=chat.fails(429).with_headers(Retry_After="86400"))
    notes: list[str] = []
    async with proposer_of(notes=notes.append) as proposer:
        with pytest.raises(ProposerError, match="24 hours"):
            await proposer.propose(prompt(), 0)
    assert not notes


async def test_a_long_pause_is_said_though_a_short_one_was_said_a_moment_before(
    proposer_of: Any, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("behavesim.base.notices.LONG_S", 0.1)
    short, long = (chat.fails(429, "slow down").with_headers(Retry_After=after) for after in ("0.01", "0.7"))
    server.behaviour = chat.script(short, short, long)
    notes: list[str] = []
    async with proposer_of(connections=1, notes=notes.append) as proposer:
        await replies(proposer, 1)
    assert [note.partition("; ")[2] for note in notes] == [
        "waiting 0 s",
        "waiting 1 s (before it 1 more pause, not shown)",
    ]


class Hurrying(asyncio.SelectorEventLoop):
    """An event loop whose time, and the clock `now`, go on as soon as everything waits, at most 0.9 s at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.now, select = 0.0, self._selector.select  # type: ignore[attr-defined]

        def hurry(timeout: float | None = None) -> Any:
            self.now += min(timeout or 0.0, 0.9)
            return select(0)

        self._selector.select = hurry  # type: ignore[attr-defined]

    def time(self) -> float:
        return self.now


ERROR = {"message": "no", "type": "error", "code": None, "param": None}
BODIES: dict[str, tuple[str, bytes]] = {
    "nothing": ("", b""),
    "an error": ("application/json", json.dumps({"error": ERROR}).encode()),
    "a gateway's page": ("text/html", b"<html><title>Gateway time-out</title></html>"),
    "text": ("text/plain", b"error code: 524"),
    "details": ("application/json", b'{"detail": [{"loc": ["body", "x"], "type": "missing", "msg": "no"}]}'),
    "a reply without choices": ("application/json", b"{}"),
}
PAUSES = [{}, {"retry-after": "1"}, {"retry-after": "0"}, {"x-ratelimit-remaining-requests": "0"}]
BILLED_PERHAPS = {408, 460, 499, 502, 504, 520, 521, 522, 523, 524, 598, 599}
REFUSED = Usage(0, 0, 0, 0)
BRIEF = RetryLimits(outage_s=60.0, start_s=20.0)


def answered_for_ever(status: int, headers: dict[str, str], body: bytes, replied: bool) -> tuple[Any, int, Requests]:
    """What becomes of a prompt that has this answer for ever: the reply or the error, and how often it was sent."""
    loop, sent = Hurrying(), 0
    clock, requests = Heartbeat(world=lambda: loop.now), Requests()
    about = context(2, clock=clock, requests=requests, tell=lambda line: None)

    async def ask() -> Completion | Fault:
        nonlocal sent
        sent += 1
        clock()
        return answer(status, headers, body, Terms("m", ("temperature",)), str)

    async def asked() -> Any:
        beating = asyncio.create_task(beat(clock))
        policy = RetryPolicy(BRIEF, about, Secrets(()))
        if replied:
            await policy.reply(policy.begin(0), lambda: asyncio.sleep(0, Completion("x", None, Usage())))
        try:
            return await policy.reply(policy.begin(1, "m", "hello"), ask)
        except ProposerError as error:
            return error
        finally:
            beating.cancel()

    try:
        return loop.run_until_complete(asked()), sent, requests
    finally:
        loop.close()


async def beat(clock: Heartbeat) -> None:
    while True:  # a clock that nobody reads takes a long time for sleep
        clock()
        await asyncio.sleep(0.9)


@pytest.mark.parametrize("replied", [False, True])
def test_whatever_status_comes_for_ever_the_prompt_or_the_run_ends_and_every_request_is_counted(replied: bool) -> None:
    bodies, limit_s = list(BODIES.values()), BRIEF.outage_s if replied else BRIEF.start_s
    cases = [(status, PAUSES[status // 6 % 4], bodies[status % 6]) for status in range(100, 600)]
    for status, pause, (content, body) in [*cases, *((429, pause, bodies[1]) for pause in PAUSES)]:
        headers = {"content-type": content, **pause}
        found, sent, requests = answered_for_ever(status, headers, body, replied)
        unsure = requests.unreported or 0
        if isinstance(found, Reply):
            assert found.fault or not found.text
            assert sent == len(found.calls) + found.unanswered
            unsure = found.unanswered + sum(call != REFUSED for call in found.calls)
        assert sent <= limit_s + 5, f"{status} is asked for ever"
        may_be_billed = status < 400 or status in BILLED_PERHAPS or not_listed(status)
        assert unsure == (sent if may_be_billed else 0), status


def not_listed(status: int) -> bool:
    """Whether a status above 500 is none that a server gives for work that it did not do."""
    return status > 500 and status not in {501, 503, 505, 511, 529}
