"""LLaMEA's convention: `evaluate(solution, logger)` runs the class in `solution.code`, and calls `set_scores`."""

from __future__ import annotations

import ast
import inspect
import math
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from behavesim.base.errors import TaskError
from behavesim.base.text import parse
from behavesim.evaluators.conventions import Run
from behavesim.evaluators.modules import StandIns, module_of
from behavesim.evaluators.scores import combine_scores
from behavesim.evaluators.tracing import Recorder, Result
from behavesim.task.evaluated import EvaluatorFile

# Name of the first parameter by which the function is found.
SOLUTION = "solution"


class Solution:
    """Stand-in for LLaMEA's object of a program: its text and class, and what the evaluator says of it."""

    def __init__(self, code: str, name: str) -> None:
        """Keep the program's text and the name of its class; there are no scores yet."""
        self.code, self.name, self.description = code, name, ""
        self.fitness, self.feedback, self.error = math.nan, "", ""
        self.metadata: dict[str, Any] = {}

    def set_scores(self, fitness: Any, feedback: str = "", error: Any = "") -> None:
        """Keep a score, a text for the model, and what went wrong."""
        self.fitness, self.feedback, self.error = fitness, feedback, str(error or "")

    def add_metadata(self, key: str, value: Any) -> None:
        """Keep a value under a name."""
        self.metadata[key] = value

    def get_metadata(self, key: str) -> Any:
        """Return the value under a name; None if there is none."""
        return self.metadata.get(key)


def load(file: EvaluatorFile) -> Run:
    """Import the evaluator's file; return a function that calls its evaluator on a program.

    Raises TaskError if the file cannot be imported or has no such function.
    """
    StandIns({"llamea": {"Solution": Solution}, "llamea.solution": {"Solution": Solution}}).install()
    evaluate = _evaluator(module_of(file.evaluator))
    others = [each for each in list(inspect.signature(evaluate).parameters.values())[1:] if each.default is each.empty]

    def run(program: Path, recorder: Recorder) -> Result:
        code = program.read_text()
        # the program calls its own class's methods from inside the text that the evaluator executes: nothing to record
        solution = Solution(code, next(node.name for node in parse(code).body if isinstance(node, ast.ClassDef)))
        found = evaluate(solution, *[None] * len(others)) or solution
        said = {"error": found.error, "feedback": found.feedback, **found.metadata}
        return combine_scores([(found.fitness, {name: value for name, value in said.items() if value})])

    return run


def _evaluator(module: ModuleType) -> Callable[..., Any]:
    own = [each for each in vars(module).values() if inspect.isfunction(each)]
    found = [each for each in own if next(iter(inspect.signature(each).parameters), "") == SOLUTION]
    named = [each for each in found if each.__name__.startswith("evaluate")]
    if not found:
        raise TaskError(f"{module.__file__} has no function `evaluate({SOLUTION}, explogger)` outside other functions")
    return (named or found)[0]
