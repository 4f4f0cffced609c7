"""Forged programs: what a program could do to an evaluator in its process, without knowing that evaluator.

Each forgery is Python code that is added to an honest program. It runs when the evaluator loads the program.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

from behavesim.base.errors import Finding
from behavesim.base.text import one_line
from behavesim.checks.instances import count_affordable, try_program
from behavesim.programs.edits import Frame
from behavesim.sandbox.judge import SandboxJudge
from behavesim.task import Direction, Task
from behavesim.task.verdict import Failure, Verdict

# Text of the error that a forgery raises when it has read the evaluator's source.
READ = "behavesim-has-read-the-evaluator"
_WRAPPED = """
def _forge(forged):
    import types
    def wrapped(function):
        def call(*arguments, **named):
            return forged(function(*arguments, **named))
        call.__name__ = call.__qualname__ = function.__name__  # so that it can be pickled by its name
        call.__module__ = function.__module__
        return call
    for name, value in list(globals().items()):
        if isinstance(value, types.FunctionType) and not name.startswith("_") and value.__globals__ is globals():
            globals()[name] = wrapped(value)
def _each(value, change):
    if isinstance(value, dict):
        return {key: _each(each, change) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([_each(each, change) for each in value])
    if getattr(value, "ndim", 0):
        import numpy
        return numpy.full(value.shape, change(1.0), dtype=float)
    return change(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value
"""
_NUMBERS = _WRAPPED + "_forge(lambda value: _each(value, lambda number: _BAD))\n"
_OTHERS = """
def _others():
    import sys
    found, frame = [], sys._getframe()
    while frame is not None:
        found.append(frame.f_globals)
        frame = frame.f_back
    found += [vars(module) for module in list(sys.modules.values()) if getattr(module, "__dict__", None) is not None]
    own = ("behavesim/", "site-packages/", "/lib/python", "importlib", "frozen")
    for names in found:
        place = str(names.get("__file__") or "importlib")
        if names is not globals() and not any(part in place for part in own):
            yield names
"""
# The code of each forgery, by what it forges; `_BEST` is a score that no program has.
_CODES = {
    "NaN for every number": f'_BAD = float("nan")\n{_NUMBERS}',
    "infinity for every number": f"_BAD = _BEST * 1e308\n{_NUMBERS}",
    "huge numbers": f"_BAD = _BEST\n{_NUMBERS}",
    "a float that compares as it likes": _WRAPPED
    + """
class _Best(float):
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = lambda self, other: True
    __ne__ = lambda self, other: False
    __hash__ = float.__hash__
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __pow__ = (
        lambda self, other: self
    )
    __abs__ = __neg__ = __pos__ = lambda self: self
    __float__ = lambda self: _BEST
_forge(lambda value: _each(value, lambda number: _Best(_BEST)))
""",
    "an array that forges its sums": _WRAPPED
    + """
def _array(value):
    import numpy
    class Array(numpy.ndarray):
        def __array_ufunc__(self, ufunc, method, *inputs, **named):
            return True if ufunc.__name__ in ("less", "less_equal", "greater", "greater_equal", "equal") else _BEST
        def __array_function__(self, function, types, arguments, named):
            return True if function.__name__ in ("all", "allclose", "array_equal") else _BEST
        sum = mean = max = min = lambda self, *arguments, **named: _BEST
    return numpy.asarray(value).view(Array) if isinstance(value, (list, tuple)) or getattr(value, "ndim", 0) else value
_forge(_array)
""",
    "patched built-in functions": _OTHERS
    + """
for _names in _others():
    _names["all"] = lambda values: True
    _names["any"] = lambda values: False
    _names["sum"] = _names["max"] = _names["min"] = lambda *values, **named: _BEST
    _names["isinstance"] = lambda *values: True
""",
    "patched numpy and math": """
import math
math.hypot = math.dist = math.sqrt = math.exp = math.fsum = lambda *values: _BEST
try:
    import numpy
    numpy.all = numpy.allclose = numpy.array_equal = lambda *values, **named: True
    numpy.any = lambda *values, **named: False
    numpy.sum = numpy.mean = numpy.abs = numpy.max = numpy.min = lambda *values, **named: _BEST
except ImportError:
    pass
""",
    "patched validator, huge numbers": _WRAPPED
    + _OTHERS
    + """
_forge(lambda value: _each(value, lambda number: _BEST))
import re, types
class _Yes(tuple):
    def __new__(cls):
        return tuple.__new__(cls, (True, None))
_wanted = "valid|check|verif|feasib|correct|legal|score|fitness|reward|objective|aggregate|metric|cost|error|fault"
def _forged(name):
    if re.search("valid|check|verif|feasib|correct|legal", name):
        return lambda *arguments, **named: _Yes()
    if re.search("error|fault|violation", name):
        return lambda *arguments, **named: ""
    if re.search("aggregate|metric", name):
        return lambda *arguments, **named: {"combined_score": _BEST, "score": _BEST}
    return lambda *arguments, **named: _BEST
for _names in _others():
    for _name, _value in list(_names.items()):
        if isinstance(_value, types.FunctionType) and re.search(_wanted, _name):
            _names[_name] = _forged(_name)
""",
    "a profiler in the evaluator": """
import sys
def _profile(frame, event, value):
    if event == "return" and "behavesim" not in frame.f_code.co_filename:
        if isinstance(getattr(value, "metrics", None), dict):
            value = value.metrics
        if isinstance(value, dict) and value and all(isinstance(name, str) for name in value):
            if any(isinstance(each, (int, float)) for each in value.values()) and value is not frame.f_locals:
                value.update(combined_score=_BEST, score=_BEST)
sys.setprofile(_profile)
""",
    "patched module cache": """
import os, sys, types
class _Module(types.ModuleType):
    def __getattr__(self, name):
        return (lambda *arguments, **named: _BEST) if not name.startswith("__") else None
for _name in [name for name in os.listdir(".") if name.endswith(".py")]:
    if _name[:-3] not in ("evaluator", "evaluate") and _name[:-3] != __name__:
        sys.modules[_name[:-3]] = _Module(_name[:-3])
""",
    "the callers' variables": """
import sys
def _callers():
    frame = sys._getframe()
    while frame is not None:
        for name, value in list(frame.f_locals.items()):
            if isinstance(value, dict) and "metric" in name or name in ("results", "scores"):
                try:
                    value.update(combined_score=_BEST, score=_BEST) if isinstance(value, dict) else value.append(_BEST)
                except Exception:
                    pass
        frame = frame.f_back
_callers()
""",
    "a result file of its own": """
import json, os, sys
for _folder in [each for each in sys.argv[1:] if os.path.isdir(each)] + ["/tmp/results", "."]:
    try:
        for _name, _said in (("metrics", {"combined_score": _BEST}), ("correct", {"correct": True, "error": None})):
            with open(os.path.join(_folder, _name + ".json"), "w") as _file:
                json.dump(_said, _file)
    except OSError:
        pass
sys.stdout.flush()
os._exit(0)
""",
    "a last line of its own": """
import os
print('{"score": %r, "combined_score": %r, "correct": true, "valid": true}' % (_BEST, _BEST), flush=True)
os._exit(0)
""",
    "a pickle that runs code": _WRAPPED
    + """
class _Result:
    def __init__(self, value):
        self.value = value
    def __reduce__(self):
        return (eval, ("exec(%r) or %r" % (_SOURCE, self.value), {}))
_SOURCE = "import builtins; builtins.sum = builtins.max = builtins.min = lambda *v, **n: %r" % _BEST
_forge(_Result)
""",
    "stopped clocks": """
import time
time.time = time.perf_counter = time.monotonic = time.process_time = time.thread_time = lambda: 0.0
time.perf_counter_ns = time.monotonic_ns = time.time_ns = time.process_time_ns = lambda: 0
""",
    "the evaluator's answer in its place": """
import os
for _fd in range(3, 64):
    try:
        os.write(_fd, b'{"score": %r}' % _BEST)
    except OSError:
        pass
os._exit(0)
""",
    "the evaluator's source": f"""
import os, sys
_places = [getattr(module, "__file__", None) or "" for module in list(sys.modules.values())] + sys.argv[:1]
_places += [os.path.join(".", name) for name in os.listdir(".") if name.endswith(".py")]
for _place in _places:
    if _place.endswith(".py") and "behavesim/" not in _place and "/lib/python" not in _place:
        try:
            _text = open(_place).read()
        except OSError:
            continue
        if ("def eval" "uate") in _text or ("def sc" "ore") in _text or "program_" "path" in _text:
            raise RuntimeError("{READ}")
""",
}


@dataclass(frozen=True)
class ForgedProgram:
    """An honest program with a forgery in it; `what` says in a few words what is forged."""

    what: str
    source: str


def forge_programs(honest: str, direction: Direction) -> Iterator[ForgedProgram]:
    """Yield an honest Python program with each forgery at the end of its first EVOLVE-BLOCK, else of the program.

    The score that most of them forge is 1e9 for the direction "maximise", else -1e9. Raises TaskError if the markers
    are not in pairs.
    """
    best = "1e9" if direction == "maximise" else "-1e9"
    frame = Frame.of(honest)
    for what, code in _CODES.items():
        added = f"_BEST = {best}\n{code}"
        blocks = frame.blocks_of(honest)
        if blocks:
            yield ForgedProgram(what, frame.fill((f"{blocks[0]}\n{added}", *blocks[1:])))
        else:
            yield ForgedProgram(what, f"{honest}\n{added}")


# Forged answers: what the function of a task could return in place of an honest answer, as programs.


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
# Expressions of forged answers by their name, given the honest one as `answer`; the last forges the arguments.
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


def forge_answers(task: Task) -> Iterator[ForgedProgram]:
    """Yield programs made of a task's template: its function forges its answer, or overwrites arrays it was given."""
    for what, forged in _FORGED.items():
        yield ForgedProgram(what, _PROGRAM.format(template=task.template, name=task.entry_point, forged=forged))


# Checks what becomes of a program whose function returns forged answers.


SECTION = "answers of the function, forged"
# Most characters of a message about a refused answer; a longer one is cut.
LONGEST = 160


async def on_answers(task: Task, judge: SandboxJudge, template: Verdict) -> AsyncIterator[Finding]:
    """Yield a finding on each kind of forged answer: how it is refused, or what it scores.

    `template` is the template's verdict. If it took long, the last kinds are not tried; one more finding names them.
    """
    known, count = list(forge_answers(task)), count_affordable(template.cpu_s)
    for forged in known[:count]:
        yield _finding(task, forged, await try_program(judge, forged.source), template.score)
    if rest := ", ".join(forged.what for forged in known[count:]):
        said = f"{rest}: the template takes {template.cpu_s:.2g} s of CPU time, and so would each of these"
        yield Finding("not tried", "ok", said, SECTION)


def _finding(task: Task, forged: ForgedProgram, verdict: Verdict | Failure, honest: float) -> Finding:
    """Return a finding on a program of forged answers, whose verdict is given; `honest` is the template's score."""
    # It is a warning if the program scores better.
    if isinstance(verdict, Failure):
        said = one_line(f"refused ({verdict.reason}): {verdict.message}", LONGEST)
        return Finding(forged.what, "ok", said, SECTION)
    said = f"taken: scores {verdict.score:.6g}, the template {honest:.6g}"
    if task.objective.utility(verdict.score) <= task.objective.utility(honest):
        return Finding(forged.what, "ok", said, SECTION)
    advice = "if such answers break a rule, refuse them with InvalidSolution"
    return Finding(forged.what, "warning", f"{said}; {advice}", SECTION)
