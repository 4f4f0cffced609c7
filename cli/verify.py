"""`behavesim verify`, with `--salvage` also known as `behavesim recover`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

import typer

from behavesim.application.verification import verify_runs
from behavesim.audit.recover import recover as recovered
from behavesim.audit.verify import LOST_REPLY, REST, SCORE, Verification
from behavesim.base.config import cores
from behavesim.base.errors import UsageError
from behavesim.base.text import count_noun, printable
from behavesim.reports.live import progress
from behavesim.store.folder import RunFolder

from .options import RUNS, AsJson, NamedRun, OneRun, RunsDir, Workers, run_folder
from .output import print_result

SalvagedName = Annotated[str | None, typer.Option(help="The salvaged run's id (default: RUN-recovered).")]

# What was not checked and why that is no error, by the reasons in `Verification.unchecked`.
NOT_CHECKED: Mapping[str, str] = {
    "timeout": "programs that ran out of time then or now; that depends on how fast and busy the machine is",
    "memory": "programs that ran out of memory then or now; that depends on the machine",
    "not in the sample": "results of candidates that --sample did not draw",
    "under another task": "results from before a fork that changed the task; its old version is gone",
    "chosen in a run that changed its task": "recommendations or portfolios; the run changed its task in between",
    "portfolio of several runs": "portfolios that hold programs of other runs",
    SCORE: "programs that get another score each time they are run, as they or the evaluator draw at random",
    REST: "programs with an equal score that differ otherwise each time they are run",
}


def verify(
    run: OneRun = None,
    workers: Workers = None,
    sample: Annotated[
        int | None,
        typer.Option(min=1, help="Check only this many candidates, drawn with the run's seed (default: all)."),
    ] = None,
    salvage: Annotated[
        bool, typer.Option("--salvage", help="Make a new run from all that can be read of a damaged one instead.")
    ] = False,
    name: SalvagedName = None,
    runs_dir: RunsDir = RUNS,
    as_json: AsJson = False,
) -> None:
    """Run every program of a run again, derive every decision again, and name the first difference.

    Exit code 1 if there is a difference or the journal is damaged.
    """
    if salvage:
        if run is None or sample is not None or as_json:
            raise UsageError("--salvage takes the damaged run's name, and neither --sample nor --json")
        recover(run, name, workers, runs_dir)
        return
    if name is not None:
        raise UsageError("--name is the id of the run that --salvage makes")
    folder = run_folder(runs_dir, run)
    with progress(f"verifying {printable(folder.run)}") as told:
        found = asyncio.run(verify_runs(folder, workers or cores(), told, sample))
    print_result(found, as_json, _document, lambda found: typer.echo(printable(text(found, folder.argument))))
    if not found.is_sound:
        raise typer.Exit(1)


def _document(found: Verification) -> dict[str, Any]:
    """Return the verification as a JSON document."""
    # without `is_lost`: if the check ended early, the difference at that event says so
    known = {name: value for name, value in vars(found).items() if name != "is_lost"}
    differences = [asdict(each) for each in found.differences]
    return {"run": found.run, "sound": found.is_sound, **known, "differences": differences}


def text(found: Verification, argument: str) -> str:
    """Return the verification in a few lines: what was checked, and the first difference or the damage.

    `argument` names the run in commands.
    """
    if found.damage:
        advice = f"salvage what can be read: behavesim verify {argument} --salvage"
        return "\n  ".join((f"run {found.run} is damaged:", *found.damage)) + f"\n{advice}"
    checked = (
        f"checked: {found.events} events, {found.decisions} decisions derived again, {found.evaluations} programs run "
        f"again, {found.copies} results of programs that had been run before"
    )
    lines = [checked]
    # each reason why results were not checked, with how many, and why that is fine
    lines += [f"not checked: {count} {NOT_CHECKED.get(reason, reason)}" for reason, count in found.unchecked.items()]
    if found.fresh:
        lines.append(
            f"recommended on {found.fresh} fresh instances: the run had not used them, and the journal named them "
            "before a program ran on them"
        )
    if not found.differences:
        said = "its decisions follow from its settings and replies, and its programs do what was recorded"
        return "\n".join([f"run {found.run} is verified: {said}", *lines])
    first = found.differences[0]
    subject = "" if first.candidate is None else f" of candidate {first.candidate}"
    lost = sum(each.expected == LOST_REPLY for each in found.differences)
    because = f"; {lost} because a reply was lost, which --salvage could not read. The others may follow from that"
    because = because if lost else ""
    return "\n".join(
        [
            f"run {found.run} differs in {count_noun(len(found.differences), 'event')}{because}",
            f"first at event {first.seq} ({first.event}{subject}):",
            f"  expected {first.expected}",
            f"  recorded {first.recorded}",
            *lines,
        ]
    )


# `behavesim verify --salvage`, or `behavesim recover`.


def recover(
    run: NamedRun,
    name: SalvagedName = None,
    workers: Workers = None,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Make a new run from all that can be read of a damaged one, which stays as it is.

    The command prints which replies are lost.
    """
    folder = run_folder(runs_dir, run)
    target = RunFolder.named(runs_dir, name or f"{folder.run}-recovered")
    done = asyncio.run(recovered(folder, target, workers or cores()))
    lost = f"; lost: the replies to {', '.join(map(str, done.lost))}" if done.lost else ""
    typer.echo(f"run {done.run} holds the {done.replies} replies that could be read in {folder.run}{lost}")
    if done.missing:
        typer.echo(f"{count_noun(done.missing, 'event')} of {done.events + done.missing} could not be read")
    typer.echo(f"next: behavesim resume {target.argument}, or behavesim report {target.argument}")
