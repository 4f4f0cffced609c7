"""Examines a task: runs every check, previews its prompts, and yields the findings."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping, Sequence

import numpy as np

from behavesim.base.config import Settings
from behavesim.base.errors import Finding, TaskError
from behavesim.base.text import one_line
from behavesim.base.tokens import estimate_tokens
from behavesim.checks.forged_programs import READ, ForgedProgram, forge_programs, on_answers
from behavesim.checks.instances import (
    check_fresh_instances,
    check_instances_after_use,
    check_instances_elsewhere,
    check_instances_present,
    check_instances_unchanged,
    check_splits_distinct,
    compare_changed,
    small_changes,
    smallest_real_difference,
)
from behavesim.checks.solutions import examine_solutions
from behavesim.engine.build import first_prompt, judge_of
from behavesim.engine.outcome import outcome_of_verdict
from behavesim.evaluators.calls import UNREAD
from behavesim.evaluators.evaluation import EvaluatorJudge
from behavesim.evaluators.tracing import METRICS, in_words
from behavesim.methods.method import method_of
from behavesim.programs.answer import fenced_blocks
from behavesim.programs.extract import form_of
from behavesim.programs.parsing import missing_names
from behavesim.programs.reading import Program
from behavesim.prompts.feedback import FEEDBACK_SHOWN, metrics_in_words
from behavesim.proposers.proposer import offline_proposer
from behavesim.sandbox.judge import SandboxJudge
from behavesim.sandbox.limits import Limits
from behavesim.sandbox.pool import ProgramPool
from behavesim.state.events import TEMPLATE, Evaluated
from behavesim.state.protocols import Judge
from behavesim.state.settings import fresh_hash, instances_hash
from behavesim.task import Split, Task, TaskReference, instances_of
from behavesim.task.verdict import Failure, Verdict

# Says what prompts and comparisons have of an evaluator: metrics, feedback, behaviour, noise and a first prompt.


SECTION = "what prompts and comparisons have of the evaluator"


async def preview_prompts(
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
    yield _noise_finding([each.score for each in honest])
    yield Finding("behaviour", "warning" if traced == METRICS else "ok", in_words(traced), SECTION)
    yield compare_changed(task, first, await small_changes(task, judge.evaluate, first))
    yield prompt_finding(settings, task, first, judge.isolation)


def prompt_finding(settings: Settings, task: Task, template: Verdict, isolation: str) -> Finding:
    """Return a finding with the first prompt that a model would get; `template` is the template's verdict.

    `isolation` is the sandbox's level, such as "strong". Raises TaskError if the task fails to put an instance or a
    decision in words.
    """
    outcome = outcome_of_verdict(TEMPLATE, Program(task.template, "", form_of(task).hash(task.template)), template)
    assert isinstance(outcome, Evaluated)
    text = first_prompt(settings, task, method_of(settings, task, True), outcome, isolation)
    said = f"about {estimate_tokens(text)} tokens; it must say all that a program needs to know"
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


def _noise_finding(scores: Sequence[float]) -> Finding:
    """Return a finding on how much the scores of equal programs differ; a warning if they differ at all."""
    spread = max(scores) - min(scores)
    if not spread:
        said = f"{len(scores)} evaluations of the first program score the same"
        return Finding("noise", "ok", said, SECTION)
    said = f"{len(scores)} evaluations of the first program differ by {spread:.3g}; smaller differences may be chance"
    return Finding("noise", "warning", said, SECTION)


# Number of programs written by the offline proposer, enough to use every building block of a small grammar.
GROWN = 50


async def check_task(settings: Settings, task: Task) -> AsyncIterator[Finding]:
    """Examine a task with the settings of a run, and yield each finding as soon as it is made.

    The order is description, instances, isolation, template, scoring, trajectories, other splits, building blocks,
    forged answers, small changes of the template, first prompt. If something fails, the checks that depend on it are
    left out. One worker is used, and weak isolation is a finding, whatever the settings say. Raises SandboxError if the
    sandbox fails.
    """
    settings = settings.model_copy(update={"workers": 1, "allow_weak_isolation": True})
    yield _check_description(task)
    instances = _check_instances(task)
    for finding in instances:
        yield finding
    if "fail" in {finding.result for finding in instances}:
        return
    pristine = {split: instances_hash(task, split) for split in task.splits}
    yield check_splits_distinct(task)
    elsewhere: dict[str, str] = dict(pristine.items())
    if task.endless:
        yield (finding := check_fresh_instances(task))
        elsewhere |= {"fresh": fresh_hash(task)} if finding.result == "ok" else {}
    yield await check_instances_elsewhere(TaskReference(settings.task), elsewhere)
    yield Finding("time limit", "ok", f"{Limits.of(settings).in_words}, for the template too, which is tried now")
    async with judge_of(settings, task) as judge:
        assert isinstance(judge, SandboxJudge), "a task with an evaluator is examined in another way"
        assert isinstance(judge.sandbox, ProgramPool), "a judge's sandbox is one"
        async for finding in _examine_evaluations(settings, task, judge, judge.sandbox, pristine):
            yield finding


async def _examine_evaluations(
    settings: Settings, task: Task, judge: SandboxJudge, pool: ProgramPool, pristine: Mapping[Split, str]
) -> AsyncIterator[Finding]:
    """Yield what evaluations show; `pristine` has the hashes of the instances."""
    yield _isolation_finding(pool.isolation)
    first = await pool.evaluate(task.template)
    if isinstance(first, Failure):
        advice = "; a template must import what it uses" if "NameError" in first.message else ""
        yield Finding("template", "fail", f"it fails ({first.reason}): {first.message}{advice}")
        return
    began = time.perf_counter()
    second = await pool.evaluate(task.template)
    seconds = time.perf_counter() - began
    # as a run does it, within its limits: what follows has none
    template = await judge.evaluate(task.template)
    if isinstance(template, Failure):
        yield Finding("scoring", "fail", f"the template's solutions cannot be judged: {template.message}")
        return
    try:
        found = [check_instances_unchanged(task), *examine_solutions(task, first, second, seconds, Limits.of(settings))]
        for finding in found:
            yield finding
    except TaskError as error:
        yield Finding("scoring", "fail", str(error))
        return
    # last, since all that came before has used the instances
    yield check_instances_after_use(pristine["search"], instances_hash(task, "search"))
    for split in task.splits[1:]:  # the first is that of the search
        if len(instances_of(task, split)):
            yield await _score_on_split(split, settings, task)
    yield _check_building_blocks(task)
    if not any(finding.name == "determinism" and finding.result == "fail" for finding in found):
        async for finding in _show_prompts_and_answers(settings, task, judge, template):
            yield finding


async def _show_prompts_and_answers(
    settings: Settings, task: Task, judge: SandboxJudge, template: Verdict
) -> AsyncIterator[Finding]:
    """Yield findings that show what becomes of forged answers, what small changes do, and what a model is asked."""
    async for finding in on_answers(task, judge, template):
        yield finding
    changes = await small_changes(task, judge.evaluate, template)
    try:
        yield compare_changed(task, template, changes)
        yield smallest_real_difference(task, template, changes)
        yield prompt_finding(settings, task, template, judge.isolation)
    except TaskError as error:  # one of the methods that put decisions or instances in words
        yield Finding("words", "fail", str(error))


def _check_description(task: Task) -> Finding:
    """Return a finding on whether the task has a description for the prompts."""
    if "CHANGE:" in task.description:
        advice = "say in the class's docstring what is sought, without the word CHANGE"
        return Finding("description", "fail", f"it is still the one that `task init` wrote; {advice}")
    if task.description:
        return Finding("description", "ok", f"{len(task.description.split())} words for the prompt")
    advice = "say in the class's docstring what is decided, what counts and which way is better"
    return Finding("description", "warning", f"a prompt would not say what the problem is; {advice}")


def _check_instances(task: Task) -> list[Finding]:
    """Return findings on each split's instances; if none is "fail", also one if `task init` could not read a call."""
    found = [check_instances_present(task, split) for split in task.splits]
    if "fail" in {finding.result for finding in found} or not any(map(_has_placeholder, instances_of(task, "search"))):
        return found
    said = f"an argument is still {UNREAD!r}; write the calls that the evaluator makes in `instances`"
    return [*found, Finding("calls", "fail", said)]


