"""The seal of an event's row: a hash of its columns. A wrong seal means damage or another program's writing."""

from __future__ import annotations

from hashlib import blake2b

Row = tuple[int, float, int | None, str, str, bytes | None]
"""A row without its seal: event number, time (seconds since 1970), candidate, type, JSON payload, blob."""


def seal(seq: int, at: float, candidate: int | None, kind: str, payload: str, data: bytes | None) -> int:
    """Return the seal of a row: 63 bits of a hash of its columns, because SQLite's integers are signed."""
    text = payload.encode()
    known = f"{seq} {at!r} {candidate} {kind} {len(text)} {data is None} ".encode()
    return int.from_bytes(blake2b(known + text + (data or b""), digest_size=8).digest()) >> 1


def is_sealed(row: tuple[object, ...], found: object) -> bool:
    """Whether `found` is the seal of these six columns; False if a column has the wrong type."""
    match row:
        case (int(seq), float(at), int() | None as candidate, str(kind), str(payload), bytes() | None as data):
            return seal(seq, at, candidate, kind, payload, data) == found
    return False
