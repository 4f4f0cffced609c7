"""The names that a program uses without defining them, and the imports that it gets for some of them."""

from __future__ import annotations

import ast
import builtins
import symtable
from collections.abc import Mapping, Sequence
from functools import cache

from behavesim.base.syntax import parsed

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
"""Imports that a program gets if it uses their names and does not define them."""
# a module has the dunder names without defining them
_ALWAYS_THERE = frozenset(dir(builtins)) | {"__name__", "__file__", "__doc__", "__spec__", "__annotations__"}


def missing_names(source: str) -> set[str]:
    """Return the global names that a program reads in any scope and never binds as globals, without Python's builtins.

    A module's own names such as `__file__` do not count. Raises SyntaxError if the source is no Python.
    """
    tables = [symtable.symtable(source, "<program>", "exec")]
    symbols = tables[0].get_symbols()
    for table in tables:  # the list grows by the functions and classes inside, on every level
        tables += table.get_children()
        symbols += [symbol for symbol in table.get_symbols() if symbol.is_global()]
    read = {symbol.get_name() for symbol in symbols if symbol.is_referenced()}
    bound = {each.get_name() for each in symbols if each.is_assigned() or each.is_imported() or each.is_namespace()}
    return read - bound - _ALWAYS_THERE


def bound_by(alias: ast.alias) -> str:
    """Return the name that one part of an import binds: `a` for `import a.b`, `c` for `import a.b as c`."""
    return alias.asname or alias.name.partition(".")[0]


@cache
def usual_imports(template: str) -> dict[str, str]:
    """Return the imports in OFFERED and in a template's text, by the name that each binds; of both, the template's."""
    return imports_in(parsed(OFFERED).body) | imports_in(parsed(template).body)


def imports_in(statements: Sequence[ast.stmt]) -> dict[str, str]:
    """Return a statement's source for each name that the imports among these statements bind.

    Imports from `__future__`, and those inside of other statements, are left out.
    """
    found: dict[str, str] = {}
    for statement in statements:
        match statement:
            case ast.Import(names=aliases):
                found |= {bound_by(alias): ast.unparse(ast.Import([alias])) for alias in aliases}
            case ast.ImportFrom(module=module, names=aliases, level=level) if module != "__future__":
                found |= {bound_by(each): ast.unparse(ast.ImportFrom(module, [each], level)) for each in aliases}
    return found


def with_imports(source: str, usual: Mapping[str, str]) -> str:
    """Return the program with the `usual` imports, statements by name, whose names it reads and does not define.

    They stand first, but behind its imports from `__future__`. Raises SyntaxError if the program is no Python.
    """
    missing = missing_names(source)
    imports = [statement for name, statement in usual.items() if name in missing]
    own = [node for node in parsed(source).body if isinstance(node, ast.ImportFrom)]
    first = max((node.end_lineno or 0 for node in own if node.module == "__future__"), default=0)
    lines = source.split("\n")
    gap = [""] if imports and not first else []
    return "\n".join([*lines[:first], *imports, *gap, *lines[first:]])
