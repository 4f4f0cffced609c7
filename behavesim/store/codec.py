"""Events as rows: a type, a JSON payload and the trajectories as one blob, under a seal.

The text of prompts is kept as passages. The seal is a hash of the other columns. A row whose seal is wrong was damaged,
or another program wrote it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json, to_json

from behavesim.base.text import one_line
from behavesim.state.events import STORED_AS, Asked, Evaluated, Event, NoteAsked
from behavesim.store.passages import hash_63, join_passages, split_passages
from behavesim.trajectory import Behaviour, packed, unpack

HIGHEST = (1 << 63) - 1
"""The highest candidate number: the largest integer that a column of SQLite can hold."""
Row = tuple[int, float, int | None, str, str, bytes | None]
"""A row without its seal: event number, time (seconds since 1970), candidate, type, JSON payload, blob."""
NO_PASSAGES: Mapping[int, str] = MappingProxyType({})
"""What `decode` gets for events that have no prompt."""
_EVALUATED, _PROMPTING = Evaluated.__name__, (Asked.__name__, NoteAsked.__name__)
_OF_CANDIDATES = frozenset(name for name, kind in STORED_AS.items() if "candidate" in kind.__dataclass_fields__)


def row_of(seq: int, at: float, event: Event, passages: dict[int, str]) -> tuple[*Row, int]:
    """Return the row of event number `seq`, committed at `at` (seconds since 1970), with its seal.

    The passages of its prompt, if it has one, are added to `passages` by number.
    """
    kind, payload, data = encode(event, passages)
    row: Row = seq, at, getattr(event, "candidate", None), kind, payload, data
    return *row, seal(*row)


def encode(event: Event, passages: dict[int, str] | None = None) -> tuple[str, str, bytes | None]:
    """Return the type, the JSON payload and the blob of an event; the blob is None unless it has trajectories.

    If `passages` is given, a prompt's passages are added to it by number. The payload then has these numbers in the
    place of the prompt's text.
    """
    kind = type(event).__name__
    if isinstance(event, Asked | NoteAsked) and passages is not None:
        parts = split_passages(event.prompt.text)
        passages.update(parts)
        values = _adapter(kind).serializer.to_python(replace(event, prompt=replace(event.prompt, text="")))
        values["prompt"]["text"] = [number for number, _ in parts]
        return kind, to_json(values).decode(), None
    if isinstance(event, Evaluated):
        payload = _adapter(kind).serializer.to_json(replace(event, trajectories=()))
        return kind, payload.decode(), packed(event.trajectories)
    return kind, _adapter(kind).serializer.to_json(event).decode(), None


def is_storable(event: Event) -> bool:
    """Whether the event can be encoded: an event of a plug-in's making may hold a lone surrogate, or any object."""
    try:
        encode(event)
    except (ValueError, TypeError, AttributeError):
        return False
    return True


def decode(kind: object, payload: object, blob: object, passages: Mapping[int, str] = NO_PASSAGES) -> Event:
    """Return the event of a row by its type, JSON payload and blob, which may hold anything.

    The trajectories stay packed until they are read: `decode_whole` checks them too. Raises ValueError with a message
    of one line if the row holds no event, or if a passage of its prompt is missing from `passages`.
    """
    if not isinstance(kind, str) or kind not in STORED_AS:
        raise ValueError(f"there is no event of type {kind!r:.40}")
    if not isinstance(payload, str):
        raise ValueError(f"its payload is {type(payload).__name__}, not text")
    values = from_json(payload, allow_inf_nan=False)  # which the digest and the reports could not take
    if not isinstance(values, dict):
        raise ValueError("its payload is no JSON object")
    text = _text_taken(values, passages) if kind in _PROMPTING else ""
    try:
        event = _adapter(kind).validator.validate_python(values)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        raise ValueError(one_line(f"{'.'.join(map(str, first['loc']))}: {first['msg']}")) from error
    if kind in _OF_CANDIDATES and not -HIGHEST <= event.candidate <= HIGHEST:
        raise ValueError("no candidate has such a number")
    # The event is new, so changing it is safe. These two need no validation, which would be slow for large values.
    if kind == _EVALUATED:
        object.__setattr__(event, "trajectories", Behaviour(blob))
    elif text:
        object.__setattr__(event.prompt, "text", text)
    found: Event = event
    return found


def _text_taken(values: dict[str, Any], passages: Mapping[int, str]) -> str:
    """Return the text of a payload's prompt, and leave "" in its place; return "" if it is not stored as passages."""
    if not isinstance(prompt := values.get("prompt"), dict) or not isinstance(numbers := prompt.get("text"), list):
        return ""
    prompt["text"] = ""
    return join_passages(numbers, passages)


def decode_whole(kind: object, payload: object, blob: object, passages: Mapping[int, str]) -> Event:
    """Return the event of a row as `decode` does, with its trajectories checked.

    Raises ValueError if the row holds no event, if its trajectories cannot be unpacked, or if a passage of its prompt
    is missing from `passages`. The message is one line.
    """
    event = decode(kind, payload, blob, passages)
    if isinstance(event, Evaluated):
        unpack(packed(event.trajectories))
    return event


@cache
def _adapter(kind: str) -> TypeAdapter[Any]:  # callers use its validator and serializer: its own methods cost more
    return TypeAdapter(STORED_AS[kind])


def seal(seq: int, at: float, candidate: int | None, kind: str, payload: str, data: bytes | None) -> int:
    """Return the seal of a row: the `hash_63` of its columns."""
    text = payload.encode()
    known = f"{seq} {at!r} {candidate} {kind} {len(text)} {data is None} ".encode()
    return hash_63(known + text + (data or b""))


def is_sealed(row: tuple[object, ...], found: object) -> bool:
    """Whether `found` is the seal of these six columns; False if a column has the wrong type."""
    match row:
        case (int(seq), float(at), int() | None as candidate, str(kind), str(payload), bytes() | None as data):
            return seal(seq, at, candidate, kind, payload, data) == found
    return False
