"""A task: what the search is asked to solve, and how a solution is judged by code the candidate never touches."""

from __future__ import annotations

import ast
import inspect
import math
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from behavesim.errors import TaskError
from behavesim.plugins import Kind, TakesTooLong, cpu_limited, line_in, resolved
from behavesim.text import one_line
from behavesim.trajectory import AlgorithmRun

Split = Literal["search", "validation", "held-out"]
"""The search sees the first, the choice of the recommended program also the second, reports alone the third."""

SPLITS: tuple[Split, ...] = ("search", "validation", "held-out")

Solution = NDArray[Any] | Mapping[str, NDArray[Any]]
"""What a candidate returns for one instance: an array, or a few named ones."""


INSTANCES_S = 60.0
"""CPU seconds that the instances of a split may take: while they are made, nothing else goes on, a Ctrl-C included."""


class InvalidSolution(ValueError):
    """A solution that breaks the task's rules; the message says which."""


Direction = Literal["minimise", "maximise"]
_AMERICAN = {"minimize": "minimise", "maximize": "maximise"}


@dataclass(frozen=True)
class Objective:
    """Which way a score is better, and the best score known; raises TaskError for a direction that is neither."""

    direction: Direction
    best_known: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "direction", _AMERICAN.get(self.direction, self.direction))
        if self.direction not in get_args(Direction):
            raise TaskError(f"an objective is to 'minimise' or to 'maximise', not to {self.direction!r}")

    def utility(self, score: float) -> float:
        """The score turned so that higher is better."""
        return score if self.direction == "maximise" else -score

    def gap(self, score: float) -> float | None:
        """How far the score is from the best known, as a fraction of it, positive where worse.

        None where no best is known, or where it is 0, of which nothing is a fraction.
        """
        if not self.best_known:
            return None
        return (self.utility(self.best_known) - self.utility(score)) / abs(self.best_known)


@dataclass(frozen=True)
class Route:
    """A picture: prefixes of decisions are a way from place to place, and home; (x, y) of each decision's place."""

    places: tuple[tuple[float, float], ...]
    kind: Literal["route"] = "route"


@dataclass(frozen=True)
class Disks:
    """A picture: each vector is rows of (x, y, radius) in the unit square; a radius of 0 is none yet."""

    kind: Literal["disks"] = "disks"


@dataclass(frozen=True)
class Bins:
    """A picture: decision i is the bin, from 0, that takes an item of size i; bins are as high as their capacity."""

    sizes: tuple[float, ...]
    capacity: float
    kind: Literal["bins"] = "bins"


Picture = Route | Disks | Bins
"""How the trajectories on an instance are drawn."""


class Task(ABC):
    """A problem for programs to solve; subclass it, and name an instance of the subclass `task` in the task's file.

    `solve` runs in the sandbox around the candidate's function and returns a solution and nothing else; `score` and
    `trajectory` run in the trusted process on that solution, so that no candidate can name its own score.
    """

    name: str = ""
    """Defaults to the stem of the task's file."""
    description: str = ""
    """What a prompt tells the model about the problem; defaults to the class's docstring."""
    rules: str = ""
    """What else a model has to know: how often the function is called, on what, and what is refused; a "- " each."""
    template: str
    """The program every search starts from; its last function is the entry point."""
    objective: Objective
    normaliser: float | Literal["pair"] = "pair"
    """d_max or D of the paper's solution distance: the greatest distance two solutions of the problem can have."""
    score_scale: float = 1.0
    """The difference of scores that counts as one unit when clusters are chosen by softmax."""
    budget: int = 2000
    """Candidates a search asks for unless told otherwise."""
    timeout_s: float = 50.0
    """CPU seconds a program may take over all instances of the search unless told otherwise."""
    stateless: bool = False
    """Whether programs must keep nothing between calls: some calls are made again, in a fresh process."""
    online: bool = False
    """Whether decisions are final before all of an instance is known: of several solutions none can be chosen then."""
    niche_radius: float = 0.3
    """How far apart the method `niche` keeps its elites, in units of the median distance of behaviours."""
    grammar: str = ""
    """Building blocks for the offline proposer, in the notation of behavesim.proposers.genetic.grammar; optional."""

    @property
    def entry_point(self) -> str:
        """The name of the function a candidate must define: the last one of the template.

        Raises TaskError where there is none.
        """
        try:
            tree = ast.parse(self.template)
        except SyntaxError as error:
            line = one_line(error.text or "", 80)
            where = f"{error.msg} in its line {error.lineno}{line and f', {line}'}"
            raise TaskError(f"the template of task {self.name!r} is no Python: {where}") from error
        functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
        if not functions:
            raise TaskError(
                f"the template of task {self.name!r} defines no function; write the one to be improved last"
            )
        return functions[-1]

    @abstractmethod
    def instances(self, split: Split) -> Sequence[Any]:
        """The problem instances of a split, the same on every call."""

    @abstractmethod
    def solve(self, function: Callable[..., Any], instance: Any) -> Solution:
        """Solve one instance with the candidate's function (runs in the sandbox).

        Raises InvalidSolution where what the function returned cannot be used.
        """

    @abstractmethod
    def score(self, instance: Any, solution: Solution) -> float:
        """The score of a solution in the task's unit and direction; raises InvalidSolution where it breaks a rule."""

    @abstractmethod
    def trajectory(self, instance: Any, solution: Solution) -> AlgorithmRun:
        """How the (valid) solution came about: a trajectory, or Samples of those of a program that draws at random."""

    def in_words(self, instance: Any, decision: int) -> str:
        """What a decision of a trajectory of prefixes means, for prompts that tell a model what programs do."""
        return str(decision)

    def picture(self, instance: Any) -> Picture | None:
        """How the page of a run draws what programs do on an instance; None draws the numbers of each state."""
        return None

    def objective_on(self, split: Split) -> Objective:
        """The objective with the best mean score known on a split's instances; none is known unless a task says so."""
        return self.objective if split == "search" else Objective(self.objective.direction)

    def mean_score(self, scores: Sequence[float]) -> float:
        """The score of a program: the mean over its instances."""
        return math.fsum(scores) / len(scores)


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
    task.description = task.description or inspect.cleandoc(type(task).__doc__ or "")
    _ = task.entry_point  # refuses a template that has none
    return task


def instances_of(task: Task, split: Split) -> Sequence[Any]:
    """The instances of a split; raises TaskError where the task gives no list of them, or none to search on."""
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


def as_arrays(solution: Any) -> dict[str, NDArray[Any]]:
    """A solution as named arrays; one without a name is called ''."""
    if isinstance(solution, Mapping):
        return {str(name): np.asarray(value) for name, value in solution.items()}
    return {"": np.asarray(solution)}
