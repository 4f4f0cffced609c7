"""Asks a class evaluator what it says of itself: in the sandbox, since its code runs when it is imported."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict

from behavesim.base.errors import TaskError
from behavesim.evaluators.conventions import Description
from behavesim.evaluators.evaluation import folders_of_runs, prepare_process
from behavesim.sandbox.limits import Limits
from behavesim.sandbox.pool import TreePool
from behavesim.task.evaluated import EvaluatorFile
from behavesim.task.verdict import Failure

# Address ("module:function") of `load_description`, which the sandbox calls.
DESCRIBER = "behavesim.evaluators.description:load_description"
_DESCRIBING = Limits(timeout_s=60.0)
_LONGEST = 100_000


async def describe_evaluator(file: EvaluatorFile, allow_weak_isolation: bool = False) -> Description:
    """Return what the class evaluator of a task's file, which may lack the first program, says of itself.

    Its code runs in the sandbox. Raises TaskError if it cannot be loaded or says nothing usable, UsageError if the
    isolation is below "strong" and `allow_weak_isolation` is False.
    """
    # of an installed one no folder is shown
    readable, hidden = ([file.readable], folders_of_runs(file)) if file.evaluator_path else ([], set())
    async with TreePool(DESCRIBER, file.to_json(), 1, _DESCRIBING, readable, hidden, allow_weak_isolation) as pool:
        sent = await pool.send("")
    if isinstance(sent, Failure):
        raise TaskError(f"the evaluator {file.evaluator} cannot be loaded: {sent.message}")
    return _read_description(file.evaluator, sent.data)


def load_description(given: str) -> Callable[[str], bytes]:
    """Return a function that gives the Description of an EvaluatorFile in JSON, as JSON; its argument is not used.

    An Exception of the evaluator is returned as {"error": message}.
    """
    file, _ = prepare_process(given)

    def describe(_: str) -> bytes:
        try:
            from behavesim.evaluators.conventions import classes  # imported late: other evaluators do without it

            return json.dumps(asdict(classes.describe_class(file.evaluator, file.root))).encode()
        except Exception as error:  # noqa: BLE001 - else its owner would not see what it raised
            raised = f"the evaluator {file.evaluator} cannot be loaded: {type(error).__name__}: {error}"
            said = str(error) if isinstance(error, TaskError) else raised
            return json.dumps({"error": said[:1000]}).encode()

    return describe


def _read_description(place: str, sent: bytes) -> Description:
    try:
        said = json.loads(sent)
        if error := said.get("error"):
            raise TaskError(str(error))
        found = Description(**said)
    except (ValueError, AttributeError, TypeError):
        raise TaskError(f"the evaluator {place} sent no description that can be read") from None
    if not all(isinstance(text, str) and len(text) <= _LONGEST for text in asdict(found).values()):
        raise TaskError(f"the evaluator {place} must describe itself in texts of at most {_LONGEST} characters")
    return found
