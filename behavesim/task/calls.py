"""Calls of a task's own methods: what they return is checked, what they raise is named."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from typing import Any

import numpy as np

from behavesim.base.errors import TaskError
from behavesim.base.plugins import TakesTooLong, cpu_limited, line_in
from behavesim.base.text import one_line
from behavesim.task.pictures import Picture
from behavesim.task.task import Split, Task

INSTANCES_S = 60.0
"""CPU seconds that the instances of a split may take: while they are made, nothing else goes on, a Ctrl-C included."""


def instances_of(task: Task, split: Split) -> Sequence[Any]:
    """The instances of a split, which a process makes once.

    Raises TaskError where the task gives no list of them, or none to search on.
    """
    made: dict[Split, Sequence[Any]] = vars(task).setdefault("_made_instances", {})
    if split not in made:
        made[split] = instances_made_anew(task, split)
    return made[split]


def instances_made_anew(task: Task, split: Split) -> Sequence[Any]:
    """The instances of a split from another call of the task; raises the same."""
    try:
        with cpu_limited(INSTANCES_S):
            found = task.instances(split)
    except TakesTooLong:
        said = f"`instances({split!r})` of task {task.name!r} is not done after {INSTANCES_S:g} s of CPU time"
        raise TaskError(f"{said}; look for a loop without end, and keep in a file what takes long to make") from None
    except Exception as error:
        raise raised(task, f"instances({split!r})", error) from error
    if not isinstance(found, Sequence | np.ndarray):
        came = "None" if found is None else type(found).__name__
        raise TaskError(f"`instances({split!r})` of task {task.name!r} must return a list, not {came}")
    if split == "search" and len(found) == 0:
        raise TaskError(f"`instances({split!r})` of task {task.name!r} gives none, where a search needs one at least")
    return found


def picture_of(task: Task, instance: Any) -> Picture | None:
    """Return the task's picture of an instance; raises TaskError where `picture` raises, or returns something else."""
    from pydantic import TypeAdapter, ValidationError

    try:
        found = task.picture(instance)
    except Exception as error:
        raise raised(task, "picture", error) from error
    if found is None:
        return None
    try:
        return TypeAdapter(Picture).validate_python(vars(found) if isinstance(found, Picture) else found)
    except ValidationError as error:
        why = one_line(error.errors(include_url=False)[0]["msg"])
        raise TaskError(f"`picture` of task {task.name!r} must return a Route, Disks, Bins or None: {why}") from None


def number_from(task: Task, method: str, returned: object) -> float:
    """What a method of a task returned, as the number that it must be; raises TaskError where it is none."""
    try:
        return float(returned)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError) as error:
        came = "None" if returned is None else f"{type(returned).__name__} ({error})"
        raise TaskError(f"`{method}` of task {task.name!r} must return a number, not {came}") from None


def raised(task: Task, method: str, error: BaseException) -> TaskError:
    """What a method of a task raised, and where in the task's file."""
    said = one_line("".join(traceback.format_exception_only(error)[-1:]))
    line = line_in(type(task), error)
    return TaskError(f"`{method}` of task {task.name!r} raised {said}{f', in line {line}' if line else ''}")
