"""Events as rows: a type, a JSON payload, and the trajectories as one blob."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json

from behavesim.events import STORED_AS, TEMPLATE, Evaluated, Event
from behavesim.text import one_line
from behavesim.trajectory import pack, unpack

NAMES = {kind: name for name, kind in STORED_AS.items()}
"""The name of each type of event, as it is stored."""

LATEST = 253402300800.0
HIGHEST = (1 << 63) - 1
"""The highest number of a candidate: what a column can hold."""


def encode(event: Event) -> tuple[str, str, bytes | None]:
    """The type, the payload and the blob of an event."""
    kind = NAMES[type(event)]
    if isinstance(event, Evaluated):
        payload = _adapter(kind).dump_json(replace(event, trajectories=()))
        return kind, payload.decode(), pack(event.trajectories)
    return kind, _adapter(kind).dump_json(event).decode(), None


def decode(kind: object, payload: object, blob: object) -> Event:
    """The event of a row; raises ValueError, with one line, where the row holds none, whatever is in its columns."""
    if not isinstance(kind, str) or kind not in STORED_AS:
        raise ValueError(f"there is no event of type {kind!r:.40}")
    if not isinstance(payload, str):
        raise ValueError(f"its payload is {type(payload).__name__}, not text")
    values = from_json(payload, allow_inf_nan=False)
    if not isinstance(values, dict):
        raise ValueError("its payload is no JSON object")
    if STORED_AS[kind] is Evaluated:
        values["trajectories"] = unpack(blob)
    try:
        event: Event = _adapter(kind).validate_python(values)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        raise ValueError(one_line(f"{'.'.join(map(str, first['loc']))}: {first['msg']}")) from error
    if abs(getattr(event, "candidate", TEMPLATE)) > HIGHEST:
        raise ValueError("no candidate has such a number")
    return event


def check_time(at: object) -> float:
    """The time of a row, in seconds since 1970; raises ValueError where it is none, or one beyond the year 9999."""
    if not isinstance(at, float) or not 0 <= at < LATEST:
        raise ValueError(f"its time is {at!r:.40}")
    return at


@cache
def _adapter(name: str) -> TypeAdapter[Any]:
    return TypeAdapter(STORED_AS[name])
