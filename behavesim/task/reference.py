"""References to tasks, by installed name or by file, and the loading of the tasks."""

from __future__ import annotations

from collections import Counter
from copy import copy
from dataclasses import dataclass, replace
from numbers import Integral
from pathlib import Path
from typing import Any

from behavesim.base.errors import TaskError
from behavesim.base.plugins import Kind, absolute, docstring
from behavesim.task.calls import further_instances, instances_made_anew
from behavesim.task.evaluated import EvaluatorFile, EvaluatorTask
from behavesim.task.task import Objective, Split, Task

# The suffix of task files that name an evaluator and a first program.
EVALUATED = ".toml"
# Finds tasks by installed name or .py file, not by .toml file; raises TaskError if there is no such task.
TASKS = Kind("task", TaskError)


@dataclass(frozen=True)
class TaskReference:
    """Where a task comes from: `text` is an installed name, a name and a size, or a file's path.

    A size is a name that the task gives, such as `tsp:large`, or the number of search instances, such as `tsp:24`. A
    .py file holds the task, a .toml file names an evaluator and a first program (see `evaluated`).
    """

    text: str

    def load(self) -> Task:
        """Return the task, with its name and description filled in if it has none.

        Raises UsageError, of which TaskError is one, if it cannot be loaded or is invalid.
        """
        path = Path(self.text)
        if path.suffix == EVALUATED:
            return EvaluatorTask(EvaluatorFile.read(path), path.stem)
        name, size = self._parts()
        task = _complete(TASKS.load(name), path.stem if path.suffix == ".py" else name)
        if not size:
            return task
        if size.isdecimal():
            if name.endswith(".py"):
                raise TaskError(f"a number is for installed tasks; let `instances` of {name} return more for 'search'")
            return with_instances(task, int(size))
        if size not in task.sizes:
            known = f"it has {', '.join(task.sizes)}" if task.sizes else "it has one size only"
            more = f"; a number, such as {name}:24, is one of search instances" if task.endless else ""
            raise TaskError(f"task {name!r} has no size {size!r}; {known}{more}")
        if name.endswith(".py"):
            raise TaskError(f"a size is chosen of an installed task; let the file {name} end with `task = {size}`")
        return _complete(TASKS.load_from(self.place()), f"{name}_{size}")

    def absolute(self) -> TaskReference:
        """Return a reference that is valid from any working folder: with the file's absolute path, or the same name."""
        return TaskReference(absolute(self.text))

    def place(self) -> str:
        """Return where the task's code is, for `task_from`: the path of a .py file, MODULE:NAME or MODULE:NAME:NUMBER.

        Raises TaskError for a name that is not installed, and for a .toml file.
        """
        name, size = self._parts()
        place = TASKS.place(name)
        if size.isdecimal():
            return f"{place}:{size}"
        return f"{place.rpartition(':')[0]}:{size}" if size else place

    def _parts(self) -> tuple[str, str]:
        """Return what stands before and after the first colon; of a .py file's path all and ""."""
        name, _, size = self.text.partition(":")
        return (self.text, "") if self.text.endswith(".py") else (name, size)


def task_from(place: str) -> Task:
    """Return the task at a place from `TaskReference.place`: for processes that a search starts, which need it fast.

    It may have another name than a reference's `load` gives it. Raises TaskError if there is no valid task, for an
    installed module whatever importing it raises.
    """
    code, _, number = place.rpartition(":")
    if number.isdecimal():
        return with_instances(_complete(TASKS.load_from(code), Path(code).stem), int(number))
    return _complete(TASKS.load_from(place), Path(place).stem)


def with_instances(task: Task, count: int) -> Task:
    """Return a task like this one with `count` search instances: its own, and others by their numbers.

    Behaviours are compared on its own ones alone, so that similarities mean what they mean there. Raises TaskError if
    the task has no others, or as many of its own.
    """
    if not task.endless:
        raise TaskError(f"task {task.name!r} has its own search instances only: `{task.name}:{count}` needs `endless`")
    own = len(instances_made_anew(task, "search"))
    if count <= own:
        raise TaskError(f"task {task.name!r} has {own} search instances; ask for more, such as {task.name}:{4 * own}")
    original: Any = type(task)

    class Larger(original):  # type: ignore[misc]
        compared = own

        def instances(self, split: Split) -> Any:
            if split != "search":
                return task.instances(split)
            return [task.instance(split, number) for number in range(count)]

        def instance(self, split: Split, number: int) -> Any:
            return task.instance(split, number)  # numbers from `own` on are those beyond the task's own instances

        def objective_on(self, split: Split) -> Objective:
            return self.objective if split == "search" else task.objective_on(split)

    Larger.__name__, Larger.__doc__, Larger.__module__ = original.__name__, original.__doc__, original.__module__
    larger = copy(task)
    larger.__class__ = Larger
    names = Counter(task.instance_name(each) for each in further_instances(task, "search", count - own, own))
    kinds = "; ".join(f"{times} of {name}" for name, times in names.items() if name) or "also of other kinds and sizes"
    more = f"- The score is over {count} instances: those {own}, and {count - own} more ({kinds})."
    larger.name, larger.search_size = f"{task.name}_{count}", f"{task.search_size or own} and {count - own} more"
    larger.rules, larger.objective = f"{task.rules}\n{more}".strip(), replace(task.objective, best_known=None)
    return larger


def installed_tasks() -> list[str]:
    """Return the names of all installed tasks, sorted."""
    return TASKS.installed()


def _complete(task: object, stem: str) -> Task:
    # what a person may have written by mistake is named here, where the line to correct is known
    if isinstance(task, type) and issubclass(task, Task):
        raise TaskError(f"`task` must be an instance of its class; write `task = {task.__name__}()`")
    if not isinstance(task, Task):
        raise TaskError(f"`task` must be an instance of behavesim.Task, not {type(task).__name__}")
    kinds = (("template", str, "a program's text"), ("objective", Objective, "such as behavesim.Objective('minimise')"))
    for needed, kind, meant in kinds:
        if not hasattr(task, needed):
            raise TaskError(f"task {type(task).__name__} has no `{needed}`")
        if not isinstance(found := getattr(task, needed), kind):
            raise TaskError(f"the {needed} of task {type(task).__name__} must be {meant}, not {found!r:.60}")
    for name in ("name", "description", "rules", "shifted", "grammar"):
        if not isinstance(found := getattr(task, name), str):
            raise TaskError(f"the {name} of task {type(task).__name__} must be a text, not {found!r:.60}")
    if task.compared is not None and not (isinstance(task.compared, Integral) and task.compared >= 1):
        raise TaskError(
            f"the `compared` of task {type(task).__name__} must be a number of instances, or None for all, "
            f"not {task.compared!r:.60}"
        )
    if isinstance(task.data_files, str) or not all(isinstance(each, str) for each in task.data_files):
        raise TaskError(f"the data_files of task {type(task).__name__} must be a tuple of paths, such as ('data.npz',)")
    task.name = task.name or stem
    task.description = task.description or docstring(type(task))
    _ = task.entry_point  # refuses a template that has none
    return task
