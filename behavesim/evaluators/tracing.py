"""Records what a program's functions return to its evaluator: the program's behaviour, without a trajectory by hand."""

from __future__ import annotations

import functools
import importlib.machinery
import inspect
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from behavesim.evaluators.result import MOST_STEPS
from behavesim.evaluators.steps import answer_steps, choice, numbers_in
from behavesim.task.evaluated import TRAJECTORY

CALLS = "calls"
"""Value of `Result.traced` if the steps are one number for each recorded call of the program's functions."""
ANSWERS = "answers"
"""Value of `Result.traced` if the steps stand for the numbers in what at most FEW calls returned."""
METRICS = "metrics"
"""Value of `Result.traced` if the steps are made of the metrics, as none are made of calls."""
_WORDS: Mapping[str | None, str] = {
    None: "",
    TRAJECTORY: "",
    CALLS: "programs are compared by what their functions return to the evaluator, call by call",
    ANSWERS: "programs are compared by the numbers that their functions return; near numbers are partly equal",
    METRICS: "programs are compared by their metrics alone: no Python code in the evaluator's process calls them",
}
_RANKED = ("float", "float64", "np.float64", "numpy.float64")
"""Return annotations of functions that return a priority: of these, the order of the priorities is recorded."""
MOST_RANKED = 200
"""Largest number of calls that a ranking keeps: evaluators mostly use the highest priorities."""
FEW = 10
"""Largest number of calls of which the whole answers are recorded; of more, one number for each (`Recorder`)."""


def in_words(traced: str | None) -> str:
    """Return a sentence for people, without its full stop: by what an evaluator's programs are compared.

    `traced` is a value of `Result.traced`. For None (unknown) and for TRAJECTORY (a task's own trajectories) the text
    is empty. Any value that is none of the constants is taken as the name of the file to which the evaluator wrote the
    steps.
    """
    return _WORDS.get(traced, f"programs are compared by the steps that the evaluator wrote to {traced}")


class Recorder:
    """Records what the calls of a program's functions returned, in order: of at most FEW calls the whole answers.

    Of more calls, it records what each chose (`choice`; of more than MOST_STEPS, at equal intervals), or, if the first
    function called returns priorities, the order of the highest ones.
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
    def steps(self) -> tuple[int, ...]:
        """A number for each recorded call; calls that returned the same have equal numbers.

        For at most FEW calls: the numbers in what they returned (`answer_steps`). For more of a function that returns
        priorities: the calls' numbers, counted from 0, the highest priority first, MOST_RANKED at most. Empty if there
        were no calls, or some ran at the same time in several threads, since their order is chance.
        """
        if self._has_met:
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
        underscore are recorded. A function that numba compiled is one for compiled code too, whose calls are not.
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
        """Return a function that calls this one and records what it returned; `returns` is as in `watching`."""
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

        return watched

    def _record(self, returned: Any, is_ranked: bool) -> None:
        """Keep what a call returned: its priority if the first call of all was ranked (`is_ranked`), else its choice.

        All numbers in what calls returned are kept too, until there are more than FEW calls.
        """
        if self._is_ranked is None:
            self._is_ranked = is_ranked
        if self._is_ranked:
            self._ranked.append((_priority(returned), -self._calls))  # of equal priorities the first call comes first
            if len(self._ranked) > 10 * MOST_RANKED:
                self._ranked = sorted(self._ranked, reverse=True)[:MOST_RANKED]
        elif self._calls % self._every == 0:
            self._values.append(choice(returned))
        self._calls += 1
        if self._answers is not None:
            self._answers = [*self._answers, numbers_in(returned)] if self._calls <= FEW else None
        if len(self._values) > MOST_STEPS:
            self._values, self._every = self._values[::2], 2 * self._every


class _Compiled:
    """Takes the place of a function that numba compiled, and has its calls from Python recorded.

    Compiled code calls the compiled function itself: numba finds it by `_numba_type_`, one of its attributes.
    """

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
    except Exception:  # noqa: BLE001 - whatever a program's own objects raise
        return -math.inf
    return found if found == found else -math.inf
