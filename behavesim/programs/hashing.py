"""The hash of a program's normal form."""

from __future__ import annotations

import ast
import hashlib

from behavesim.programs.normalise import normalise


def program_hash(source: str, tree: ast.Module | None = None) -> str:
    """Return the first 32 hexadecimal digits of the SHA-256 of the normalised source; see `normalise`.

    Source that does not parse is hashed as it is. `tree` is the source's tree if the caller has parsed it; it is
    changed.
    """
    return hashlib.sha256(normalise(source, tree).encode()).hexdigest()[:32]
