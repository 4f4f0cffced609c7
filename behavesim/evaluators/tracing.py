"""Records what a program's functions return to its evaluator: the program's behaviour, without a trajectory by hand."""

from __future__ import annotations

import contextlib
import functools
import importlib.machinery
import inspect
import json
import math
import re
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from itertools import islice
from numbers import Real
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from behavesim.task.evaluated import TRAJECTORY
from behavesim.task.score import Metrics, limit_feedback, limit_metrics

if TYPE_CHECKING:
    from pydantic import TypeAdapter


# Largest number of steps of a behaviour that is kept.
MOST_STEPS = 1_000
# Longest `failure` of a Result that is sent, in characters; the rest is cut.
LONGEST_FAILURE = 2_000


@dataclass(frozen=True)
class Result:
    """What one evaluation of a program found, as the evaluator reports it: nothing in it is checked."""

    score: float | None  # None for a failed program
    metrics: Metrics = field(default_factory=dict)  # one that is not finite is its text, such as "nan"
    feedback: str = ""  # for people and models
    failure: str = ""  # why the program failed; "" if it did not
    is_stated: bool = False  # whether the evaluator itself said so, in place of an exception or a missing score
    # from 1, the stage at which it stopped: its score was too low, or it failed there; 0 if it passed, or for one stage
    stage: int = 0
    steps: tuple[int, ...] = ()  # the behaviour, a number for each step
    traced: str = ""  # what that was taken from
    answer: str = ""  # what a program returned, as text, for a judge in another process; it makes the other fields

    def encoded(self) -> bytes:
        """Return the result as JSON, cut to its limits; a metric that is not finite becomes a text, such as "nan"."""
        values = {
            **asdict(self),
            "metrics": limit_metrics(self.metrics),
            "feedback": limit_feedback(self.feedback),
            "failure": limit_feedback(self.failure[:LONGEST_FAILURE]),
        }
        return json.dumps({**values, "steps": self.steps[:MOST_STEPS]}, allow_nan=False).encode()

    @classmethod
    def decoded(cls, frame: bytes) -> Result:
        """Return the result in JSON that an untrusted process sent, with metrics and feedback cut to their limits.

        Raises ValueError if it is not a result, its score is not finite, or it has more than MOST_STEPS steps.
        """
        found = _adapter().validate_json(frame, strict=False)
        if found.score is not None and not math.isfinite(found.score):
            raise ValueError("the score is not finite")
        if len(found.steps) > MOST_STEPS:
            raise ValueError("the result is larger than it may be")
        told = limit_metrics(found.metrics), limit_feedback(found.feedback)
        return replace(found, metrics=told[0], feedback=told[1])


@cache
def _adapter() -> TypeAdapter[Result]:
    from pydantic import TypeAdapter  # imported late: the sandbox does without it

    return TypeAdapter(Result)


def numbers(metrics: Mapping[Any, Any]) -> dict[str, float | str]:
    """Return the numbers among an evaluator's metrics, by name; those that are not finite as text, such as "nan".

    Truth values are 1 and 0. At most MOST_METRICS are kept, `combined_score` and `score` first.
    """
    known = {name: value for name, value in metrics.items() if is_number(value)}
    return limit_metrics({name: known[name] for name in ("combined_score", "score") if name in known} | known)


def is_number(value: Any) -> bool:
    """Whether a value is a number or truth value of Python or numpy."""
    is_numpys = type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0
    return isinstance(value, Real) or (is_numpys and value.dtype.kind in "biuf")


# Steps of a behaviour: the integers that stand for what a program returned, or for its metrics.


# Parts of 1 to which a number's asinh is rounded: to the nearest whole, half, quarter, 16th and 256th.
#
# asinh is linear near 0 and logarithmic beyond 1. The nearer two numbers are, the more of their rounded values are
# equal. Pairs of circle packings are then ranked as by the distance of their final positions (docs/how-to/traces.md).
ROUNDINGS = (1, 2, 4, 16, 256)
# Largest number of bytes of a value that are read: values that differ only behind them count as equal.
_PART = 4096
# Levels of lists in lists, and numbers, that are read of an answer.
_DEEPEST, _MOST_READ = 4, 100_000
# Finds names of metrics of time or memory.
_OF_THE_CLOCK = re.compile(r"time|second|duration|latency|speed|runtime|memory|(^|_)m?s$", re.IGNORECASE)


