"""Whatever an endpoint answers, it is a reply that can be stored or a fault that can be named; nothing is raised."""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from behavesim.base.heartbeat import Heartbeat
from behavesim.proposers.openai_endpoint import Endpoint
from behavesim.proposers.openai_settings import Terms
from behavesim.proposers.retry import Completion
from tests.proposers.hostile_answers import KEY, check, check_completion, check_fault, endpoint

ASKED = endpoint()

TEXT = st.text(st.characters(), max_size=20) | st.sampled_from(
    [KEY, f"{KEY}\x1b[2J", "\ud83d", "\x00", "stop", "length", "error", "429", "temperature", "model_not_found"]
)
NUMBER = st.integers() | st.floats() | st.integers(10**18, 10**30)
ANYTHING = st.recursive(
    st.none() | st.booleans() | NUMBER | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


def some(**fields: Any) -> Any:
    """An object that has some of the fields, each of which may hold anything else as well."""
    return st.fixed_dictionaries({}, optional={name: value | ANYTHING for name, value in fields.items()})


CALL = some(function=some(arguments=ANYTHING.map(json.dumps) | TEXT))
MESSAGE = some(
    content=TEXT | st.lists(some(text=TEXT)),
    tool_calls=st.lists(CALL),
    function_call=some(arguments=TEXT),
    reasoning_content=TEXT,
    refusal=TEXT,
)
COUNTS = some(
    prompt_tokens=NUMBER,
    completion_tokens=NUMBER,
    prompt_tokens_details=some(cached_tokens=NUMBER),
    completion_tokens_details=some(reasoning_tokens=NUMBER),
)
DOCUMENT = some(
    choices=st.lists(some(message=MESSAGE, finish_reason=TEXT, text=TEXT), max_size=2),
    usage=COUNTS,
    error=some(message=TEXT, code=TEXT, param=TEXT, type=TEXT) | TEXT,
    detail=TEXT,
    object=st.just("error"),
    model=TEXT,
    id=TEXT,
)
STATUS = st.sampled_from([200, 201, 400, 401, 402, 403, 404, 407, 409, 413, 418, 422, 429, 500, 503, 529, 599])
PAUSE = st.sampled_from(["", "1", "1e999", "-1", "nan", "6m0s", "Wed, 21 Oct 2015 07:28:00 GMT"]) | st.text(max_size=30)


@given(STATUS, PAUSE, DOCUMENT)
@settings(max_examples=60)
def test_any_document_is_a_reply_or_a_fault(status: int, pause: str, document: Any) -> None:
    body = json.dumps(document).encode()
    check(ASKED, b"%d\n%b\napplication/json\n%b" % (status, pause.encode("utf-8", "replace"), body))


@given(STATUS, st.sampled_from(["application/json", "text/html", "text/event-stream"]), st.binary(max_size=200))
@settings(max_examples=80)
def test_any_bytes_are_a_reply_or_a_fault(status: int, kind: str, body: bytes) -> None:
    check(ASKED, b"%d\n\n%b\n%b" % (status, kind.encode(), body))


LINES = [
    *(b"200 OK", b"204 No", b"304 Same", b"301 To", b"307 To", b"308 To", b"404 No", b"429 Slow", b"500 No", b"199 X"),
    *(b"999 X", b"101 Up", b"100 On", b"200", b"2xx OK", b"200 \xff\xfe"),
]
HEADERS = [
    *(b"Content-Type: text/html; charset=rot13", b"Content-Type: a/b; charset=utf-7", b"Content-Type: \xff\xfe"),
    *(b"Location: http://[::1/", b"Location: //", b"Location: \xff", b"Location: ../x", b"Location: ftp://x/"),
    *(b"Retry-After: \xff", b"Set-Cookie: a=b; Domain=\xff; Max-Age=x", b"Set-Cookie: =;;;", b"Content-Encoding: br"),
    *(b"Content-Encoding: gzip, gzip", b"Content-Encoding: gzip, deflate, x", b"Transfer-Encoding: chunked"),
    *(b"Content-Length: 5", b"Content-Length: 5, 6", b"Content-Length: -1", b"X:", b": y", b"X y"),
    *(b"Connection: upgrade\r\nUpgrade: x", b"WWW-Authenticate: Basic", b"x-request-id: \xff"),
]
BODIES = [b"", b"{}", b"null", b"\xff\xfe", b"5\r\nhello\r\n0\r\n\r\n", b"zz\r\n", b"\x1f\x8b\x08"]


async def test_whatever_comes_in_place_of_an_answer_is_a_value_and_nothing_is_raised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = random.Random(5)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(2**16)
        headers = b"".join(rng.choice(HEADERS) + b"\r\n" for _ in range(rng.randrange(4)))
        writer.write(b"HTTP/1.1 " + rng.choice(LINES) + b"\r\n" + headers + b"\r\n" + rng.choice(BODIES))
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")
        asked = Endpoint(0.3, Heartbeat(beat_s=0.02))
        for _ in range(400):
            found = await asked.completion({"model": "m", "messages": []}, Terms())
            check_completion(found) if isinstance(found, Completion) else check_fault(found, found.message)
        await asked.aclose()
