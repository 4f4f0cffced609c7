"""Whatever an endpoint answers, it is a reply that can be stored or a fault that can be named; nothing is raised."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.proposers.hostile_answers import KEY, check, endpoint

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
@settings(max_examples=150)
def test_any_document_is_a_reply_or_a_fault(status: int, pause: str, document: Any) -> None:
    body = json.dumps(document).encode()
    check(ASKED, b"%d\n%b\napplication/json\n%b" % (status, pause.encode("utf-8", "replace"), body))


@given(STATUS, st.sampled_from(["application/json", "text/html", "text/event-stream"]), st.binary(max_size=200))
@settings(max_examples=200)
def test_any_bytes_are_a_reply_or_a_fault(status: int, kind: str, body: bytes) -> None:
    check(ASKED, b"%d\n\n%b\n%b" % (status, kind.encode(), body))
