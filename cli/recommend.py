"""`behavesim recommend`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer

from behavesim.analysis.portfolio import Portfolio
from behavesim.analysis.run import Run
from behavesim.analysis.summary import RecommendedProgram, summary
from behavesim.application.evaluation import absence
from behavesim.application.portfolio import (
    Rival,
    has_rivals,
    record_portfolio,
    rivals_of_portfolio,
    rivals_table,
    verdict_on_rivals,
)
from behavesim.application.recommendation import certificate_line, shortlist_table
from behavesim.application.session import choose_program
from behavesim.base.errors import UsageError
from behavesim.reports.terminal import show
from behavesim.reports.words import program_name
from behavesim.store.folder import RunFolder
from behavesim.task import Task, instances_of
from behavesim.task.evaluated import EvaluatorTask

from .options import RUNS, AsJson, Runs, RunsDir, RunsWorkers, run_folders
from .output import busy, print_json, say, tell

Size = Annotated[
    int | None,
    typer.Option("--portfolio", metavar="K", min=1, help="Also choose up to K programs that behave differently."),
]


Evaluations = Annotated[
    int | None,
    typer.Option("--evaluations", metavar="N", min=0, help="Most evaluations on fresh instances (fresh_evaluations)."),
]


def recommend(
    runs: Runs = None,
    portfolio: Size = None,
    evaluations: Evaluations = None,
    workers: RunsWorkers = None,
    runs_dir: RunsDir = RUNS,
    as_json: AsJson = False,
) -> None:
    """Choose a program of a run on instances that it has not seen: the best of several that behave differently.

    Where the task gives instances without end, they are fresh ones, and the choice has a certificate.

    With --portfolio K it also chooses up to K programs. Several runs need --portfolio: then only the K programs are
    chosen, from those of all the runs.
    """
    folders = run_folders(runs_dir, runs)
    if len(folders) > 1 and portfolio is None:
        raise UsageError("recommend takes one run, or --portfolio K for the programs of several")
    run, found, tried = Run.load(folders[0]), None, tuple[Rival, ...]()
    task = run.task()
    if isinstance(task, EvaluatorTask) and (said := absence(task, "validation", run.settings.task)):
        tell(f"{said}; so the best program stands: {run.folder.best}")
        if portfolio is not None:
            names = f"behavesim report {run.folder.argument} --only portfolio"
            tell(f"no portfolio.py for an evaluator; {names} has programs that behave differently")
        if as_json:
            print_json(None)
        return
    # a recommended program needs validation instances, a portfolio does not
    is_one = len(folders) == 1 and (portfolio is None or len(instances_of(task, "validation")) > 0)
    if is_one:
        asyncio.run(choose_program(run, task, workers, evaluations, busy))
    if portfolio is not None:
        busy(f"choosing up to {portfolio} programs that behave differently")
        found = asyncio.run(record_portfolio(folders, task, portfolio, workers))
        if len(found.members) > 1 and has_rivals(task):  # asked here too, so that nothing is announced in vain
            busy("trying what else so many runs could buy: other starts, improved solutions")
            tried = asyncio.run(rivals_of_portfolio(folders, task, found, workers))
    chosen = summary(run).recommended if is_one else None
    if as_json:
        print_json(_document(chosen, found, tried))
        return
    if is_one:
        if (shortlist := shortlist_table(run)).rows:
            show([shortlist])
        say(_recommended_line(run, chosen))
        if said := certificate_line(run, task):
            say(said)
    if found is not None:
        show([*found.tables(), *([rivals_table(tried)] if tried else [])])
        if found.members:
            say(_portfolio_line(run.folder, task))
        if tried:
            say(verdict_on_rivals(tried))


def _document(
    chosen: RecommendedProgram | None, found: Portfolio | None, tried: Sequence[Rival]
) -> dict[str, Any] | None:
    """Return the recommended program's fields, and the portfolio's members as `portfolio`; None if there is neither."""
    # Beside the portfolio stand `rivals`, best first: [] if none was tried.
    program = None if chosen is None else asdict(chosen)
    if found is None:
        return program
    members, others = [asdict(each) for each in found.members], [asdict(each) for each in tried]
    return {**(program or {}), "portfolio": members, "rivals": others}


def _recommended_line(run: Run, chosen: RecommendedProgram | None) -> str:
    """Return a line on where the recommended program is, or why there is none."""
    if chosen is not None:
        return f"recommended program: {run.folder.recommended} ({program_name(chosen.candidate)})"
    if not run.ranked():
        return "no program to recommend: the run has found no feasible program"
    return "no program to recommend: none on the shortlist works on the validation instances"


def _portfolio_line(folder: RunFolder, task: Task) -> str:
    """Return a line on where portfolio.py is, or that an online task has none."""
    if task.online:
        why = "its decisions are final as they are made, so that the best of several solutions cannot be taken"
        return f"no portfolio.py for {task.name}: {why}"
    return f"all in one file: {folder.portfolio}"
