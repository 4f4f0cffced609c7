"""The seal of an event's row: a hash of its columns, by which damage and rows of other programs are told."""

from __future__ import annotations

from hashlib import blake2b

Row = tuple[int, float, int | None, str, str, bytes | None]
"""The number of an event, its time, its candidate, its type, its payload and its blob: a row without its seal."""


def seal(seq: int, at: float, candidate: int | None, kind: str, payload: str, data: bytes | None) -> int:
    """Return 63 bits of a hash of a row: SQLite's integers have a sign."""
    text = payload.encode()
    known = f"{seq} {at!r} {candidate} {kind} {len(text)} {data is None} ".encode()
    return int.from_bytes(blake2b(known + text + (data or b""), digest_size=8).digest()) >> 1


def is_sealed(row: tuple[object, ...], found: object) -> bool:
    """Whether `found` is the seal of these six columns, whatever they hold."""
    match row:
        case (int(seq), float(at), int() | None as candidate, str(kind), str(payload), bytes() | None as data):
            return seal(seq, at, candidate, kind, payload, data) == found
    return False
