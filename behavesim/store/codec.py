"""Events as rows: a type, a JSON payload, and the trajectories as one blob."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json

from behavesim.events import STORED_AS, TEMPLATE, Evaluated, Event
from behavesim.text import one_line
from behavesim.trajectory import Trajectory

NAMES = {kind: name for name, kind in STORED_AS.items()}
"""The name of each type of event, as it is stored."""

LATEST = 253402300800.0
HIGHEST = (1 << 63) - 1
"""The highest number of a candidate: what a column can hold."""
_LENGTH = struct.Struct("<I")


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


def pack(trajectories: Sequence[Trajectory]) -> bytes:
    """Trajectories one after another, each behind its length in bytes (32-bit little-endian)."""
    encoded = [trajectory.to_bytes() for trajectory in trajectories]
    return b"".join(_LENGTH.pack(len(data)) + data for data in encoded)


def unpack(blob: object) -> tuple[Trajectory, ...]:
    """The trajectories of a blob; raises ValueError where it is none, or cut off."""
    if not isinstance(blob, bytes):
        raise ValueError("its trajectories are missing")
    trajectories, start = [], 0
    while start < len(blob):
        if start + _LENGTH.size > len(blob):
            raise ValueError("a trajectory's length is cut off")
        (length,) = _LENGTH.unpack_from(blob, start)
        start += _LENGTH.size
        if start + length > len(blob):
            raise ValueError("a trajectory is cut off")
        trajectories.append(Trajectory.from_bytes(blob[start : start + length]))
        start += length
    return tuple(trajectories)


@cache
def _adapter(name: str) -> TypeAdapter[Any]:
    return TypeAdapter(STORED_AS[name])
