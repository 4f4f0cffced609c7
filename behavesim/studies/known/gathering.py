"""The programs to compare: those in a folder, those of runs, and the task's template."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from behavesim.analysis.run import Run
from behavesim.base.errors import UsageError
from behavesim.base.text_file import read_text_file
from behavesim.programs.extract import form_of
from behavesim.programs.functions import with_entry_point
from behavesim.programs.reading import FunctionForm
from behavesim.task import Task

TEMPLATE = "template"
"""Name of the task's template, and of who wrote it."""


@dataclass(frozen=True)
class NamedProgram:
    """A program with its name, which no other has, and the name of those who found it."""

    name: str
    whose: str
    source: str


def programs_in(folder: Path, task: Task) -> list[NamedProgram]:
    """Return the programs of a folder and the folders in it, a file each, sorted by path.

    A name is the path inside the folder without the suffix. Those who found a program have the name of the first folder
    on that path, or of `folder` itself. A function of another name is bound to the task's, if there is only one that
    fits. Files and folders whose names begin with "." or "__" are left out. Raises UsageError if there is no such
    folder or no program in it, if a file cannot be read, or if programs of the task have several files each.
    """
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}; study known takes one with a program in each file")
    if not task.suffix:
        raise UsageError(f"programs of task {task.name} have several files each; study known takes one file a program")
    paths = [path.relative_to(folder) for path in sorted(folder.rglob(f"*{task.suffix}")) if path.is_file()]
    shown = [path for path in paths if not any(part.startswith((".", "__")) for part in path.parts)]
    if not shown:
        raise UsageError(f"there is no program in {folder}: no file ends in {task.suffix}")
    return [_read(folder, path, task) for path in shown]


def programs_of(run: Run, task: Task, best: int) -> list[NamedProgram]:
    """Return at most `best` distinct programs of a run, best first; a name is the run's id and the candidate's number.

    Programs that differ only in layout, comments and local names count as one. Raises UsageError if the run is of
    another task, or its task cannot be loaded.
    """
    if (other := run.task().name) != task.name:
        raise UsageError(f"run {run.folder.run} is of task {other}, not of {task.name}")
    whose = run.folder.run
    return [NamedProgram(f"{whose} {each.candidate}", whose, each.source or "") for each in run.ranked()[:best]]


def template_of(task: Task) -> NamedProgram:
    """Return the program from which searches on a task start."""
    return NamedProgram(TEMPLATE, TEMPLATE, task.template)


def _read(folder: Path, path: Path, task: Task) -> NamedProgram:
    source = read_text_file(folder / path, "program")
    if isinstance(form_of(task), FunctionForm):
        source = with_entry_point(source, task.template, task.entry_point)
    whose = path.parts[0] if len(path.parts) > 1 else folder.resolve().name
    return NamedProgram(path.with_suffix("").as_posix(), whose, source)