def _has_placeholder(calls: object) -> bool:
    """Whether an instance (`calls`) is a list of calls with an argument that `task init` could not read."""
    if not isinstance(calls, list):
        return False
    arguments = [each for call in calls if isinstance(call, tuple) for each in call]
    return any(isinstance(each, str) and each == UNREAD for each in arguments)


async def _score_on_split(split: Split, settings: Settings, task: Task) -> Finding:
    """Return a finding on whether the template can be scored on a split that the search does not use; "fail" if not."""
    try:
        async with judge_of(settings, task, split) as judge:
            verdict = await judge.evaluate(task.template)
    except TaskError as error:
        return Finding(f"on {split}", "fail", str(error))
    if isinstance(verdict, Verdict):
        return Finding(f"on {split}", "ok", f"the template scores {verdict.score:.6g}")
    return Finding(f"on {split}", "fail", f"the template fails ({verdict.reason}): {verdict.message}")


def _check_building_blocks(task: Task) -> Finding:
    """Return a finding on whether GROWN programs of the offline proposer use only names that are defined."""
    try:
        writer = offline_proposer().grammar_writer(task)
    except TaskError as error:
        return Finding("building blocks", "fail", str(error))
    if writer is None:
        said = "none: without a model the text of programs is changed, as no grammar suits the template's annotations"
        return Finding("building blocks", "ok", f"{said}; write a `grammar` for more")
    blocks = [writer.write("template", (), np.random.default_rng([0, number]))[1] for number in range(GROWN)]
    missing = set[str]().union(*(missing_names(fenced_blocks(block)[0]) for block in blocks))
    if missing:
        message = f"the grammar uses {', '.join(sorted(missing))}, which it does not define"
        return Finding("building blocks", "fail", message)
    return Finding("building blocks", "ok", "the grammar's" if task.grammar else "those of the template's annotations")


