"""Asks a class evaluator what it says of itself: in the sandbox, since its code runs when it is imported."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path

from behavesim.base.errors import TaskError
from behavesim.evaluators.conventions import Description
from behavesim.evaluators.evaluation import PLACES
from behavesim.sandbox.limits import Limits
from behavesim.sandbox.pool import TreePool
from behavesim.task.verdict import Failure

# Address ("module:function") of `load_description`, which the sandbox calls.
DESCRIBER = "behavesim.evaluators.description:load_description"
_DESCRIBING = Limits(timeout_s=60.0)
_LONGEST = 100_000


async def describe_evaluator(
    place: str, allow_weak_isolation: bool = False, root: str = "", environment: Mapping[str, str] | None = None
) -> Description:
    """Return what the evaluator at "module:Class" or "FILE.py:Class", an absolute path, says of itself.

    `root` and `environment` are as in `EvaluatorFile`. Its code runs in the sandbox. Raises TaskError if it cannot be
    loaded or says nothing usable, UsageError if the isolation is below "strong" and `allow_weak_isolation` is False.
    """
    module = place.rpartition(":")[0]
    readable = [Path(root or Path(module).parent)] if module.endswith(".py") else []
    # naming a folder in it keeps later entries of the evaluator's folder out of reach
    hidden = [folder / "runs" for folder in {*readable, *([Path(module).parent] if readable else [])}]
    given = json.dumps([place, root, dict(environment or {})])
    async with TreePool(DESCRIBER, given, 1, _DESCRIBING, readable, hidden, allow_weak_isolation) as pool:
        sent = await pool.send("")
    if isinstance(sent, Failure):
        raise TaskError(f"the evaluator {place} cannot be loaded: {sent.message}")
    return _read_description(place, sent.data)


def load_description(given: str) -> Callable[[str], bytes]:
    """Return a function that gives the Description of an evaluator, as JSON; its argument is not used.

    `given` is a JSON list of its place, `root` and `environment`.

    An Exception of the evaluator is returned as {"error": message}.
    """

    place, root, environment = json.loads(given)
    os.environ.update(PLACES | environment)
    if root:
        sys.path.append(root)

    def describe(_: str) -> bytes:
        try:
            from behavesim.evaluators.conventions import classes  # imported late: other evaluators do without it

            return json.dumps(asdict(classes.describe_class(place, root))).encode()
        except Exception as error:  # noqa: BLE001 - else its owner would not see what it raised
            raised = f"the evaluator {place} cannot be loaded: {type(error).__name__}: {error}"
            said = str(error) if isinstance(error, TaskError) else raised
            return json.dumps({"error": said[:1000]}).encode()

    return describe


def _read_description(place: str, sent: bytes) -> Description:
    try:
        said = json.loads(sent)
        if error := said.get("error"):
            raise TaskError(str(error))
        found = Description(*(said[name] for name in ("template", "entry_point", "description")))
    except (ValueError, KeyError, AttributeError):
        raise TaskError(f"the evaluator {place} sent no description that can be read") from None
    if not all(isinstance(text, str) and len(text) <= _LONGEST for text in asdict(found).values()):
        raise TaskError(f"the evaluator {place} must describe itself in texts of at most {_LONGEST} characters")
    return found
