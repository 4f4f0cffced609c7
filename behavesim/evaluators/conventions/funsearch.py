"""FunSearch's convention: in a specification, `@funsearch.run` scores the function that `@funsearch.evolve` marks."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from behavesim.base.errors import TaskError
from behavesim.evaluators.conventions import Run
from behavesim.evaluators.detection import annotation_of, marked_function
from behavesim.evaluators.modules import why
from behavesim.evaluators.scores import combine_scores
from behavesim.evaluators.tracing import Recorder, Result
from behavesim.task.evaluated import EvaluatorFile

# Names of the list of inputs in a specification, and of the JSON file beside it.
_INPUTS = ("inputs", "INPUTS", "dataset", "DATASET")
_BESIDE = "inputs.json"


def load(file: EvaluatorFile) -> Run:
    """Execute the specification; return what puts a program's function into it and calls the marked one on each input.

    Inputs are a list `inputs` in the file, or an `inputs.json` beside it; the score is the mean. Raises TaskError if
    the specification cannot be executed or has no inputs.
    """
    path = Path(file.evaluator)
    text = path.read_text()
    scored, evolved = marked_function(text, "run"), marked_function(text, "evolve")
    returns = annotation_of(text, evolved.name)
    module = _execute(path, text)
    inputs = _inputs(module, path) if scored.args.args else [()]

    def run(program: Path, recorder: Recorder) -> Result:
        # among the specification's names: the function may call what stands beside it there
        exec(compile(program.read_text(), str(program), "exec"), vars(module))
        setattr(module, evolved.name, recorder.watching(getattr(module, evolved.name), returns))
        return combine_scores([getattr(module, scored.name)(*given) for given in inputs])

    return run


def _execute(path: Path, text: str) -> ModuleType:
    module = sys.modules["specification"] = ModuleType("specification")
    # the file uses these decorators without an import
    vars(module)["funsearch"] = SimpleNamespace(run=_as_it_is, evolve=_as_it_is)
    sys.path.insert(0, str(path.parent))
    try:
        exec(compile(text, str(path), "exec"), vars(module))
    except (Exception, SystemExit) as error:  # of its own code: else nobody would say whose it is
        raise TaskError(f"the evaluator {path} cannot be loaded: {why(error, str(path))}") from error
    return module


def _as_it_is(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def _inputs(module: ModuleType, path: Path) -> list[tuple[Any]]:
    """Return the arguments of each call."""
    found = next((getattr(module, each) for each in _INPUTS if hasattr(module, each)), None)
    beside = path.parent / _BESIDE
    if found is None and beside.is_file():
        found = json.loads(beside.read_text())
    if not isinstance(found, Sequence) or not found:
        raise TaskError(f"{path} has no inputs to run on; add a line such as `inputs = [8]`, or {_BESIDE} beside it")
    return [(each,) for each in found]
