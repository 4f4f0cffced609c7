"""GEPA's convention: `evaluator(candidate[, example])` gets the program's text, and returns a score."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from behavesim.base.errors import TaskError
from behavesim.evaluators.conventions import Run
from behavesim.evaluators.modules import module_of
from behavesim.evaluators.scores import stated_error
from behavesim.evaluators.tracing import Recorder, Result, numbers
from behavesim.task.evaluated import EvaluatorFile

# Name of the first parameter by which the function is found, and names of the list of examples beside it.
CANDIDATE = "candidate"
_EXAMPLES = ("dataset", "trainset", "DATASET", "TRAINSET")
_SHOWN = 5


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
        if examples is None:
            return _combine([evaluator(candidate)], file.metric)
        return _combine([evaluator(candidate, example) for example in examples], file.metric)

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


def _combine(returned: Sequence[Any], metric: str) -> Result:
    """Return the Result of what the evaluator returned for each example: the mean score, and infos as feedback."""
    scores: list[float] = []
    said: list[str] = []
    metrics: dict[str, float | str] = {}
    for place, each in enumerate(returned):
        value, info = each if isinstance(each, tuple) and len(each) == 2 else (each, {})
        info = info if isinstance(info, Mapping) else {"info": info}
        where = f"example {place + 1}: " if len(returned) > 1 else ""
        if words := stated_error(info):
            return Result(None, failure=f"{where}{words}", feedback=_text(info), is_stated=True)
        known = numbers({"score": info.get(metric) if metric else value})
        score = known.get("score")
        if not isinstance(score, float):
            return Result(
                None, failure=f"{where}the evaluator gave no finite {metric or 'score'}", feedback=_text(info)
            )
        scores.append(score)
        if len(returned) == 1:
            metrics = numbers(info)
        else:
            metrics[f"example {place + 1}"] = score
        if info and len(said) < _SHOWN:
            said.append(f"{where}{_text(info)}")
    return Result(sum(scores) / len(scores), metrics, "\n".join(said))


def _text(info: Mapping[str, Any]) -> str:
    known = numbers(info)
    return "\n".join(f"{name}: {value}" for name, value in info.items() if name not in known and value is not None)
