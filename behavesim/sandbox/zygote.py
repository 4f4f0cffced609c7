"""The zygote: a process that has libraries, a task and one split's instances loaded, and forks a child for a candidate.

The search's process, at the other end of its socket, sends it requests. When that end closes, it kills its children and
exits. How it forks and reports is in `forking`.

It deletes from the task what `solve` does not need (`strip_task`). A program can reach everything in its process. With
the code that makes instances, it could make those of other splits. Names are compared as text, wherever they appear: a
name that `solve` may need is kept even if it means something else there. A name that `solve` computes while it runs is
not found.
"""

from __future__ import annotations

import ast
import importlib
import math
import os
import signal
import socket
import sys
from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from behavesim.base.errors import SandboxError
from behavesim.base.text import parse
from behavesim.sandbox import isolation, kernel, layers, processes, program
from behavesim.sandbox.forking import ForkServer, Perform, Progress, fix_seeds, prepare_for_forks
from behavesim.sandbox.messages import Ready, TaskAssignment, line, send_errors
from behavesim.sandbox.program import Solve
from behavesim.task import Task, further_instances
from behavesim.task.calls import begin_instances
from behavesim.task.reference import task_from


def main(assignment: TaskAssignment, control: socket.socket) -> None:
    """Load the task, if one is assigned, confine this process, and serve the daemon, the process that searches.

    Returns when the daemon closes the socket or this process gets SIGTERM. An error of loading or confining is sent to
    the daemon and raised here too.
    """
    processes.die_with_parent(signal.SIGTERM)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's Ctrl-C is for the daemon, which flushes first
    with send_errors(control):
        for module in assignment.preloaded:
            importlib.import_module(module)
        perform, ready = _load(assignment) if assignment.task else _without_task(assignment)
        hidden = tuple(map(Path, ready.hidden))
        with isolation.attempts_to_reach_outside() as attempts:
            # the kernel's own limit on CPU time is the same for all children, and for the largest block; the tighter
            # ones are enforced by the server
            most = assignment.limits.times(max(1, assignment.further))
            confined = layers.prepare(assignment.layers, most, hidden)
            level, confinement = isolation.find(confined, isolation.OF_FUNCTIONS, attempts, assignment.outside)
    fix_seeds()
    prepare_for_forks()
    control.sendall(line(replace(ready, isolation=level, notes=confinement.notes)))
    ForkServer(control, perform, assignment.limits, confinement).serve()


def _without_task(assignment: TaskAssignment) -> tuple[Perform, Ready]:
    def answer(source: str, progress: Progress, fd: int, first: int = 0, count: int = 0) -> None:
        program.serve_calls(assignment.entry_point, assignment.limits.output, source, progress, fd)

    return answer, Ready("", (), 0, entry_point=assignment.entry_point, hidden=assignment.hidden)


def _load(assignment: TaskAssignment) -> tuple[Perform, Ready]:
    # The message for the daemon has no level yet.
    task = task_from(assignment.task)
    # read here: `strip_task` may delete any of these from the task
    name, template, entry_point = task.name, task.template, task.entry_point
    runs_apart, stateless = task.runs_apart, task.stateless
    instances = tuple(begin_instances(task, assignment.split, assignment.starts))
    more = assignment.further
    further = tuple(further_instances(task, assignment.split, more, len(instances))) if more else ()
    solve, files = strip_task(task)
    work = program.Work(solve, entry_point, instances, assignment.limits.output, further)
    fresh = program.fresh_processes(len(instances)) if stateless else 0
    kernel.fill_holes()  # before the rehearsal: numpy keeps small blocks of it, which each child writes to
    program.rehearse(template, work, assignment.limits.limit_s(math.inf))
    if processes.threads() > 1:
        raise SandboxError(f"task {name!r} starts threads when it is loaded; a fork would lose them")
    ready = Ready("", (), len(instances), 1 + fresh if runs_apart else 0, entry_point, tuple(map(str, files)))
    return partial(program.perform, work), ready


# The statements that define a function or a class.
_DEFINITION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
# The package of the built-in tasks: from one, programs would get the instances of its copy.
_BUILT_IN = "behavesim_tasks"
# The method that initialises the task; a zygote calls it before anything is deleted, and never again.
_CONSTRUCTION = "__init__"


