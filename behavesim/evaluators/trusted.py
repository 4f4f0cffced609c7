"""Lets an evaluator score a program's answers in the trusted process, where no program runs.

The program's function is called in the sandbox, and its answers come back as numbers. The evaluator then runs on a
stand-in program, which does nothing but give these answers. So no program can touch the evaluator.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from threading import Lock
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from behavesim.base.text import last_line
from behavesim.evaluators.conventions import command, openevolve, shinka
from behavesim.evaluators.modules import module_of
from behavesim.evaluators.result import Result
from behavesim.evaluators.steps import answer_steps, is_of_the_clock, numbers_in
from behavesim.task import InvalidSolution, Score
from behavesim.trajectory import Trajectory

_KINDS = {"array": "np.array({}, dtype=np.dtype({!r}))", "list": "{}", "number": "{}"}
"""For each kind of part of an answer: how the stand-in program writes it, from its numbers and their numpy type."""
_STAND_IN = """import numpy as np
from numpy import inf, nan

_called = -1


def FUNCTION(*arguments, **named):
    global _called
    _called += 1
    return (ANSWERS)[_called % COUNT]()
"""
"""The stand-in program; a function makes each answer anew, since an evaluator may change what it is given."""
_AS_SCRIPT = "from behavesim.evaluators.conventions import shinka; shinka.main()"
_ONE_AT_A_TIME = Lock()
"""Evaluators that run in this process need not be fit for several threads, in which scores are asked for."""


def sent(*answers: Any) -> dict[str, NDArray[Any]]:
    """Return a program's answers, one for each call, as arrays by name, for `Task.solve`.

    An answer is an array, a list of numbers or of lists, a number, or a tuple of these. The names say how to rebuild
    it. Most others are refused when they are judged; lists of unequal lengths raise ValueError here.
    """
    found: dict[str, NDArray[Any]] = {}
    for call, answer in enumerate(answers):
        parts, whole = (answer, "part") if isinstance(answer, tuple) else ((answer,), "all")
        found |= {f"{call} {whole} {place} {_kind(part)}": np.asarray(part) for place, part in enumerate(parts)}
    return found


def judged(evaluator: Path, function: str, solution: Mapping[str, NDArray[Any]], calls: int) -> Score:
    """Return what a file's `evaluate` says of a program whose `function` gives these answers, in order.

    If it is called more often, it begins again; arguments do not matter. `solution` is what `sent` made of the answers
    to `calls` calls. What the evaluator prints is dropped.

    Raises InvalidSolution if `solution` holds another number of answers or one that is no number, or gets no finite
    score. Raises TaskError if the evaluator cannot be loaded or has neither `evaluate` nor stages. Other errors of the
    evaluator are raised as they are.
    """
    with _stand_in(function, solution, calls) as program, _ONE_AT_A_TIME, contextlib.redirect_stdout(io.StringIO()):
        return _score(openevolve.evaluated(loaded(evaluator), program))


def judged_by_script(script: Path, function: str, solution: Mapping[str, NDArray[Any]], calls: int) -> Score:
    """Return what a ShinkaEvolve script says of such a program (see `judged`), in a process of its own.

    Raises InvalidSolution if `solution` does not hold an answer to each call, or the script writes no finite score or
    finds it incorrect. Raises ValueError if it writes what is no JSON object.
    """
    with _stand_in(function, solution, calls) as program:
        results = program.parent / "results"
        results.mkdir()
        arguments = (str(script.resolve()), str(program), str(results))
        done = subprocess.run(
            [sys.executable, "-c", _AS_SCRIPT, *arguments],
            cwd=script.resolve().parent,
            capture_output=True,
            stdin=subprocess.DEVNULL,
        )
        return _score(shinka.result_in(results, done.returncode), done.stderr.decode(errors="replace"))


class Command(NamedTuple):
    """A command with `{program}` in it, and the folder in which it runs."""

    text: str
    folder: Path


def judged_by_command(judge: Command, function: str, solution: Mapping[str, NDArray[Any]], calls: int) -> Score:
    """Return what a command says of such a program (see `judged`).

    Raises InvalidSolution if `solution` does not hold an answer to each call, or the command prints no finite score or
    fails.
    """
    with _stand_in(function, solution, calls) as program:
        output = program.parent / "results"
        output.mkdir()
        return _score(command.result_of(judge.text, judge.folder.resolve(), program, output))


def behaviour_of(solution: Mapping[str, NDArray[Any]]) -> Trajectory:
    """Return answers as a behaviour: the nearer their numbers are, the more steps they share (`answer_steps`)."""
    return Trajectory.prefixes(answer_steps([numbers_in(array) for array in solution.values()]) or (0,))


@cache
def loaded(evaluator: Path) -> ModuleType:
    """Import an evaluator's file, once in each process; raises TaskError, in one line, if that fails.

    Stand-ins take the place of `openevolve` and `shinka` if these are not installed.
    """
    openevolve.install_stand_ins()
    shinka.install_stand_ins()
    place = str(evaluator.resolve())
    return module_of(place, f"evaluator_{hashlib.sha256(place.encode()).hexdigest()[:8]}")


@contextlib.contextmanager
def _stand_in(function: str, solution: Mapping[str, NDArray[Any]], calls: int) -> Iterator[Path]:
    """Yield the path of a program whose `function` gives these answers in turn; it is deleted after the block.

    Raises InvalidSolution unless there are as many answers as `calls`, all made of numbers; ValueError for names that
    `sent` does not give.
    """
    answers: dict[str, list[str]] = {}
    tuples = set()
    for name, array in solution.items():
        call, whole, _, kind = name.split()
        answers.setdefault(call, []).append(_text(kind, array))
        tuples |= {call} if whole == "part" else set()
    texts = [
        f"lambda: ({', '.join(parts)},)" if call in tuples else f"lambda: {parts[0]}" for call, parts in answers.items()
    ]
    if len(texts) != calls:
        raise InvalidSolution(f"there must be an answer to each call: {calls}, not {len(texts)}")
    text = _STAND_IN.replace("FUNCTION", function).replace("COUNT", str(len(texts)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answer.py"
        path.write_text(text.replace("ANSWERS", ", ".join([*texts, ""])), encoding="utf-8")
        yield path


def _score(found: Result, said: str = "") -> Score:
    """Return a result's score, its finite metrics without those of time and memory, and feedback.

    Raises InvalidSolution if it has no score, or is a failure. The message ends in the last line of `said`, such as a
    script's standard error.
    """
    if found.failure or found.score is None:
        why = (found.failure or "the evaluator gave no finite score", last_line(said))
        raise InvalidSolution(": ".join(filter(None, why))[:500])
    numbers = {name: value for name, value in found.metrics.items() if isinstance(value, float)}
    # those of the clock say nothing of the answers: no program ran
    return Score(found.score, {name: numbers[name] for name in numbers if not is_of_the_clock(name)}, found.feedback)


def _kind(part: Any) -> str:
    if isinstance(part, np.ndarray):
        return "array"
    return "list" if isinstance(part, list) else "number"


def _text(kind: str, array: NDArray[Any]) -> str:
    if kind not in _KINDS or array.dtype.kind not in "biuf":
        raise InvalidSolution("an answer is made of numbers")
    return _KINDS[kind].format(array.tolist(), array.dtype.str)
