"""A task: what the search is asked to solve, and how a solution is judged by code the candidate never touches."""

from __future__ import annotations

import ast
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from behavesim.base.errors import TaskError
from behavesim.base.text import one_line
from behavesim.task.objective import Objective
from behavesim.task.pictures import Picture
from behavesim.trajectory import AlgorithmRun

Split = Literal["search", "validation", "held-out"]
"""The search sees the first, the choice of the recommended program also the second, reports alone the third."""

SPLITS: tuple[Split, ...] = ("search", "validation", "held-out")

Solution = NDArray[Any] | Mapping[str, NDArray[Any]]
"""What a candidate returns for one instance: an array, or a few named ones."""


class InvalidSolution(ValueError):
    """A solution that breaks the task's rules; the message says which."""


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


def as_arrays(solution: Any) -> dict[str, NDArray[Any]]:
    """A solution as named arrays; one without a name is called ''."""
    if isinstance(solution, Mapping):
        return {str(name): np.asarray(value) for name, value in solution.items()}
    return {"": np.asarray(solution)}
