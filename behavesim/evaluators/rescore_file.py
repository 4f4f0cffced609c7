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
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from behavesim.base.text import last_line
from behavesim.evaluators.conventions import command, openevolve, shinka
from behavesim.evaluators.modules import module_of
from behavesim.evaluators.tracing import Result, answer_steps, is_of_the_clock, numbers_in
from behavesim.task import InvalidSolution, Score
from behavesim.trajectory import Trajectory

# The kinds of parts of an answer, by number.
_KINDS = ("array", "list", "number")
# The stand-in program. It reads the answers as data from a file: as source they would cost hundreds of times their size
# to compile. It makes each answer anew, since an evaluator may change what it is given.
_STAND_IN = """import numpy as np

with np.load(PLACE, allow_pickle=False) as _file:
    _layout, *_arrays = [_file[_name] for _name in _file.files]
_called = -1


def FUNCTION(*arguments, **named):
    global _called
    _called += 1
    parts = [
        array.copy() if kind == 0 else array.tolist()
        for array, (call, _, kind) in zip(_arrays, _layout.tolist())
        if call == _called % COUNT
    ]
    is_tuple = any(call == _called % COUNT and whole for call, whole, _ in _layout.tolist())
    return tuple(parts) if is_tuple else parts[0]
"""
_AS_SCRIPT = "from behavesim.evaluators.conventions import shinka; shinka.main()"


def send_program(*answers: Any) -> dict[str, NDArray[Any]]:
    """Return a program's answers, one for each call, as arrays by name, for `Task.solve`.

    An answer is an array, a list of numbers or of lists, a number, or a tuple of these. The names say how to rebuild
    it. Most others are refused when they are judged; lists of unequal lengths raise ValueError here.
    """
    found: dict[str, NDArray[Any]] = {}
    for call, answer in enumerate(answers):
        parts, whole = (answer, "part") if isinstance(answer, tuple) else ((answer,), "all")
        for place, part in enumerate(parts):
            kind = "array" if isinstance(part, np.ndarray) else "list" if isinstance(part, list) else "number"
            found[f"{call} {whole} {place} {kind}"] = np.asarray(part)
    return found


def judge_program(
    evaluator: Path, function: str, solution: Mapping[str, NDArray[Any]], calls: int, metric: str = ""
) -> Score:
    """Return what a file's `evaluate` says of a program whose `function` gives these answers, in order.

    `metric` names the number that is the score, "" for the usual one. If the function is called more often, it begins
    again; arguments do not matter. `solution` is what `send_program` made of the answers to `calls` calls. Raises
    InvalidSolution if there are more or fewer of them, one is no number, or there is no finite score; TaskError if the
    evaluator cannot be loaded; and what the evaluator raises.
    """
    with _stand_in(function, solution, calls) as program, contextlib.redirect_stdout(io.StringIO()):
        return _score(openevolve.evaluate_program(load_evaluator(evaluator), program, metric))


def judge_by_script(
    script: Path, function: str, solution: Mapping[str, NDArray[Any]], calls: int, metric: str = ""
) -> Score:
    """Return what a ShinkaEvolve script says of such a program (see `judge_program`), in a process of its own.

    Raises InvalidSolution as `judge_program` does, or if the script finds it incorrect.
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
        return _score(shinka.result_in(results, done.returncode, metric), done.stderr.decode(errors="replace"))


class Command(NamedTuple):
    """A command with `{program}` in it, and the folder in which it runs."""

    text: str
    folder: Path


def judge_by_command(
    judge: Command, function: str, solution: Mapping[str, NDArray[Any]], calls: int, metric: str = ""
) -> Score:
    """Return what a command says of such a program; raises InvalidSolution as `judge_program` does, or if it fails."""
    with _stand_in(function, solution, calls) as program:
        output = program.parent / "results"
        output.mkdir()
        return _score(command.result_of(judge.text, judge.folder.resolve(), program, output, metric))


def behaviour_of(solution: Mapping[str, NDArray[Any]]) -> Trajectory:
    """Return answers as a behaviour: the nearer their numbers are, the more steps they share (`answer_steps`)."""
    return Trajectory.prefixes(answer_steps([numbers_in(array) for array in solution.values()]) or (0,))


@cache
def load_evaluator(evaluator: Path) -> ModuleType:
    """Import an evaluator's file, once in each process; raises TaskError, in one line, if that fails.

    Stand-ins take the place of `openevolve` and `shinka` if these are not installed.
    """
    openevolve.install_stand_ins()
    shinka.install_stand_ins()
    place = str(evaluator.resolve())
    return module_of(place, f"evaluator_{hashlib.sha256(place.encode()).hexdigest()[:8]}")


@contextlib.contextmanager
def _stand_in(function: str, solution: Mapping[str, NDArray[Any]], calls: int) -> Iterator[Path]:
    """Yield the path of a program whose `function` gives these answers in turn; it is deleted after the block."""
    layout: list[tuple[int, bool, int]] = []  # of each array the number of its call, whether that is a tuple, its kind
    numbers: dict[str, int] = {}  # of calls, by their names
    for name, array in solution.items():
        call, whole, _, kind = name.split()
        if kind not in _KINDS or array.dtype.kind not in "biuf":
            raise InvalidSolution("an answer is made of numbers")
        layout.append((numbers.setdefault(call, len(numbers)), whole == "part", _KINDS.index(kind)))
    # a program that answers fewer questions must not be scored by those that it chose
    if len(numbers) != calls:
        raise InvalidSolution(f"there must be an answer to each call: {calls}, not {len(numbers)}")
    with tempfile.TemporaryDirectory() as folder:
        path, data = Path(folder) / "answer.py", Path(folder) / "answer.npz"
        np.savez(data, np.array(layout, np.int64).reshape(-1, 3), *solution.values())
        words = {"FUNCTION": function, "COUNT": str(calls), "PLACE": repr(str(data))}
        text = _STAND_IN
        for word, meaning in words.items():
            text = text.replace(word, meaning)
        path.write_text(text, encoding="utf-8")
        yield path


def _score(found: Result, said: str = "") -> Score:
    # The message ends in the last line of `said`, such as a script's standard error.
    if found.failure or found.score is None:
        why = (found.failure or "the evaluator gave no finite score", last_line(said))
        raise InvalidSolution(": ".join(filter(None, why))[:500])
    numbers = {name: value for name, value in found.metrics.items() if isinstance(value, float)}
    # those of the clock say nothing of the answers: no program ran
    return Score(found.score, {name: numbers[name] for name in numbers if not is_of_the_clock(name)}, found.feedback)
