"""Programs that people put into a run: at its start, while it is running, or while it is stopped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from behavesim.analysis.run import Run
from behavesim.analysis.scored import TOP
from behavesim.application.evaluation import read_program
from behavesim.base.config import Settings
from behavesim.base.errors import UsageError
from behavesim.base.text_file import read_text_file
from behavesim.programs.extract import extract
from behavesim.programs.fences import fenced
from behavesim.proposers.replay import brought_again
from behavesim.state.events import Asked, ClockRead, Injected
from behavesim.state.verdict import Failure
from behavesim.store.folder import RunFolder
from behavesim.store.reading import read_events
from behavesim.task import Task


def inject(folder: RunFolder, task: Task, files: Sequence[Path]) -> None:
    """Put programs into a run's inbox, from which its search takes them; either all of them or none.

    Raises UsageError for the first file that cannot be read or has no program of the task.
    """
    programs = [(file.stem, checked(str(file), read_program(file, task), task)) for file in files]
    for stem, source in programs:
        folder.inbox.put(stem, source)


def first_events(settings: Settings, runs: Path, task: Task) -> tuple[Injected | ClockRead, ...]:
    """Return the events with which a new run begins: programs of `start_with`, or those injected into a replayed run.

    `start_with` is a run in the folder `runs`, whose ten best programs are taken, best first, or a folder of .py files,
    taken by name. A replay also gets the clock readings of its original. Raises UsageError if `start_with` is neither,
    if a program is not one of the task, or if both the replayed run and `start_with` bring programs.
    """
    text, again = settings.start_with, _of_replayed(settings.proposer, runs)
    if not text:
        return again
    if any(isinstance(event, Injected) for event in again):
        raise UsageError("the replayed run brings its programs with it; leave --start-with out")
    named = _of_run(text, runs) or _of_folder(Path(text))
    if not named:
        raise UsageError(
            f"there are no programs in {text!r}: it is no run with a feasible one, and no folder of .py files"
        )
    return (*again, *(Injected(name, checked(name, source, task)) for name, source in named))


def checked(name: str, source: str, task: Task) -> str:
    """Return `source` unchanged if it has a program of the task; otherwise raise UsageError that names `name`."""
    program = extract(fenced(source), task.template, task.entry_point)
    if isinstance(program, Failure):
        raise UsageError(f"{name} is no program of task {task.name} ({program.reason}): {program.message}")
    return source


def _of_replayed(proposer: str, runs: Path) -> tuple[Injected | ClockRead, ...]:
    kind, _, run = proposer.partition(":")
    if kind != "replay":
        return ()
    known = read_events(RunFolder.find(runs, run).journal, only=(Asked, ClockRead))
    return brought_again(event for _, _, event in known)


def _of_run(text: str, runs: Path) -> list[tuple[str, str]]:
    if not any((path / "run.db").is_file() for path in (runs / text, Path(text))):
        return []
    run = Run.load(RunFolder.find(runs, text).path)
    return [(f"{run.folder.run}-{each.candidate}", each.source or "") for each in run.ranked()[:TOP]]


def _of_folder(folder: Path) -> list[tuple[str, str]]:
    if not folder.is_dir():
        return []
    return [(path.name, read_text_file(path, "program")) for path in sorted(folder.glob("*.py"))]
