"""The names that a program uses without defining them, and those that it defines at module level."""

from __future__ import annotations

import ast
import builtins
import symtable
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from behavesim.base.syntax import parsed

# a module has the dunder names without defining them
_ALWAYS_THERE = frozenset(dir(builtins)) | {"__name__", "__file__", "__doc__", "__spec__", "__annotations__"}


def missing_names(source: str) -> set[str]:
    """Return the global names that a program reads in any scope and never binds as globals, without Python's builtins.

    A module's own names such as `__file__` do not count. Raises SyntaxError if the source does not compile.
    """
    tables = [symtable.symtable(source, "<program>", "exec")]
    symbols = tables[0].get_symbols()
    for table in tables:  # the list grows by the functions and classes inside, on every level
        tables += table.get_children()
        symbols += [symbol for symbol in table.get_symbols() if symbol.is_global()]
    read = {symbol.get_name() for symbol in symbols if symbol.is_referenced()}
    bound = {each.get_name() for each in symbols if each.is_assigned() or each.is_imported() or each.is_namespace()}
    return read - bound - _ALWAYS_THERE


def functions_in(source: str) -> dict[str, ast.FunctionDef]:
    """Return the functions at the top level of a source by name; of several with one name, the last.

    Coroutines and functions inside `if` and the like are left out. Raises SyntaxError if the source is no Python.
    """
    return {node.name: node for node in parsed(source).body if isinstance(node, ast.FunctionDef)}


@dataclass(frozen=True)
class Definitions:
    """The statements of a module's top level, and for each name the index of the last of them that defines it."""

    statements: Sequence[ast.stmt]
    places: Mapping[str, int]

    @classmethod
    def of(cls, tree: ast.Module) -> Definitions:
        """Return the definitions at a module's top level: imports, assignments, functions and classes.

        Coroutines, imports from `__future__`, and all that is inside `if` or `try` are left out of `places`.
        """
        return cls(tree.body, {name: place for place, node in enumerate(tree.body) for name in _defined_by(node)})


def module_statements(body: Sequence[ast.AST]) -> Iterator[ast.stmt]:
    """Yield these statements and, at any depth, those in their `if`, `try` and `with` blocks, in the order of the text.

    Bodies of loops, `match`, `async with`, functions and classes are left out.
    """
    for node in body:
        if isinstance(node, ast.stmt):
            yield node
        if isinstance(node, ast.If | ast.Try | ast.TryStar | ast.With | ast.ExceptHandler):
            for part in ("body", "handlers", "orelse", "finalbody"):
                yield from module_statements(getattr(node, part, []))


def bound_by(alias: ast.alias) -> str:
    """Return the name that one part of an import binds: `a` for `import a.b`, `c` for `import a.b as c`."""
    return alias.asname or alias.name.partition(".")[0]


def _defined_by(statement: ast.stmt) -> set[str]:
    """Return the names that an import, a plain assignment, a function or a class binds; empty for any other statement.

    Imports from `__future__`, coroutines and `a += 1` count as other statements.
    """
    match statement:
        case ast.ImportFrom(module="__future__"):
            return set()
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            return {bound_by(alias) for alias in aliases}
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.Assign(targets=targets):
            found = (node for target in targets for node in ast.walk(target) if isinstance(node, ast.Name))
            return {node.id for node in found if isinstance(node.ctx, ast.Store)}  # in `a[b] = …` neither is bound
        case ast.AnnAssign(target=ast.Name(id=name)):
            return {name}
    return set()
