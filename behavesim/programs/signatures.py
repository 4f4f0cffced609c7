"""Whether a program's function can be called the way the template's can."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from behavesim.programs.definitions import module_statements


def entry_arguments(body: Sequence[ast.stmt], name: str) -> ast.arguments | ast.AsyncFunctionDef | None:
    """The arguments of the function a module ends up calling `name`, if any; a coroutine stands for itself."""
    functions: dict[str, ast.arguments | ast.AsyncFunctionDef | None] = {}
    for statement in module_statements(body):
        match statement:
            case ast.FunctionDef():
                functions[statement.name] = statement.args
            case ast.AsyncFunctionDef():
                functions[statement.name] = statement
            case (
                ast.Assign(targets=[ast.Name(id=target)], value=value)
                | ast.AnnAssign(target=ast.Name(id=target), value=value)
            ):
                functions[target] = _assigned(value, functions)
    return functions.get(name)


def complaint(found: ast.arguments | ast.AsyncFunctionDef, wanted: ast.arguments) -> str:
    """Why the function found cannot take the template's arguments by position, or '' where it can.

    Other names are fine, and so are further parameters with defaults; the template's names in another order are not.
    """
    if isinstance(found, ast.AsyncFunctionDef):
        return "it is a coroutine; write a plain function"
    names, positions = _positional(wanted), _positional(found)
    if len(positions) - len(found.defaults) > len(names):
        return f"it needs {len(positions) - len(found.defaults)} arguments, but is called with {_listed(names)}"
    if len(positions) < len(names) and found.vararg is None:
        return f"it takes {len(positions)} arguments, but is called with {_listed(names)}"
    for place, name in enumerate(positions):
        if name in names and names.index(name) != place:
            return f"its parameter {name!r} stands in another place; the order is {_listed(names)}"
    return _keyword_complaint(found, wanted)


def _keyword_complaint(found: ast.arguments, wanted: ast.arguments) -> str:
    given = [argument.arg for argument in wanted.kwonlyargs]
    taken = [argument.arg for argument in found.kwonlyargs]
    needed = [name for name, default in zip(taken, found.kw_defaults, strict=True) if default is None]
    by_name = {*taken, *(argument.arg for argument in found.args)}
    if not set(needed) <= set(given):
        return f"it needs the keyword arguments {_listed(needed)}, and is called with {_listed(given) or 'none'}"
    if not set(given) <= by_name and found.kwarg is None:
        return f"it lacks the keyword arguments {_listed(given)}"
    return ""


def _assigned(
    value: ast.expr | None, functions: dict[str, ast.arguments | ast.AsyncFunctionDef | None]
) -> ast.arguments | ast.AsyncFunctionDef | None:
    """The arguments behind `name = lambda …: …` and `name = other`."""
    if isinstance(value, ast.Lambda):
        return value.args
    return functions.get(value.id) if isinstance(value, ast.Name) else None


def _positional(arguments: ast.arguments) -> list[str]:
    return [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)
