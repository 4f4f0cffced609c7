"""Whatever an endpoint writes can be stored and shown, and what it paid for is found where it stands."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from behavesim.base.errors import ProposerError
from behavesim.base.tokens import Usage
from behavesim.programs.extract import extract
from behavesim.programs.reading import FunctionForm, Program, Request
from behavesim.proposers import openai_endpoint
from behavesim.proposers.retry import RetryLimits
from behavesim.state.events import Responded
from behavesim.store.codec import decode, encode
from tests.proposers import chat_server as chat
from tests.proposers.asking import KEY, OWN, counted, openai_proposer, prompt, replies

HALF = "\ud83d"
RAW = "\x1b[2J\x9b31m\x00\x07\r\x7f\u202e\u2028"


def stored(reply: Any) -> Any:
    """The reply as a journal gives it back."""
    event = decode(*encode(Responded(0, reply)))
    assert isinstance(event, Responded)
    return event.reply


async def test_half_an_emoji_costs_a_reply_nothing_else(proposer_of: Any, server: Any) -> None:
    server.behaviour = chat.script(
        then=chat.says(f"a{HALF}b \ud83d\ude00", f"st{HALF}op", {"prompt_tokens": HALF, "completion_tokens": 3})
    )
    async with proposer_of() as proposer:
        reply = await proposer.propose(prompt(), 0)
    assert (reply.text, reply.finish_reason) == ("a\ufffdb 😀", "st\ufffdop")
    assert counted(reply) == [Usage(completion=3)]
    assert stored(reply) == reply
    assert len(server.asked) == 1


async def test_half_an_emoji_in_a_prompt_is_sent_as_it_is(proposer_of: Any, server: Any) -> None:
    async with proposer_of(extra_body={"k": [HALF]}) as proposer:
        await proposer.propose(prompt(f"a{HALF}"), 0)
    (asked,) = server.asked
    assert [message["content"] for message in asked.body["messages"]] == [f"a{HALF}"]
    assert asked.body["k"] == [HALF]


async def test_what_is_stored_of_a_reply_is_what_programs_are_read_from(proposer_of: Any, server: Any) -> None:
    server.behaviour = chat.script(then=chat.says(f"a{RAW}b"))
    async with proposer_of() as proposer:
        reply = await proposer.propose(prompt(), 0)
    assert reply.text == f"a{RAW}b"
    assert stored(reply) == reply


ERRORS = [
    "fails(400, TEXT)",
    "fails(403, TEXT, TEXT, TEXT)",
    "fails(500, TEXT)",
    "fails(418, TEXT)",
    "document({'error': TEXT})",
    "document({'error': {'message': {TEXT: [TEXT]}, 'type': TEXT}})",
    "replace(document({'detail': [{'msg': TEXT, TEXT: TEXT}]}), status=422)",
    "Answer(502, TEXT.encode('utf-8', 'replace'))",
    "web_page(200, TEXT.replace(HALF, '').replace(RAW[0], '&#27;'))",
    "says('', TEXT)",
]


@pytest.mark.parametrize("error", ERRORS)
async def test_no_error_text_moves_a_cursor_fakes_a_line_or_holds_the_key(
    proposer_of: Any, server: Any, error: str
) -> None:
    text = f"wrong{HALF}{RAW}\nbehavesim: all is well {KEY} " * 20
    answer = eval(error, {**vars(chat), "TEXT": text, "HALF": HALF, "RAW": RAW})
    server.behaviour = chat.script(chat.echo, answer, answer, answer, answer, then=chat.fails(402, text))
    notes: list[str] = []
    async with proposer_of(notes=notes.append, limits=RetryLimits(backoff_s=0.001)) as proposer:
        await proposer.propose(prompt(), 0)
        shown = notes
        try:
            await proposer.propose(prompt(), 1)
            await proposer.propose(prompt(), 2)
        except ProposerError as stopped:
            shown = [*notes, str(stopped)]
    assert shown
    for line in shown:
        assert line.isprintable()
        assert len(line) <= 500
        assert KEY[:12] not in line


async def test_a_key_that_an_endpoint_echoes_is_not_in_the_reply(proposer_of: Any, server: Any) -> None:
    parts = [{"type": "text", "text": KEY[:9]}, {"type": "text", "text": KEY[9:]}]
    server.behaviour = chat.script(chat.says(f"print('{KEY}')", KEY), then=chat.says(parts))
    async with proposer_of() as proposer:
        whole, in_parts = await proposer.propose(prompt(), 0), await proposer.propose(prompt(), 1)
    assert (whole.text, whole.finish_reason, in_parts.text) == ("print('…')", "…", "…")


async def test_a_placeholder_for_a_key_is_left_in_replies(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "EMPTY")
    server.behaviour = chat.script(then=chat.says("EMPTY = 0"))
    async with openai_proposer() as proposer:
        assert (await proposer.propose(prompt(), 0)).text == "EMPTY = 0"


CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"language": 3, "code": "the program"}'}}
PLACES: list[dict[str, Any]] = [
    {"tool_calls": [CALL]},
    {"tool_calls": [{"function": {"arguments": {"code": "the program"}}}]},
    {"tool_calls": [{"function": {"arguments": "the program"}}]},
    {"tool_calls": [{"function": {"arguments": '"the program"'}}]},
    {"tool_calls": [7, {"function": None}, CALL]},
    {"function_call": {"name": "f", "arguments": '{"code": "the program"}'}},
    {"reasoning_content": "the program"},
    {"reasoning": "the program"},
    {"content": " \n", "reasoning_content": "the program"},
    {"content": [{"type": "thinking", "thinking": [{"text": "hm"}]}, {"type": "text", "text": "the program"}]},
    {"content": ["the ", {"type": "text", "text": "program"}, None, {"text": 3}]},
    {"content": "the program", "reasoning_content": "hm", "tool_calls": [], "function_call": None},
]


@pytest.mark.parametrize("message", PLACES)
async def test_the_text_is_taken_from_where_it_is(proposer_of: Any, server: Any, message: dict[str, Any]) -> None:
    server.behaviour = chat.script(then=chat.says(**{"content": None, **message}))
    async with proposer_of() as proposer:
        reply = await proposer.propose(prompt(), 0)
    assert (reply.text, reply.calls) == ("the program", (OWN,))


async def test_a_call_that_was_cut_out_of_the_text_is_put_back(proposer_of: Any, server: Any) -> None:
    server.behaviour = chat.script(then=chat.says("Here it is.", tool_calls=[CALL]))
    async with proposer_of() as proposer:
        assert (await proposer.propose(prompt(), 0)).text == "Here it is.\n\nthe program"


async def test_a_program_that_a_call_passes_is_not_lost_behind_a_draft(proposer_of: Any, server: Any) -> None:
    call = {"function": {"arguments": '{"file": "f.py", "code": "def f():\\n    return 2"}'}}
    server.behaviour = chat.script(then=chat.says("```\ndef f():\n    return 1\n```", tool_calls=[call]))
    async with proposer_of() as proposer:
        text = (await proposer.propose(prompt(), 0)).text
    program = extract(FunctionForm("def f():\n    return 0", "f"), Request(text))
    assert isinstance(program, Program)
    assert program.source == "def f():\n    return 2"


async def test_half_a_character_in_bytes_costs_a_reply_nothing_else(proposer_of: Any, server: Any) -> None:
    body = chat.says("aXb").body.replace(b"aXb", b"a\xf0\x9f\x98b")
    server.behaviour = chat.script(then=chat.Answer(body=body))
    async with proposer_of() as proposer:
        assert (await proposer.propose(prompt(), 0)).text == "a\ufffdb"
    assert len(server.asked) == 1


async def test_a_completion_of_the_older_protocol_has_its_text_beside_the_message(
    proposer_of: Any, server: Any
) -> None:
    server.behaviour = chat.script(then=chat.document({"choices": [{"text": "the program", "finish_reason": "stop"}]}))
    async with proposer_of() as proposer:
        assert (await proposer.propose(prompt(), 0)).text == "the program"


async def test_reasoning_that_was_cut_off_is_no_reply(proposer_of: Any, server: Any) -> None:
    server.behaviour = chat.script(then=chat.says(None, "length", reasoning_content="a draft"))
    async with proposer_of() as proposer:
        assert (await proposer.propose(prompt(), 0)).text == ""


GARBAGE = ["100", -1, float("nan"), float("inf"), 1e400, 10**30, [], True, False, None, {}, 0.5, "\ud83d"]


@pytest.mark.parametrize("garbage", GARBAGE, ids=repr)
async def test_tokens_that_make_no_sense_are_unknown(proposer_of: Any, server: Any, garbage: object) -> None:
    counts = {
        "prompt_tokens": garbage,
        "completion_tokens": garbage,
        "prompt_tokens_details": {"cached_tokens": garbage},
        "completion_tokens_details": garbage,
        "prompt_cache_hit_tokens": garbage,
    }
    server.behaviour = chat.script(chat.says("text", usage=counts), then=chat.says("text", usage=garbage))
    async with proposer_of() as proposer:
        answered = await replies(proposer, 2)
    assert [counted(reply) for reply in answered] == [[Usage()], [Usage()]]


@pytest.mark.parametrize("number", ["1e400", "1" + "0" * 5000, "NaN", "-Infinity"])
async def test_a_number_beyond_reason_costs_no_reply_its_text(proposer_of: Any, server: Any, number: str) -> None:
    body = chat.says("text", usage={"prompt_tokens": "N", "completion_tokens": 5}).body.replace(b'"N"', number.encode())
    server.behaviour = chat.script(then=chat.Answer(body=body))
    async with proposer_of() as proposer:
        reply = await proposer.propose(prompt(), 0)
    assert (reply.text, counted(reply)) == ("text", [Usage(completion=5)])


@pytest.mark.parametrize(
    ("numbers", "usage"),
    [
        ((7.0, 0, None, None, None), Usage(prompt=7, completion=0)),  # decimal numbers
        ((32, 99, 131, 6, 94), Usage(prompt=32, cached=6, completion=99, reasoning=94)),
        # xAI counts reasoning beside the completion, and bills both
        ((32, 9, 135, 6, 94), Usage(prompt=32, cached=6, completion=103, reasoning=94)),
        ((32, 200, 326, None, 94), Usage(prompt=32, completion=294, reasoning=94)),
        ((32, 9, None, 40, 94), Usage(prompt=72, cached=40, completion=103, reasoning=94)),
    ],
)
async def test_what_an_endpoint_counts_beside_the_whole_is_part_of_it_here(
    proposer_of: Any, server: Any, numbers: tuple[object, ...], usage: Usage
) -> None:
    counts: dict[str, object] = dict(zip(("prompt_tokens", "completion_tokens", "total_tokens"), numbers, strict=False))
    counts["prompt_tokens_details"] = {"cached_tokens": numbers[3]}
    counts["completion_tokens_details"] = {"reasoning_tokens": numbers[4]}
    server.behaviour = chat.script(then=chat.says("text", usage=counts))
    async with proposer_of() as proposer:
        assert counted(await proposer.propose(prompt(), 0)) == [usage]


@pytest.mark.parametrize("depth", [100, 900, 100_000])
@pytest.mark.parametrize("place", ["content", "detail", "error"])
async def test_json_nested_beyond_reason_is_a_fault_or_an_empty_reply(
    proposer_of: Any, server: Any, depth: int, place: str
) -> None:
    nested = b"[" * depth + b"]" * depth
    body = b'{"choices": [{"message": {"content": %b}}]}' if place == "content" else b'{"%b": %%b}' % place.encode()
    server.behaviour = chat.script(chat.Answer(body=body % nested))
    async with proposer_of() as proposer:
        assert (await proposer.propose(prompt(), 0)).text == "reply to hello"


async def test_an_answer_without_end_is_read_no_further_than_any_reply_goes(proposer_of: Any, server: Any) -> None:
    server.behaviour = chat.script(chat.bomb(64), chat.echo, then=chat.bomb(64))
    notes: list[str] = []
    async with proposer_of(notes=notes.append) as proposer:
        texts = [(await proposer.propose(prompt(), number)).text for number in (1, 2)]
        tracemalloc.start()
        reply = await proposer.propose(prompt(), 3)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert (reply.text, reply.finish_reason, counted(reply)) == ("", "given_up", [Usage()])
    assert texts == ["", "reply to hello"], "the first answer of all is given up like any other"
    assert notes == [
        "the prompt of candidate 1 is given up: the endpoint's answer is longer than 4 MB; "
        "set max_completion_tokens, or choose another model"
    ]
    assert peak < 3 * openai_endpoint.ANSWER_BYTES


async def test_an_error_without_end_still_means_what_its_status_does(proposer_of: Any, server: Any) -> None:
    server.behaviour = chat.script(chat.bomb(64, status=500))
    async with proposer_of() as proposer:
        assert (await proposer.propose(prompt(), 0)).text == "reply to hello"
