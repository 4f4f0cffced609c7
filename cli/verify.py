"""`behavesim verify`."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from behavesim.application.machine import cores
from behavesim.application.verification import verified
from behavesim.audit.verify import Verification
from behavesim.base.text import printable
from behavesim.reports.terminal import screen
from behavesim.store.folder import RunFolder

from .options import RUNS, AsJson, OneRun, RunsDir, run_folder
from .output import print_json


def verify(
    run: OneRun = None,
    workers: Annotated[int | None, typer.Option(help="Programs run at once (default: the cores).")] = None,
    sample: Annotated[
        int | None, typer.Option(min=1, help="Check so many candidates, drawn by the run's seed (default: all).")
    ] = None,
    runs_dir: RunsDir = RUNS,
    as_json: AsJson = False,
) -> None:
    """Run every program of a run again, derive every decision again, and name the first difference."""
    folder = run_folder(runs_dir, run)
    found = _verified(folder, workers or cores(), sample)
    if as_json:
        print_json(_document(found))
    else:
        for line in _lines(found, folder.argument):
            typer.echo(printable(line))
    if not found.is_sound:
        raise typer.Exit(1)


def _verified(folder: RunFolder, workers: int, sample: int | None) -> Verification:
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeRemainingColumn(), MofNCompleteColumn())
    with Progress(*columns, console=screen(stderr=True)) as progress:
        bar = progress.add_task(f"verifying {printable(folder.run)}", total=None)
        return asyncio.run(
            verified(folder, workers, lambda done, total: progress.update(bar, completed=done, total=total), sample)
        )


def _document(found: Verification) -> dict[str, Any]:
    return {
        "run": found.run,
        "sound": found.is_sound,
        "events": found.events,
        "decisions": found.decisions,
        "evaluations": found.evaluations,
        "copies": found.copies,
        "unchecked": dict(found.unchecked),
        "damage": found.damage,
        "differences": [asdict(each) for each in found.differences],
    }


def _lines(found: Verification, argument: str) -> list[str]:
    if found.damage:
        advice = f"salvage what can be read: behavesim recover {argument}"
        return [f"run {found.run} is damaged:", *(f"  {line}" for line in found.damage), advice]
    unchecked = "".join(f", {count} left out ({reason})" for reason, count in found.unchecked.items())
    done = (
        f"{found.events} events: {found.decisions} decisions derived, {found.evaluations} programs run again, "
        f"{found.copies} copies{unchecked}"
    )
    if not found.differences:
        said = "its decisions follow from its settings and replies, and its programs do what was recorded"
        return [f"run {found.run} is verified: {said}", done]
    first = found.differences[0]
    subject = "" if first.candidate is None else f" of candidate {first.candidate}"
    return [
        f"run {found.run} differs in {len(found.differences)} of {done}",
        f"first at event {first.seq} ({first.event}{subject}):",
        f"  expected {first.expected}",
        f"  recorded {first.recorded}",
    ]
