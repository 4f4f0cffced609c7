"""Evaluates users' own programs: extracts them like a model's reply and judges them in the sandbox."""

from __future__ import annotations

import asyncio
import tarfile
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from behavesim.analysis.run import Run
from behavesim.application.console import moment_of, show
from behavesim.base.config import Settings
from behavesim.base.errors import JournalError, UsageError
from behavesim.base.text_file import read_text_file
from behavesim.engine.build import judging
from behavesim.programs.answer import add_fence
from behavesim.programs.extract import extract, form_of
from behavesim.programs.reading import FunctionForm, Program, Request
from behavesim.reports.live import LiveRun
from behavesim.state.events import Stage
from behavesim.store.database import first_time
from behavesim.store.folder import RunFolder
from behavesim.store.reading import read_events
from behavesim.store.writing import as_journal_errors
from behavesim.task import Split, Task
from behavesim.task.evaluated import first_program
from behavesim.task.verdict import Failure, Verdict


@dataclass(frozen=True)
class Evaluation:
    """The result of evaluating one program of a user."""

    file: str
    """The name that was given with the program."""
    stage: Stage
    """"extraction" if no program could be read from the text, else "evaluation"."""
    verdict: Verdict | Failure
    """The scores and trajectories, or a Failure if the program was rejected at `stage`."""
    isolation: str
    """The sandbox's isolation level: "strong+", "strong", "partial" or "process", strongest first."""


def read_program(file: Path, task: Task) -> str:
    """Return the source in a file or in a folder of files, or the task's own template if the path is `template`.

    Raises UsageError if a file cannot be read as text, or for a folder if the task's programs are single functions.
    Raises TaskError if a folder cannot be read, or holds nothing or too much.
    """
    if str(file) == "template":
        return task.template
    if not file.is_dir():
        return read_text_file(file, "program")
    if isinstance(form_of(task), FunctionForm):
        raise UsageError(f"a program of {task.name} is one file, and {file} is a folder; name its files: {file}/*.py")
    return first_program(file)


def extract_or_refuse(task: Task, text: str) -> Program | Failure:
    """Return the program in a person's text, or a Failure if it has none; the rules are those for a model's reply."""
    return extract(form_of(task), Request(add_fence(text), task.template, is_own=True))


def program_of(task: Task, name: str, text: str) -> str:
    """Return `text` as it is if it holds a program of the task, else raise UsageError, which names it `name`."""
    program = extract_or_refuse(task, text)
    if isinstance(program, Failure):
        raise UsageError(f"{name} is no program of task {task.name} ({program.reason}): {program.message}")
    return text


async def evaluate_programs(
    settings: Settings,
    task: Task,
    programs: Iterable[tuple[str, str]],
    split: Split = "search",
    ended: Callable[[Evaluation], object] = lambda _: None,
) -> list[Evaluation]:
    """Evaluate programs on a split's instances in one sandbox, `settings.workers` at once; return results in order.

    Each program is a pair of a name and a text, from which the program is extracted as from a model's reply. A rejected
    program has a `Failure` and does not stop the others. `ended` is called with each result as it comes.

    Raises SandboxError if the sandbox fails. Raises UsageError if its isolation is weak and the settings forbid that.
    Raises TaskError if the task's instances cannot be made, or if the sandbox has another number of them.
    """
    async with judging(settings, task, split) as judge:

        async def one(file: str, text: str) -> Evaluation:
            program = extract_or_refuse(task, text)
            if isinstance(program, Failure):
                result = Evaluation(file, "extraction", program, judge.isolation)
            else:
                result = Evaluation(file, "evaluation", await judge.evaluate(program.source), judge.isolation)
            ended(result)
            return result

        return await asyncio.gather(*(one(*program) for program in programs))


# Plays back a recorded search by a language model: its run is part of the package, so no key is needed to see one.


# The name of the run that is unpacked.
NAME = "demo"
# The archive of the recorded run's journal, settings, log, best and recommended program.
#
# `python -m tests.recording` makes it anew with the same replies, if the task's file or a prompt has changed.
RECORDED = Path(__file__).with_name("demo.tar.xz")
# The time of the recorded journal's first event, in seconds since 1970: it identifies the recording.
BEGAN = 1795851921.928562


def unpack_recording(runs: Path) -> RunFolder:
    """Return the folder `runs/demo` of the recorded run; it is unpacked unless it is there already.

    Raises UsageError if something else has this name or the folder cannot be made, JournalError if a file in it cannot
    be written.
    """
    folder = RunFolder.named(runs, NAME)
    if not folder.path.exists():
        with folder.created(), as_journal_errors(folder.path), tarfile.open(RECORDED) as archive:
            archive.extractall(folder.path, filter="data")
    with suppress(JournalError):
        if first_time(folder.journal) == BEGAN:
            return folder
    raise UsageError(
        f"{folder.path} exists and is not this version's recording; remove it, or choose another --runs-dir"
    )


async def play_recording(folder: RunFolder, seconds: float) -> Run:
    """Show a finished run on stderr as it went on, but in `seconds` altogether, and return it.

    The times between events change in proportion. Raises JournalError if the journal cannot be read.
    """
    times = [at for _, at, _ in read_events(folder.journal)]
    run = Run.load(folder.path, until=1)
    began = time.monotonic()

    def moment() -> LiveRun:
        share = min(1.0, (time.monotonic() - began) / seconds) if seconds > 0 else 1.0
        run.follow(until=bisect_right(times, times[0] + share * (times[-1] - times[0])))
        return moment_of(run, run.state.registered / run.active_s if run.active_s else 0.0)

    async with show(moment):
        await asyncio.sleep(seconds)
    run.follow()
    return run
