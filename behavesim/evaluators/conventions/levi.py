"""LEVI's convention: `score_fn(function[, inputs])` gets the program's function, and returns a score among metrics."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from behavesim.base.errors import TaskError
from behavesim.evaluators.conventions import Convention, Description, EvaluatorFile, Recorder, Result, Run, Source
from behavesim.evaluators.modules import function_in, module_of, program_function, value_in
from behavesim.evaluators.scores import combine_scores

# Where inputs are, if no script beside says it: a list, or a function that makes it.
_INPUTS = ("inputs", "INPUTS", "get_inputs", "get_lazy_inputs")
# Finds in a script that calls `levi.evolve_code` which of the evaluator's names are the inputs.
_GIVEN = re.compile(r"\binputs=(\w+)\b")


class Levi(Convention):
    """The file's constants say what the first program is, how its function is called, and what is sought."""

    called_as = "LEVI calls score functions"
    shape = "a file with `score_fn(function)` or `score_fn(function, inputs)`"
    example = "--evaluator problem.py"
    has_program = True

    def finds(self, source: Source) -> bool:
        """Whether there is a function `score_fn`."""
        return "score_fn" in source.functions

    def describe(self, file: EvaluatorFile, allow_weak_isolation: bool = False) -> Description:
        """Read SEED_PROGRAM, FUNCTION_SIGNATURE and PROBLEM_DESCRIPTION."""
        known = Source(file.evaluator).constants
        template, signature = (str(known.get(name) or "") for name in ("SEED_PROGRAM", "FUNCTION_SIGNATURE"))
        called = re.search(r"^def (\w+)", signature, re.MULTILINE)
        entry = called[1] if called else self.last_function(file, template)
        return Description(template, entry, str(known.get("PROBLEM_DESCRIPTION") or "").strip())

    def load(self, file: EvaluatorFile) -> Run:
        """Import the evaluator's file, and find the inputs if its function asks for them; return what calls it.

        Raises TaskError if the file cannot be imported, has no `score_fn`, or has no inputs.
        """
        module = module_of(file.evaluator)
        score = function_in(module, "score_fn", "(function, inputs)`; write it")
        parameters = list(inspect.signature(score).parameters.values())[1:]
        needed = [each for each in parameters if each.default is inspect.Parameter.empty]
        given = [_inputs(module, file.folder)] if needed else []

        def run(program: Path, recorder: Recorder) -> Result:
            found = score(recorder.watching(program_function(program, file.entry_point)), *given)
            pair = (found.get("score"), found) if isinstance(found, Mapping) else found
            return combine_scores([pair], file.metric)

        return run


def _inputs(module: ModuleType, folder: Path) -> Any:
    # `levi.evolve_code` is told the inputs, in a script beside the evaluator or in its own file
    scripts = (path.read_text(errors="replace") for path in sorted(folder.glob("*.py")))
    said = [name for text in scripts if "evolve_code(" in text for name in _GIVEN.findall(text)]
    if (found := value_in(module, *said, *_INPUTS)) is None:
        raise TaskError(f"{module.__file__} has no inputs to score on; add a list `inputs`")
    return found() if inspect.isfunction(found) else found


levi = Levi()
