"""Lets a class evaluator score a program in the trusted process, where no program runs.

The evaluator runs twice. In the sandbox it calls the program's function, and what that returned is kept. In the trusted
process it gets the same answers in the same order, without the program, and its score is the one that counts.
"""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from behavesim.evaluators.answers import from_json, to_json
from behavesim.evaluators.conventions import classes
from behavesim.evaluators.tracing import Recorder
from behavesim.task import InvalidSolution, Score
from behavesim.trajectory import Trajectory

# Largest size of all replies together, as text: the sandbox sends no more than a few megabytes.
MOST_BYTES = 4_000_000


def evaluation_of(place: str, folder: Path) -> Any:
    """Return the evaluator's object at "module:Class", or at "FILE.py:Class" below a folder.

    Raises TaskError, in one line, if it cannot be made.
    """
    is_file = place.partition(":")[0].endswith(".py")
    return classes.evaluation_of(str(folder.resolve() / place) if is_file else place)


def collect_replies(evaluation: Any, template: str, function: Callable[..., Any]) -> dict[str, NDArray[Any]]:
    """Return what a program's function returned to an evaluator, call by call, as one array: JSON in bytes.

    The evaluator gets `template` as the program's text. The function may return numbers, arrays of them, texts, None,
    and lists, tuples and mappings of these. Raises TypeError if it returns anything else, OverflowError for more than
    MOST_BYTES in all, and what the program and the evaluator raise.
    """
    replies: list[str] = []
    left = MOST_BYTES

    def call_and_record(*arguments: Any, **named: Any) -> Any:
        nonlocal left
        returned = function(*arguments, **named)
        replies.append(json.dumps(to_json(returned)))
        left -= len(replies[-1])
        if left < 0:
            raise OverflowError("the replies are too large to be judged again: write `solve` so that it sends a choice")
        return returned

    evaluation.evaluate_program(template, call_and_record)
    return {"replies": np.frombuffer(f"[{', '.join(replies)}]".encode(), np.uint8)}


def judge_replies(evaluation: Any, template: str, solution: Mapping[str, NDArray[Any]]) -> Score:
    """Return what an evaluator says of a function that gives these replies, as `collect_replies` returned them.

    The evaluator gets the template as the program's text; what it prints, and metrics that are not finite, are
    dropped. Raises InvalidSolution if the replies cannot be read, if the evaluator asks for more or fewer, or if it
    gives no finite score; and what the evaluator raises.
    """
    left = iter(replies := _replies(solution))
    asked = 0

    def answer(*arguments: Any, **named: Any) -> Any:
        nonlocal asked
        asked += 1
        if asked > len(replies):
            raise InvalidSolution("the evaluator calls the function more often than it did in the sandbox")
        return next(left)

    with contextlib.redirect_stdout(io.StringIO()):
        found = classes.result_of(evaluation.evaluate_program(template, answer))
    if found.failure or found.score is None:
        raise InvalidSolution(found.failure or "the evaluator gave no score")
    # fewer calls here than there: the score would rest on a part of what the program did
    if asked != len(replies):
        raise InvalidSolution("the evaluator does not call the function as often as it did in the sandbox")
    return Score(found.score, {name: value for name, value in found.metrics.items() if isinstance(value, float)})


def behaviour_of(solution: Mapping[str, NDArray[Any]], returns: str = "") -> Trajectory:
    """Return replies as a behaviour (docs/how-to/traces.md); `returns` is the function's annotation, "float" for a
    priority.
    """
    recorder = Recorder()
    watched = recorder.watching(lambda reply: reply, returns)
    for reply in _replies(solution):
        watched(reply)
    return Trajectory.prefixes(recorder.steps or (0,))


def _replies(solution: Mapping[str, NDArray[Any]]) -> list[Any]:
    try:
        found = json.loads(solution["replies"].tobytes())
        return [from_json(each) for each in found]
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise InvalidSolution(f"the replies cannot be read: {type(error).__name__}") from None
