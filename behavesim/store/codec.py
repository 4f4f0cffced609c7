"""Events as rows: a type, a JSON payload, and the trajectories as one blob; the passages of prompts stand apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json, to_json

from behavesim.base.text import one_line
from behavesim.state.events import STORED_AS, TEMPLATE, Asked, Evaluated, Event, NoteAsked
from behavesim.store.passages import joined, parted
from behavesim.trajectory import Behaviour, packed, unpack

NAMES = {kind: name for name, kind in STORED_AS.items()}
"""The name of each type of event, as it is stored."""

HIGHEST = (1 << 63) - 1
"""The highest number of a candidate: what a column can hold."""
NO_PASSAGES: Mapping[int, str] = MappingProxyType({})


def encode(event: Event, passages: dict[int, str] | None = None) -> tuple[str, str, bytes | None]:
    """The type, the payload and the blob of an event.

    Where there are `passages`, those of a prompt are added to them, and the payload has their numbers for its text.
    """
    kind = NAMES[type(event)]
    if isinstance(event, Asked | NoteAsked) and passages is not None:
        parts = parted(event.prompt.text)
        passages.update(parts)
        values = _adapter(kind).dump_python(replace(event, prompt=replace(event.prompt, text="")))
        values["prompt"]["text"] = [number for number, _ in parts]
        return kind, to_json(values).decode(), None
    if isinstance(event, Evaluated):
        payload = _adapter(kind).dump_json(replace(event, trajectories=()))
        return kind, payload.decode(), packed(event.trajectories)
    return kind, _adapter(kind).dump_json(event).decode(), None


def decode(kind: object, payload: object, blob: object, passages: Mapping[int, str] = NO_PASSAGES) -> Event:
    """The event of a row; raises ValueError, with one line, where the row holds none, whatever is in its columns."""
    if not isinstance(kind, str) or kind not in STORED_AS:
        raise ValueError(f"there is no event of type {kind!r:.40}")
    if not isinstance(payload, str):
        raise ValueError(f"its payload is {type(payload).__name__}, not text")
    values = from_json(payload, allow_inf_nan=False)
    if not isinstance(values, dict):
        raise ValueError("its payload is no JSON object")
    text = ""
    if isinstance(prompt := values.get("prompt"), dict) and isinstance(numbers := prompt.get("text"), list):
        text, prompt["text"] = joined(numbers, passages), ""
    try:
        event: Event = _adapter(kind).validator.validate_python(values)  # a call less than the adapter's own
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        raise ValueError(one_line(f"{'.'.join(map(str, first['loc']))}: {first['msg']}")) from error
    if abs(getattr(event, "candidate", TEMPLATE)) > HIGHEST:
        raise ValueError("no candidate has such a number")
    # nobody else has the event yet; and what needs no looking at, pydantic would be long about
    if isinstance(event, Evaluated):
        object.__setattr__(event, "trajectories", Behaviour(blob))
    elif text and isinstance(event, Asked | NoteAsked):
        object.__setattr__(event.prompt, "text", text)
    return event


def decode_whole(kind: object, payload: object, blob: object, passages: Mapping[int, str]) -> Event:
    """The same, with what a program did, which is otherwise read when it is looked at."""
    event = decode(kind, payload, blob, passages)
    if isinstance(event, Evaluated):
        unpack(packed(event.trajectories))
    return event


@cache
def _adapter(name: str) -> TypeAdapter[Any]:
    return TypeAdapter(STORED_AS[name])
