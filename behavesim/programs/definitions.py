"""The names a program uses and defines at module level, and where a name it lacks can be had."""

from __future__ import annotations

import ast
import builtins
import symtable
from collections.abc import Iterator, Sequence

_ALWAYS_THERE = frozenset(dir(builtins)) | {"__name__", "__file__", "__doc__", "__spec__", "__annotations__"}
_DEFINITIONS = (ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.FunctionDef, ast.ClassDef)


def missing_names(source: str) -> set[str]:
    """The global names a program reads and nobody binds: neither its module level nor Python itself."""
    top = symtable.symtable(source, "<program>", "exec")
    read = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_referenced()}
    bound = {symbol.get_name() for symbol in top.get_symbols() if _binds(symbol)}
    for table in _inner(top):
        for symbol in table.get_symbols():
            if symbol.is_global():
                read |= {symbol.get_name()} if symbol.is_referenced() else set()
                bound |= {symbol.get_name()} if _binds(symbol) else set()
    return read - bound - _ALWAYS_THERE


def completed(source: str, donors: Sequence[ast.Module]) -> str:
    """The program with the imports, constants and functions it lacks, taken from the first donor that defines each.

    Models often leave out what the prompt already showed them, or put the imports into a block of their own.
    """
    for donor in donors:
        wanted = missing_names(source)
        if not wanted:
            break
        source = _prepended(_needed(donor, wanted), source)
    return source


def module_statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run at module level, those inside if, try and with among them."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.If | ast.Try | ast.TryStar | ast.With):
            for part in ("body", "handlers", "orelse", "finalbody"):
                for inner in getattr(statement, part, []):
                    yield from module_statements(inner.body if isinstance(inner, ast.ExceptHandler) else [inner])


def identifiers(tree: ast.AST) -> set[str]:
    """Every name a program reads, binds or gives to a parameter, in whatever scope; attributes are not among them."""
    names: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.arg(arg=name):
                names.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.alias(name=name, asname=alias):
                names.add(alias or name.partition(".")[0])
    return names


def _binds(symbol: symtable.Symbol) -> bool:
    return symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()


def _inner(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    for child in table.get_children():
        yield child
        yield from _inner(child)


def _needed(donor: ast.Module, wanted: set[str]) -> list[str]:
    """The donor's statements that define the wanted names, and what those need in turn, in the donor's order."""
    defined_by = {name: place for place, node in enumerate(donor.body) for name in _defines(node)}
    chosen: dict[int, str] = {}
    queue = sorted(wanted & defined_by.keys())
    while queue:
        place = defined_by[queue.pop()]
        if place not in chosen:
            chosen[place] = ast.unparse(donor.body[place])
            queue += sorted(missing_names(chosen[place]) & defined_by.keys())
    return [chosen[place] for place in sorted(chosen)]


def _defines(node: ast.stmt) -> set[str]:
    if not isinstance(node, _DEFINITIONS) or (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
        return set()
    table = symtable.symtable(ast.unparse(node), "<definition>", "exec")
    return {symbol.get_name() for symbol in table.get_symbols() if _binds(symbol)}


def _prepended(statements: list[str], source: str) -> str:
    """The statements before the program, but behind its `from __future__` imports, which must come first."""
    if not statements:
        return source
    futures = [
        node for node in ast.parse(source).body if isinstance(node, ast.ImportFrom) and node.module == "__future__"
    ]
    lines = source.split("\n")
    first = futures[-1].end_lineno or 0 if futures else 0
    gap = [""] if not futures else []
    return "\n".join([*lines[:first], *statements, *gap, *lines[first:]])