def _isolation_finding(level: str) -> Finding:
    """Return a finding on whether a run starts at an isolation level without --allow-weak-isolation."""
    if level in ("walled", "strong", "strong+"):
        return Finding("isolation", "ok", level)
    advice = "a run here needs --allow-weak-isolation; `behavesim doctor` says why"
    return Finding("isolation", "warning", f"{level}: {advice}")


# Forgeries on an evaluator, and which of them came through.


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
    async with judge_of(settings, task) as judge:
        tries = [await judge.evaluate(task.template) for _ in range(HONEST)]
        honest = [each for each in tries if isinstance(each, Verdict)]
        if failed := next((each for each in tries if isinstance(each, Failure)), None):
            yield Finding("first program", "fail", f"it fails ({failed.reason}): {failed.message}")
            return
        yield Finding("first program", "ok", f"it scores {', '.join(f'{each.score:.6g}' for each in honest)}")
        async for finding in _try_forgeries(settings, task, honest):
            yield finding
        if isinstance(judge, EvaluatorJudge):
            async for finding in preview_prompts(settings, task, judge, honest):
                yield finding


async def _try_forgeries(settings: Settings, task: Task, honest: Sequence[Verdict]) -> AsyncIterator[Finding]:
    """Yield a finding on each forgery, and one that sums up; `honest` are verdicts on the program without any."""
    scores = [each.score for each in honest]
    if task.suffix != ".py":
        yield Finding("forgeries", "warning", "none was tried: they are Python, and the first program is not")
        return
    # some forgeries wait for ever; an honest program shows how long is long
    timeout_s = min(settings.timeout_s, SLACK_S + 3 * max(each.cpu_s for each in honest))
    results = []
    async with judge_of(settings.model_copy(update={"timeout_s": timeout_s}), task) as judge:
        for forged in forge_programs(task.template, task.objective.direction):
            tried = await _try_forgery(judge, forged, task, scores)
            results.append(tried.result)
            yield tried
    yield _sum_up_forgeries(results.count("warning"), len(results), task)


async def _try_forgery(judge: Judge, forged: ForgedProgram, task: Task, honest: Sequence[float]) -> Finding:
    """Return a finding on a forged program; `honest` are scores of the program without the forgery."""
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


def _sum_up_forgeries(through: int, count: int, task: Task) -> Finding:
    if not through:
        return Finding("forgeries", "ok", "none came through")
    advice = "read a best program before you believe its score"
    if task.score_source == "self-reported":
        advice += ", or let trusted code score: behavesim task init NAME --evaluator FILE --program FILE"
    return Finding("forgeries", "warning", f"{through} of {count} came through; {advice}")
