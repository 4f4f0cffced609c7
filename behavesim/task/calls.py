"""Calls of a task's own methods, with checks of what they return and errors that name the method; also in words."""

from __future__ import annotations

import math
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

import numpy as np

from behavesim.base.errors import RAISED, TaskError
from behavesim.base.plugins import TakesTooLong, file_of, limit_cpu, line_in
from behavesim.base.text import one_line
from behavesim.task.evaluated import EvaluatorTask
from behavesim.task.score import Score
from behavesim.task.task import InvalidSolution, Picture, Split, Task

P = ParamSpec("P")
T = TypeVar("T")

# Most CPU seconds for making the instances of a split: meanwhile nothing else in the process runs, not even Ctrl-C.
INSTANCES_S = 60.0


def instances_of(task: Task, split: Split) -> Sequence[Any]:
    """Return the instances of a split; each task object makes them once and keeps them.

    Raises TaskError as `instances_made_anew` does.
    """
    # kept on the task itself, so that they are freed with it and no subclass needs to call a constructor
    made: dict[Split, Sequence[Any]] = vars(task).setdefault("_made_instances", {})
    if split not in made:
        made[split] = instances_made_anew(task, split)
    return made[split]


def instances_made_anew(task: Task, split: Split, most_s: float | None = None) -> Sequence[Any]:
    """Return the instances of a split from a new call of `task.instances`, of at most `most_s` CPU seconds (60).

    Raises TaskError if the call raises, takes longer, returns neither a sequence nor an array, or none for "search".
    """
    most_s = INSTANCES_S if most_s is None else most_s
    try:
        with limit_cpu(most_s), _as_task_errors(task, f"instances({split!r})"):
            found = task.instances(split)
    except TakesTooLong:
        said = f"`instances({split!r})` of task {task.name!r} is not done after {most_s:g} s of CPU time"
        raise TaskError(f"{said}; look for a loop without end, and keep in a file what takes long to make") from None
    if not isinstance(found, Sequence | np.ndarray):
        came = "None" if found is None else type(found).__name__
        raise TaskError(f"`instances({split!r})` of task {task.name!r} must return a list, not {came}")
    if split == "search" and len(found) == 0:
        raise TaskError(f"`instances({split!r})` of task {task.name!r} gives none, where a search needs one at least")
    return found


def begin_instances(task: Task, split: Split, starts: int) -> list[Any]:
    """Return the instances of a split; for `starts` above 1, up to that number of versions of each (`Task.starts`)."""
    instances = instances_of(task, split)
    if starts == 1:
        return list(instances)
    begun = [call_task(task, "starts", task.starts, each, starts) for each in instances]
    if not all(isinstance(each, Sequence | np.ndarray) and 1 <= len(each) <= starts for each in begun):
        raise TaskError(f"`starts` of task {task.name!r} must return 1 to {starts} instances")
    return [each for versions in begun for each in versions]


def further_instances(task: Task, split: Split, count: int, begun: int | None = None) -> list[Any]:
    """Return `count` instances beyond those of the split, by number; raises TaskError if there are fewer.

    `begun` is the number of the split's own; None makes these to count them.
    """
    if begun is None:
        begun = len(instances_of(task, split))
    try:
        with limit_cpu(INSTANCES_S), _as_task_errors(task, f"instance({split!r}, …)"):
            return [task.instance(split, number) for number in range(begun, begun + count)]
    except TakesTooLong:
        said = f"{count} further {split} instances of task {task.name!r} take more than {INSTANCES_S:g} s of CPU time"
        setting = "race" if split == "search" else "fresh_evaluations"
        raise TaskError(f"{said}; race over fewer (--set {setting}=…)") from None


def picture_of(task: Task, instance: Any) -> Picture | None:
    """Return the task's picture of an instance, its fields checked; None if the task has none."""
    from pydantic import TypeAdapter, ValidationError  # imported late: only pages need it

    with _as_task_errors(task, "picture"):
        found = task.picture(instance)
    if found is None:
        return None
    wanted = f"`picture` of task {task.name!r} must return a Route, Disks, Bins or None"
    if not isinstance(found, Picture):
        raise TaskError(f"{wanted}, not {type(found).__name__}")
    try:
        # by its fields, since pydantic does not check those of an instance
        return TypeAdapter(type(found)).validate_python(vars(found))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"]))
        raise TaskError(f"{wanted}: {field} of {type(found).__name__}: {one_line(first['msg'])}") from None


def number_from(task: Task, method: str, returned: object) -> float:
    """Return what `method` of a task returned as a float, NaN and infinity too; raises TaskError if it is none."""
    value = returned.value if isinstance(returned, Score) else returned
    try:
        if isinstance(value, str | bytes):  # `float` would take the text "1.0"
            raise TypeError(one_line(repr(value), 50))
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError) as error:
        came = "None" if value is None else f"{type(value).__name__} ({error})"
        wanted = "a Score whose value is a number" if value is not returned else "a number"
        raise TaskError(f"`{method}` of task {task.name!r} must return {wanted}, not {came}") from None


