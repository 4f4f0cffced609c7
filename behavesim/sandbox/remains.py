"""What remains of a task in a zygote: `solve`, and what that names. How instances are made is forgotten, or a program,
which reaches all that its process holds, could make those of other splits.

Names are compared as they are written, wherever they stand: what `solve` may need is kept even where something else is
meant. A name that it puts together while it runs is not seen.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from behavesim.task import Solution, Task

Solve = Callable[[Callable[..., Any], Any], Solution]
_DEFINITION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_CONSTRUCTION = "__init__"


def solving_only(task: Task) -> tuple[Solve, tuple[Path, ...]]:
    """The task's `solve`, without all else that its modules and classes define, and the files that tell the rest.

    The modules are those of its class and of the classes that it is built on. What they import from others is not
    looked into, and remains.
    """
    kinds = [kind for kind in type(task).__mro__ if kind not in Task.__mro__]
    modules = [sys.modules[name] for name in {kind.__module__ for kind in kinds}]
    files = [Path(str(module.__file__)).resolve() for module in modules]
    parts = [part for file in files for part in _parts(file, {kind.__name__ for kind in kinds})]
    defined, kept = {name for part in parts for name in _bound(part)}, _needed(parts)
    solve = task.solve
    for place in (task, *kinds, *modules):
        for name in (vars(place).keys() & defined) - kept:
            delattr(place, name)
    return solve, tuple(path for file in files for path in (file, file.parent / "__pycache__"))


def _parts(file: Path, kinds: Collection[str]) -> Iterator[ast.stmt]:
    """The statements of a module; those of the task's classes, and of how these are constructed, one by one."""
    for statement in ast.parse(file.read_bytes()).body:
        if not isinstance(statement, ast.ClassDef) or statement.name not in kinds:
            yield statement
            continue
        for part in statement.body:
            yield part
            if isinstance(part, ast.FunctionDef) and part.name == _CONSTRUCTION:
                yield from part.body


def _needed(parts: Collection[ast.stmt]) -> set[str]:
    """Every name written in `solve`, in what a name written there stands for, and so on; and in the same way those of
    classes, since instances may be of them, and of what Python itself calls."""
    needed: set[str] = set()
    found = {"solve", *(part.name for part in parts if isinstance(part, _DEFINITION) and _is_root(part))}
    while found:
        needed |= found
        found = {name for part in parts if found & _bound(part) for name in _named(part)} - needed
    return needed


def _is_root(part: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    if isinstance(part, ast.ClassDef):
        return True
    return part.name.startswith("__") and part.name != _CONSTRUCTION  # the task has been made


def _bound(part: ast.stmt) -> set[str]:
    """The names and attributes that a statement gives a meaning to."""
    if isinstance(part, _DEFINITION):
        return {part.name}
    bound: set[str] = set()
    for node in ast.walk(part):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                bound.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
            case ast.alias(name=name, asname=asname):
                bound.add((asname or name).split(".")[0])
    return bound


def _named(part: ast.stmt) -> set[str]:
    """The names, attributes and single words that are written in a statement."""
    named: set[str] = set()
    for node in ast.walk(part):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(value=str(name)):
                named.add(name)
    return named
