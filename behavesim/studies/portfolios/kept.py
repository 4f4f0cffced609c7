"""What is kept of runs and of fresh instances, small enough to lie beside the page that is computed from it."""

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
"""The most programs that a set holds."""
DIGITS = 8
"""Of scores on fresh instances."""
PARTS = 10**6
"""Into so many parts a unit of a vector's coordinates is divided; what is smaller is not kept."""

Deed = tuple[int, ...] | tuple[tuple[int, ...], ...]
"""What a program did on an instance: of prefixes the final sequence; of vectors how each state differs from the one
before it, in parts of a unit: mostly zeros, as little changes at a time."""


@dataclass(frozen=True)
class Program:
    """A program of a run: its candidate, its text, and its score on each instance of the search."""

    candidate: int
    source: str
    scores: tuple[float, ...]

    @property
    def name(self) -> str:
        """What it is called among the scores on fresh instances."""
        return name_of(self.source)


@dataclass(frozen=True)
class KeptRun:
    """What sets are chosen from: a program for each behaviour, in the order in which these came, and what it did.

    `behaviours` holds what each did on each instance; `best` are the ten best distinct programs by score, some of which
    may share a behaviour.
    """

    task: str
    method: str
    seed: int
    programs: tuple[Program, ...]
    behaviours: tuple[tuple[Deed, ...], ...]
    best: tuple[Program, ...]

    def trajectories(self) -> list[tuple[Trajectory, ...]]:
        """What each program did."""
        return [tuple(map(_trajectory, behaviour)) for behaviour in self.behaviours]


@dataclass(frozen=True)
class Fresh:
    """The scores of programs on fresh instances, by their names, None of those that failed; and what is best there.

    The last three are of the best program of each run, where the task has them: the scores from each of ten starts,
    (starts, instances); those after 2-opt; and how long that took in units of the program's own time.
    """

    template: list[float]
    references: list[float]
    scores: dict[str, list[float] | None]
    starts: dict[str, list[list[float]]]
    two_opt: dict[str, list[float]]
    two_opt_time: dict[str, float]


def kept(run: Run) -> KeptRun:
    """What is kept of a run; raises UsageError where its trajectories are neither prefixes nor vectors."""
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
    """A line of JSON a run, compressed."""
    with lzma.open(path, "wt", encoding="utf-8", preset=9 | lzma.PRESET_EXTREME) as file:
        file.writelines(json.dumps(asdict(run), separators=(",", ":")) + "\n" for run in runs)


def read_runs(path: Path) -> list[KeptRun]:
    """The runs of a file; raises UsageError where there is none."""
    if not path.is_file():
        raise UsageError(f"no kept runs in {path}; experiments/portfolio/tables.py makes them of finished ones")
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return [_read(json.loads(line)) for line in file]


def write_fresh(path: Path, fresh: Fresh) -> None:
    """The scores on fresh instances as JSON, compressed."""
    with lzma.open(path, "wt", encoding="utf-8") as file:
        json.dump(asdict(fresh), file, separators=(",", ":"))


def read_fresh(path: Path) -> Fresh:
    """What was written."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return Fresh(**json.load(file))


def name_of(source: str) -> str:
    """Sixteen digits by which a program is known."""
    return hashlib.sha256(source.encode()).hexdigest()[:16]


def rounded(scores: Sequence[float]) -> list[float]:
    """Scores with as many digits as are kept."""
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
    """Lists of lists, as JSON has them, as tuples of tuples."""
    return tuple(map(_tuples, found)) if isinstance(found, list) else found


def _read(found: dict[str, Any]) -> KeptRun:
    def programs(rows: Sequence[dict[str, Any]]) -> tuple[Program, ...]:
        return tuple(Program(row["candidate"], row["source"], tuple(row["scores"])) for row in rows)

    origin = found["task"], found["method"], found["seed"]
    return KeptRun(*origin, programs(found["programs"]), _tuples(found["behaviours"]), programs(found["best"]))
