"""Examines a task: runs every check and yields its findings."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from functools import partial

from behavesim.base.config import Settings
from behavesim.base.errors import TaskError
from behavesim.base.finding import Finding
from behavesim.checkup.answers import on_answers
from behavesim.checkup.changes import noise, parting
from behavesim.checkup.instances import distinct, known_again, left_as_it_was, present, unchanged
from behavesim.checkup.solutions import examined
from behavesim.checkup.told import prompt_finding
from behavesim.checkup.trials import small_changes, tried
from behavesim.engine.judging import judge_of, judging, sandbox
from behavesim.evaluators.calling import UNREAD
from behavesim.programs.fences import fenced_blocks
from behavesim.programs.imports import missing_names
from behavesim.sandbox.judge import SandboxJudge
from behavesim.sandbox.limits import Limits
from behavesim.sandbox.pool import SolutionPool
from behavesim.state.events import Prompt
from behavesim.state.provenance import instances_hash
from behavesim.task import Split, Task, TaskReference, instances_of
from behavesim.task.verdict import Failure, Verdict

GROWN = 50
"""Number of programs written by the offline proposer, enough to use every building block of a small grammar."""


async def checkup(settings: Settings, task: Task) -> AsyncIterator[Finding]:
    """Examine a task with the settings of a run, and yield each finding as soon as it is made.

    The order is description, instances, isolation, template, scoring, trajectories, other splits, building blocks,
    forged answers, small changes of the template, first prompt. If something fails, the checks that depend on it are
    left out. One worker is used, and weak isolation is a finding, whatever the settings say. Raises SandboxError if the
    sandbox fails.
    """
    settings = settings.model_copy(update={"workers": 1, "allow_weak_isolation": True})
    yield _described(task)
    instances = _instances(task)
    for finding in instances:
        yield finding
    if "mend" in {finding.result for finding in instances}:
        return
    pristine = {split: instances_hash(task, split) for split in task.splits}
    yield distinct(task)
    yield await known_again(TaskReference(settings.task), pristine)
    yield Finding("time limit", "ok", f"{Limits.of(settings).in_words}, for the template too, which is tried now")
    pool = sandbox(settings, task)
    async with judge_of(settings, task, "search", pool) as judge:
        assert isinstance(judge, SandboxJudge), "a task with an evaluator is examined in another way"
        async for finding in _evaluated(settings, task, judge, pool, pristine):
            yield finding


async def _evaluated(
    settings: Settings, task: Task, judge: SandboxJudge, pool: SolutionPool, pristine: Mapping[Split, str]
) -> AsyncIterator[Finding]:
    """Yield what evaluations show; `pristine` has the hashes of the instances.

    Nothing follows if the template fails, or if its solutions cannot be judged.
    """
    yield _isolation(pool.isolation)
    first = await pool.evaluate(task.template)
    if isinstance(first, Failure):
        yield _failed(first)
        return
    began = time.perf_counter()
    second = await pool.evaluate(task.template)
    seconds = time.perf_counter() - began
    # as a run does it, within its limits: what follows has none
    template = await tried(judge, task.template)
    if isinstance(template, Failure):
        yield Finding("scoring", "mend", f"the template's solutions cannot be judged: {template.message}")
        return
    try:
        found = [left_as_it_was(task), *examined(task, first, second, seconds, Limits.of(settings))]
        for finding in found:
            yield finding
    except TaskError as error:
        yield Finding("scoring", "mend", str(error))
        return
    # last, since all that came before has used the instances
    yield unchanged(pristine["search"], instances_hash(task, "search"))
    for split in task.splits[1:]:  # the first is that of the search
        if len(instances_of(task, split)):
            yield await _on(split, settings, task)
    yield await _building_blocks(task)
    if not any(finding.name == "determinism" and finding.result == "mend" for finding in found):
        async for finding in _shown(settings, task, judge, template):
            yield finding


async def _shown(settings: Settings, task: Task, judge: SandboxJudge, template: Verdict) -> AsyncIterator[Finding]:
    """Yield findings that show what becomes of forged answers, what small changes do, and what a model is asked."""
    async for finding in on_answers(task, judge, template):
        yield finding
    changes = await small_changes(task, partial(tried, judge), template)
    try:
        yield parting(task, template, changes)
        yield noise(task, template, changes)
        yield prompt_finding(settings, task, template, judge.isolation)
    except TaskError as error:  # one of the methods that put decisions or instances in words
        yield Finding("words", "mend", str(error))


def _described(task: Task) -> Finding:
    """Return a finding on whether the task has a description for the prompts.

    It is a warning if there is none, and "mend" if it still says "CHANGE:", as that of a new task file does.
    """
    if "CHANGE:" in task.description:
        advice = "say in the class's docstring what is sought, without the word CHANGE"
        return Finding("description", "mend", f"it is still the one that `task init` wrote; {advice}")
    if task.description:
        return Finding("description", "ok", f"{len(task.description.split())} words for the prompt")
    advice = "say in the class's docstring what is decided, what counts and which way is better"
    return Finding("description", "warning", f"a prompt would not say what the problem is; {advice}")


def _failed(failure: Failure) -> Finding:
    """Return a "mend" finding on a template that fails."""
    advice = "; a template must import what it uses" if "NameError" in failure.message else ""
    return Finding("template", "mend", f"it fails ({failure.reason}): {failure.message}{advice}")


def _instances(task: Task) -> list[Finding]:
    """Return findings on each split's instances; if none is "mend", also one if `task init` could not read a call."""
    found = [present(task, split) for split in task.splits]
    if "mend" in {finding.result for finding in found} or not any(map(_has_placeholder, instances_of(task, "search"))):
        return found
    said = f"an argument is still {UNREAD!r}; write the calls that the evaluator makes in `instances`"
    return [*found, Finding("calls", "mend", said)]


