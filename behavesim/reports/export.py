"""Export a run: its programs as files, and its candidates as JSON lines."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from behavesim.analysis.candidates import Candidate
from behavesim.analysis.run import Run
from behavesim.base.comments import headed
from behavesim.base.errors import UsageError
from behavesim.base.score_source import mark
from behavesim.base.text import one_line, printable
from behavesim.reports.words import named, percent
from behavesim.task.files import separated

LINES = "candidates.jsonl"
"""Name of the file with all candidates, a JSON object a line."""


def write_export(run: Run, folder: Path, every: bool = False) -> int:
    """Write each distinct feasible program as NNNNN.py (its candidate's number), and all candidates as JSON lines.

    Programs in another language have its suffix, and a program of several files is a folder NNNNN. With `every`,
    repeated and rejected programs are written too. A comment at the top of a program's file has its run, number, and
    score or reason of rejection; there is none if the language's comments are unknown. Returns the number of programs
    written. The folder is made if missing; raises UsageError if it is not empty or cannot be written, JournalError if
    the run's journal cannot be read.
    """
    programs = [each for each in run.candidates if each.source] if every else run.ranked()
    suffix = _suffix_of(run)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise UsageError(f"{folder} is not empty; name a new folder to export to")
        for program in programs:
            _write(folder / f"{program.candidate:05d}", program.source or "", _headline(run, program), suffix)
        with (folder / LINES).open("w", encoding="utf-8") as file:
            for each in run.records():  # the escapes of `printable` are those of JSON
                file.write(f"{printable(json.dumps(asdict(each), ensure_ascii=False))}\n")
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error.strerror}; name another folder") from None
    return len(programs)


def _suffix_of(run: Run) -> str:
    """Return the suffix of the run's program files, "" if a program has several files; ".py" if no task is found."""
    try:
        return run.task().suffix
    except UsageError:  # programs can be read without their task
        return ".py"


def _write(path: Path, source: str, headline: str, suffix: str) -> None:
    """Write a program to `path` with the suffix, or into the folder `path` if it has several files."""
    for name, text in separated(source).items():
        place = path / name if name else path.with_suffix(suffix)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(headed(text, headline, place.suffix), encoding="utf-8")


def _headline(run: Run, program: Candidate) -> str:
    """Return the comment above a program: its run, number, and score or reason of rejection, on one line."""
    if program.score is None:
        worth = f"{program.status} in {program.stage}, {program.reason}"
    else:
        worth = f"score {program.score!r}{mark(run.score_source)}, gap {percent(run.gap(program.score))}"
    return one_line(f"run {run.folder.run}, {named(program.candidate)}: {worth}")
