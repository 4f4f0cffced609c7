"""A task: the problem that programs solve, its objective and pictures, and the trusted code that scores solutions."""

from __future__ import annotations

import ast
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from behavesim.base.errors import TaskError
from behavesim.base.text import ScoreSource, one_line, parse
from behavesim.task.score import Score
from behavesim.trajectory import AlgorithmRun

Split = Literal["search", "validation", "held-out", "shifted"]
"""The name of a set of instances.

The search uses the instances of "search". The choice of the recommended program also uses those of "validation", and
only reports use those of "held-out" and, if the task has them, of "shifted": these come from another distribution.
"""

# The splits of every task, in the order in which a run uses them.
SPLITS: tuple[Split, ...] = ("search", "validation", "held-out")

# What a program does in a task. It chooses each next step ("constructive"), ranks the choices ("priority"), changes a
# whole solution ("improvement"), minimises a function that it can only evaluate ("black-box"), or returns the whole
# solution ("packing"). In an "evaluator" task code of the user's runs it; "other" is anything else.
TaskKind = Literal["constructive", "priority", "improvement", "black-box", "packing", "evaluator", "other"]

# What `Task.solve` returns for one instance: an array, or several arrays by name.
Solution = NDArray[Any] | Mapping[str, NDArray[Any]]

# Which scores are better: the lower or the higher ones.
Direction = Literal["minimise", "maximise"]
_AMERICAN = {"minimize": "minimise", "maximize": "maximise"}


# Gaps to the best known score up to this fraction are nothing to win: such scores are written down with 7 digits.
REACHED = 1e-6


@dataclass(frozen=True)
class Objective:
    """Whether scores are minimised or maximised, and the best score known.

    American spelling is accepted. Raises TaskError for any other direction.
    """

    direction: Direction
    best_known: float | None = None
    """The best score known, from which gaps are measured; None if none is known."""
    source: str = ""
    """Where `best_known` is from, such as "optimal, by branch and cut"; empty if that is not said."""
    unit: str = ""
    """What scores are numbers of, such as "mean tour length"; screens show it. Empty if that is not said."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "direction", _AMERICAN.get(self.direction, self.direction))
        if self.direction not in get_args(Direction):
            raise TaskError(f"an objective is to 'minimise' or to 'maximise', not to {self.direction!r}")
        best = self.best_known
        if best is not None and (not isinstance(best, Real) or isinstance(best, bool) or not math.isfinite(best)):
            raise TaskError(
                f"the best_known of an objective is a finite number, or None if none is known, not {best!r}"
            )

    def utility(self, score: float) -> float:
        """Return the score if the objective is to maximise, else its negative: higher is always better."""
        return score if self.direction == "maximise" else -score

    def best(self, scores: Iterable[float]) -> float:
        """Return the best of some scores, at least one."""
        return max(scores, key=self.utility)

    def gap(self, score: float) -> float | None:
        """Return how much worse the score is than `best_known`, as a fraction of it: 0.1 is 10 % worse, -0.1 better.

        None if no best score is known or if it is 0.
        """
        if not self.best_known:
            return None
        return (self.utility(self.best_known) - self.utility(score)) / abs(self.best_known)

    def is_reached(self, score: float) -> bool:
        """Return whether a score is at least as good as `best_known`, to six digits; False if no best is known."""
        gap = self.gap(score)
        return gap is not None and gap <= REACHED


class InvalidSolution(ValueError):
    """A solution that breaks a rule of the task; the message says which rule."""


@dataclass(frozen=True)
class Route:
    """Draws a trajectory of prefixes as a closed tour; the decision `d` stands for the point `places[d]`, as (x, y)."""

    places: tuple[tuple[float, float], ...]
    kind: Literal["route"] = "route"


@dataclass(frozen=True)
class Disks:
    """Draws each state of a trajectory of vectors as disks in the unit square; every three numbers are x, y, radius."""

    kind: Literal["disks"] = "disks"


@dataclass(frozen=True)
class Bins:
    """Draws a trajectory of prefixes as bins: the i-th decision is the number, from 0, of the i-th item's bin."""

    sizes: tuple[float, ...]  # of the items, in the order of the decisions
    capacity: float  # the height of every bin, in the unit of the sizes
    kind: Literal["bins"] = "bins"


