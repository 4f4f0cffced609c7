"""Adds what a program uses and does not define: imports, constants and functions from elsewhere."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence, Set
from functools import cache

from behavesim.base.syntax import parsed
from behavesim.programs.definitions import Definitions, bound_by, missing_names

OFFERED = """
import bisect, collections, copy, functools, heapq, itertools, math, operator, random, typing
import numba
import numpy
import numpy as np
import numpy.typing as npt
import scipy
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial, reduce
from itertools import chain, combinations, permutations, product
from numba import jit, njit, prange
from numpy.typing import ArrayLike, NDArray
from typing import (
    Any, Callable, Dict, Final, FrozenSet, Generator, Generic, Iterable, Iterator, List, Literal, Mapping, NamedTuple,
    Optional, Protocol, Sequence, Set, Tuple, Type, TypeVar, Union, cast, overload,
)
"""
"""Imports that models often forget. A program gets those that it uses and does not have."""


@cache
def offered() -> Definitions:
    """Return the definitions of the imports in OFFERED."""
    return Definitions.of(parsed(OFFERED))


def completed(source: str, donors: Sequence[Definitions], spend: Callable[[int], None]) -> str:
    """Return the program with what it lacks (imports, constants, functions) before it, from the first donors with it.

    Models often leave out what the prompt showed them, or write the imports in a separate block. Names that no donor
    has stay undefined. `spend` is called with the length of each program made, which is then parsed. Raises SyntaxError
    if the program does not compile or a statement cannot be copied, and what `spend` raises.
    """
    wanted = missing_names(source)
    for donor in donors:
        if not wanted:
            break
        if statements := _needed(donor, wanted):
            source = _prepended(statements, source)
            spend(len(source))
            wanted = missing_names(source)
    return source


def _needed(donor: Definitions, wanted: Set[str]) -> list[str]:
    """Return the donor's statements, as source, that define wanted names or what those need, in the donor's order."""
    chosen: dict[int, str] = {}
    names: set[str] = set()
    waiting = sorted(wanted & donor.places.keys())
    while waiting:
        names.add(name := waiting.pop())
        place = donor.places[name]
        if place not in chosen:
            chosen[place] = _text(donor.statements[place])
            waiting += sorted(missing_names(chosen[place]) & donor.places.keys())
    return [_narrowed(donor.statements[place], names) or chosen[place] for place in sorted(chosen)]


def _text(statement: ast.stmt) -> str:
    """Return the source of a statement; raises SyntaxError if Python cannot write it."""
    try:
        return ast.unparse(statement)
    except (ValueError, RecursionError) as error:  # a number of too many digits
        raise SyntaxError(f"what the program lacks cannot be copied: {error}") from error


def _narrowed(statement: ast.stmt, names: Set[str]) -> str:
    """Return the source of an import of these names alone; '' for any other statement."""
    match statement:
        case ast.Import(names=aliases):
            return ast.unparse(ast.Import([alias for alias in aliases if bound_by(alias) in names]))
        case ast.ImportFrom(module=module, names=aliases, level=level):
            return ast.unparse(ast.ImportFrom(module, [each for each in aliases if bound_by(each) in names], level))
    return ""


def _prepended(statements: Sequence[str], source: str) -> str:
    """Return the program with statements before it, but after its `from __future__` imports, which must come first."""
    imports = [node for node in parsed(source).body if isinstance(node, ast.ImportFrom)]
    first = max((node.end_lineno or 0 for node in imports if node.module == "__future__"), default=0)
    lines = source.split("\n")
    gap = [] if first else [""]
    return "\n".join([*lines[:first], *statements, *gap, *lines[first:]])
