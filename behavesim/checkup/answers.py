"""Checks what becomes of a program whose function returns forged answers."""

from __future__ import annotations

from collections.abc import AsyncIterator

from behavesim.base.finding import Finding
from behavesim.base.text import one_line
from behavesim.checkup.forged_answers import forged_answers
from behavesim.checkup.forged_programs import ForgedProgram
from behavesim.checkup.trials import tried, within
from behavesim.sandbox.judge import SandboxJudge
from behavesim.task import Task
from behavesim.task.verdict import Failure, Verdict

SECTION = "answers of the function, forged"
LONGEST = 160
"""Most characters of a message about a refused answer; a longer one is cut."""


async def on_answers(task: Task, judge: SandboxJudge, template: Verdict) -> AsyncIterator[Finding]:
    """Yield a finding on each kind of forged answer: how it is refused, or what it scores.

    `template` is the template's verdict. If it took long, the last kinds are not tried; one more finding names them.
    """
    known, count = list(forged_answers(task)), within(template.cpu_s)
    for forged in known[:count]:
        yield _finding(task, forged, await tried(judge, forged.source), template.score)
    if rest := ", ".join(forged.what for forged in known[count:]):
        said = f"{rest}: the template takes {template.cpu_s:.2g} s of CPU time, and so would each of these"
        yield Finding("not tried", "ok", said, SECTION)


def _finding(task: Task, forged: ForgedProgram, verdict: Verdict | Failure, honest: float) -> Finding:
    """Return a finding on a program of forged answers, whose verdict is given; `honest` is the template's score.

    It is a warning if the program scores better.
    """
    if isinstance(verdict, Failure):
        said = one_line(f"refused ({verdict.reason}): {verdict.message}", LONGEST)
        return Finding(forged.what, "ok", said, SECTION)
    said = f"taken: scores {verdict.score:.6g}, the template {honest:.6g}"
    if task.objective.utility(verdict.score) <= task.objective.utility(honest):
        return Finding(forged.what, "ok", said, SECTION)
    advice = "if such answers break a rule, refuse them with InvalidSolution"
    return Finding(forged.what, "warning", f"{said}; {advice}", SECTION)