# Any of the pictures.
Picture = Route | Disks | Bins


class Task(ABC):
    """A problem for programs to solve. A task file defines a subclass and names an instance of it `task`.

    `solve` runs in the sandbox: it calls the candidate's function and returns a solution. `score` and `trajectory` run
    in the trusted process on that solution, so that a candidate cannot set its own score.
    """

    name: str = ""
    """The task's name; if empty, loading fills in the file's name without suffix, or the name it is installed under.

    For `tsp:large` that is tsp_large.
    """
    description: str = ""
    """The problem, in the words of every prompt; if empty, loading fills in the docstring of the class."""
    rules: str = ""
    """More for prompts, in lines that begin with "- ": how often the function is called, on what, what is refused."""
    kind: TaskKind = "other"
    """What a program does in the task; `behavesim list tasks` sorts by it."""
    search_size: str = ""
    """The search instances in a few words, such as "5 instances of 50 cities", for people who choose a task."""
    shifted: str = ""
    """How the instances of the split "shifted" are drawn, in a few words; "" if the task has none."""
    sizes: tuple[str, ...] = ()
    """Names of further sizes. `TASK:SIZE` is this task with other instances: the variable SIZE in the module."""
    used_by: str = ""
    """Papers and tools that publish results on such instances, for people who choose a task."""
    template: str
    """The text of the Python program that every search starts from; its last function is the entry point."""
    suffix: str = ".py"
    """The suffix of a program's file, with its dot; "" for a program of several files."""
    objective: Objective
    """Whether scores are minimised or maximised, and the best mean score known on the search instances."""
    normaliser: float | Literal["pair"] = "pair"
    """The largest distance that two states can have (d_max or D in the paper): distances of states are divided by it.

    "pair" divides each edit distance by the longer state's length instead.
    """
    score_scale: float = 1.0
    """FunSearch divides scores by this before a softmax over them. Set it to a typical difference of good scores."""
    budget: int = 2000
    """Default number of programs that a search generates, including rejected ones."""
    timeout_s: float = 50.0
    """Default limit on the CPU seconds that a program may take over all search instances together."""
    first_call_s: float = 0.0
    """CPU seconds that a program's first call may take in addition to `timeout_s`, for instance to compile by numba."""
    stateless: bool = False
    """Whether programs must not keep anything between calls; some calls are repeated in a fresh process to check."""
    online: bool = False
    """Whether a program must decide before it knows the whole instance; a portfolio then cannot choose."""
    apart: bool = False
    """Whether programs run in a process without the instances and see only their arguments, as if `online`.

    A call costs 20 to 40 µs more.
    """
    niche_radius: float = 0.3
    """Smallest distance between elites of the method `niche`, as a multiple of the median distance of behaviours."""
    data_files: tuple[str, ...] = ()
    """Files and folders below the task's own folder that it reads, such as "data"; a cluster's workers get them."""
    endless: bool = False
    """Whether `instance` gives one for every number, whatever the length of the split."""
    compared: int | None = None
    """Number of the first instances of a split, on which behaviours are compared; None for all."""
    grammar: str = ""
    """Building blocks for the offline proposer (see docs/how-to/tasks.md); "" for general ones."""

    @property
    def score_source(self) -> ScoreSource:
        """Who computes scores: trusted code (the default), or code in the sandbox ("self-reported")."""
        return "trusted"

    @property
    def splits(self) -> tuple[Split, ...]:
        """The splits that the task has: SPLITS, and "shifted" if it says how those instances are drawn."""
        return (*SPLITS, "shifted") if self.shifted else SPLITS

    @property
    def runs_apart(self) -> bool:
        """Whether programs run in a process without the instances: if the task is apart, online or stateless."""
        return self.apart or self.online or self.stateless

    @property
    def entry_point(self) -> str:
        """The name of the function that a candidate must define: the last one at the top level of the template."""
        try:
            tree = parse(self.template)
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
        """Return the instances of a split, the same on every call; a sequence of any values, not empty for "search"."""

    def instance(self, split: Split, number: int) -> Any:
        """Return the instance of this number, from 0: first those of the split, then, if `endless`, others like them.

        It is the same on every call and in every process. A champion is chosen on such instances, which nothing saw
        before. The default has the split's alone; raises IndexError for a number that has no instance.
        """
        return self.instances(split)[number]

    @abstractmethod
    def solve(self, function: Callable[..., Any], instance: Any) -> Solution:
        """Solve one instance by calling the candidate's function, and return the solution. It runs in the sandbox.

        Raises InvalidSolution if what the function returned cannot be used.
        """

    @abstractmethod
    def score(self, instance: Any, solution: Solution) -> float | Score:
        """Return the score of a solution, in the task's own unit; a `Score` holds metrics and feedback with it.

        Raises InvalidSolution if the solution breaks a rule.
        """

    @abstractmethod
    def trajectory(self, instance: Any, solution: Solution) -> AlgorithmRun:
        """Return the steps that led to a valid solution: a Trajectory, or Samples if programs may draw at random."""

    def starts(self, instance: Any, count: int) -> Sequence[Any]:
        """Return up to `count` versions of an instance that begin elsewhere, such as at another city; first itself.

        Their solutions have scores that can be compared. The default is the instance alone. Where there are more,
        `recommend --portfolio` says whether one program begun k times beats k programs.
        """
        return (instance,)

    def improve(self, instance: Any, solution: Solution) -> Solution | None:
        """Return a valid solution improved by a plain local search; None, the default, if the task has none.

        Where there is one, `recommend --portfolio` says whether it beats a set of programs.
        """
        return None

    def in_words(self, instance: Any, decision: int) -> str:
        """Return a decision of a prefix trajectory in words, for prompts about behaviour; the default is its number."""
        return str(decision)

    def choice_in_words(self, instance: Any, before: Sequence[int], decision: int) -> str:
        """Return a decision in words, given those `before` it: its rank and measure too, "city 7, the 2nd nearest".

        The default is what `in_words` returns.
        """
        return self.in_words(instance, decision)

    def instance_name(self, instance: Any) -> str:
        """Return in a few words what kind of instance this is, such as "200 cities, clustered", for prompts."""
        return ""

    def cost_so_far(self, instance: Any, decisions: Sequence[int]) -> Sequence[float] | None:
        """Return what the solution has cost (if scores are maximised: gained) after each decision of a trajectory.

        Prompts say with it in which steps programs lose. None, the default, if steps have no cost of their own.
        """
        return None

    def picture(self, instance: Any) -> Picture | None:
        """Return how the HTML page draws trajectories on an instance; None, the default, shows each state's numbers."""
        return None

    def objective_on(self, split: Split) -> Objective:
        """Return the objective with the best mean score known on a split; by default it is known only for "search"."""
        return self.objective if split == "search" else Objective(self.objective.direction)

    @property
    def has_own_mean(self) -> bool:
        """Whether the task has a `mean_score` of its own: then scores on single instances decide nothing."""
        return type(self).mean_score is not Task.mean_score

    def mean_score(self, scores: Sequence[float]) -> float:
        """Return the score of a program: the mean of `scores`, one for each instance; there must be at least one."""
        # fsum is exact: a plain sum's last bit would depend on the order of the instances
        return math.fsum(scores) / len(scores)


def as_arrays(solution: Any) -> dict[str, NDArray[Any]]:
    """Return a solution as arrays by name; anything but a mapping is one array with the name ''."""
    if isinstance(solution, Mapping):
        return {str(name): np.asarray(value) for name, value in solution.items()}
    return {"": np.asarray(solution)}
