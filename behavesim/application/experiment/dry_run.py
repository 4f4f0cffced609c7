"""A dry run: the first prompt, the template's score and the expected cost, without making a run."""

from __future__ import annotations

from dataclasses import dataclass

from behavesim.application.experiment.estimate import CostEstimate, estimate
from behavesim.application.experiment.plan import Planned
from behavesim.engine.admission import refuse_unpriced, run_provenance
from behavesim.engine.build import Launch, evaluated_template, judging
from behavesim.methods.installed import method
from behavesim.proposers.installed import proposer_type
from behavesim.state.events import RunStarted
from behavesim.state.state import RunState


@dataclass(frozen=True)
class DryRun:
    """The template's score, the first prompt, and estimates for the whole run.

    `evaluating_s` is the time in seconds that all evaluations take on the run's workers if every program is as slow as
    the template. `cost` is None for a proposer that costs nothing.
    """

    template_score: float
    prompt: str
    evaluating_s: float
    cost: CostEstimate | None


async def dry_run(launch: Launch) -> DryRun:
    """Evaluate the template, write the first prompt and estimate the rest, without a folder or a request.

    Raises TaskError if the template fails, and UsageError if a cap on cost cannot be kept because a price is unknown.
    """
    settings, task = launch.settings, launch.task
    refuse_unpriced(settings)
    writer, state = proposer_type(settings.proposer), RunState(task.objective)
    async with judging(settings, task, clock=launch.clock) as judge:
        template = await evaluated_template(task, judge)
        state.apply(RunStarted(settings.flat(), run_provenance(settings, task), judge.isolation))
    state.apply(template)
    asked = method(settings, task, writer.writes_text).ask(state, 0)
    planned = [Planned(launch.folder.run, {}, settings)]
    cost = estimate(planned, planned, launch.folder.path.parent) if writer.costs_money else None
    prompt = "" if asked is None else asked.prompt.text
    return DryRun(template.score, prompt, template.cpu_s * settings.budget / settings.workers, cost)
