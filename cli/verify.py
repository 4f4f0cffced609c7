"""`behavesim verify`."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from behavesim.application.verification import verified
from behavesim.audit.verify import Verification
from behavesim.base.config import cores
from behavesim.base.text import printable
from behavesim.reports.terminal import screen

from .options import RUNS, AsJson, OneRun, RunsDir, Workers, run_folder
from .output import print_result


def verify(
    run: OneRun = None,
    workers: Workers = None,
    sample: Annotated[
        int | None,
        typer.Option(min=1, help="Check only this many candidates, drawn with the run's seed (default: all)."),
    ] = None,
    runs_dir: RunsDir = RUNS,
    as_json: AsJson = False,
) -> None:
    """Run every program of a run again, derive every decision again, and name the first difference.

    Exit code 1 if there is a difference or the journal is damaged.
    """
    folder = run_folder(runs_dir, run)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeRemainingColumn(), MofNCompleteColumn())
    with Progress(*columns, console=screen(stderr=True)) as bars:
        bar = bars.add_task(f"verifying {printable(folder.run)}", total=None)

        def progress(done: int, total: int) -> None:
            bars.update(bar, completed=done, total=total)

        found = asyncio.run(verified(folder, workers or cores(), progress, sample))
    print_result(found, as_json, _document, lambda found: typer.echo(printable(_text(found, folder.argument))))
    if not found.is_sound:
        raise typer.Exit(1)


def _document(found: Verification) -> dict[str, Any]:
    """Return the verification as a JSON document."""
    # without `is_lost`: if the check ended early, the difference at that event says so
    known = {name: value for name, value in vars(found).items() if name != "is_lost"}
    differences = [asdict(each) for each in found.differences]
    return {"run": found.run, "sound": found.is_sound, **known, "differences": differences}


def _text(found: Verification, argument: str) -> str:
    """Return the verification in a few lines: what was checked, and the first difference or the damage.

    `argument` names the run in commands.
    """
    if found.damage:
        advice = f"salvage what can be read: behavesim recover {argument}"
        return "\n  ".join((f"run {found.run} is damaged:", *found.damage)) + f"\n{advice}"
    unchecked = "".join(f", {count} left out ({reason})" for reason, count in found.unchecked.items())
    done = (
        f"{found.events} events: {found.decisions} decisions derived, {found.evaluations} programs run again, "
        f"{found.copies} copies{unchecked}"
    )
    if not found.differences:
        said = "its decisions follow from its settings and replies, and its programs do what was recorded"
        return f"run {found.run} is verified: {said}\n{done}"
    first = found.differences[0]
    subject = "" if first.candidate is None else f" of candidate {first.candidate}"
    return (
        f"run {found.run} differs in {len(found.differences)} of {done}\n"
        f"first at event {first.seq} ({first.event}{subject}):\n"
        f"  expected {first.expected}\n"
        f"  recorded {first.recorded}"
    )
