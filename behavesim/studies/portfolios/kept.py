"""The data of the study: extracts of runs and scores on fresh instances, small enough to ship with the page."""

from __future__ import annotations

import hashlib
import json
import lzma
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from behavesim.analysis.candidates import Candidate
from behavesim.analysis.run import Run
from behavesim.base.errors import UsageError
from behavesim.trajectory import AlgorithmRun, Trajectory

TOP = 10
"""Maximum number of programs in a set."""
DIGITS = 8
"""Significant digits that are kept of scores on fresh instances."""
PARTS = 10**6
"""Resolution of stored vectors: coordinates are rounded to 1/PARTS."""

Deed = tuple[int, ...] | tuple[tuple[int, ...], ...]
"""A stored trajectory: the final sequence of prefixes, or the change of each vector from the one before, in 1/PARTS.

Changes compress well: most are 0."""


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
    """The programs of a run from which sets are chosen: one for each behaviour, in order of appearance.

    `behaviours` has the trajectory of each program on each instance. `best` has the ten best distinct programs by
    score; some may share a behaviour.
    """

    task: str
    method: str
    seed: int
    programs: tuple[Program, ...]
    behaviours: tuple[tuple[Deed, ...], ...]
    best: tuple[Program, ...]

    def trajectories(self) -> list[tuple[Trajectory, ...]]:
        """Return each program's trajectories, one an instance."""
        return [tuple(map(_trajectory, behaviour)) for behaviour in self.behaviours]


@dataclass(frozen=True)
class Fresh:
    """Scores on fresh instances, keyed by program name (None for a program that failed), and the best values known.

    The last three concern the best program of each run, if the task has them: scores from each of ten starts, shape
    (starts, instances); scores after 2-opt; and the time of 2-opt in units of the program's own time.
    """

    template: list[float]
    references: list[float]
    scores: dict[str, list[float] | None]
    starts: dict[str, list[list[float]]]
    two_opt: dict[str, list[float]]
    two_opt_time: dict[str, float]


def kept(run: Run) -> KeptRun:
    """Extract a run; raises UsageError if its trajectories are neither prefixes nor vectors."""
    entrants = run.entrants()
    behaviours: dict[Sequence[Any], Any] = {}
    for each in entrants:
        first = behaviours.setdefault(each.behaviour, each)
        if len(each.source) < len(first.source):  # equal behaviour, equal score
            behaviours[each.behaviour] = each
    programs = tuple(Program(each.candidate, each.source, each.scores) for each in behaviours.values())
    did = tuple(tuple(map(_deed, behaviour)) for behaviour in behaviours)
    best = tuple(map(_program, run.ranked()[:TOP]))
    return KeptRun(Path(run.settings.task).stem, run.settings.method, run.settings.seed, programs, did, best)


def write_runs(path: Path, runs: Sequence[KeptRun]) -> None:
    """Write one line of JSON for each run, gzip-compressed."""
    with lzma.open(path, "wt", encoding="utf-8", preset=9 | lzma.PRESET_EXTREME) as file:
        file.writelines(json.dumps(asdict(run), separators=(",", ":")) + "\n" for run in runs)


def read_runs(path: Path) -> list[KeptRun]:
    """Read the runs of a file; raises UsageError if it has none."""
    if not path.is_file():
        raise UsageError(f"no kept runs in {path}; experiments/portfolio/tables.py makes them of finished ones")
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return [_read(json.loads(line)) for line in file]


def write_fresh(path: Path, fresh: Fresh) -> None:
    """Write the scores on fresh instances as gzip-compressed JSON."""
    with lzma.open(path, "wt", encoding="utf-8") as file:
        json.dump(asdict(fresh), file, separators=(",", ":"))


def read_fresh(path: Path) -> Fresh:
    """Read what `write_fresh` wrote."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return Fresh(**json.load(file))


def name_of(source: str) -> str:
    """Return the program's name in the tables: 16 hexadecimal digits of its hash."""
    return hashlib.sha256(source.encode()).hexdigest()[:16]


def rounded(scores: Sequence[float]) -> list[float]:
    """Round scores to DIGITS significant digits."""
    return [float(f"{score:.{DIGITS}g}") for score in scores]


def _program(candidate: Candidate) -> Program:
    return Program(candidate.candidate, candidate.source or "", candidate.scores)


def _deed(run: AlgorithmRun) -> Deed:
    if not isinstance(run, Trajectory) or run.kind not in ("prefixes", "vectors"):
        raise UsageError("the study of portfolios keeps runs whose trajectories are prefixes or vectors")
    if run.kind == "prefixes":
        return tuple(run.data.tolist())
    changes: Deed = _tuples(np.diff(np.rint(run.data * PARTS).astype(int), axis=0, prepend=0).tolist())
    return changes


def _trajectory(deed: Deed) -> Trajectory:
    numbers = np.array(deed)
    return Trajectory.prefixes(numbers) if numbers.ndim == 1 else Trajectory.vectors(numbers.cumsum(axis=0) / PARTS)


def _tuples(found: Any) -> Any:
    """Convert nested lists, as JSON returns them, to nested tuples."""
    return tuple(map(_tuples, found)) if isinstance(found, list) else found


def _read(found: dict[str, Any]) -> KeptRun:
    def programs(rows: Sequence[dict[str, Any]]) -> tuple[Program, ...]:
        return tuple(Program(row["candidate"], row["source"], tuple(row["scores"])) for row in rows)

    origin = found["task"], found["method"], found["seed"]
    return KeptRun(*origin, programs(found["programs"]), _tuples(found["behaviours"]), programs(found["best"]))