def strip_task(task: Task) -> tuple[Solve, tuple[Path, ...]]:
    """Delete the attributes that `solve` does not need from a task, its classes and their modules, in this process.

    Returns `solve`, and the paths that programs must not read. Only names that the modules' source defines are deleted.
    """
    # the modules that a task's own module imports stay as they are
    kinds = [kind for kind in type(task).__mro__ if kind not in Task.__mro__]
    modules = [sys.modules[name] for name in {kind.__module__ for kind in kinds}]
    files = [Path(str(module.__file__)).resolve() for module in modules]
    data = [file.parent / name for file in files for name in task.data_files]  # read before it may be deleted
    names = {kind.__name__ for kind in kinds}
    parts = [(part, _names_bound(part)) for file in files for part in _parts(file, names)]
    values = [pair for module in modules for pair in vars(module).items()]
    tasks = {name for name, value in values if isinstance(value, Task)}
    classes = [(name, value) for name, value in values if isinstance(value, type) and issubclass(value, Task)]
    others = {name for name, kind in classes if kind not in kinds}  # such as the same task with other instances
    kept = _names_needed([(part, bound) for part, bound in parts if not bound & tasks], others)
    defined = {name for _, bound in parts for name in bound}
    solve = task.solve
    for place in (task, *kinds, *modules):
        for name in (vars(place).keys() & defined) - kept:
            delattr(place, name)
    # with the bytecode; and with the built-in tasks, as it may be a copy of one of them, or their data if it is one
    hidden = (path for file in files for path in (file, file.parent / "__pycache__"))
    is_built_in = type(task).__module__.startswith(_BUILT_IN)
    library = [path for folder in _built_in() for path in folder.glob("*.xz")] if is_built_in else _built_in()
    return solve, (*hidden, *data, *library)


def _built_in() -> tuple[Path, ...]:
    spec = find_spec(_BUILT_IN)
    return tuple(Path(folder).resolve() for folder in (spec and spec.submodule_search_locations) or ())


def _parts(file: Path, kinds: Collection[str]) -> Iterator[ast.stmt]:
    # The classes named in `kinds` are replaced by the statements of their bodies; behind an `__init__` come its own,
    # too.
    for statement in parse(file.read_bytes()).body:
        if not isinstance(statement, ast.ClassDef) or statement.name not in kinds:
            yield statement
            continue
        for part in statement.body:
            yield part
            if isinstance(part, ast.FunctionDef) and part.name == _CONSTRUCTION:
                yield from part.body


def _names_needed(parts: Collection[tuple[ast.stmt, set[str]]], others: Collection[str]) -> set[str]:
    """Return every name that `solve` or a kept definition (`_is_kept`) uses, directly or through other definitions."""
    # `parts` are statements, each with the names that it binds (`_names_bound`). A class named in `others` is only kept
    # if it is used.
    # instances may be objects of other classes than the task's, and Python itself calls special methods
    needed: set[str] = set()
    definitions = (part for part, _ in parts if isinstance(part, _DEFINITION) and _is_kept(part))
    found = {"solve", *(part.name for part in definitions if part.name not in others)}
    while found:
        needed |= found
        found = {name for part, bound in parts if found & bound for name in _names_used(part)} - needed
    return needed


def _is_kept(part: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    """Whether a definition is a class (`_parts` leaves out the task's) or a special method other than `__init__`."""
    return isinstance(part, ast.ClassDef) or (part.name.startswith("__") and part.name != _CONSTRUCTION)


def _names_bound(part: ast.stmt) -> set[str]:
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


def _names_used(part: ast.stmt) -> set[str]:
    """Return the names, the attributes and the string constants in a statement (`getattr` takes a string)."""
    named, plain = set[str](), set[str]()
    for node in ast.walk(part):
        match node:
            case ast.Attribute(attr=name) | ast.Constant(value=str(name)):
                named.add(name)
            case ast.Name(id=name):
                plain.add(name)
    # a parameter is no global of that name: `solve` has one that is called like the method `instance`
    own = part.args if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef) else None
    taken = {each.arg for each in (*own.posonlyargs, *own.args, *own.kwonlyargs)} if own else set()
    return named | (plain - taken)


if __name__ == "__main__":
    main(TaskAssignment.from_json(sys.argv[1]), socket.socket(fileno=int(sys.argv[2])))
    os._exit(0)  # skips Python's cleanup, which has nothing to do
