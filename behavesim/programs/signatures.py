"""The functions of a program, and whether one can be called the way the template's can."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from behavesim.programs.definitions import module_statements

Arguments = ast.arguments | ast.AsyncFunctionDef
"""The arguments of a function; for a coroutine, which cannot be called like one, its definition."""


def callables(body: Sequence[ast.stmt]) -> dict[str, Arguments]:
    """Return the arguments of each module-level function by name, in the order of the last definitions.

    Names assigned to a lambda, to another function or to a call on one count too.
    """
    functions: dict[str, Arguments] = {}
    for statement in module_statements(body):
        match statement:
            case ast.FunctionDef(name=name, args=arguments):
                functions.pop(name, None)
                functions[name] = arguments
            case ast.AsyncFunctionDef(name=name):
                functions.pop(name, None)
                functions[name] = statement
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=value)
            ):
                found = _assigned(value, functions)
                functions.pop(name, None)
                if found is not None:
                    functions[name] = found
    return functions


def complaint(found: Arguments, wanted: ast.arguments) -> str:
    """Return why a function cannot be called with the template's arguments; '' if it can.

    Positional arguments may have other names, and further parameters may have defaults. The template's names in
    another order are a reason.
    """
    if isinstance(found, ast.AsyncFunctionDef):
        return "it is a coroutine; write a plain function"
    names, positions = positional(wanted), positional(found)
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


def _assigned(value: ast.expr | None, functions: Mapping[str, Arguments]) -> Arguments | None:
    """Return the arguments of `lambda …: …`, `other` or `wrapper(other)`, which is taken to pass them on."""
    match value:
        case ast.Lambda(args=arguments):
            return arguments
        case ast.Name(id=name) | ast.Call(args=[ast.Name(id=name)]):
            return functions.get(name)
    return None


def positional(arguments: ast.arguments) -> list[str]:
    """Return the names of the arguments that can be given by position."""
    return [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)
