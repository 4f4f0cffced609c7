"""A program with what it is worth, as every part of a report names it."""

from __future__ import annotations

from dataclasses import dataclass

from behavesim.analysis.run import TOP, Candidate, Run
from behavesim.analysis.table import COUNT, FRACTION, SCORE, Cell, Column, Table

COLUMNS = (Column("score", SCORE), Column("gap", FRACTION))


@dataclass(frozen=True)
class Scored:
    """A feasible candidate: its number, its score in the task's unit, and its gap to the best known.

    The gap is a fraction; None where the best is unknown.
    """

    candidate: int
    score: float
    gap: float | None


@dataclass(frozen=True)
class TopProgram(Scored):
    """One of the best programs, with its source."""

    source: str


def scored(run: Run, candidate: Candidate) -> Scored:
    """A feasible candidate of a run."""
    assert candidate.score is not None, "a feasible candidate has a score"
    return Scored(candidate.candidate, candidate.score, run.gap(candidate.score))


def top(run: Run) -> tuple[TopProgram, ...]:
    """The ten best distinct programs, best first."""
    best = ((scored(run, candidate), candidate.source or "") for candidate in run.ranked()[:TOP])
    return tuple(TopProgram(each.candidate, each.score, each.gap, source) for each, source in best)


def top_table(programs: tuple[TopProgram, ...], caption: str) -> Table:
    """The best programs by rank."""
    columns = (
        Column("rank", COUNT),
        Column("candidate", COUNT),
        *COLUMNS,
        Column("characters", COUNT),
    )
    rows = ((rank, *cells(each), len(each.source)) for rank, each in enumerate(programs, 1))
    return Table("top", "the ten best distinct programs", columns, tuple(rows), caption)


def cells(best: Scored | None) -> tuple[Cell, Cell, Cell]:
    """Number, score and gap as they stand in a row; unknown where there is no program."""
    return (None, None, None) if best is None else (best.candidate, best.score, best.gap)