def _has_placeholder(calls: object) -> bool:
    """Whether an instance (`calls`) is a list of calls with an argument that `task init` could not read."""
    if not isinstance(calls, list):
        return False
    arguments = [each for call in calls if isinstance(call, tuple) for each in call]
    return any(isinstance(each, str) and each == UNREAD for each in arguments)


async def _on(split: Split, settings: Settings, task: Task) -> Finding:
    """Return a finding on whether the template can be scored on a split that the search does not use; "mend" if not."""
    try:
        async with judging(settings, task, split) as judge:
            verdict = await judge.evaluate(task.template)
    except TaskError as error:
        return Finding(f"on {split}", "mend", str(error))
    if isinstance(verdict, Verdict):
        return Finding(f"on {split}", "ok", f"the template scores {verdict.score:.6g}")
    return Finding(f"on {split}", "mend", f"the template fails ({verdict.reason}): {verdict.message}")


async def _building_blocks(task: Task) -> Finding:
    """Return a finding on whether GROWN programs of the offline proposer use only names that are defined.

    It is "mend" if not, or if the grammar cannot be used, and "ok" untried if the task has no grammar that suits.
    """
    from behavesim.proposers.genetic.proposer import GeneticProposer, changes_text

    try:
        proposer = GeneticProposer(task, seed=0)
    except TaskError as error:
        return Finding("building blocks", "mend", str(error))
    if changes_text(task):
        said = "none: without a model the text of programs is changed, as no grammar suits the template's annotations"
        return Finding("building blocks", "ok", f"{said}; write a `grammar` for more")
    replies = [await proposer.propose(Prompt("", "template"), number) for number in range(GROWN)]
    missing = set[str]().union(*(missing_names(fenced_blocks(reply.text)[0]) for reply in replies))
    if missing:
        message = f"the grammar uses {', '.join(sorted(missing))}, which it does not define"
        return Finding("building blocks", "mend", message)
    return Finding("building blocks", "ok", "the grammar's" if task.grammar else "those of the template's annotations")


def _isolation(level: str) -> Finding:
    """Return a finding on whether a run starts at an isolation level without --allow-weak-isolation.

    It is a warning unless the level is "walled", "strong" or "strong+".
    """
    if level in ("walled", "strong", "strong+"):
        return Finding("isolation", "ok", level)
    advice = "a run here needs --allow-weak-isolation; `behavesim doctor` says why"
    return Finding("isolation", "warning", f"{level}: {advice}")
