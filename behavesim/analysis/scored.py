"""A program with its score and gap, as all parts of a report name it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from behavesim.analysis.table import COUNT, FRACTION, SCORE, Cell, Column, Table

if TYPE_CHECKING:  # a list of runs needs Scored, and neither of these slow imports
    from behavesim.analysis.candidates import Candidate
    from behavesim.analysis.run import Run

TOP = 10
"""Number of best distinct programs that reports show and average."""
MEANINGS = "programs: how many have this behaviour; operator: the kind of request, template: it showed no other program"
"""What the words of `top_table` mean."""
COLUMNS = (Column("score", SCORE), Column("gap", FRACTION))
"""The two columns for a program's score and gap; `cells` fills them."""


@dataclass(frozen=True)
class Scored:
    """A feasible candidate: its number, -1 for the template, its score in the task's unit, and its gap.

    The gap is a fraction; None if the best known score is missing or 0.
    """

    candidate: int
    score: float
    gap: float | None


@dataclass(frozen=True)
class TopProgram(Scored):
    """The best of the distinct programs with one behaviour; `programs` is the number of these programs.

    `group` names the island that it was added to; None if it was added to none. `operator` is the kind of request that
    asked for it, `model` the model that wrote it, None if unknown. `parents` are the candidates that its prompt showed.
    `metrics` are those that the task or evaluator reported, by name.
    """

    source: str
    programs: int = 1
    group: str | None = None
    operator: str = ""
    model: str | None = None
    parents: tuple[int, ...] = ()
    metrics: Mapping[str, float | str] = field(default_factory=dict)

    @property
    def lines(self) -> int:
        """Number of lines of the source that are not blank, comments included."""
        return sum(bool(line.strip()) for line in self.source.splitlines())


def number_score_gap(run: Run, candidate: Candidate) -> tuple[int, float, float | None]:
    """Return the fields of Scored for a candidate of the run; raises AssertionError if it is not feasible."""
    assert candidate.score is not None, "a feasible candidate has a score"
    return candidate.candidate, candidate.score, run.gap(candidate.score)


def scored(run: Run, candidate: Candidate) -> Scored:
    """Return a candidate of the run with its score and gap; raises AssertionError if it is not feasible."""
    return Scored(*number_score_gap(run, candidate))


def top(run: Run) -> tuple[TopProgram, ...]:
    """Return the best distinct program of each of the ten best behaviours, best score first; fewer if there are fewer.

    Behaviours are equal if all their trajectories are. Raises JournalError if the journal cannot be read.
    """
    ranked = run.ranked()
    alike: dict[bytes, list[Candidate]] = {}
    for program, behaviour in zip(ranked, run.trajectories([each.candidate for each in ranked]), strict=True):
        alike.setdefault(behaviour.packed, []).append(program)
    return tuple(_top_program(run, *programs) for programs in list(alike.values())[:TOP])


def _top_program(run: Run, best: Candidate, *others: Candidate) -> TopProgram:
    known = number_score_gap(run, best)
    size = 1 + len(others)
    source, shown, told = best.source or "", best.parents, best.metrics
    return TopProgram(*known, source, size, best.group, best.operator, best.model, shown, told)


def top_table(programs: tuple[TopProgram, ...], clusters: Sequence[Collection[int]], caption: str) -> Table:
    """Return a table with a row per program, in the given order, with the behavioural cluster that it is in.

    `clusters` has the members of each cluster, which are numbered from 1; the cell of a program in no cluster is None.
    `caption` stands below the table, with the meanings of words if that is not empty.
    """
    number = {candidate: number for number, members in enumerate(clusters, 1) for candidate in members}
    columns = (
        *(Column("rank", COUNT), Column("candidate", COUNT), *COLUMNS),
        *(Column("cluster", COUNT), Column("programs", COUNT), Column("lines", COUNT)),
        *(Column(name) for name in ("island", "operator", "model", "parents")),
    )
    rows = []
    for rank, each in enumerate(programs, 1):
        origin = each.group, each.operator, each.model, " ".join(map(str, each.parents)) or None
        rows.append((rank, *cells(each), number.get(each.candidate), each.programs, each.lines, *origin))
    return Table("top", "the ten best behaviours", columns, tuple(rows), caption, keys=2)


def cells(best: Scored | None) -> tuple[Cell, Cell, Cell]:
    """Return the number, score and gap of a program as cells of a row; (None, None, None) for None."""
    return (None, None, None) if best is None else (best.candidate, best.score, best.gap)
