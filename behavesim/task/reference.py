"""Where a task comes from: an installed name or a file, and the task that is found there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from behavesim.base.errors import TaskError
from behavesim.base.plugins import Kind, docstring, resolved
from behavesim.task.objective import Objective
from behavesim.task.task import Task


@dataclass(frozen=True)
class TaskReference:
    """Where a task comes from: an entry point's name, or a file's path; enough for another process to load it again."""

    text: str

    def load(self) -> Task:
        """The task itself, named and described; raises TaskError where it cannot be had."""
        path = Path(self.text)
        return _complete(TASKS.load(self.text), path.stem if path.suffix == ".py" else self.text)

    def resolved(self) -> TaskReference:
        """The same reference, valid from any folder."""
        return TaskReference(resolved(self.text))

    def place(self) -> str:
        """Where its code stands: for `task_from`. Raises TaskError."""
        return TASKS.place(self.text)


TASKS = Kind("task", TaskError)


def task_from(place: str) -> Task:
    """The task whose code stands there; raises TaskError where it is none, and whatever importing it does."""
    return _complete(TASKS.load_from(place), Path(place).stem)


def installed_tasks() -> list[str]:
    """The names of all installed tasks, sorted."""
    return TASKS.installed()


def _complete(task: object, stem: str) -> Task:
    if isinstance(task, type) and issubclass(task, Task):
        raise TaskError(f"`task` must be an instance of its class; write `task = {task.__name__}()`")
    if not isinstance(task, Task):
        raise TaskError(f"`task` must be an instance of behavesim.Task, not {type(task).__name__}")
    for needed in ("template", "objective"):
        if not hasattr(task, needed):
            raise TaskError(f"task {type(task).__name__} has no `{needed}`")
    if not isinstance(task.template, str):
        raise TaskError(
            f"the template of task {type(task).__name__} must be a program's text, not {task.template!r:.60}"
        )
    if not isinstance(task.objective, Objective):
        raise TaskError(
            f"the objective of task {type(task).__name__} must be such as behavesim.Objective('minimise'), "
            f"not {task.objective!r:.60}"
        )
    task.name = task.name or stem
    task.description = task.description or docstring(type(task))
    _ = task.entry_point  # refuses a template that has none
    return task
