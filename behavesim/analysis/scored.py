"""A program with what it is worth, as every part of a report names it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from behavesim.analysis.table import COUNT, FRACTION, SCORE, Cell, Column, Table

if TYPE_CHECKING:
    from behavesim.analysis.candidates import Candidate
    from behavesim.analysis.run import Run

TOP = 10
"""Of so many of the best distinct programs reports speak."""
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
    """The best of the programs that behave alike, with its source, where it came from, and how many programs these are.

    `group` is where it was added.
    """

    source: str
    programs: int = 1
    group: str | None = None
    operator: str = ""
    model: str | None = None
    parents: tuple[int, ...] = ()

    @property
    def lines(self) -> int:
        """Of code, comments included, blank ones left out."""
        return sum(bool(line.strip()) for line in self.source.splitlines())


def scored(run: Run, candidate: Candidate) -> Scored:
    """A feasible candidate of a run."""
    assert candidate.score is not None, "a feasible candidate has a score"
    return Scored(candidate.candidate, candidate.score, run.gap(candidate.score))


def top(run: Run) -> tuple[TopProgram, ...]:
    """The ten best behaviours, best first; behaviours are one when all their trajectories are."""
    ranked = run.ranked()
    alike: dict[bytes, list[Candidate]] = {}
    for program, behaviour in zip(ranked, run.trajectories([each.candidate for each in ranked]), strict=True):
        alike.setdefault(behaviour.packed, []).append(program)
    return tuple(_top_program(run, programs) for programs in list(alike.values())[:TOP])


def _top_program(run: Run, alike: list[Candidate]) -> TopProgram:
    best = alike[0]
    worth = scored(run, best)
    return TopProgram(
        worth.candidate,
        worth.score,
        worth.gap,
        source=best.source or "",
        programs=len(alike),
        group=best.group,
        operator=best.operator,
        model=best.model,
        parents=best.parents,
    )


def top_table(programs: tuple[TopProgram, ...], clusters: Sequence[Collection[int]], caption: str) -> Table:
    """The best programs by rank, with the number of the behavioural cluster that each is in."""
    number = {candidate: number for number, members in enumerate(clusters, 1) for candidate in members}
    columns = (
        Column("rank", COUNT),
        Column("candidate", COUNT),
        *COLUMNS,
        Column("cluster", COUNT),
        Column("programs", COUNT, title="alike"),
        Column("lines", COUNT),
        Column("island"),
        Column("operator"),
        Column("model"),
        Column("parents"),
    )
    rows = (
        (
            rank,
            *cells(each),
            number.get(each.candidate),
            each.programs,
            each.lines,
            each.group,
            each.operator,
            each.model,
            " ".join(map(str, each.parents)) or None,
        )
        for rank, each in enumerate(programs, 1)
    )
    return Table("top", "the ten best behaviours", columns, tuple(rows), caption, keys=2)


def cells(best: Scored | None) -> tuple[Cell, Cell, Cell]:
    """Number, score and gap as they stand in a row; unknown where there is no program."""
    return (None, None, None) if best is None else (best.candidate, best.score, best.gap)
