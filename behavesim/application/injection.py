"""Programs and advice that people put into a run: at its start, while it is running, or while it is stopped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from behavesim.analysis.run import Run
from behavesim.analysis.summary import TOP
from behavesim.application.evaluation import read_program
from behavesim.base.config import Settings
from behavesim.base.errors import UsageError
from behavesim.base.text import printable
from behavesim.programs.extract import extract, form_of
from behavesim.programs.fences import fenced
from behavesim.programs.reading import Request
from behavesim.proposers.replay import brought_again
from behavesim.state.advice import LONGEST
from behavesim.state.events import Advised, Asked, ClockRead, Injected
from behavesim.store.folder import RunFolder
from behavesim.store.inbox import ADVICE
from behavesim.store.reading import read_events
from behavesim.task import Task
from behavesim.task.verdict import Failure


def inject(folder: RunFolder, task: Task, files: Sequence[Path]) -> None:
    """Put programs into a run's inbox, from which its search takes them, now or when it is resumed.

    The path `template` stands for the task's template. Raises UsageError for the first file that cannot be read or has
    no program of the task; no program is put into the inbox then.
    """
    programs = [(file.stem, _checked(str(file), read_program(file, task), task)) for file in files]
    for stem, source in programs:
        folder.inbox.put(stem, source)


def advise(folder: RunFolder, sentence: str) -> None:
    """Put a sentence for later prompts into a run's inbox; "" withdraws all advice of the run.

    Raises UsageError if the sentence is blank, longer than LONGEST, or not one line of printable characters.
    """
    if sentence and not (sentence.strip() and printable(sentence) == sentence and "\n" not in sentence):
        raise UsageError("advice is one line of printable text")
    if len(sentence) > LONGEST:
        raise UsageError(f"advice has {LONGEST} characters at most, this one {len(sentence)}; shorten or divide it")
    folder.inbox.put("advice", sentence, ADVICE)


def first_events(settings: Settings, runs: Path, task: Task) -> tuple[Injected | Advised | ClockRead, ...]:
    """Return the events with which a new run begins: programs to try first, and what a replayed run was given.

    The setting `start_with` names a run in the folder `runs`, or a folder of programs. Of a run the ten best programs
    are taken, best first; of a folder all, in the order of their names. A replay gets the programs, advice and clock
    readings of its original. Raises UsageError if `start_with` is neither, if a program is not one of the task, or if
    both the replayed run and `start_with` bring programs.
    """
    text, again = settings.start_with, _of_replayed(settings.proposer, runs)
    if not text:
        return again
    if any(isinstance(event, Injected) for event in again):
        raise UsageError("the replayed run brings its programs with it; leave --start-with out")
    named = _of_run(text, runs) or _of_folder(Path(text), task)
    if not named:
        kind = f"{task.suffix} files" if task.suffix else "folders, each a program"
        raise UsageError(
            f"there are no programs in {text!r}: it is no run with a feasible one, and no folder of {kind}"
        )
    return (*again, *(Injected(name, _checked(name, source, task)) for name, source in named))


def _checked(name: str, source: str, task: Task) -> str:
    program = extract(form_of(task), Request(fenced(source), task.template))
    if isinstance(program, Failure):
        raise UsageError(f"{name} is no program of task {task.name} ({program.reason}): {program.message}")
    return source


def _of_replayed(proposer: str, runs: Path) -> tuple[Injected | Advised | ClockRead, ...]:
    """Return the programs, advice and clock readings of the run RUN for the proposer "replay:RUN".

    They are those of `brought_again`. For other proposers there are none. Raises UsageError if there is no such run.
    """
    kind, _, run = proposer.partition(":")
    if kind != "replay":
        return ()
    known = read_events(RunFolder.find(runs, run).journal, only=(Asked, Advised, ClockRead))
    return brought_again(event for _, _, event in known)


def _of_run(text: str, runs: Path) -> list[tuple[str, str]]:
    # `RunFolder.find` takes the beginning of an id too, and would take a folder of programs for a run of that name
    if not any((path / "run.db").is_file() for path in (runs / text, Path(text))):
        return []
    run = Run.load(RunFolder.find(runs, text).path)
    return [(f"{run.folder.run}-{each.candidate}", each.source or "") for each in run.ranked()[:TOP]]


def _of_folder(folder: Path, task: Task) -> list[tuple[str, str]]:
    """Return names and sources of a folder's programs, sorted by name; none if there is no such folder.

    A program is a file with the suffix of the task's programs, or a folder if those have several files.
    """
    if not folder.is_dir():
        return []
    found = folder.glob(f"*{task.suffix}") if task.suffix else (path for path in folder.iterdir() if path.is_dir())
    return [(path.name, read_program(path, task)) for path in sorted(found)]
