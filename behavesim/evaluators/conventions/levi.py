"""LEVI's convention: `score_fn(function[, inputs])` gets the program's function, and returns a score among metrics."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from behavesim.base.errors import TaskError
from behavesim.evaluators.conventions import Run
from behavesim.evaluators.modules import module_of, program_at
from behavesim.evaluators.scores import combine_scores
from behavesim.evaluators.tracing import Recorder, Result
from behavesim.task.evaluated import EvaluatorFile

# Name of the function by which the convention is found.
SCORE = "score_fn"
# Where inputs are, if no script beside says it: a list, or a function that makes it.
_INPUTS = ("inputs", "INPUTS", "get_inputs", "get_lazy_inputs")
# Finds in a script that calls `levi.evolve_code` which of the evaluator's names are the inputs.
_GIVEN = re.compile(r"\binputs=(\w+)\b")


def load(file: EvaluatorFile) -> Run:
    """Import the evaluator's file, and find the inputs if its function asks for them; return what calls it.

    Raises TaskError if the file cannot be imported, has no `score_fn`, or has no inputs.
    """
    module = module_of(file.evaluator)
    score = getattr(module, SCORE, None)
    if not callable(score):
        raise TaskError(f"{module.__file__} has no function `{SCORE}(function, inputs)`; write it")
    parameters = list(inspect.signature(score).parameters.values())[1:]
    needed = [each for each in parameters if each.default is inspect.Parameter.empty]
    given = [_inputs(module, file.folder)] if needed else []

    def run(program: Path, recorder: Recorder) -> Result:
        function = getattr(program_at(program), file.entry_point, None)
        if not callable(function):
            raise ValueError(f"the program defines no function `{file.entry_point}`")
        found = score(recorder.watching(function), *given)
        if not isinstance(found, Mapping):
            return combine_scores([found], file.metric)
        return combine_scores([(found.get("score"), found)], file.metric)

    return run


def _inputs(module: ModuleType, folder: Path) -> Any:
    # `levi.evolve_code` is told the inputs, in a script beside the evaluator or in its own file
    scripts = (path.read_text(errors="replace") for path in sorted(folder.glob("*.py")))
    said = [name for text in scripts if "evolve_code(" in text for name in _GIVEN.findall(text)]
    found = next((getattr(module, name) for name in (*said, *_INPUTS) if hasattr(module, name)), None)
    if found is None:
        raise TaskError(f"{module.__file__} has no inputs to score on; add a list `inputs`")
    return found() if inspect.isfunction(found) else found
