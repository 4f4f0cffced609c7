"""A dry run: finds a run's first prompt, its template's score and its expected cost, without making the run."""

from __future__ import annotations

from dataclasses import dataclass

from behavesim.application.experiment.estimate import CostEstimate, estimate
from behavesim.application.experiment.plan import Planned
from behavesim.engine.admission import refuse_unpriced, run_provenance
from behavesim.engine.build import Launch, evaluated_template
from behavesim.engine.judging import judging
from behavesim.methods.installed import method_of
from behavesim.proposers.installed import proposer_type
from behavesim.state.events import RunStarted
from behavesim.state.state import RunState


@dataclass(frozen=True)
class DryRun:
    """What a dry run found."""

    template_score: float
    prompt: str
    """The text of the first prompt; empty if the method asks for nothing at the start."""
    evaluating_s: float
    """Seconds that all evaluations take on the run's workers, on a cluster on one of its places, if every program uses
    as much CPU time as the template."""
    cost: CostEstimate | None
    """The expected requests, tokens and cost; None for a proposer that costs nothing."""


async def dry_run(launch: Launch) -> DryRun:
    """Evaluate the template, make the first prompt and estimate the cost; no folder is made and no request sent.

    Raises TaskError if the template fails, UsageError if a cap on cost cannot be kept because a price is unknown, and
    SandboxError if the sandbox cannot be started.
    """
    settings, task = launch.settings, launch.task
    refuse_unpriced(settings)
    writer, state = proposer_type(settings.proposer), RunState(task.objective)
    async with judging(settings, task, clock=launch.clock) as judge:
        template = await evaluated_template(task, judge)
        state.apply(RunStarted(settings.flat(), run_provenance(settings, task), judge.isolation))
    state.apply(template)
    asked = method_of(settings, task, writer.writes_text).ask(state, 0)
    planned = [Planned(launch.folder.run, settings)]
    cost = estimate(planned, planned, launch.folder.path.parent) if writer.costs_money else None
    prompt = "" if asked is None else asked.prompt.text
    return DryRun(template.score, prompt, template.cpu_s * settings.budget / settings.workers_here, cost)
