"""Forged answers: what the function of a task could return in place of an honest answer, as programs."""

from __future__ import annotations

from collections.abc import Iterator

from behavesim.checkup.forged_programs import ForgedProgram
from behavesim.task import Task

# Honest answers are forged where there is one, so that shape and type are those that the task expects.
_PROGRAM = """{template}

import numpy as _np

_honest = {name}


class _Liar(float):
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = lambda self, other: True
    __hash__ = float.__hash__


def _each(answer, value):
    if isinstance(answer, dict):
        return {{key: _each(each, value) for key, each in answer.items()}}
    if isinstance(answer, (list, tuple)):
        return type(answer)([_each(each, value) for each in answer])
    kept = getattr(answer, "dtype", type(answer)) if value % 1 == 0 else float
    if isinstance(answer, _np.ndarray):
        return _np.full(answer.shape, value, dtype=kept)
    return _np.asarray(value, dtype=kept)[()].item()


def _cut(answer, whole, part):
    if isinstance(answer, tuple):
        return tuple(_cut(each, whole, part) for each in answer)
    found = _np.atleast_1d(_np.asarray(answer))
    return _np.concatenate([found] * whole) if whole else found[: len(found) // part]


def _overwritten(arguments):
    for each in arguments:
        if isinstance(each, _np.ndarray):
            each[...] = 0


def {name}(*arguments, **named):
    answer = _honest(*arguments, **named)
    return {forged}
"""
_FORGED = {
    "None": "None",
    "a text": "'1'",
    "NaN": "_each(answer, float('nan'))",
    "infinity": "_each(answer, float('inf'))",
    "fractions": "_each(answer, 0.5)",
    "zeros": "_each(answer, 0)",
    "minus ones": "_each(answer, -1)",
    "huge numbers": "_each(answer, 2**40)",
    "a lying number": "_Liar(0)",
    "wrapped in a list": "[answer]",
    "twice as long": "_cut(answer, 2, 1)",
    "half as long": "_cut(answer, 0, 2)",
    "changed arguments": "[_overwritten(arguments), answer][1]",
}
"""Expressions of forged answers by their name, given the honest one as `answer`; the last forges the arguments."""


def forged_answers(task: Task) -> Iterator[ForgedProgram]:
    """Yield programs made of a task's template: its function forges its answer, or overwrites arrays it was given."""
    for what, forged in _FORGED.items():
        yield ForgedProgram(what, _PROGRAM.format(template=task.template, name=task.entry_point, forged=forged))
