"""Export a run: its programs as files, and its candidates as JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from behavesim.analysis.candidates import Candidate
from behavesim.analysis.records import Record, records
from behavesim.analysis.run import Run
from behavesim.base.errors import UsageError
from behavesim.base.text import one_line, printable
from behavesim.reports.program import named
from behavesim.reports.words import percent
from behavesim.store.folder import headed

LINES = "candidates.jsonl"
"""Name of the file with all candidates, a JSON object a line."""


def write_export(run: Run, folder: Path, every: bool = False) -> int:
    """Write each distinct feasible program as NNNNN.py (its candidate's number), and all candidates as JSON lines.

    With `every`, repeated and rejected programs are written too. Returns the number of programs written. The folder is
    made if missing; raises UsageError if it is not empty or cannot be written.
    """
    programs = [each for each in run.candidates if each.source] if every else run.ranked()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise UsageError(f"{folder} is not empty; name a new folder to export to")
        for program in programs:
            text = headed(program.source or "", _headline(run, program))
            (folder / f"{program.candidate:05d}.py").write_text(text, encoding="utf-8")
        _write_lines(folder / LINES, records(run))
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error.strerror}; name another folder") from None
    return len(programs)


def _write_lines(path: Path, found: Iterable[Record]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"{printable(json.dumps(asdict(each), ensure_ascii=False))}\n" for each in found)


def _headline(run: Run, program: Candidate) -> str:
    """Return the run, the candidate and its score or reason for rejection on one line, of printable text."""
    if program.score is None:
        worth = f"{program.status} in {program.stage}, {program.reason}"
    else:
        worth = f"score {program.score!r}, gap {percent(run.gap(program.score))}"
    return one_line(f"run {run.folder.run}, {named(program.candidate)}: {worth}")
