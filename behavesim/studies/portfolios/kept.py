"""The stored data of the study: extracts of runs, and scores on fresh instances, in small compressed files."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from behavesim.analysis.candidates import Candidate
from behavesim.analysis.clearing import Entrant
from behavesim.analysis.run import Run
from behavesim.base.errors import UsageError
from behavesim.studies import xz_json
from behavesim.trajectory import AlgorithmRun, Trajectory

MAKER = "experiments/portfolio/tables.py"
"""The script that makes the files."""
TOP = 10
"""Maximum number of programs in a set."""
DIGITS = 8
"""Significant digits that are kept of scores on fresh instances."""
PARTS = 10**6
"""Resolution of stored vectors: coordinates are rounded to multiples of 1/PARTS."""

Stored = tuple[int, ...] | tuple[tuple[int, ...], ...]
"""A stored trajectory: the last state of prefixes, or the change of each vector from the one before, in units of
1/PARTS. Changes compress well: most are 0."""


@dataclass(frozen=True)
class Program:
    """A program of a run: its candidate, its text, and its score on each instance of the search."""

    candidate: int
    source: str
    scores: tuple[float, ...]

    @property
    def name(self) -> str:
        """The program's key among the scores on fresh instances."""
        return name_of(self.source)


@dataclass(frozen=True)
class KeptRun:
    """The programs of a run from which sets are chosen."""

    task: str
    """The task's name, or the name of its file without the suffix."""
    method: str
    seed: int
    programs: tuple[Program, ...]
    """One for each behaviour, that with the shortest text, in the order in which the behaviours appeared."""
    behaviours: tuple[tuple[Stored, ...], ...]
    """The trajectories of each of `programs`, one for each instance."""
    best: tuple[Program, ...]
    """The ten best distinct programs by score, or all if fewer; some may share a behaviour."""

    def trajectories(self) -> list[tuple[Trajectory, ...]]:
        """Return the trajectories of each of `programs`, one for each instance."""
        return [tuple(map(_trajectory, behaviour)) for behaviour in self.behaviours]


@dataclass(frozen=True)
class Fresh:
    """Scores on fresh instances, a number for each instance. Dictionaries are keyed by `Program.name`.

    The last three hold the best program of each run, if the task has such values, and are empty otherwise.
    """

    template: list[float]
    """Scores of the task's template."""
    references: list[float]
    """The best score known on each instance."""
    scores: dict[str, list[float] | None]
    """Scores of each program; None for a program that failed."""
    starts: dict[str, list[list[float]]]
    """Scores from each of ten starts, shape (starts, instances)."""
    two_opt: dict[str, list[float]]
    """Scores after 2-opt."""
    two_opt_time: dict[str, float]
    """Time of 2-opt in units of the program's own time."""


def kept(run: Run) -> KeptRun:
    """Return what the study stores of a run; coordinates of vectors are rounded to multiples of 1/PARTS.

    Raises UsageError if its trajectories are neither prefixes nor vectors, JournalError if its journal cannot be read.
    """
    entrants = run.entrants()
    behaviours: dict[Sequence[Any], Any] = {}
    for each in entrants:
        first = behaviours.setdefault(each.behaviour, each)
        if len(each.source) < len(first.source):  # equal behaviour, equal score
            behaviours[each.behaviour] = each
    programs = tuple(map(_program, behaviours.values()))
    did = tuple(tuple(map(_stored, behaviour)) for behaviour in behaviours)
    best = tuple(map(_program, run.ranked()[:TOP]))
    return KeptRun(Path(run.settings.task).stem, run.settings.method, run.settings.seed, programs, did, best)


def write_runs(path: Path, runs: Sequence[KeptRun]) -> None:
    """Write the runs into an xz file, which is replaced; raises OSError if it cannot be written."""
    xz_json.write(path, runs, KeptRun)


def read_runs(path: Path) -> list[KeptRun]:
    """Read what `write_runs` wrote; raises UsageError if the file is missing, damaged or of another kind."""
    return xz_json.read(path, KeptRun, MAKER)


def write_fresh(path: Path, fresh: Fresh) -> None:
    """Write the scores on fresh instances into an xz file, which is replaced; OSError if it cannot be written."""
    xz_json.write(path, [fresh], Fresh)


def read_fresh(path: Path) -> Fresh:
    """Read what `write_fresh` wrote; raises UsageError if the file is missing, damaged or of another kind."""
    return xz_json.read(path, Fresh, MAKER)[0]


def name_of(source: str) -> str:
    """Return a program's key in the tables of scores: the first 16 hexadecimal digits of its text's SHA-256."""
    return hashlib.sha256(source.encode()).hexdigest()[:16]


def rounded(scores: Sequence[float]) -> list[float]:
    """Return the scores rounded to DIGITS significant digits."""
    return [float(f"{score:.{DIGITS}g}") for score in scores]


def _program(candidate: Candidate | Entrant) -> Program:
    return Program(candidate.candidate, candidate.source or "", candidate.scores)


def _stored(run: AlgorithmRun) -> Stored:
    if not isinstance(run, Trajectory) or run.kind not in ("prefixes", "vectors"):
        raise UsageError("the study of portfolios keeps runs whose trajectories are prefixes or vectors")
    if run.kind == "prefixes":
        return tuple(run.data.tolist())
    # Whole numbers, so that summing the changes gives back what was stored; the first change is from 0.
    changes = np.diff(np.rint(run.data * PARTS).astype(int), axis=0, prepend=0)
    return tuple(map(tuple, changes.tolist()))


def _trajectory(stored: Stored) -> Trajectory:
    numbers = np.array(stored)
    return Trajectory.prefixes(numbers) if numbers.ndim == 1 else Trajectory.vectors(numbers.cumsum(axis=0) / PARTS)
