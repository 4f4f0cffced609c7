"""The hash of a program's normal form."""

from __future__ import annotations

import ast
import hashlib

from behavesim.programs.normalise import normalise


def program_hash(source: str, tree: ast.Module | None = None) -> str:
    """32 hexadecimal digits of the SHA-256 of the normalised source, which must compile; see `normalise`."""
    return hashlib.sha256(normalise(source, tree).encode()).hexdigest()[:32]
