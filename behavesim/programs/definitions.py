"""The names a program uses and defines at module level."""

from __future__ import annotations

import ast
import builtins
import symtable
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard

_ALWAYS_THERE = frozenset(dir(builtins)) | {"__name__", "__file__", "__doc__", "__spec__", "__annotations__"}


def missing_names(source: str) -> set[str]:
    """Return the global names that a program reads and that neither it nor Python's builtins define.

    Raises SyntaxError if the source does not compile.
    """
    top = symtable.symtable(source, "<program>", "exec")
    read = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_referenced()}
    bound = {symbol.get_name() for symbol in top.get_symbols() if _binds(symbol)}
    for table in _inner(top):
        for symbol in table.get_symbols():
            if symbol.is_global():
                read |= {symbol.get_name()} if symbol.is_referenced() else set()
                bound |= {symbol.get_name()} if _binds(symbol) else set()
    return read - bound - _ALWAYS_THERE


@dataclass(frozen=True)
class Definitions:
    """The statements of a module, and for each name the index of the last statement that defines it."""

    statements: Sequence[ast.stmt]
    places: Mapping[str, int]

    @classmethod
    def of(cls, tree: ast.Module) -> Definitions:
        """Return the definitions of a module, at its top level only."""
        return cls(tree.body, {name: place for place, node in enumerate(tree.body) for name in _defined_by(node)})


def module_statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that run at module level, also those inside if, try and with, in the order of the text."""
    waiting: list[ast.AST] = list(reversed(body))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.stmt):
            yield node
        if isinstance(node, ast.If | ast.Try | ast.TryStar | ast.With | ast.ExceptHandler):
            for part in ("finalbody", "orelse", "handlers", "body"):
                waiting += reversed(getattr(node, part, []))


def bound_by(alias: ast.alias) -> str:
    """Return the name that one part of an import binds."""
    return alias.asname or alias.name.partition(".")[0]


def _binds(symbol: symtable.Symbol) -> bool:
    return symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()


def _inner(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    for child in table.get_children():
        yield child
        yield from _inner(child)


def _defined_by(statement: ast.stmt) -> set[str]:
    """Return the names that a statement binds: an import (not from `__future__`), an assignment or a definition."""
    match statement:
        case ast.ImportFrom(module="__future__"):
            return set()
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            return {bound_by(alias) for alias in aliases}
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.Assign(targets=targets):
            return {node.id for target in targets for node in ast.walk(target) if _is_bound(node)}
        case ast.AnnAssign(target=ast.Name(id=name)):
            return {name}
    return set()


def _is_bound(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
