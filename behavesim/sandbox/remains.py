"""Deletes from a task what `solve` does not need, in a zygote.

A program can reach everything in its process. With the code that makes instances, it could make those of other splits.

Names are compared as text, wherever they appear: a name that `solve` may need is kept even if it means something else
there. A name that `solve` computes while it runs is not found.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Collection, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from behavesim.base.syntax import parsed
from behavesim.task import Solution, Task

Solve = Callable[[Callable[..., Any], Any], Solution]
"""A task's `solve`: takes a program's function and an instance, returns the solution."""
_DEFINITION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
"""The statements that define a function or a class."""
_BUILT_IN = "behavesim_tasks"
"""The package of the built-in tasks: from one, programs would get the instances of its copy."""
_CONSTRUCTION = "__init__"
"""The method that initialises the task; a zygote calls it before anything is deleted, and never again."""


def solving_only(task: Task) -> tuple[Solve, tuple[Path, ...]]:
    """Delete the attributes that `solve` does not need from a task, its classes and their modules, in this process.

    Returns `solve`, and the paths that programs must not read. These are the modules' files and their bytecode. The
    folder of the built-in tasks is among them unless the task is one: another may be a copy of one.
    The classes are the task's own and its base classes, except behavesim's. Modules that these import stay as they are.
    Only names that the modules' source defines are deleted.
    """
    kinds = [kind for kind in type(task).__mro__ if kind not in Task.__mro__]
    modules = [sys.modules[name] for name in {kind.__module__ for kind in kinds}]
    files = [Path(str(module.__file__)).resolve() for module in modules]
    names = {kind.__name__ for kind in kinds}
    parts = [(part, _bound(part)) for file in files for part in _parts(file, names)]
    values = [pair for module in modules for pair in vars(module).items()]
    tasks = {name for name, value in values if isinstance(value, Task)}
    classes = [(name, value) for name, value in values if isinstance(value, type) and issubclass(value, Task)]
    others = {name for name, kind in classes if kind not in kinds}  # such as the same task with other instances
    kept = _needed([(part, bound) for part, bound in parts if not bound & tasks], others)
    defined = {name for _, bound in parts for name in bound}
    solve = task.solve
    for place in (task, *kinds, *modules):
        for name in (vars(place).keys() & defined) - kept:
            delattr(place, name)
    hidden = (path for file in files for path in (file, file.parent / "__pycache__"))
    return solve, (*hidden, *(() if type(task).__module__.startswith(_BUILT_IN) else _built_in()))


def _built_in() -> tuple[Path, ...]:
    """Return the folder of the built-in tasks; nothing if they are not installed."""
    spec = find_spec(_BUILT_IN)
    return tuple(Path(folder).resolve() for folder in (spec and spec.submodule_search_locations) or ())


def _parts(file: Path, kinds: Collection[str]) -> Iterator[ast.stmt]:
    """Yield the statements of a module.

    The classes named in `kinds` are replaced by the statements of their bodies; behind an `__init__` come its own, too.
    """
    for statement in parsed(file.read_bytes()).body:
        if not isinstance(statement, ast.ClassDef) or statement.name not in kinds:
            yield statement
            continue
        for part in statement.body:
            yield part
            if isinstance(part, ast.FunctionDef) and part.name == _CONSTRUCTION:
                yield from part.body


def _needed(parts: Collection[tuple[ast.stmt, set[str]]], others: Collection[str]) -> set[str]:
    """Return every name that `solve` or a kept definition (`_is_kept`) uses, directly or through other definitions.

    `parts` are statements, each with the names that it binds (`_bound`). A class named in `others` is only
    kept if it is used.
    """
    # instances may be objects of other classes than the task's, and Python itself calls special methods
    needed: set[str] = set()
    definitions = (part for part, _ in parts if isinstance(part, _DEFINITION) and _is_kept(part))
    found = {"solve", *(part.name for part in definitions if part.name not in others)}
    while found:
        needed |= found
        found = {name for part, bound in parts if found & bound for name in _named(part)} - needed
    return needed


def _is_kept(part: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    """Whether a definition is a class (`_parts` leaves out the task's) or a special method other than `__init__`."""
    return isinstance(part, ast.ClassDef) or (part.name.startswith("__") and part.name != _CONSTRUCTION)


def _bound(part: ast.stmt) -> set[str]:
    """Return the names and attributes that a statement defines, assigns or imports; not those inside a definition."""
    if isinstance(part, _DEFINITION):
        return {part.name}
    bound: set[str] = set()
    for node in ast.walk(part):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                bound.add(name)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                bound.add(node.name)
            case ast.alias(name=name, asname=asname):
                bound.add((asname or name).split(".")[0])
    return bound


def _named(part: ast.stmt) -> set[str]:
    """Return the names, the attributes and the string constants in a statement (`getattr` takes a string)."""
    named: set[str] = set()
    for node in ast.walk(part):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(value=str(name)):
                named.add(name)
    return named
