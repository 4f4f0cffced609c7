"""LLaMEA's convention: `evaluate(solution, logger)` runs the class in `solution.code`, and calls `set_scores`."""

from __future__ import annotations

import ast
import inspect
import math
from pathlib import Path
from typing import Any

from behavesim.base.text import parse
from behavesim.evaluators.conventions import Convention, EvaluatorFile, Recorder, Result, Run, Source
from behavesim.evaluators.modules import StandIns, function_taking, module_of
from behavesim.evaluators.scores import combine_scores
from behavesim.evaluators.source import parameters_of

# Name of the first parameter by which the function is found.
_SOLUTION = "solution"


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


class Llamea(Convention):
    """A program is a class, and the evaluator executes its text; so no calls can be recorded."""

    called_as = "LLaMEA calls evaluators"
    shape = "a file with `evaluate(solution, explogger)`, which calls `solution.set_scores`"
    example = "--evaluator evaluate.py --program first.py"

    def finds(self, source: Source) -> bool:
        """Whether a function's first parameter is `solution`, and it speaks of `set_scores`."""
        taking = [each for each in source.functions.values() if parameters_of(each)[:1] == [_SOLUTION]]
        return any("set_scores" in ast.unparse(each) for each in taking)

    def load(self, file: EvaluatorFile) -> Run:
        """Import the evaluator's file; return a function that calls its evaluator on a program.

        Raises TaskError if the file cannot be imported or has no such function.
        """
        StandIns({"llamea": {"Solution": Solution}, "llamea.solution": {"Solution": Solution}}).install()
        said = f"has no function `evaluate({_SOLUTION}, explogger)` outside other functions"
        evaluate = function_taking(module_of(file.evaluator), _SOLUTION, "evaluate.*", said)
        others = list(inspect.signature(evaluate).parameters.values())[1:]
        given = [None for each in others if each.default is each.empty]

        def run(program: Path, recorder: Recorder) -> Result:
            code = program.read_text()
            name = next(node.name for node in parse(code).body if isinstance(node, ast.ClassDef))
            solution = Solution(code, name)
            found = evaluate(solution, *given) or solution
            said = {"error": found.error, "feedback": found.feedback, **found.metadata}
            return combine_scores([(found.fitness, {name: value for name, value in said.items() if value})])

        return run


llamea = Llamea()
