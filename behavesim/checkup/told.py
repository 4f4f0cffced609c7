"""Says what prompts and comparisons have of an evaluator: metrics, feedback, behaviour, noise and a first prompt."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from behavesim.base.config import Settings
from behavesim.base.finding import Finding
from behavesim.base.tokens import estimated_tokens
from behavesim.checkup.changes import parting
from behavesim.checkup.trials import small_changes
from behavesim.engine.first_prompt import first_prompt
from behavesim.engine.outcome import judged
from behavesim.evaluators.judge import EvaluatorJudge
from behavesim.evaluators.tracing import METRICS, in_words
from behavesim.methods.installed import method_of
from behavesim.programs.extract import form_of
from behavesim.programs.reading import Program
from behavesim.prompts.feedback import FEEDBACK_SHOWN, metrics_in_words
from behavesim.state.events import TEMPLATE, Evaluated
from behavesim.task import Task
from behavesim.task.verdict import Verdict

SECTION = "what prompts and comparisons have of the evaluator"


async def told(
    settings: Settings, task: Task, judge: EvaluatorJudge, honest: Sequence[Verdict]
) -> AsyncIterator[Finding]:
    """Yield findings on what an evaluator tells of a program, on small changes of the first one, and a first prompt.

    `honest` are verdicts on the first program, one or more; `judge` has evaluated it last. Raises TaskError if the task
    fails to put an instance or a decision in words.
    """
    first, traced = honest[0], judge.traced
    yield _metrics(first)
    yield _feedback(first)
    yield Finding(
        "instances",
        "ok",
        "one score: prompts cannot say on which instance a program is behind, unless metrics tell it",
        SECTION,
    )
    yield _noise([each.score for each in honest])
    yield Finding("behaviour", "warning" if traced == METRICS else "ok", in_words(traced), SECTION)
    yield parting(task, first, await small_changes(task, judge.evaluate, first))
    yield prompt_finding(settings, task, first, judge.isolation)


def prompt_finding(settings: Settings, task: Task, template: Verdict, isolation: str) -> Finding:
    """Return a finding with the first prompt that a model would get; `template` is the template's verdict.

    `isolation` is the sandbox's level, such as "strong". Raises TaskError if the task fails to put an instance or a
    decision in words.
    """
    outcome = judged(TEMPLATE, Program(task.template, "", form_of(task).hash(task.template)), template)
    assert isinstance(outcome, Evaluated)
    text = first_prompt(settings, task, method_of(settings, task, True), outcome, isolation)
    said = f"about {estimated_tokens(text)} tokens; it must say all that a program needs to know"
    return Finding("first prompt", "ok", said, "what a model is asked", text)


def _metrics(first: Verdict) -> Finding:
    """Return a finding on which metrics prompts show beside the score."""
    if shown := metrics_in_words(first.metrics, first.score):
        return Finding("metrics", "ok", f"prompts show of the first program: {shown}", SECTION)
    said = "none that prompts show beside the score; numbers that say why a program is good or bad help a model"
    return Finding("metrics", "ok", said, SECTION)


def _feedback(first: Verdict) -> Finding:
    """Return a finding on the text about a program that prompts show."""
    if not first.feedback:
        return Finding("feedback", "ok", "none; what it says of a program in words is shown to a model", SECTION)
    said = f"{len(first.feedback)} characters, of which prompts show the first {FEEDBACK_SHOWN}"
    return Finding("feedback", "ok", said, SECTION)


def _noise(scores: Sequence[float]) -> Finding:
    """Return a finding on how much the scores of equal programs differ; a warning if they differ at all."""
    spread = max(scores) - min(scores)
    if not spread:
        said = f"{len(scores)} evaluations of the first program score the same"
        return Finding("noise", "ok", said, SECTION)
    said = f"{len(scores)} evaluations of the first program differ by {spread:.3g}; smaller differences may be chance"
    return Finding("noise", "warning", said, SECTION)
