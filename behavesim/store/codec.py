"""Events as rows: a type, a JSON payload and the trajectories as one blob, under a seal; and the passages of prompts.

The seal is a hash of the other columns: a row whose seal is wrong was damaged, or another program wrote it. Prompts are
split at blank lines and each different passage is stored once, since the prompts of a run repeat the task's description
and its best programs: 28 MB of prompts had 1.2 MB of different passages.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from hashlib import blake2b
from types import MappingProxyType
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json, to_json

from behavesim.base.text import one_line
from behavesim.state.events import STORED_AS, Asked, Evaluated, Event, NoteAsked
from behavesim.trajectory import Behaviour, pack_states, unpack

# The highest candidate number: the largest integer that a column of SQLite can hold.
HIGHEST = (1 << 63) - 1
# A row without its seal: event number, time (seconds since 1970), candidate, type, JSON payload, blob.
Row = tuple[int, float, int | None, str, str, bytes | None]


def row_of(seq: int, at: float, event: Event, passages: dict[int, str]) -> tuple[*Row, int]:
    """Return event number `seq` as a row with its seal; its prompt's passages are added to `passages` by number."""
    kind, payload, data = encode(event, passages)
    row: Row = seq, at, getattr(event, "candidate", None), kind, payload, data
    return *row, seal(*row)


def encode(event: Event, passages: dict[int, str] | None = None) -> tuple[str, str, bytes | None]:
    """Return the type, the JSON payload and the blob of an event; the blob is None unless it has trajectories."""
    # with `passages`, a prompt's text becomes the numbers of its passages, which are added there
    kind = type(event).__name__
    if isinstance(event, Asked | NoteAsked) and passages is not None:
        parts = split_passages(event.prompt.text)
        passages.update(parts)
        values = _adapter(kind).serializer.to_python(replace(event, prompt=replace(event.prompt, text="")))
        values["prompt"]["text"] = [number for number, _ in parts]
        return kind, to_json(values).decode(), None
    if isinstance(event, Evaluated):
        payload = _adapter(kind).serializer.to_json(replace(event, trajectories=()))
        return kind, payload.decode(), pack_states(event.trajectories)
    return kind, _adapter(kind).serializer.to_json(event).decode(), None


def is_storable(event: Event) -> bool:
    """Whether the event can be encoded."""
    # an event of a plug-in's making may hold a lone surrogate, or any object
    try:
        encode(event)
    except (ValueError, TypeError, AttributeError):
        return False
    return True


_EVALUATED, _PROMPTING = Evaluated.__name__, (Asked.__name__, NoteAsked.__name__)
_OF_CANDIDATES = frozenset(name for name, kind in STORED_AS.items() if "candidate" in kind.__dataclass_fields__)
# What `decode` gets for events that have no prompt.
NO_PASSAGES: Mapping[int, str] = MappingProxyType({})


def decode(kind: object, payload: object, blob: object, passages: Mapping[int, str] = NO_PASSAGES) -> Event:
    """Return the event of a row by its type, JSON payload and blob, which may hold anything.

    Raises ValueError, of one line, if the row holds no event, or if a passage of its prompt is missing from `passages`.
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
    # Trajectories stay packed until somebody reads them; `decode_whole` checks them, too.
    if kind == _EVALUATED:
        object.__setattr__(event, "trajectories", Behaviour(blob))
    elif text:
        object.__setattr__(event.prompt, "text", text)
    found: Event = event
    return found


def _text_taken(values: dict[str, Any], passages: Mapping[int, str]) -> str:
    """Return the text of a payload's prompt, and leave "" in its place; "" if it is not stored as passages."""
    if not isinstance(prompt := values.get("prompt"), dict) or not isinstance(numbers := prompt.get("text"), list):
        return ""
    prompt["text"] = ""
    return join_passages(numbers, passages)


def decode_whole(kind: object, payload: object, blob: object, passages: Mapping[int, str]) -> Event:
    """Return the event of a row as `decode` does; ValueError also if its trajectories cannot be unpacked."""
    event = decode(kind, payload, blob, passages)
    if isinstance(event, Evaluated):
        unpack(pack_states(event.trajectories))
    return event


@cache
def _adapter(kind: str) -> TypeAdapter[Any]:  # callers use its validator and serializer: its own methods cost more
    return TypeAdapter(STORED_AS[kind])


def seal(seq: int, at: float, candidate: int | None, kind: str, payload: str, data: bytes | None) -> int:
    """Return the seal of a row: the `hash_63` of its columns."""
    text = payload.encode()
    # the payload's length and whether there is a blob are part of it: no byte can move from one column to the next
    known = f"{seq} {at!r} {candidate} {kind} {len(text)} {data is None} ".encode()
    return hash_63(known + text + (data or b""))


def is_sealed(row: tuple[object, ...], found: object) -> bool:
    """Whether `found` is the seal of these six columns; False if a column has the wrong type."""
    match row:
        case (int(seq), float(at), int() | None as candidate, str(kind), str(payload), bytes() | None as data):
            return seal(seq, at, candidate, kind, payload, data) == found
    return False


def hash_63(data: bytes) -> int:
    """Return a hash of the bytes as a number of 63 bits, 0 or more."""
    # SQLite's integers have 64 bits, one of them for the sign
    return int.from_bytes(blake2b(data, digest_size=8).digest()) >> 1


# What stands between two passages: a blank line. A passage's number is a hash of its text, so that a commit can write
# passages without reading those that are stored: equal text has an equal number, and is ignored.
GAP = "\n\n"


def split_passages(text: str) -> list[tuple[int, str]]:
    """Return the passages of a text in order, each as (number, passage); `join_passages` undoes it."""
    return [(_number(passage), passage) for passage in text.split(GAP)]


def join_passages(numbers: list[Any], passages: Mapping[int, str]) -> str:
    """Return the text of the passages with these numbers; ValueError if one is unknown, damaged or no number."""
    try:
        return GAP.join(map(passages.__getitem__, numbers))
    except (LookupError, TypeError) as error:
        raise ValueError("a passage of its prompt is missing, or damaged") from error


def is_passage(number: int, text: object) -> bool:
    """Whether `text` is a string and `number` is its passage number."""
    return isinstance(text, str) and _number(text) == number


def _number(passage: str) -> int:
    return hash_63(passage.encode())


_SELECT_ALL = "SELECT number, text FROM passages"
_SELECT = "SELECT text FROM passages WHERE number = ?"


class Passages(dict[int, str]):
    """The passages of a journal by number, each read from the database on first use and then kept in memory.

    `at_once`: the first use reads all that are not damaged, which takes less time than a query for each.
    """

    def __init__(self, db: sqlite3.Connection, at_once: bool = False) -> None:
        super().__init__()
        self._db = db
        self._at_once = at_once

    def __missing__(self, number: int) -> str:
        """Read a passage and keep it; LookupError if it is missing or damaged, TypeError if it is no number."""
        if self._at_once:
            self._at_once = False
            self.update(row for row in self._db.execute(_SELECT_ALL) if is_passage(*row))
            if number in self:
                return self[number]
        # SQLite takes no larger integers
        row = self._db.execute(_SELECT, (number,)).fetchone() if 0 <= number < 1 << 63 else None
        if row is None or not is_passage(number, row[0]):
            raise LookupError(number)
        return self.setdefault(number, row[0])
