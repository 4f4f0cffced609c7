"""Reports as comparisons see them, of runs that have only begun."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from behavesim.analysis.behaviours import DistinctCounts
from behavesim.analysis.convergence import Checkpoint, DiversityAt
from behavesim.analysis.held_out import HeldOut, HeldOutMean, HeldOutTemplate
from behavesim.analysis.report import Origin, RunReport
from behavesim.analysis.run import Run
from behavesim.analysis.summary import Summary
from behavesim.analysis.table import Scored
from behavesim.engine.admission import settings_from_person
from behavesim.state.events import RunStarted
from behavesim.store.folder import RunFolder
from tests.analysis.journals import PROVENANCE, started, write

UNKNOWN = HeldOutMean(None, None)

_DELETED_AT_EXIT = TemporaryDirectory()
BEGUN = RunFolder(Path(_DELETED_AT_EXIT.name, "begun"))
"""A run that has only begun."""
write(BEGUN.path, started())


def made(method: str, seed: int, gap: float | None, task: str = "tsp", **settings: Any) -> RunReport:
    """The report of a run that came so far."""
    resolved = settings_from_person({"task": task, "method": method, "seed": seed, **settings})
    summary = Summary(
        run=f"{method}-{seed}-{'-'.join(map(str, settings.values()))}",
        state="finished",
        stopped_by="budget",
        task=task,
        method=method,
        proposer=resolved.proposer,
        seed=seed,
        asked=resolved.budget,
        feasible=100,
        rejected={},
        template=Scored(-1, 2.0, 1.0),
        best=None if gap is None else Scored(1, 1.0 + gap, gap),
        gain=None if gap is None else 1.0 - gap,
        recommended=None,
        top10_gap=gap,
        tokens={"prompt": 5, "cached": 0, "completion": 1, "reasoning": 0},
        cost_usd=None,
        estimated=None,
        unanswered=0,
        isolation="strong",
        score_source="trusted",
        seconds=1.5,
        digest=f"{gap}",
    )
    run = Run(BEGUN, [(0.0, RunStarted(resolved.flat(), PROVENANCE, "strong"))], 0)
    run.state.asked = summary.asked
    return RunReport(
        run=run,
        origin=Origin(Path("runs"), resolved, {"task": "1", "instances": "2", "template": "3"}),
        summary=summary,
        convergence=(Checkpoint(10, 1.0, 0.1, 0.2),),
        islands=(),
        failures=(),
        distinct=DistinctCounts(feasible=100, programs=90, behaviours=60, top=4),
        diversity_over_time=(
            DiversityAt((0.1, None), None, registered=10),
            DiversityAt((0.2 + 0.1 * seed,), 0.6, registered=20),
        ),
        top=(),
    )


def made_elsewhere(method: str, seed: int, gap: float | None, **settings: Any) -> RunReport:
    """The report of a run on other instances of the same task."""
    report = made(method, seed, gap, **settings)
    return replace(report, origin=replace(report.origin, versions={**report.origin.versions, "instances": "9"}))


def unfinished(report: RunReport, asked: int) -> RunReport:
    """The report as of a run that a person stopped after so many candidates."""
    name = f"{report.summary.run}-stopped"
    stopped = {"state": "stopped", "stopped_by": "interrupted", "digest": "stopped"}
    return replace(report, summary=replace(report.summary, run=name, asked=asked, **stopped))  # type: ignore[arg-type]


def tried(report: RunReport, best: HeldOutMean = UNKNOWN, recommended: HeldOutMean = UNKNOWN) -> RunReport:
    """The report with what became of its programs on held-out instances."""
    return replace(report, held_out=HeldOut(HeldOutTemplate(2.0, 0.2), (), best, UNKNOWN, recommended))


def unknown_gaps(report: RunReport) -> RunReport:
    """The report as of a task whose best is not known."""
    best = report.summary.best
    summary = replace(report.summary, best=best and replace(best, gap=None), top10_gap=None)
    return replace(report, summary=summary)


def grid(seeds: int = 6) -> list[RunReport]:
    """Three methods that differ on two tasks."""
    shift = {"eoh": 0.0, "niche": 1.0, "best-of-n": 2.0}
    return [
        made(method, seed, shift[method] + seed / 10, task, budget=100)
        for task in ("tsp", "asp")
        for method in shift
        for seed in range(seeds)
    ]
