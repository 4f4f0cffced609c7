"""References to tasks, by installed name or by file, and the loading of the tasks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from behavesim.base.errors import TaskError
from behavesim.base.plugins import Kind, absolute, docstring
from behavesim.task.evaluated import EvaluatorFile, EvaluatorTask
from behavesim.task.task import Objective, Task

# The suffix of task files that name an evaluator and a first program.
EVALUATED = ".toml"
# Finds tasks by installed name or .py file, not by .toml file; raises TaskError if there is no such task.
TASKS = Kind("task", TaskError)


@dataclass(frozen=True)
class TaskReference:
    """Where a task comes from: `text` is an installed name, a name and a size such as `tsp:large`, or a file's path.

    A .py file holds the task, a .toml file names an evaluator and a first program (see `evaluated`).
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
        if size not in task.sizes:
            known = f"it has {', '.join(task.sizes)}" if task.sizes else "it has one size only"
            raise TaskError(f"task {name!r} has no size {size!r}; {known}")
        if name.endswith(".py"):
            raise TaskError(f"a size is chosen of an installed task; let the file {name} end with `task = {size}`")
        return _complete(TASKS.load_from(self.place()), f"{name}_{size}")

    def absolute(self) -> TaskReference:
        """Return a reference that is valid from any working folder: with the file's absolute path, or the same name."""
        return TaskReference(absolute(self.text))

    def place(self) -> str:
        """Return where the task's code is, for `task_from`: the path of a .py file, or MODULE:NAME.

        Raises TaskError for a name that is not installed, and for a .toml file.
        """
        name, size = self._parts()
        place = TASKS.place(name)
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
    return _complete(TASKS.load_from(place), Path(place).stem)


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
    if isinstance(task.data_files, str) or not all(isinstance(each, str) for each in task.data_files):
        raise TaskError(f"the data_files of task {type(task).__name__} must be a tuple of paths, such as ('data.npz',)")
    task.name = task.name or stem
    task.description = task.description or docstring(type(task))
    _ = task.entry_point  # refuses a template that has none
    return task
