"""GigaEvo's convention: `validate(answer)` judges what the program's `entrypoint` returns; `fitness` is the score."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from behavesim.evaluators.answers import from_json, to_json
from behavesim.evaluators.conventions import Convention, EvaluatorFile, Judge, Recorder, Result, Run, Source
from behavesim.evaluators.modules import function_in, module_of, program_function
from behavesim.evaluators.scores import judged, stated_error
from behavesim.evaluators.tracing import ANSWERS, answer_steps, numbers, numbers_in


class GigaEvo(Convention):
    """A `context.py` beside the evaluator may build what both functions get: `entrypoint`, and `validate` in a pair."""

    called_as = "GigaEvo calls validators"
    shape = "a file with `validate(answer)`, where the program has `entrypoint`"
    example = "--evaluator validate.py --program initial_programs/first.py"

    def finds(self, source: Source) -> bool:
        """Whether there is a function `validate`."""
        return "validate" in source.functions

    def load(self, file: EvaluatorFile) -> Run:
        """Build the context; return what gives a program's answer. Raises TaskError if a file cannot be imported."""
        context = _context(file)

        def run(program: Path, recorder: Recorder) -> Result:
            entry = program_function(program, "entrypoint")
            answer = entry(context) if context is not None and inspect.signature(entry).parameters else entry()
            return Result(None, answer=json.dumps(to_json(answer)))

        return run

    def load_judge(self, file: EvaluatorFile) -> Judge:
        """Import the evaluator's file and build the context; return what judges an answer by `validate`.

        Raises TaskError if a file cannot be imported or `validate` is missing.
        """
        validate = function_in(module_of(file.evaluator), "validate", "(answer)`; write it, or name another file")
        context = _context(file)

        def judge(text: str, _: float) -> Result:
            answer = from_json(json.loads(text))
            steps = answer_steps([numbers_in(answer)])
            returned = validate(answer if context is None else (context, answer))
            if not isinstance(returned, Mapping):
                raise TypeError(f"`validate` must return a dict of metrics, not {type(returned).__name__}")
            known = numbers(returned)
            feedback = "\n".join(f"{name}: {value}" for name, value in returned.items() if name not in known)
            metric = file.metric or ("fitness" if "fitness" in returned else "")
            return replace(judged(known, feedback, stated_error(returned), metric), steps=steps, traced=ANSWERS)

        return judge


def _context(file: EvaluatorFile) -> Any:
    beside = Path(file.evaluator).parent / "context.py"
    build = getattr(module_of(str(beside)), "build_context", None) if beside.is_file() else None
    return build() if callable(build) else None


gigaevo = GigaEvo()
