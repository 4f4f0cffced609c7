"""An attack: a program that tries to harm, stall or cheat, and the outcomes that are right if isolation is strong.

A body is what stands in `order(points)`; after it the program returns an honest solution, so "score" means that the
attack came to nothing and did not pay. A program that finds it has broken out raises BREACH, or shows what it stole;
what it did outside, the oracle in siege.py finds by itself. Words in capitals like SECRET_FILE are filled in there.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

HONEST = "    return list(range(len(points)))\n"


@dataclass(frozen=True)
class Attack:
    name: str
    expected: frozenset[str]
    source: str


def body_of(name: str, expected: str, body: str) -> Attack:
    code = textwrap.indent(textwrap.dedent(body).strip("\n") + "\n", "    ")
    return Attack(name, frozenset(expected.split()), f"def order(points):\n{code}{HONEST}")


def whole(name: str, expected: str, source: str) -> Attack:
    return Attack(name, frozenset(expected.split()), textwrap.dedent(source).lstrip("\n"))


def raw(name: str, call: str) -> Attack:
    """A system call by its number on x86-64, past Python and libc."""
    body = f"""
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.syscall({call}) >= 0:
            raise RuntimeError("BREACH")
        raise OSError(ctypes.get_errno(), "refused")
    """
    return body_of(name, "forbidden exception", body)
