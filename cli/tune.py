"""`behavesim tune`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from behavesim.application.evaluation import read_program
from behavesim.application.launch import task_settings
from behavesim.application.tuning import EVALUATIONS, ProgramRejected, TunedProgram, tune_program, tuned_path
from behavesim.base.config import cores
from behavesim.base.errors import UsageError
from behavesim.engine.tuning import numbers_of
from behavesim.programs.numbers import marks_without_effect
from behavesim.reports.terminal import show, show_lines

from .options import AllowWeakIsolation, AsJson, Assignments, TaskName, Workers
from .output import REJECTED, Counting, busy, print_result, print_written, tell


def tune(
    task: TaskName,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The program; `template` is the task's own.")],
    evaluations: Annotated[int, typer.Option(min=1, help="Most trials with other numbers.")] = EVALUATIONS,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the trials.")] = 0,
    out: Annotated[
        Path | None, typer.Option(metavar="F", help="Where to write the tuned program (default: FILE.tuned.py).")
    ] = None,
    workers: Workers = None,
    allow_weak_isolation: AllowWeakIsolation = None,
    assignments: Assignments = None,
    as_json: AsJson = False,
) -> None:
    """Tune the numbers of a program, without a model; exit code 3 if it is rejected as it is.

    The tuned program is written if it is better for certain on instances that no trial used.
    """
    given = {"workers": workers or cores(), "seed": seed, "allow_weak_isolation": allow_weak_isolation}
    settings, loaded = task_settings(task, given, assignments)
    text = read_program(file, loaded)
    target = out or tuned_path(file)
    if target.resolve() == file.resolve():
        raise UsageError(f"--out {target} is the program itself, which is never written over; name another file")
    if target.is_dir():
        raise UsageError(f"--out {target} is a folder; name a file")
    if not target.absolute().parent.is_dir():  # all trials would be for nothing
        raise UsageError(f"there is no folder {target.absolute().parent}; name another file with --out")
    for line in marks_without_effect(text, numbers_of(loaded, text)):
        tell(f"line {line}: no number stands within its range, so its comment has no effect; as in # tune: 0.1 to 3")
    busy(f"tuning {file} in up to {evaluations} trials on {settings.workers} workers")
    counting = Counting(evaluations)
    try:
        found = asyncio.run(tune_program(settings, loaded, str(file), text, evaluations, counting.count))
    except ProgramRejected as error:
        tell(str(error))
        raise typer.Exit(REJECTED) from None
    print_result(found, as_json, TunedProgram.document, _show)
    if found.is_better and found.source is not None and (out is not None or str(file) != "template"):
        _write(target, found.source)


def _show(found: TunedProgram) -> None:
    show(found.tables())
    if found.diff:
        show_lines("", ["", *found.diff])


def _write(target: Path, source: str) -> None:
    try:
        target.write_text(source if source.endswith("\n") else f"{source}\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {target}: {error.strerror}; name another file with --out") from None
    print_written([target])
