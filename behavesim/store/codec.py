"""Events as rows: a type, a JSON payload, and the trajectories as one blob."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from pydantic import TypeAdapter
from pydantic_core import from_json

from behavesim.events import (
    Added,
    Asked,
    Compared,
    Evaluated,
    Event,
    NotAdded,
    NoteAsked,
    NoteReceived,
    Recommended,
    Regrouped,
    Rejected,
    Responded,
    RunForked,
    RunResumed,
    RunStarted,
    RunStopped,
)
from behavesim.trajectory import Trajectory

TYPES: dict[str, type] = {
    "RunStarted": RunStarted,
    "RunResumed": RunResumed,
    "RunForked": RunForked,
    "RunStopped": RunStopped,
    "Asked": Asked,
    "Responded": Responded,
    "Evaluated": Evaluated,
    "Rejected": Rejected,
    "Compared": Compared,
    "Added": Added,
    "NotAdded": NotAdded,
    "Regrouped": Regrouped,
    "NoteAsked": NoteAsked,
    "NoteReceived": NoteReceived,
    "Recommended": Recommended,
}
"""The events by the names under which they are stored."""
NAMES = {kind: name for name, kind in TYPES.items()}

_LENGTH = struct.Struct("<I")


def encode(event: Event) -> tuple[str, str, bytes | None]:
    """The type, the payload and the blob of an event."""
    kind = NAMES[type(event)]
    if isinstance(event, Evaluated):
        payload = _adapter(kind).dump_json(replace(event, trajectories=()))
        return kind, payload.decode(), pack(event.trajectories)
    return kind, _adapter(kind).dump_json(event).decode(), None


def decode(kind: str, payload: str, blob: bytes | None) -> Event:
    """The event of a row; raises ValueError where the row holds none."""
    if kind not in TYPES:
        raise ValueError(f"unknown event type {kind!r}")
    if blob is None:
        return _adapter(kind).validate_json(payload)  # type: ignore[no-any-return]
    values = from_json(payload)
    values["trajectories"] = unpack(blob)
    return _adapter(kind).validate_python(values)  # type: ignore[no-any-return]


def pack(trajectories: Sequence[Trajectory]) -> bytes:
    """Trajectories one after another, each behind its length in bytes (32-bit little-endian)."""
    encoded = [trajectory.to_bytes() for trajectory in trajectories]
    return b"".join(_LENGTH.pack(len(data)) + data for data in encoded)


def unpack(blob: bytes) -> tuple[Trajectory, ...]:
    """The trajectories of a blob; raises ValueError where it is cut off."""
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
    return TypeAdapter(TYPES[name])
