"""The functions of a program, and whether one can be called the way the template's can."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from behavesim.base.text import parse
from behavesim.task.verdict import Failure

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions_in(source: str) -> dict[str, ast.FunctionDef]:
    """Return the functions at the top level of a source by name; of several with one name, the last.

    Coroutines and functions inside `if` and the like are left out. Raises what `parse` does, such as SyntaxError.
    """
    return {node.name: node for node in parse(source).body if isinstance(node, ast.FunctionDef)}


def signature(function: ast.FunctionDef) -> str:
    """Return the line that defines a function, without its colon: `def f(a: int, b=2) -> int`."""
    returned = "" if function.returns is None else f" -> {ast.unparse(function.returns)}"
    return f"def {function.name}({ast.unparse(function.args)}){returned}"


def callables(tree: ast.Module | ast.ClassDef) -> dict[str, Function]:
    """Return the functions and coroutines that a module or class itself defines, by name; of equal names the last."""
    return {node.name: node for node in tree.body if isinstance(node, Function)}


@dataclass(frozen=True)
class EntryPoint:
    """The function that a task asks for: its name, and the arguments that the task's template gives it."""

    name: str
    arguments: ast.arguments

    def failure(self, tree: ast.Module) -> Failure | None:
        """Return why a program cannot be called as the task calls it; None if it can, or if it assigns the name.

        The reason is `no-function` or `signature`.
        """
        functions = callables(tree)
        if self.name in functions:
            said = complaint(functions[self.name], self.arguments)
            return Failure("signature", f"{self.name}: {said}"[:500]) if said else None
        if any(isinstance(node, ast.Assign) and self.name in map(ast.unparse, node.targets) for node in tree.body):
            return None  # a lambda, or another function: what it takes shows when it is called
        said = f"no function {self.name!r} is defined at module level"
        classes = (node for node in tree.body if isinstance(node, ast.ClassDef))
        if owner := next((node.name for node in classes if self.name in callables(node)), None):
            said += f"; it is a method of the class {owner!r}"
        return Failure("no-function", said[:500])


def complaint(found: Function, wanted: ast.arguments) -> str:
    """Return why a function cannot be called with the template's arguments, `wanted`; '' if it can.

    Positional arguments may have other names, but not the template's in another order; more may have defaults.
    """
    if isinstance(found, ast.AsyncFunctionDef):
        return "it is a coroutine; write a plain function"
    names, positions = _positional(wanted), _positional(found.args)
    required = len(positions) - len(found.args.defaults)
    if required > len(names):
        return f"it needs {required} arguments, but is called with {', '.join(names)}"
    if len(positions) < len(names) and found.args.vararg is None:
        return f"it takes {len(positions)} arguments, but is called with {', '.join(names)}"
    for place, name in enumerate(positions):
        if name in names and names.index(name) != place:
            return f"its parameter {name!r} stands in another place; the order is {', '.join(names)}"
    return _keyword_complaint(found.args, wanted)


def _keyword_complaint(found: ast.arguments, wanted: ast.arguments) -> str:
    """Return the same for the keyword-only arguments."""
    given = [argument.arg for argument in wanted.kwonlyargs]
    pairs = zip(found.kwonlyargs, found.kw_defaults, strict=True)
    needed = [argument.arg for argument, default in pairs if default is None]
    by_name = {argument.arg for argument in (*found.args, *found.kwonlyargs)}
    if not set(needed) <= set(given):
        return f"it needs the keyword arguments {', '.join(needed)}, and is called with {', '.join(given) or 'none'}"
    if not set(given) <= by_name and found.kwarg is None:
        return f"it lacks the keyword arguments {', '.join(given)}"
    return ""


def _positional(arguments: ast.arguments) -> list[str]:
    return [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]


def rename_function(source: str, tree: ast.Module, wanted: EntryPoint) -> str | None:
    """Return a program with the wanted name in place of its only function's; None if it is not clearly meant.

    Clear is a program without classes whose one function at the top level has the template's positional parameters, by
    name and in order, and which does not use the wanted name for anything else.
    """
    functions = list(callables(tree).values())
    if len(functions) != 1 or any(isinstance(node, ast.ClassDef) for node in tree.body):
        return None
    function = functions[0]
    if function.name == wanted.name:
        return None
    fits = _positional(function.args) == _positional(wanted.arguments) and not complaint(function, wanted.arguments)
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    bound = {getattr(node, "arg", getattr(node, "name", None)) for node in ast.walk(tree) if node is not function}
    if not fits or wanted.name in bound | {node.id for node in names} or function.name in bound:
        return None
    lines, old = source.encode().split(b"\n"), function.name.encode()  # positions in a tree count bytes
    places = [(node.lineno - 1, node.col_offset) for node in names if node.id == function.name]
    places.append((function.lineno - 1, lines[function.lineno - 1].find(b" " + old, function.col_offset) + 1))
    for line, at in sorted(places, reverse=True):
        if not lines[line].startswith(old, at):  # such as a name in other letters that Python takes for the same
            return None
        lines[line] = lines[line][:at] + wanted.name.encode() + lines[line][at + len(old) :]
    return b"\n".join(lines).decode()


# Numbers that hardly ever stand for a choice: first elements, steps of one, halves and squares.
PLAIN = frozenset({0, 1, 2})


def has_constants(source: str) -> bool:
    """Whether a Python program has a real number that is not in PLAIN; True for text that is no Python."""
    try:
        tree = parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    numbers = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return any(isinstance(number, int | float) and number not in PLAIN for number in numbers)


# Fewest characters of a docstring that prompts give once, and leave out of the programs that they show.
LONG_DOCSTRING = 200


@cache
def long_docstrings(template: str) -> Mapping[str, str]:
    """Return the long docstrings of a template's functions with their quotes, by the short ones in their place.

    Empty if the template is no Python.
    """
    try:
        functions = functions_in(template)
    except SyntaxError:
        return {}
    found = dict[str, str]()
    for name, function in functions.items():
        if ast.get_docstring(function) is not None and isinstance(first := function.body[0], ast.Expr):
            text = ast.get_source_segment(template, first.value) or ""
            if len(text) >= LONG_DOCSTRING:
                found[f'"""{name}: as described above."""'] = text
    return found


def without_docstrings(source: str, template: str) -> str:
    """Return a program with short docstrings in place of those of `long_docstrings` that it repeats."""
    for short, text in long_docstrings(template).items():
        source = source.replace(text, short)
    return source


def with_docstrings(text: str, template: str) -> str:
    """Return a reply with the template's docstrings in place of the short ones that the prompt showed."""
    for short, long in long_docstrings(template).items():
        text = text.replace(short, long)
    return text
