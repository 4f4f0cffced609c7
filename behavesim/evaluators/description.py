"""Asks a class evaluator, in the sandbox, for its template program, entry point and description of the task."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from behavesim.base.errors import TaskError
from behavesim.evaluators.conventions import classes
from behavesim.sandbox.limits import Limits
from behavesim.sandbox.pool import TreePool
from behavesim.task.verdict import Failure

# Address ("module:function") of `load`, which the sandbox calls.
LOADER = "behavesim.evaluators.description:load"
_LIMITS = Limits(timeout_s=60.0)
_LONGEST = 100_000


@dataclass(frozen=True)
class Description:
    """What a class evaluator says of itself: a program to start from, the name that it calls, and the task in words."""

    template: str
    entry_point: str
    description: str


async def describe_evaluator(place: str, allow_weak_isolation: bool = False) -> Description:
    """Return what the evaluator at "module:Class" or "FILE.py:Class", an absolute path, says of itself.

    Its code runs in the sandbox. Raises TaskError if it cannot be loaded or says nothing usable, UsageError if the
    isolation is below "strong" and `allow_weak_isolation` is False, SandboxError if the sandbox fails.
    """
    module = place.rpartition(":")[0]
    readable = [Path(module).parent] if module.endswith(".py") else []
    # naming a folder in it keeps later entries of the evaluator's folder out of reach
    hidden = [folder / "runs" for folder in readable]
    async with TreePool(LOADER, place, 1, _LIMITS, readable, hidden, allow_weak_isolation) as pool:
        sent = await pool.send("")
    if isinstance(sent, Failure):
        raise TaskError(f"the evaluator {place} cannot be loaded: {sent.message}")
    return _checked(place, sent.data)


def load(place: str) -> Callable[[str], bytes]:
    """Return a function that gives the Description of the evaluator at a place, as JSON; its argument is not used.

    It imports the evaluator when called. An Exception of that is returned as {"error": message}, at most 1000
    characters.
    """

    def describe(_: str) -> bytes:
        try:
            return json.dumps(asdict(Description(*classes.template_of(place)))).encode()
        except Exception as error:  # noqa: BLE001 - whatever the evaluator raises is told to its owner
            raised = f"the evaluator {place} cannot be loaded: {type(error).__name__}: {error}"
            said = str(error) if isinstance(error, TaskError) else raised
            return json.dumps({"error": said[:1000]}).encode()

    return describe


def _checked(place: str, sent: bytes) -> Description:
    """Return the description in JSON that was sent; raises TaskError if it holds an error, or is no description."""
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
