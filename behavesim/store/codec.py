"""Events as rows: a type, a JSON payload, and trajectories or a compressed prompt as a blob, under a seal.

The seal is a hash of the other columns: a row whose seal is wrong was damaged, or another program wrote it.
"""

from __future__ import annotations

import zlib
from dataclasses import replace
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, from_json

from behavesim.base.text import one_line
from behavesim.state.events import STORED_AS, Asked, Evaluated, Event, NoteAsked
from behavesim.trajectory import Behaviour, pack_states, unpack

# The highest candidate number: the largest integer that a column of SQLite can hold.
HIGHEST = (1 << 63) - 1
# A row without its seal: event number, time (seconds since 1970), candidate, type, JSON payload, blob.
Row = tuple[int, float, int | None, str, str, bytes | None]


def row_of(seq: int, at: float, event: Event) -> tuple[*Row, int]:
    """Return event number `seq` as a row with its seal."""
    kind, payload, data = encode(event)
    candidate = getattr(event, "candidate", None)
    # SQLite would store a whole number of numpy as bytes, and the row would count as another program's
    row: Row = seq, at, None if candidate is None else int(candidate), kind, payload, data
    return *row, seal(*row)


def encode(event: Event) -> tuple[str, str, bytes | None]:
    """Return the type, the JSON payload and the blob of an event: its trajectories or its prompt's text, or None."""
    kind = type(event).__name__
    if isinstance(event, Asked | NoteAsked):
        return kind, _to_json(replace(event, prompt=replace(event.prompt, text=""))), _compress(event.prompt.text)
    if isinstance(event, Evaluated):
        return kind, _to_json(replace(event, trajectories=())), pack_states(event.trajectories)
    return kind, _to_json(event), None


def _to_json(event: Event) -> str:
    adapter = _adapter(type(event).__name__)
    try:
        return adapter.serializer.to_json(event, warnings="error").decode()
    except PydanticSerializationError:
        # A value of another type, by a plug-in: a number of numpy is read back as what was meant, a number for a
        # group's name is not, and nobody could read the journal any more.
        payload: str = adapter.serializer.to_json(event, warnings=False).decode()
        adapter.validator.validate_json(payload)
        return payload


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


def decode(kind: object, payload: object, blob: object) -> Event:
    """Return the event of a row by its type, JSON payload and blob, which may hold anything.

    Raises ValueError, of one line, if the row holds no event.
    """
    if not isinstance(kind, str) or kind not in STORED_AS:
        raise ValueError(f"there is no event of type {kind!r:.40}")
    if not isinstance(payload, str):
        raise ValueError(f"its payload is {type(payload).__name__}, not text")
    values = from_json(payload, allow_inf_nan=False)  # which the digest and the reports could not take
    if not isinstance(values, dict):
        raise ValueError("its payload is no JSON object")
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
    elif kind in _PROMPTING:
        object.__setattr__(event.prompt, "text", _decompress(blob))
    found: Event = event
    return found


def decode_whole(kind: object, payload: object, blob: object) -> Event:
    """Return the event of a row as `decode` does; ValueError also if its trajectories cannot be unpacked."""
    event = decode(kind, payload, blob)
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


# The longest prompt in bytes. A made-up blob of a few kB could else expand to gigabytes when somebody reads it.
_LONGEST = 1 << 26


@cache
def _dictionary() -> bytes:
    """Return what most prompts say, as zlib's dictionary."""
    # The file is part of the format: once changed, no older prompt can be read. Each row stands alone: with the run's
    # first prompt as the dictionary, its loss would cost all prompts.
    return Path(__file__).with_name("prompt_words.txt").read_bytes()


def _compress(text: str) -> bytes:
    data = text.encode()
    if len(data) > _LONGEST:
        raise ValueError(f"a prompt has {len(data):,} bytes, more than {_LONGEST:,}")
    packer = zlib.compressobj(zdict=_dictionary())
    return packer.compress(data) + packer.flush()


def _decompress(blob: object) -> str:
    if not isinstance(blob, bytes):
        raise ValueError("its prompt is missing")
    unpacker = zlib.decompressobj(zdict=_dictionary())
    try:
        text = unpacker.decompress(blob, _LONGEST + 1).decode()
    except (zlib.error, UnicodeDecodeError) as error:
        raise ValueError("its prompt is damaged") from error
    if not unpacker.eof:
        raise ValueError("its prompt is cut off")
    return text
