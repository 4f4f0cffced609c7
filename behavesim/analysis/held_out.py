"""What was found, tried on instances that neither the search nor the choice of the winner ever saw."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from behavesim.analysis.run import TOP, Candidate, Run
from behavesim.analysis.worth import Kept, Worth
from behavesim.errors import TaskError
from behavesim.protocols import Judge
from behavesim.provenance import instances_hash, provenance
from behavesim.task import Objective, Task


async def held_out(runs: Sequence[Run], task: Task, judge: Judge) -> list[dict[str, Any]]:
    """For each run on the task, its ten best distinct programs and the recommended one beside the template.

    `score` is the mean over the held-out instances; `improvement` how much better than the template a program is, as
    the mean over instances of the difference relative to the template's score there, a fraction; `gap` the gap to the
    best known, where it is known. `best`, `top10` and `recommended` sum these up; what is None failed there or is
    unknown. What was found out is kept in the runs' folders. Raises TaskError where the template fails.
    """
    origin = {"task": provenance(task)["task"], "instances": instances_hash(task, "held-out")}
    kept = [Kept(run.folder, origin) for run in runs]
    chosen = [_chosen(run) for run in runs]
    sources = {task.template, *(candidate.source or "" for programs in chosen for candidate in programs)}
    worths = {source: worth for each in kept for source, worth in each.known(sources).items()}
    unknown = sorted(sources - worths.keys())
    verdicts = await asyncio.gather(*map(judge.evaluate, unknown))
    worths |= {source: Worth.of(verdict) for source, verdict in zip(unknown, verdicts, strict=True)}
    template = worths[task.template]
    if template.score is None:
        raise TaskError(f"the template of task {task.name!r} fails on held-out instances: {template.reason}")
    for each, programs in zip(kept, chosen, strict=True):
        each.keep({source: worths[source] for source in (task.template, *(c.source or "" for c in programs))})
    objective = task.objective_on("held-out")
    return [_document(run, programs, worths, template, objective) for run, programs in zip(runs, chosen, strict=True)]


def improvement(worth: Worth, template: Worth, objective: Objective) -> float:
    """The mean over instances of how much better a program is than the template, relative to the template's score."""
    parts = [
        (objective.utility(score) - objective.utility(base)) / (abs(base) or 1.0)
        for score, base in zip(worth.scores, template.scores, strict=True)
    ]
    return sum(parts) / len(parts)


def _chosen(run: Run) -> list[Candidate]:
    """The ten best distinct programs, and behind them the recommended one if it is not among them."""
    top = run.ranked()[:TOP]
    recommended = run.recommended
    known = {candidate.candidate for candidate in top}
    return [*top, recommended] if recommended is not None and recommended.candidate not in known else top


def _document(
    run: Run, programs: Sequence[Candidate], worths: Mapping[str, Worth], template: Worth, objective: Objective
) -> dict[str, Any]:
    rows = [_row(candidate, worths[candidate.source or ""], template, objective) for candidate in programs]
    chosen = None if run.recommended is None else run.recommended.candidate
    recommended = [row for row in rows if row["candidate"] == chosen]
    return {
        "template": {"score": template.score, "gap": _gap(template, objective)},
        "programs": rows,
        "best": _summed(rows[:1]),
        "top10": _summed(rows[:TOP]),
        "recommended": _summed(recommended),
    }


def _summed(rows: Sequence[dict[str, Any]]) -> dict[str, float | None]:
    """The mean improvement and gap of some programs; None where one of them has none."""
    means: dict[str, float | None] = {}
    for name in ("improvement", "gap"):
        values = [row[name] for row in rows]
        means[name] = sum(values) / len(values) if values and None not in values else None
    return means


def _row(candidate: Candidate, worth: Worth, template: Worth, objective: Objective) -> dict[str, Any]:
    return {
        "candidate": candidate.candidate,
        "search_score": candidate.score,
        "score": worth.score,
        "gap": _gap(worth, objective),
        "improvement": improvement(worth, template, objective) if worth.scores else None,
        "reason": worth.reason,
    }


def _gap(worth: Worth, objective: Objective) -> float | None:
    return None if worth.score is None else objective.gap(worth.score)
