"""The copy of a task's file in a run's folder, so that the run can be moved to another machine."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from behavesim.base.errors import UsageError
from behavesim.store.writing import as_journal_errors
from behavesim.task.evaluated import EvaluatorFile, first_program


def keep_copy(task: str, folder: Path) -> None:
    """Copy a task's .py or .toml file, and an evaluator's first program, into the new folder `folder`, in one step."""
    # The copy keeps the file's name, as the task may be named after it. JournalError if it fails, UsageError for bad
    # TOML.
    file = Path(task)
    if file.suffix not in (".py", ".toml") or folder.exists():
        return
    draft = folder.with_name(f"{folder.name}.draft")
    with as_journal_errors(folder):
        shutil.rmtree(draft, ignore_errors=True)  # of a process that was killed while it copied
        draft.mkdir(mode=0o700)
        if file.suffix == ".py":
            shutil.copyfile(file, draft / file.name)
        else:
            _copy_evaluator(file, draft)
        # in one step: half a copy would differ from the file, and from then on be taken in its place
        draft.rename(folder)


def _copy_evaluator(file: Path, folder: Path) -> None:
    said = EvaluatorFile.read(file)
    program = folder / "program" / Path(said.program).name
    program.parent.mkdir()
    if Path(said.program).is_dir():
        shutil.copytree(said.program, program, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copyfile(said.program, program)
    inside = replace(said, program=str(program.relative_to(folder)))
    (folder / file.name).write_text(inside.to_toml(), encoding="utf-8")


def at_hand(task: str, folder: Path) -> str:
    """Return `task`, or the copy's path if the file is gone or changed and there is a copy in `folder`."""
    # an evaluator's first program counts as part of the file; the evaluator itself has no copy
    file, kept = Path(task), next((each for each in folder.glob("*.*") if each.suffix in (".py", ".toml")), None)
    return task if kept is None or _is_equal(file, kept) else str(kept.resolve())


def _is_equal(file: Path, kept: Path) -> bool:
    """Whether the .py file is unchanged, or the .toml file has the same values and the same first program."""
    if not file.is_file():
        return False
    if kept.suffix == ".py":
        return file.read_bytes() == kept.read_bytes()
    try:
        now, then = EvaluatorFile.read(file), EvaluatorFile.read(kept)
        programs = first_program(Path(now.program)), first_program(Path(then.program))
    except UsageError:  # such as a program that is gone
        return False
    return programs[0] == programs[1] and replace(now, program="") == replace(then, program="")
