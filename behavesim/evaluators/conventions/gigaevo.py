"""GigaEvo's convention: `validate(answer)` judges what the program's `entrypoint` returns; `fitness` is the score."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from behavesim.base.errors import TaskError
from behavesim.evaluators.answers import from_json, to_json
from behavesim.evaluators.conventions import Judge, Run
from behavesim.evaluators.modules import module_of, program_at
from behavesim.evaluators.scores import choose_score, stated_error
from behavesim.evaluators.tracing import ANSWERS, Recorder, Result, answer_steps, numbers, numbers_in
from behavesim.task.evaluated import EvaluatorFile

_SCORE, _ENTRY, _CONTEXT = "fitness", "entrypoint", "build_context"


def load(file: EvaluatorFile) -> Run:
    """Build the context, if a `context.py` lies beside the evaluator; return what gives a program's answer.

    With a context, `entrypoint` gets it. Raises TaskError if a file cannot be imported.
    """
    context = _context(file)

    def run(program: Path, recorder: Recorder) -> Result:
        entry = getattr(program_at(program), _ENTRY, None)
        if not callable(entry):
            raise ValueError(f"the program defines no function `{_ENTRY}`")
        answer = entry(context) if context is not None and inspect.signature(entry).parameters else entry()
        return Result(None, answer=json.dumps(to_json(answer)))

    return run


def load_judge(file: EvaluatorFile) -> Judge:
    """Import the evaluator's file and build the context; return what judges an answer by `validate`.

    With a context, `validate` gets a pair of it and the answer. Raises TaskError if a file cannot be imported or
    `validate` is missing.
    """
    module = module_of(file.evaluator)
    validate = getattr(module, "validate", None)
    if not callable(validate):
        raise TaskError(f"{module.__file__} has no function `validate(answer)`; write it, or name another file")
    context = _context(file)

    def judge(text: str, _: float) -> Result:
        answer = from_json(json.loads(text))
        steps = answer_steps([numbers_in(answer)])
        returned = validate(answer if context is None else (context, answer))
        if not isinstance(returned, Mapping):
            raise TypeError(f"`validate` must return a dict of metrics, not {type(returned).__name__}")
        known = numbers(returned)
        feedback = "\n".join(f"{name}: {value}" for name, value in returned.items() if name not in known)
        if words := stated_error(returned):
            return Result(None, known, feedback, words, is_stated=True)
        score, why = choose_score(known, file.metric or (_SCORE if _SCORE in returned else ""))
        return Result(score, known, feedback, why, steps=steps, traced=ANSWERS)

    return judge


def _context(file: EvaluatorFile) -> Any:
    beside = Path(file.evaluator).parent / "context.py"
    build = getattr(module_of(str(beside)), _CONTEXT, None) if beside.is_file() else None
    return build() if callable(build) else None
