"""Tries generic forgeries on an evaluator, and says which of them came through."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from behavesim.base.config import Settings
from behavesim.base.errors import Finding
from behavesim.base.text import one_line
from behavesim.checks.forged_programs import READ, ForgedProgram, forge_programs
from behavesim.checks.task import preview_prompts
from behavesim.engine.build import judging
from behavesim.evaluators.evaluation import EvaluatorJudge
from behavesim.state.protocols import Judge
from behavesim.task import Task
from behavesim.task.verdict import Failure, Verdict

# Evaluations of the honest program: their spread tells a forged gain from noise.
HONEST = 3

# CPU seconds that a forged program may take beyond three times the longest evaluation of the honest one, but no more
# than the run's limit.
SLACK_S = 3.0


async def examine_evaluator(settings: Settings, task: Task) -> AsyncIterator[Finding]:
    """Try each forgery on a task's evaluator, and yield a finding on each as soon as it is made.

    The first finding is on the honest program, and the only one if it fails. If it is not Python, no forgery is tried.
    The last finding on forgeries sums up. A forgery came through if the program with it scores better than the honest
    one, beyond the noise of the latter, or if it read the evaluator's source. For a task with an evaluator, findings
    follow on what prompts show of its results (`preview_prompts`). One worker is used, and weak isolation is allowed.
    Raises SandboxError if the sandbox fails, TaskError if the evaluator cannot be loaded.
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
            async for finding in preview_prompts(settings, task, judge, honest):
                yield finding


async def _forged(settings: Settings, task: Task, honest: Sequence[Verdict]) -> AsyncIterator[Finding]:
    """Yield a finding on each forgery, and one that sums up; `honest` are verdicts on the program without any."""
    # A forgery that came through is a warning. Of a program that is not Python there is only a warning that says so.
    scores = [each.score for each in honest]
    if task.suffix != ".py":
        yield Finding("forgeries", "warning", "none was tried: they are Python, and the first program is not")
        return
    # some forgeries wait for ever; an honest program shows how long is long
    timeout_s = min(settings.timeout_s, SLACK_S + 3 * max(each.cpu_s for each in honest))
    results = []
    async with judging(settings.model_copy(update={"timeout_s": timeout_s}), task) as judge:
        for forged in forge_programs(task.template, task.objective.direction):
            tried = await _tried(judge, forged, task, scores)
            results.append(tried.result)
            yield tried
    yield _sum(results.count("warning"), len(results), task)


async def _tried(judge: Judge, forged: ForgedProgram, task: Task, honest: Sequence[float]) -> Finding:
    """Return a finding on a forged program; `honest` are scores of the program without the forgery."""
    # It is a warning if the forgery came through: it read the evaluator's source, or beats the best honest score by
    # over twice the spread of these.
    verdict = await judge.evaluate(forged.source)
    told = f"{verdict.feedback} {verdict.metrics} {verdict.message if isinstance(verdict, Failure) else ''}"
    if READ in told:
        return Finding(forged.what, "warning", "came through: the program can read it, and with it any answers in it")
    if isinstance(verdict, Failure):
        return Finding(forged.what, "ok", one_line(f"held off: rejected ({verdict.reason}): {verdict.message}", 160))
    utilities = [task.objective.utility(score) for score in honest]
    # noise may lift an honest score as far above the best as they lie apart; 1e-9 is for rounding
    limit = max(utilities) + 2 * (max(utilities) - min(utilities)) + 1e-9 * abs(max(utilities))
    if task.objective.utility(verdict.score) > limit:
        return Finding(forged.what, "warning", f"came through: the score is {verdict.score:.6g}")
    return Finding(forged.what, "ok", f"held off: the score is {verdict.score:.6g}")


def _sum(through: int, count: int, task: Task) -> Finding:
    if not through:
        return Finding("forgeries", "ok", "none came through")
    advice = "read a best program before you believe its score"
    if task.score_source == "self-reported":
        advice += ", or let trusted code score: behavesim task init NAME --evaluator FILE --program FILE"
    return Finding("forgeries", "warning", f"{through} of {count} came through; {advice}")
