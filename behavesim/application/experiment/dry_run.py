"""A dry run: finds a run's first prompt, its template's score and its expected cost, without making the run."""

from __future__ import annotations

import time
from dataclasses import dataclass

from behavesim.application.experiment.estimate import CostEstimate, estimate
from behavesim.application.experiment.plan import Planned
from behavesim.engine.admission import refuse_unpriced
from behavesim.engine.build import Launch
from behavesim.engine.first_prompt import first_prompt
from behavesim.engine.judging import evaluated_template, judging
from behavesim.methods.installed import method_of
from behavesim.proposers.installed import proposer_type, takes_notes
from behavesim.state.protocols import Judge
from behavesim.task import Task

LONG_S = 2.0
"""If the template took at least this much CPU time, in seconds, it is not evaluated again to time it: the start of its
process hardly counts then."""


@dataclass(frozen=True)
class DryRun:
    """What a dry run found."""

    template_score: float
    """The template's score on the search's instances, in the task's unit."""
    prompt: str
    """The text of the first prompt; empty if the method asks for nothing at the start."""
    evaluating_s: float
    """Expected seconds for evaluating all programs of the budget on the run's workers; of a cluster, one worker is
    counted. Each program is taken to need as long as a second evaluation of the template, start included, or as the
    template's CPU time if that is LONG_S or more."""
    cost: CostEstimate | None
    """The expected requests, tokens and cost; None for a proposer that costs nothing."""


async def dry_run(launch: Launch) -> DryRun:
    """Evaluate the template, make the first prompt and estimate the cost; no folder is made and no request sent.

    Raises TaskError if the template fails, SandboxError if the sandbox does. Raises UsageError if a cap on cost cannot
    be kept because a price is unknown, or if isolation is weak and the settings forbid that.
    """
    settings, task = launch.settings, launch.task
    refuse_unpriced(settings)
    writer = proposer_type(settings.proposer)
    async with judging(settings, task) as judge:
        template = await evaluated_template(task, judge)
        took_s = await _seconds_again(task, judge, template.cpu_s)
        isolation = judge.isolation
    method = method_of(settings, task, takes_notes(settings))
    planned = [Planned(launch.folder.run, settings)]
    cost = estimate(planned, planned, launch.folder.path.parent) if writer.costs_money else None
    prompt = first_prompt(settings, task, method, template, isolation)
    return DryRun(template.score, prompt, took_s * settings.budget / settings.workers_here, cost)


async def _seconds_again(task: Task, judge: Judge, cpu_s: float) -> float:
    """Return the seconds that one more evaluation of the template takes.

    They are measured, unless `cpu_s`, its CPU time so far, is LONG_S or more; then they are `cpu_s`.
    """
    if cpu_s >= LONG_S:
        return cpu_s
    began = time.perf_counter()  # CPU time would leave out starting a program, which takes longer than most programs
    await judge.evaluate(task.template)
    return time.perf_counter() - began
