"""GEPA's convention: `evaluator(candidate[, example])` gets the program's text, and returns a score."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from behavesim.base.errors import TaskError
from behavesim.evaluators.conventions import Run, numbered_arguments
from behavesim.evaluators.modules import module_of
from behavesim.evaluators.scores import combine_scores
from behavesim.evaluators.tracing import Recorder, Result
from behavesim.task.evaluated import EvaluatorFile

# Name of the first parameter by which the function is found, and names of the list of examples beside it.
CANDIDATE = "candidate"
_EXAMPLES = ("dataset", "trainset", "DATASET", "TRAINSET")


def load(file: EvaluatorFile) -> Run:
    """Import the evaluator's file; return a function that calls its evaluator on a program's text.

    If the file has a list `dataset` or `trainset`, it is called on each example, and the score is the mean. Raises
    TaskError if the file cannot be imported or has no such function.
    """
    module = module_of(file.evaluator)
    evaluator, examples = _evaluator(module), _examples(module)
    seed = getattr(module, "seed_candidate", None)

    def run(program: Path, recorder: Recorder) -> Result:
        text = program.read_text()
        # a candidate of named texts has one text here: a program
        candidate = {next(iter(seed)): text} if isinstance(seed, Mapping) and len(seed) == 1 else text
        more = numbered_arguments(evaluator)
        if examples is None:
            return combine_scores([evaluator(candidate, **more)], file.metric)
        return combine_scores([evaluator(candidate, example, **more) for example in examples], file.metric)

    return run


def _evaluator(module: ModuleType) -> Callable[..., Any]:
    own = [each for each in vars(module).values() if inspect.isfunction(each) and each.__module__ == module.__name__]
    found = [each for each in own if next(iter(inspect.signature(each).parameters), "") == CANDIDATE]
    named = [each for each in found if each.__name__ in ("evaluate", "evaluator")]
    if not found:
        raise TaskError(f"{module.__file__} has no function `evaluate(candidate)`; write it, or name another file")
    return (named or found)[0]


def _examples(module: ModuleType) -> Sequence[Any] | None:
    found = next((getattr(module, name) for name in _EXAMPLES if hasattr(module, name)), None)
    if found is not None and not len(found):
        raise TaskError(f"{module.__file__} has an empty data set; fill it, or leave it out")
    return found