def call_task(task: Task, name: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function of the task, which messages call `name`, and return its result.

    Raises InvalidSolution if the function does, and TaskError with the name if it raises anything else.
    """
    try:
        # a score of inf or NaN is rejected by its value; numpy's warnings would only fill the log
        with np.errstate(all="ignore"):
            return function(*args, **kwargs)
    except InvalidSolution:
        raise
    except RAISED as error:  # a call of sys.exit, too, must not end the search
        raise task_error(task, name, error) from error


@contextmanager
def _as_task_errors(task: Task, method: str) -> Iterator[None]:
    """Raise what a task's method raises in the block as TaskError; a TaskError as it is, since it says what to do."""
    try:
        yield
    except (TaskError, TakesTooLong):
        raise
    except RAISED as error:  # a person's code may raise anything, and would end the run without naming its line
        raise task_error(task, method, error) from error


def task_error(task: Task, method: str, error: BaseException) -> TaskError:
    """Return, not raise, a TaskError that says that `method` of a task raised `error`, in which line of its file."""
    told = traceback.TracebackException.from_exception(error)
    told.__notes__ = None  # which would come last, where the error's own line is
    said = one_line([*told.format_exception_only()][-1])
    # a class that was typed into an interactive session has no file
    has_file = hasattr(sys.modules[type(task).__module__], "__file__")
    line = line_in(file_of(type(task)), error) if has_file else None
    return TaskError(f"`{method}` of task {task.name!r} raised {said}{f', in line {line}' if line else ''}")


def rank_words(rank: int, measure: str) -> str:
    """Return a rank, from 1, by a measure such as "nearest": "the nearest", "the 2nd nearest", "the 11th nearest"."""
    if rank == 1:
        return f"the {measure}"
    ending = "th" if rank % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")
    return f"the {rank}{ending} {measure}"


# An instance's name is cut to this many characters: it is the first column of a table in prompts.
LONGEST_INSTANCE_NAME = 40
# A decision in words is cut to this many characters.
LONGEST_CHOICE = 160


@dataclass(frozen=True)
class InWords:
    """The instances of a task's split in words; indices of instances count from 0, and from 1 in the words.

    All methods raise TaskError if the task's method raises or returns what it must not.
    """

    task: Task
    split: Split = "search"

    @property
    def are_given(self) -> bool:
        """Whether the task has words of its own for decisions; else they are bare numbers, as with an evaluator."""
        kind = type(self.task)
        own = (kind.in_words, kind.choice_in_words) != (Task.in_words, Task.choice_in_words)
        return own and not isinstance(self.task, EvaluatorTask)

    def name(self, index: int) -> str:
        """Return what kind of instance the one at `index` is, in a few words; "" if the task does not say."""
        return self._line("instance_name", LONGEST_INSTANCE_NAME, index)

    def instance(self, index: int) -> str:
        """Return a phrase such as "instance 2 (300 cities, clustered)"; of an only instance "the instance"."""
        if len(instances_of(self.task, self.split)) == 1:
            return "the instance"
        name = self.name(index)
        return f"instance {index + 1}{name and f' ({name})'}"

    def choice(self, index: int, before: Sequence[int], decision: int) -> str:
        """Return a decision of a prefix trajectory on an instance in words; `before` are all decisions before it."""
        return self._line("choice_in_words", LONGEST_CHOICE, index, before, decision)

    def costs(self, index: int, decisions: Sequence[int]) -> tuple[float, ...]:
        """Return the cost (the gain, if scores are maximised) of each of the decisions; () if the task has none."""
        found = self._call_method("cost_so_far", index, decisions)
        if found is None:
            return ()
        wanted = f"`cost_so_far` of task {self.task.name!r} must return None or {len(decisions)} finite numbers"
        try:
            total = [float(cost) for cost in found]
        except (TypeError, ValueError, OverflowError) as error:
            raise TaskError(f"{wanted}, not {type(found).__name__} ({error})") from None
        if len(total) != len(decisions) or not all(map(math.isfinite, total)):
            raise TaskError(f"{wanted}, one for each decision")
        return tuple(cost - before for cost, before in zip(total, [0.0, *total], strict=False))

    def _line(self, method: str, longest: int, index: int, *rest: object) -> str:
        found = self._call_method(method, index, *rest)
        if not isinstance(found, str):
            raise TaskError(f"`{method}` of task {self.task.name!r} must return a text, not {type(found).__name__}")
        # A back-quote could open a fenced block: the text stands in prompts, and the programs that a prompt shows are
        # read from its fenced blocks.
        return one_line(found.replace("`", "'"), longest)

    def _call_method(self, method: str, index: int, *rest: object) -> Any:
        with _as_task_errors(self.task, method):
            return getattr(self.task, method)(instances_of(self.task, self.split)[index], *rest)
