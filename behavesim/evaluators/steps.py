"""Steps of a behaviour: the integers that stand for what a program returned, or for its metrics."""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from behavesim.evaluators.result import MOST_STEPS

ROUNDINGS = (1, 2, 4, 16, 256)
"""Parts of 1 to which a number's asinh is rounded: to the nearest whole, half, quarter, 16th and 256th.

asinh is linear near 0 and logarithmic beyond 1. The nearer two numbers are, the more of their rounded values are equal.
Pairs of circle packings are then ranked as by the distance of their final positions (docs/how-to/traces.md)."""
_PART = 4096
"""Largest number of bytes of a value that are read: values that differ only behind them count as equal."""
_DEEPEST, _MOST_READ = 4, 100_000
"""Levels of lists in lists, and numbers, that are read of an answer."""
_OF_THE_CLOCK = re.compile(r"time|second|duration|latency|speed|runtime|memory|(^|_)m?s$", re.IGNORECASE)
"""Finds names of metrics of time or memory."""


def numbers_in(answer: Any) -> list[int] | list[float]:
    """Return the numbers in an answer, in order: integers if all are, else floats.

    An answer is a number, an array, or lists, tuples and values of mappings of these, up to four levels deep. Anything
    else in it becomes one number, equal for equal values. Of more than MOST_STEPS numbers, some at equal intervals are
    returned. [0] if the value raises.
    """
    try:
        found = _thinned(list(islice(_numbers(answer, _DEEPEST), _MOST_READ)), MOST_STEPS)
        return found if all(isinstance(each, int) for each in found) else [float(each) for each in found]
    except Exception:  # noqa: BLE001 - whatever a program's own objects raise
        return [0]


def answer_steps(answers: Sequence[Sequence[int] | Sequence[float]]) -> tuple[int, ...]:
    """Return the steps of whole answers, each given as the numbers that `numbers_in` returns; MOST_STEPS at most.

    An integer is a step. Any other number is a step for each of ROUNDINGS, which also tells its place in the answer.
    Of too many numbers, those at equal intervals count.
    """
    steps = [[_steps(number, str(place)) for place, number in enumerate(answer)] for answer in answers]
    every = -(-sum(len(each) for answer in steps for each in answer) // MOST_STEPS) or 1
    found = [step for answer in steps for each in answer[::every] for step in each]
    return tuple(_thinned(found, MOST_STEPS))


def metric_steps(metrics: Mapping[str, float | str]) -> tuple[int, ...]:
    """Return the steps of metrics, in the order of their names.

    A number has one step for each of ROUNDINGS, and one for its first six digits. A text, such as "nan", has one step.
    Metrics of time or memory, by their names, are left out.
    """
    steps: list[int] = []
    for name, value in sorted(metrics.items()):
        if not is_of_the_clock(name):
            steps += [] if isinstance(value, str) else _steps(value, name)
            steps.append(token((name, value if isinstance(value, str) else f"{value:.6g}")))
    return tuple(steps)


def is_of_the_clock(name: str) -> bool:
    """Return whether a metric's name speaks of time or memory, which differ from one evaluation to the next."""
    return _OF_THE_CLOCK.search(name) is not None


def choice(returned: Any) -> int:
    """Return a number for what a function returned.

    It is the lowest 31 bits of an integer or a whole float, or the index of the greatest number of a one-dimensional
    array of floats. Any other single float gives one for its asinh rounded to a 16th, and all else gives `token`. 0 for
    NaN, infinity, an array of one float without dimensions, and if the value raises.
    """
    try:
        kind, dimensions = _kind(returned), getattr(returned, "ndim", 0)
        if dimensions == 0 and (kind in "iub" or (kind == "f" and returned == round(returned))):
            return int(returned) & 0x7FFFFFFF
        if kind == "f" and dimensions == 0:
            return token(_rounded(float(returned), 16))
        if kind == "f" and dimensions == 1 and returned.size:
            return int(returned.argmax())
        return token(returned)
    except Exception:  # noqa: BLE001 - whatever a program's own objects raise
        return 0


def token(value: Any) -> int:
    """Return a number below 2**31, equal for equal values of the same types, their mappings in the same order.

    At most the first 4096 bytes and three levels are read. Other objects than numbers, texts, bytes, None, lists,
    tuples, mappings and arrays of numbers have one number for each type.
    """
    return zlib.crc32(_written(value, 3)[:_PART]) >> 1


def _steps(number: float, place: str) -> list[int]:
    if isinstance(number, int):
        return [number & 0x7FFFFFFF]
    return [token((place, each, _rounded(number, each))) for each in ROUNDINGS]


def _rounded(number: float, parts: int) -> int | str:
    return round(math.asinh(number) * parts) if math.isfinite(number) else str(number)


def _numbers(value: Any, depth: int) -> Iterator[int | float]:
    """Yield the numbers in a value, `depth` levels of lists and mappings deep; anything else gives one `token`."""
    if isinstance(value, bool | int):
        yield int(value)
    elif isinstance(value, float):
        yield float(value)
    elif (kind := _kind(value)) in "iubf" and hasattr(value, "tolist"):
        flat = value.reshape(-1) if getattr(value, "ndim", 0) else [value]
        yield from (int(each) if kind in "iub" else float(each) for each in _thinned(flat, MOST_STEPS))
    elif isinstance(value, Mapping) and depth:
        yield from _numbers(list(value.values()), depth)
    elif isinstance(value, list | tuple) and depth:
        for each in _thinned(value, MOST_STEPS):
            yield from _numbers(each, depth - 1)
    else:
        yield token(value)


def _thinned(values: Any, most: int) -> Any:
    return values[:: -(-len(values) // most) or 1]


def _kind(value: Any) -> str:
    if isinstance(value, bool | int):
        return "i"
    return str(getattr(getattr(value, "dtype", None), "kind", "f" if isinstance(value, float) else "O"))


def _written(value: Any, depth: int) -> bytes:
    """Return bytes that are equal for equal values (see `token`); lists and mappings are read `depth` levels deep."""
    if hasattr(value, "tobytes") and _kind(value) in "iubf":
        return value.reshape(-1)[: _PART // 8].tobytes() if getattr(value, "ndim", 0) else _written(value.item(), depth)
    if isinstance(value, int):
        return b"%d" % hash(int(value))  # as long as it may be, a hash is short
    if isinstance(value, str | bytes):
        return repr(value[:_PART]).encode()
    if isinstance(value, Mapping):
        value = list(value.items())
    if not isinstance(value, list | tuple) or not depth:
        return repr(value).encode() if isinstance(value, float | type(None)) else type(value).__name__.encode()
    found = b""
    for each in value:
        found += _written(each, depth - 1) + b","
        if len(found) > _PART:
            break
    return found