def numbers_in(answer: Any) -> list[int] | list[float]:
    """Return the numbers in an answer, in order: integers if all are, else floats; [0] if the value raises.

    An answer is a number, an array, or lists, tuples and values of mappings of these, up to four levels deep. Anything
    else in it becomes one number, equal for equal values. MOST_STEPS are returned at most.
    """
    try:
        found = thinned(list(islice(_numbers(answer, _DEEPEST), _MOST_READ)))
        return found if all(isinstance(each, int) for each in found) else [float(each) for each in found]
    except Exception:  # noqa: BLE001 - of a program's own objects: else its score is lost
        return [0]


def answer_steps(answers: Sequence[Sequence[int] | Sequence[float]]) -> tuple[int, ...]:
    """Return the steps of whole answers, each given as the numbers that `numbers_in` returns; MOST_STEPS at most.

    An integer is a step. Any other number is a step for each of ROUNDINGS, which also tells its place in the answer.
    """
    steps = [[_steps(number, str(place)) for place, number in enumerate(answer)] for answer in answers]
    every = -(-sum(len(each) for answer in steps for each in answer) // MOST_STEPS) or 1
    found = [step for answer in steps for each in answer[::every] for step in each]
    return tuple(thinned(found))


def metric_steps(metrics: Mapping[str, float | str]) -> tuple[int, ...]:
    """Return the steps of metrics, in the order of their names; those of time or memory are left out.

    A number has one step for each of ROUNDINGS, and one for its first six digits. A text, such as "nan", has one.
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


def fingerprint(returned: Any) -> int:
    """Return a number below 2**31 that stands for what a function returned.

    It is the lowest 31 bits of an integer or a whole float, or the index of the greatest number of a one-dimensional
    array of floats. Any other float gives one for its asinh rounded to a 16th, and all else gives `token`. 0 if the
    value raises.
    """
    try:
        kind, dimensions = _kind(returned), getattr(returned, "ndim", 0)
        if dimensions == 0 and (kind in "iub" or (kind == "f" and returned == round(returned))):
            return int(returned) & 0x7FFFFFFF
        if kind == "f" and dimensions == 0:
            return token(_round_asinh(float(returned), 16))
        if kind == "f" and dimensions == 1 and returned.size:
            return int(returned.argmax())
        return token(returned)
    except Exception:  # noqa: BLE001 - of a program's own objects: else its score is lost
        return 0


def token(value: Any) -> int:
    """Return a number below 2**31, equal for equal values of the same types, their mappings in the same order.

    At most the first 4096 bytes and three levels are read. Objects other than plain data have one number for each type.
    """
    return zlib.crc32(_bytes(value, 3)[:_PART]) >> 1


def _steps(number: float, place: str) -> list[int]:
    if isinstance(number, int):
        return [number & 0x7FFFFFFF]
    return [token((place, each, _round_asinh(number, each))) for each in ROUNDINGS]


def _round_asinh(number: float, parts: int) -> int | str:
    return round(math.asinh(number) * parts) if math.isfinite(number) else str(number)


def _numbers(value: Any, depth: int) -> Iterator[int | float]:
    # whatever is not a number gives one all the same: a later difference in it must not be lost
    if isinstance(value, bool | int):
        yield int(value)
    elif isinstance(value, float):
        yield float(value)
    elif (kind := _kind(value)) in "iubf" and hasattr(value, "tolist"):
        flat = value.reshape(-1) if getattr(value, "ndim", 0) else [value]
        yield from (int(each) if kind in "iub" else float(each) for each in thinned(flat))
    elif isinstance(value, Mapping) and depth:
        yield from _numbers(list(value.values()), depth)
    elif isinstance(value, list | tuple) and depth:
        for each in thinned(value):
            yield from _numbers(each, depth - 1)
    else:
        yield token(value)


def thinned(values: Any) -> Any:
    """Return values at even steps, MOST_STEPS of them at most."""
    return values[:: -(-len(values) // MOST_STEPS) or 1]


def _kind(value: Any) -> str:
    if isinstance(value, bool | int):
        return "i"
    return str(getattr(getattr(value, "dtype", None), "kind", "f" if isinstance(value, float) else "O"))


def _bytes(value: Any, depth: int) -> bytes:
    """Return bytes that are equal for equal values (see `token`); lists and mappings are read `depth` levels deep."""
    if hasattr(value, "tobytes") and _kind(value) in "iubf":
        return value.reshape(-1)[: _PART // 8].tobytes() if getattr(value, "ndim", 0) else _bytes(value.item(), depth)
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
        found += _bytes(each, depth - 1) + b","
        if len(found) > _PART:
            break
    return found


# Value of `Result.traced` if the steps are one number for each recorded call of the program's functions.
CALLS = "calls"
# Value of `Result.traced` if the steps stand for the numbers in what at most FEW calls returned.
ANSWERS = "answers"
# Value of `Result.traced` if the steps are made of the metrics, as none are made of calls.
METRICS = "metrics"
_WORDS: Mapping[str | None, str] = {
    None: "",
    TRAJECTORY: "",
    CALLS: "programs are compared by what their functions return to the evaluator, call by call",
    ANSWERS: "programs are compared by the numbers that their functions return; near numbers are partly equal",
    METRICS: "programs are compared by their metrics alone: calls of the program could not be traced",
}
# Return annotations of functions that return a priority: of these, the order of the priorities is recorded.
_RANKED = ("float", "float64", "np.float64", "numpy.float64")
# Largest number of calls that a ranking keeps: evaluators mostly use the highest priorities.
MOST_RANKED = 200
# Largest number of calls of which the whole answers are recorded; of more, one number for each (`Recorder`).
FEW = 10


def in_words(traced: str | None) -> str:
    """Return a sentence for people, without its full stop: by what an evaluator's programs are compared.

    `traced` is a value of `Result.traced`; the text is empty for None (unknown) and for a task's own trajectories. Any
    value that is none of the constants names the file to which the evaluator wrote the steps.
    """
    return _WORDS.get(traced, f"programs are compared by the steps that the evaluator wrote to {traced}")


class Recorder:
    """Records what the calls of a program's functions returned, in order: of at most FEW calls the whole answers.

    Of more calls it records the `fingerprint` of each, or, if the first function called returns priorities, the order
    of the highest ones.
    """

    def __init__(self) -> None:
        self._values: list[int] = []
        self._ranked: list[tuple[float, int]] = []
        self._answers: list[Sequence[int] | Sequence[float]] | None = []  # None as soon as there are too many
        self._every, self._calls = 1, 0
        self._is_ranked: bool | None = None
        self._running: set[int] = set()  # the threads that are in a function of the program
        self._has_met = False

    @property
    def calls(self) -> int:
        """The number of calls from outside the program so far."""
        return self._calls

    @property
    def steps(self) -> tuple[int, ...]:
        """A number for each recorded call; calls that returned the same have equal numbers.

        For at most FEW calls: the numbers in what they returned. For more of a function that returns priorities: the
        calls' numbers, the highest priority first. Empty if there were no calls, or some ran at the same time in
        several threads, since their order is chance.
        """
        if self._has_met:  # the order of calls in several threads is chance: a repeated run would differ
            return ()
        if self._answers is not None:
            return answer_steps(self._answers)
        if self._is_ranked:
            return tuple(-place for _, place in sorted(self._ranked, reverse=True)[:MOST_RANKED])
        return tuple(self._values)

    @property
    def traced(self) -> str:
        """CALLS if each answer gives one integer (`numbers_in`), or for more than FEW calls; else ANSWERS."""
        answers = self._answers or ()
        is_choice = all(len(answer) == 1 and isinstance(answer[0], int) for answer in answers)
        return CALLS if is_choice else ANSWERS

    def watching(self, found: Any, returns: str = "") -> Any:
        """Return a function or class that works as `found` and has its calls recorded.

        Calls between the program's own functions, and calls that raise, are not recorded. `returns` is the return
        annotation, that of the function itself if empty. A class is changed in place: its own methods without a leading
        underscore are recorded.
        """
        if hasattr(found, "py_func"):
            return _Compiled(found, self._watched(found, returns))
        if inspect.isclass(found):
            for name, method in list(vars(found).items()):
                if inspect.isfunction(method) and not name.startswith("_"):
                    setattr(found, name, self._watched(method, returns))
            return found
        return self._watched(found, returns)

    def _watched(self, function: Callable[..., Any], returns: str) -> Callable[..., Any]:
        annotation = returns or getattr(function, "__annotations__", {}).get("return", "")
        is_ranked = getattr(annotation, "__name__", annotation) in _RANKED

        @functools.wraps(function)
        def watched(*args: Any, **kwargs: Any) -> Any:
            thread = threading.get_ident()
            if thread in self._running:  # a program's calls of its own functions are its own business
                return function(*args, **kwargs)
            self._has_met |= bool(self._running)
            self._running.add(thread)
            try:
                returned = function(*args, **kwargs)
            finally:
                self._running.discard(thread)
            self._record(returned, is_ranked)
            return returned

        # evaluators may count the parameters by `inspect.getfullargspec`, which looks past no wrapper
        with contextlib.suppress(ValueError, TypeError):  # of a builtin nothing may be known
            watched.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
        return watched

    def _record(self, returned: Any, is_ranked: bool) -> None:
        # all numbers in it, too, until there are more than FEW calls
        if self._is_ranked is None:
            self._is_ranked = is_ranked
        if self._is_ranked:
            self._ranked.append((_priority(returned), -self._calls))  # of equal priorities the first call comes first
            if len(self._ranked) > 10 * MOST_RANKED:
                self._ranked = sorted(self._ranked, reverse=True)[:MOST_RANKED]
        elif self._calls % self._every == 0:
            self._values.append(fingerprint(returned))
        self._calls += 1
        if self._answers is not None:
            self._answers = [*self._answers, numbers_in(returned)] if self._calls <= FEW else None
        if len(self._values) > MOST_STEPS:
            self._values, self._every = self._values[::2], 2 * self._every


class _Compiled:
    """Takes the place of a function that numba compiled, and has its calls from Python recorded."""

    # Compiled code calls the compiled function itself: numba finds it by `_numba_type_`, one of its attributes.

    def __init__(self, compiled: Any, watched: Callable[..., Any]) -> None:
        functools.update_wrapper(self, compiled, updated=())
        self._compiled, self._watched = compiled, watched

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._watched(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._compiled, name)

    def __reduce__(self) -> str:
        return str(self.__name__)  # pickled by its module and name, as functions are


def watch_module(path: Path, recorder: Recorder) -> None:
    """Have `recorder` record a program's modules from each import on: their own functions without a leading underscore.

    `path` is the program's file, or its folder if it has several.
    """
    # at the loader, which every way to import a file passes: evaluators import programs in many ways
    execute = importlib.machinery.SourceFileLoader.exec_module
    watched = path.resolve()

    def exec_module(self: importlib.machinery.SourceFileLoader, module: ModuleType) -> None:
        execute(self, module)
        if Path(self.path).resolve().is_relative_to(watched):
            for name, value in list(vars(module).items()):
                if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_"):
                    setattr(module, name, recorder.watching(value))

    importlib.machinery.SourceFileLoader.exec_module = exec_module  # type: ignore[method-assign, assignment]


def _priority(returned: Any) -> float:
    """Return a priority as a float; -inf if it is NaN or no number, so that it comes last."""
    try:
        found = float(returned)
    except Exception:  # noqa: BLE001 - of a program's own objects: else its score is lost
        return -math.inf
    return found if found == found else -math.inf
