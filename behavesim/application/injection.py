"""Programs that people put into a run: into a new one, to begin with, or into one that goes on or was stopped."""

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
    """Put programs into a run's folder, from which its search takes them as it goes on; all of them or none.

    Raises UsageError for the first file that holds no program of the task.
    """
    programs = [(file.stem, checked(str(file), read_program(file, task), task)) for file in files]
    for stem, source in programs:
        folder.inbox.put(stem, source)


def brought(settings: Settings, runs: Path, task: Task) -> tuple[Injected | ClockRead, ...]:
    """What people have put into a new run: what it starts with, or what they had put into the run that it replays.

    A replay has the time from its original too. A run starts with the programs of a folder by name, or with the ten
    best of a run from the best on. Raises UsageError where there is no such folder or run, or no program of the task
    in it.
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
    """The source, which holds a program of the task; raises UsageError where it does not."""
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
