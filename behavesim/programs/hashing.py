"""The name of a program by its normal form: equal names, equal behaviour."""

from __future__ import annotations

import hashlib

from behavesim.programs.normalise import normalise


def program_hash(source: str) -> str:
    """32 hexadecimal digits of the SHA-256 of the normalised source; the source must compile."""
    return hashlib.sha256(normalise(source).encode()).hexdigest()[:32]
