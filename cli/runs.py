"""`behavesim show`, `watch`, `export`, `demo` and `serve`: what runs, or their programs, have to say."""

from __future__ import annotations

import asyncio
import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

import behavesim
from behavesim.analysis.candidate_details import CandidateDetails, candidate_details
from behavesim.analysis.difference import program_difference
from behavesim.analysis.run import Run
from behavesim.analysis.summary import last_settings, state_of
from behavesim.application.console import moment_of
from behavesim.application.console import watch as watched
from behavesim.application.demo import USUAL, play_recording, recordings, unpack_recording
from behavesim.application.evaluation import reports_of
from behavesim.base.errors import UsageError
from behavesim.base.text import count_noun
from behavesim.reports.files import LINES, write_export
from behavesim.reports.next_steps import ending
from behavesim.reports.page.html import write_page
from behavesim.reports.panels import line as plain
from behavesim.reports.screens import show_candidate, show_difference
from behavesim.reports.sections import first_screen
from behavesim.reports.terminal import show_sections

from .options import (
    RUNS,
    AsJson,
    CandidateName,
    NamedRun,
    OneRun,
    RunsDir,
    candidate_number,
    read_run,
    run_folder,
)
from .output import print_result, say, tell


def show(
    run: NamedRun,
    candidate: CandidateName,
    other: Annotated[
        str | None, typer.Argument(metavar="CANDIDATE", help="A second one: show how the two differ instead.")
    ] = None,
    prompt: Annotated[bool, typer.Option("--prompt", help="Also print the prompt.")] = False,
    reply: Annotated[bool, typer.Option("--reply", help="Also print the reply.")] = False,
    runs_dir: RunsDir = RUNS,
    as_json: AsJson = False,
) -> None:
    """Show a program of a run: its score, its origin, and the programs whose behaviour is most similar.

    Of two programs show how they differ in text and, if both are feasible, from which step on in behaviour.
    """
    if other is not None and (prompt or reply):
        raise UsageError("--prompt and --reply show those of one candidate; name only one")
    read = read_run(runs_dir, run)
    number = candidate_number(read, candidate)
    if other is not None:
        difference = program_difference(read, number, candidate_number(read, other))
        print_result(difference, as_json, asdict, show_difference)
        return
    found = candidate_details(read, number)
    print_result(found, as_json, CandidateDetails.document, lambda found: show_candidate(found, prompt, reply))


# `behavesim note`.


