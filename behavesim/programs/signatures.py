"""The functions of a program, and whether one can be called the way the template's can."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from behavesim.programs.definitions import module_statements
from behavesim.task.verdict import Failure

Arguments = ast.arguments | ast.AsyncFunctionDef
"""The arguments of a function; for a coroutine, which cannot be called like a function, its definition."""


@dataclass(frozen=True)
class EntryPoint:
    """The function that a task asks for: its name, and the arguments that the task's template gives it."""

    name: str
    arguments: ast.arguments

    def failure(self, tree: ast.Module) -> Failure | None:
        """Return why a program cannot be called as the task calls it; None if it can.

        The reason is `no-function` or `signature`; the message has at most 500 characters.
        """
        functions = callables(tree.body)
        if self.name in functions:
            said = complaint(functions[self.name], self.arguments)
            return Failure("signature", f"{self.name}: {said}"[:500]) if said else None
        said = f"no function {self.name!r} is defined at module level"
        classes = (node for node in module_statements(tree.body) if isinstance(node, ast.ClassDef))
        if owner := next((node.name for node in classes if self.name in callables(node.body)), None):
            said += f"; it is a method of the class {owner!r}"
        return Failure("no-function", said[:500])


def signature(function: ast.FunctionDef) -> str:
    """Return the line that defines a function, without its colon: `def f(a: int, b=2) -> int`."""
    returned = "" if function.returns is None else f" -> {ast.unparse(function.returns)}"
    return f"def {function.name}({ast.unparse(function.args)}){returned}"


def callables(body: Sequence[ast.stmt]) -> dict[str, Arguments]:
    """Return the arguments of each function and coroutine that the statements define, in the order of last definitions.

    They are by name. Functions inside `if`, `try` and `with` count, and so do names assigned to a lambda, to another
    function or to a call whose only positional argument is one. A name that is then assigned anything else is left out.
    """
    functions: dict[str, Arguments] = {}
    for statement in module_statements(body):
        found: Arguments | None
        match statement:
            case ast.FunctionDef(name=name, args=found):
                pass
            case ast.AsyncFunctionDef(name=name):
                found = statement
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=value)
            ):
                found = _assigned(value, functions)
            case _:
                continue
        functions.pop(name, None)  # else a name defined again would keep its old place in the order
        if found is not None:
            functions[name] = found
    return functions


def complaint(found: Arguments, wanted: ast.arguments) -> str:
    """Return why a function cannot be called with the template's arguments, `wanted`; '' if it can.

    Positional arguments may have other names, and further parameters may have defaults. The template's names in
    another order are a reason.
    """
    if isinstance(found, ast.AsyncFunctionDef):
        return "it is a coroutine; write a plain function"
    names, positions = _positional(wanted), _positional(found)
    required = len(positions) - len(found.defaults)
    if required > len(names):
        return f"it needs {required} arguments, but is called with {', '.join(names)}"
    if len(positions) < len(names) and found.vararg is None:
        return f"it takes {len(positions)} arguments, but is called with {', '.join(names)}"
    for place, name in enumerate(positions):
        if name in names and names.index(name) != place:
            return f"its parameter {name!r} stands in another place; the order is {', '.join(names)}"
    return _keyword_complaint(found, wanted)


def _keyword_complaint(found: ast.arguments, wanted: ast.arguments) -> str:
    """Return why a function cannot be called with the template's keyword-only arguments; '' if it can."""
    given = [argument.arg for argument in wanted.kwonlyargs]
    pairs = zip(found.kwonlyargs, found.kw_defaults, strict=True)
    needed = [argument.arg for argument, default in pairs if default is None]
    by_name = {argument.arg for argument in (*found.args, *found.kwonlyargs)}
    if not set(needed) <= set(given):
        return f"it needs the keyword arguments {', '.join(needed)}, and is called with {', '.join(given) or 'none'}"
    if not set(given) <= by_name and found.kwarg is None:
        return f"it lacks the keyword arguments {', '.join(given)}"
    return ""


def _assigned(value: ast.expr | None, functions: Mapping[str, Arguments]) -> Arguments | None:
    """Return the arguments of `lambda …: …`, `other` or `wrapper(other)`, which is taken to pass them on.

    `functions` are the functions defined before. Return None for any other value and for an unknown function.
    """
    match value:
        case ast.Lambda(args=arguments):
            return arguments
        case ast.Name(id=name) | ast.Call(args=[ast.Name(id=name)]):
            return functions.get(name)
    return None


def _positional(arguments: ast.arguments) -> list[str]:
    return [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
