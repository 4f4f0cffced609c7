"""A program with its score and gap, as all parts of a report name it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from behavesim.analysis.table import COUNT, FRACTION, SCORE, Cell, Column, Table

if TYPE_CHECKING:
    from behavesim.analysis.candidates import Candidate
    from behavesim.analysis.run import Run

TOP = 10
"""Number of best distinct programs that reports show and average."""
COLUMNS = (Column("score", SCORE), Column("gap", FRACTION))
"""The two columns for a program's score and gap; `cells` fills them."""


@dataclass(frozen=True)
class Scored:
    """A feasible candidate: its number, -1 for the template, its score in the task's unit, and its gap.

    The gap is a fraction; None if no best score is known.
    """

    candidate: int
    score: float
    gap: float | None


@dataclass(frozen=True)
class TopProgram(Scored):
    """The best of the distinct programs with one behaviour; `programs` is the number of these programs.

    `group` is the group that it was added to; None if it was added to none. `model` is None if no model wrote it.
    """

    source: str
    programs: int = 1
    group: str | None = None
    operator: str = ""
    model: str | None = None
    parents: tuple[int, ...] = ()

    @property
    def lines(self) -> int:
        """Number of lines of the source that are not blank, comments included."""
        return sum(bool(line.strip()) for line in self.source.splitlines())


def scored(run: Run, candidate: Candidate) -> Scored:
    """Return a feasible candidate of the run with its score and gap; AssertionError if it has no score."""
    assert candidate.score is not None, "a feasible candidate has a score"
    return Scored(candidate.candidate, candidate.score, run.gap(candidate.score))


def top(run: Run) -> tuple[TopProgram, ...]:
    """Return the best program of each of the ten best behaviours, best first.

    Behaviours are equal if all their trajectories are.
    """
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
    """Return a table with a row per program, in the given order, with the behavioural cluster that it is in.

    `clusters` has the members of each cluster; clusters are numbered from 1.
    """
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
    """Return the number, score and gap of a program as cells of a row, three times None for None."""
    return (None, None, None) if best is None else (best.candidate, best.score, best.gap)