def note(
    run: NamedRun,
    text: Annotated[list[str] | None, typer.Argument(metavar="TEXT", help="The note; without it, print all.")] = None,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Note something on a run, for yourself and others; neither the search nor its model reads it.

    Notes are lines of notes.txt in the run's folder, which you may edit. `show` prints those that say "candidate 12"
    with that program.
    """
    folder = run_folder(runs_dir, run)
    if text:
        folder.add_note(" ".join(text))
        return
    for line in folder.notes:
        say(line)


# `behavesim report --follow`, or `behavesim watch`.


def watch(
    run: OneRun = None,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Follow a run, by default the newest, from another terminal until no process carries it out any more.

    The run is not changed.
    """
    followed = Run.load(run_folder(runs_dir, run))
    asyncio.run(watched(followed))
    typer.echo(plain(moment_of(followed)), err=True)  # what the live view showed may have been older
    typer.echo(f"run {followed.folder.run}: {state_of(followed)}")
    for line in ending(followed, last_settings(followed), followed.state.stopped):
        say(line)


# `behavesim export`.


MLflowUri = Annotated[
    str | None,
    typer.Option("--mlflow", metavar="URI", help="Log the run to MLflow: a tracking URI or a folder."),
]
Project = Annotated[
    str | None,
    typer.Option("--wandb", metavar="PROJECT", help="Log the run for Weights & Biases, offline: see `wandb sync`."),
]
TensorBoardDir = Annotated[
    str | None, typer.Option("--tensorboard", metavar="DIR", help="Write the run as TensorBoard's files, below DIR.")
]


def export(
    run: NamedRun,
    folder: Annotated[Path | None, typer.Argument(metavar="DIR", help="A new or empty folder for programs.")] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Write every program as a file, repeated and rejected ones too.")
    ] = False,
    mlflow: MLflowUri = None,
    wandb: Project = None,
    tensorboard: TensorBoardDir = None,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Write the distinct feasible programs of a run as files named by number, and all its candidates as JSON lines.

    They are written to DIR. With an option for a tracker, the run is logged to it, too; then DIR may be left out. A run
    that is going on can be logged, and an earlier log of the run is continued.
    """
    targets = {"mlflow": mlflow, "wandb": wandb, "tensorboard": tensorboard}
    chosen = {name: target for name, target in targets.items() if target is not None}
    if folder is None and not chosen:
        raise UsageError("name a folder for the programs, or --mlflow, --wandb or --tensorboard")
    loaded = read_run(runs_dir, run)
    if chosen:
        from behavesim.application.trackers import track  # imported late: most exports need no tracker

        for name, target in chosen.items():
            track(name, target, loaded.folder.path).close()
            typer.echo(f"logged {count_noun(loaded.state.registered, 'candidate')} to {name}: {target}")
    if folder is not None:
        count = write_export(loaded, folder, every)
        every_line = f"all {len(loaded.candidates)} candidates to {folder / LINES}"
        typer.echo(f"wrote {count_noun(count, 'program')} to {folder}, and {every_line}")


Seconds = Annotated[float, typer.Option(min=0, max=3600, help="Seconds in which the recorded search is played back.")]


def demo(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The recorded search; `list` names all.")] = USUAL,
    seconds: Seconds = 20,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Play back a recorded search by a language model in the live view, and write its page; no key is needed.

    Afterwards runs/demo-NAME is a run like any other: report, show, export and verify work on it. To verify it runs
    all programs again, which takes some minutes of CPU time; `--sample 4` runs four of them.
    """
    known = recordings()
    if name == "list":
        for each in known.values():
            typer.echo(f"{each.name:15} {each.about}")
        return
    if name not in known:
        raise UsageError(f"there is no recording {name!r}; there are {', '.join(known)}")
    recording = known[name]
    folder = unpack_recording(recording, runs_dir)
    tell(f"{recording.origin} {recording.found}")
    run = asyncio.run(play_recording(folder, seconds))
    (report,) = asyncio.run(reports_of([run], tell, ()))
    show_sections(first_screen(report, {}))
    page = folder.path / "page.html"
    if not _is_current(page):
        write_page(report, page)
    say(f"      behavesim show {folder.argument} template best  # what the model changed")
    others = ", ".join(other for other in known if other != name)
    say(f"      behavesim demo NAME  # another recorded search: {others}")
    say(f"the page, for a browser: {page.resolve()}")


def _is_current(page: Path) -> bool:
    """Whether a run's page was made since behavesim and all that the run's folder holds became what they are."""
    if not page.exists():
        return False
    # every reader of the journal touches the two files that SQLite keeps beside it
    others = [file for file in page.parent.iterdir() if not file.name.startswith(("run.db-", page.name))]
    return page.stat().st_mtime > max(file.stat().st_mtime for file in (Path(behavesim.__file__), *others))


# What the server adds to the niceness of its process: searches on the same cores then get CPU time first.
NICE = 10


def serve(
    runs_dir: Annotated[Path, typer.Argument(metavar="RUNS-DIR", help="Folder of the run folders.")] = RUNS,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes any that is free.")] = 8437,
    host: Annotated[
        str, typer.Option(help="Where to listen; beyond this machine the URL has a secret token.")
    ] = "127.0.0.1",
    evaluate: Annotated[
        str | None, typer.Option(metavar="TASK", hidden=True, help="Begin `run TASK --proposer http:PORT`, in short.")
    ] = None,
    budget: Annotated[int | None, typer.Option(hidden=True, help="Of that run.")] = None,
    name: Annotated[str | None, typer.Option(hidden=True, help="Of that run.")] = None,
) -> None:
    """Show the runs of a folder in a browser, while they go on, until Ctrl-C; the runs are not changed.

    To evaluate the programs that an agent posts, see `run TASK --proposer http:PORT --method best-of-n`.
    """
    if evaluate is not None:
        if host not in ("127.0.0.1", "localhost"):  # programs of whoever reaches the port are run
            raise UsageError(f"--evaluate listens at 127.0.0.1 alone, not at --host {host}; leave --host out")
        from behavesim.application.launch import new_launch  # imported late: pages need no search

        from .run import begin

        given = {"budget": budget, "proposer": f"http:{port}", "method": "best-of-n"}
        begin(new_launch(evaluate, runs_dir, given, name=name), "http", dry=False, as_json=False)
        return
    unused = [option for option, value in (("--budget", budget), ("--name", name)) if value is not None]
    if unused:
        raise UsageError(f"{' and '.join(unused)} would begin a run; add --evaluate TASK, or leave it out to show runs")
    if not runs_dir.is_dir():  # a mistyped folder would be served as one without runs
        raise UsageError(f"there is no folder {runs_dir}; name that of your runs")
    from behavesim.application.serve.server import is_loopback  # imported late: help needs no aiohttp
    from behavesim.application.serve.server import serve as served
    from behavesim.application.session import run_until_asked_to_end

    def say(address: str) -> None:
        if not is_loopback(host):
            tell("everybody who has this address can read every run; nothing is encrypted on the way")
        typer.echo(address)
        tell("Ctrl-C ends it, and no run")

    os.nice(NICE)
    run_until_asked_to_end(served(runs_dir, host, port, say))
