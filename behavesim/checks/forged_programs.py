"""Forged programs: what a program could do to an evaluator in its process, without knowing that evaluator.

Each forgery is Python code that is added to an honest program. It runs when the evaluator loads the program.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

from behavesim.base.errors import Finding
from behavesim.base.text import one_line
from behavesim.checks.instances import count_affordable
from behavesim.programs.edits import Frame
from behavesim.sandbox.judge import SandboxJudge
from behavesim.task import Direction, Task
from behavesim.task.verdict import Failure, Verdict

# Text of the error that a forgery raises when it has read the evaluator's source.
READ = "behavesim-has-read-the-evaluator"


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
    text = Path(__file__).with_name("forgeries.py.txt").read_text(encoding="utf-8")
    common, *forgeries = re.split(r"^# ---- (.+)\n", text, flags=re.MULTILINE)
    for what, code in zip(forgeries[::2], forgeries[1::2], strict=True):
        added = f"_BEST = {best}\n{common}{code}"
        blocks = frame.blocks_of(honest)
        if blocks:
            yield ForgedProgram(what, frame.fill((f"{blocks[0]}\n{added}", *blocks[1:])))
        else:
            yield ForgedProgram(what, f"{honest}\n{added}")


# Forged answers: what the function of a task could return in place of an honest answer, as programs.


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
    # honest answers are forged where there is one, so that shape and type are those that the task expects
    program = Path(__file__).with_name("forged_answer.py.txt").read_text(encoding="utf-8")
    for what, forged in _FORGED.items():
        yield ForgedProgram(what, program.format(template=task.template, name=task.entry_point, forged=forged))


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
        yield _finding(task, forged, await judge.evaluate(forged.source), template.score)
    if rest := ", ".join(forged.what for forged in known[count:]):
        said = f"{rest}: the template takes {template.cpu_s:.2g} s of CPU time, and so would each of these"
        yield Finding("not tried", "ok", said, SECTION)


def _finding(task: Task, forged: ForgedProgram, verdict: Verdict | Failure, honest: float) -> Finding:
    """Return a finding on a program of forged answers, whose verdict is given; `honest` is the template's score."""
    if isinstance(verdict, Failure):
        said = one_line(f"refused ({verdict.reason}): {verdict.message}", LONGEST)
        return Finding(forged.what, "ok", said, SECTION)
    said = f"taken: scores {verdict.score:.6g}, the template {honest:.6g}"
    if task.objective.utility(verdict.score) <= task.objective.utility(honest):
        return Finding(forged.what, "ok", said, SECTION)
    advice = "if such answers break a rule, refuse them with InvalidSolution"
    return Finding(forged.what, "warning", f"{said}; {advice}", SECTION)
