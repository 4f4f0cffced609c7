"""A program with what it is worth, as every part of a report names it."""

from __future__ import annotations

from dataclasses import dataclass

from behavesim.analysis.run import TOP, Candidate, Run
from behavesim.analysis.table import COUNT, FRACTION, SCORE, Cell, Column, Table
from behavesim.trajectory import AlgorithmRun

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
    """The best of the programs that behave alike, with its source, and how many distinct programs these are."""

    source: str
    programs: int = 1


def scored(run: Run, candidate: Candidate) -> Scored:
    """A feasible candidate of a run."""
    assert candidate.score is not None, "a feasible candidate has a score"
    return Scored(candidate.candidate, candidate.score, run.gap(candidate.score))


def top(run: Run) -> tuple[TopProgram, ...]:
    """The ten best behaviours, best first; behaviours are one when all their trajectories are."""
    ranked = run.ranked()
    alike: dict[tuple[AlgorithmRun, ...], list[Candidate]] = {}
    for program, behaviour in zip(ranked, run.trajectories([each.candidate for each in ranked]), strict=True):
        alike.setdefault(behaviour, []).append(program)
    best = ((scored(run, programs[0]), programs) for programs in list(alike.values())[:TOP])
    return tuple(
        TopProgram(each.candidate, each.score, each.gap, programs[0].source or "", len(programs))
        for each, programs in best
    )


def top_table(programs: tuple[TopProgram, ...], caption: str) -> Table:
    """The best programs by rank."""
    columns = (
        Column("rank", COUNT),
        Column("candidate", COUNT),
        *COLUMNS,
        Column("characters", COUNT),
        Column("programs", COUNT, title="programs that do so"),
    )
    rows = ((rank, *cells(each), len(each.source), each.programs) for rank, each in enumerate(programs, 1))
    return Table("top", "the ten best behaviours", columns, tuple(rows), caption)


def cells(best: Scored | None) -> tuple[Cell, Cell, Cell]:
    """Number, score and gap as they stand in a row; unknown where there is no program."""
    return (None, None, None) if best is None else (best.candidate, best.score, best.gap)
