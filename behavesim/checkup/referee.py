"""Tries generic forgeries on an evaluator, and says which of them came through."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from behavesim.base.config import Settings
from behavesim.base.finding import Finding
from behavesim.base.text import one_line
from behavesim.checkup.forged_programs import READ, ForgedProgram, forged_programs
from behavesim.checkup.told import told
from behavesim.engine.judging import judging
from behavesim.evaluators.judge import EvaluatorJudge
from behavesim.state.protocols import Judge
from behavesim.task import Task
from behavesim.task.verdict import Failure, Verdict

HONEST = 3
"""Evaluations of the honest program: their spread tells a forged gain from noise."""

SLACK_S = 3.0
"""CPU seconds that a forged program may take beyond three times the longest evaluation of the honest one, but no more
than the run's limit."""


@dataclass(frozen=True)
class Tried:
    """A forgery that was tried: what it forges, whether it came through, and what came of it, in words."""

    what: str
    came_through: bool
    said: str


async def refereed(settings: Settings, task: Task) -> AsyncIterator[Finding]:
    """Try each forgery on a task's evaluator, and yield a finding on each as soon as it is made.

    The first finding is on the honest program: if it fails or is not Python, no forgery is tried. The last finding on
    forgeries sums up. A forgery came through if the program with it scores better than the honest one, beyond the noise
    of the latter, or if it read the evaluator's source. Of a task with an evaluator it is then said what prompts have
    of it (`told`). One worker is used, and weak isolation is allowed. Raises SandboxError if the sandbox does not
    start, TaskError if the evaluator cannot be loaded.
    """
    settings = settings.model_copy(update={"workers": 1, "allow_weak_isolation": True})
    async with judging(settings, task) as judge:
        tries = [await judge.evaluate(task.template) for _ in range(HONEST)]
        honest = [each for each in tries if isinstance(each, Verdict)]
        if failed := next((each for each in tries if isinstance(each, Failure)), None):
            yield Finding("first program", "mend", f"it fails ({failed.reason}): {failed.message}")
            return
        yield Finding("first program", "ok", f"it scores {', '.join(f'{each.score:.6g}' for each in honest)}")
        async for finding in _forged(settings, task, honest):
            yield finding
        if isinstance(judge, EvaluatorJudge):
            async for finding in told(settings, task, judge, honest):
                yield finding


async def _forged(settings: Settings, task: Task, honest: Sequence[Verdict]) -> AsyncIterator[Finding]:
    """Yield a finding on each forgery, and one that sums up; `honest` are verdicts on the program without any.

    A forgery that came through is a warning. Of a program that is not Python there is only a warning that says so.
    """
    scores = [each.score for each in honest]
    if task.suffix != ".py":
        yield Finding("forgeries", "warning", "none was tried: they are Python, and the first program is not")
        return
    # some forgeries wait for ever; an honest program shows how long is long
    timeout_s = min(settings.timeout_s, SLACK_S + 3 * max(each.cpu_s for each in honest))
    through, count = [], 0
    async with judging(settings.model_copy(update={"timeout_s": timeout_s}), task) as judge:
        for forged in forged_programs(task.template, task.objective.direction):
            tried = await _tried(judge, forged, task, scores)
            count += 1
            through += [tried.what] if tried.came_through else []
            yield Finding(tried.what, "warning" if tried.came_through else "ok", tried.said)
    yield _sum(through, count, task)


async def _tried(judge: Judge, forged: ForgedProgram, task: Task, honest: Sequence[float]) -> Tried:
    """Return what came of a forged program; `honest` are scores of the program without the forgery.

    It came through if it read the evaluator's source, or beats the best honest score by over twice their spread.
    """
    verdict = await judge.evaluate(forged.source)
    told = f"{verdict.feedback} {verdict.metrics} {verdict.message if isinstance(verdict, Failure) else ''}"
    if READ in told:
        return Tried(forged.what, True, "came through: the program can read it, and with it any answers in it")
    if isinstance(verdict, Failure):
        return Tried(forged.what, False, one_line(f"held off: rejected ({verdict.reason}): {verdict.message}", 160))
    utilities = [task.objective.utility(score) for score in honest]
    limit = max(utilities) + 2 * (max(utilities) - min(utilities)) + 1e-9 * abs(max(utilities))
    is_through = task.objective.utility(verdict.score) > limit
    how = "came through" if is_through else "held off"
    return Tried(forged.what, is_through, f"{how}: the score is {verdict.score:.6g}")


def _sum(through: Sequence[str], count: int, task: Task) -> Finding:
    if not through:
        return Finding("forgeries", "ok", "none came through")
    advice = "read a best program before you believe its score"
    if task.score_source == "self-reported":
        advice += ", or let trusted code score: behavesim task init NAME --evaluator FILE --program FILE"
    return Finding("forgeries", "warning", f"{len(through)} of {count} came through; {advice}")
