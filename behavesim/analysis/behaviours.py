"""The distinct behaviours of a run: how many there are, and the best program of each of the ten best."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from behavesim.analysis.candidates import Candidate
from behavesim.analysis.records import metric_column, metric_names
from behavesim.analysis.run import Run
from behavesim.analysis.summary import SCORE_AND_GAP, TOP, Scored
from behavesim.analysis.table import COUNT, SCORE, Column, Table
from behavesim.base.text import counted

MEANINGS = "programs: how many have this behaviour; operator: the kind of request, template: it showed no other program"
"""What two column headings of `top_table` mean, as part of its caption."""


@dataclass(frozen=True)
class DistinctCounts:
    """The numbers of feasible candidates, of their distinct programs, and of the distinct behaviours of these.

    Programs are equal if their normal forms are, behaviours if the trajectories on all instances are. `top` is the
    number of distinct behaviours among the ten best distinct programs.
    """

    feasible: int
    programs: int
    behaviours: int
    top: int

    @property
    def repeated_programs(self) -> float | None:
        """The fraction of feasible candidates that repeat an earlier program; None if no candidate is feasible."""
        return 1 - self.programs / self.feasible if self.feasible else None

    @property
    def repeated_behaviours(self) -> float | None:
        """The fraction of distinct programs that repeat another one's behaviour; None if there is no program.

        Of programs with one behaviour, all but one count as repeats.
        """
        return 1 - self.behaviours / self.programs if self.programs else None

    @property
    def sentence(self) -> str:
        """The counts as a sentence for people, without a capital letter and a full stop."""
        return (
            f"{counted(self.feasible, 'feasible candidate')}, {counted(self.programs, 'different program')}, "
            f"{counted(self.behaviours, 'different behaviour')}; the ten best programs have {self.top} of them"
        )


def distinct(run: Run) -> DistinctCounts:
    """Count the distinct programs and behaviours of a run so far; raises JournalError if its journal cannot be read."""
    programs = run.ranked()
    behaviours = [behaviour.packed for behaviour in run.trajectories([each.candidate for each in programs])]
    return DistinctCounts(len(run.feasible), len(programs), len(set(behaviours)), len(set(behaviours[:TOP])))


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
    """Return the entry of a behaviour, from its best program and the other distinct programs that have it."""
    worth, source = run.scored(best), best.source or ""
    return TopProgram(
        *worth.cells, source, 1 + len(others), best.group, best.operator, best.model, best.parents, best.metrics
    )


def top_table(programs: tuple[TopProgram, ...], clusters: Sequence[Collection[int]], caption: str) -> Table:
    """Return a table with a row per program, in the given order, with the behavioural cluster that it is in.

    `clusters` has the members of each cluster, which are numbered from 1; the cell of a program in no cluster is None.
    `caption` stands below the table.
    """
    number = {candidate: number for number, members in enumerate(clusters, 1) for candidate in members}
    columns = (
        *(Column("rank", COUNT), Column("candidate", COUNT), *SCORE_AND_GAP),
        *(Column("cluster", COUNT), Column("programs", COUNT), Column("lines", COUNT)),
        *(Column(name) for name in ("island", "operator", "model", "parents")),
    )
    rows = []
    for rank, each in enumerate(programs, 1):
        origin = each.group, each.operator, each.model, " ".join(map(str, each.parents)) or None
        rows.append((rank, *each.cells, number.get(each.candidate), each.programs, each.lines, *origin))
    return Table("top", "the ten best behaviours", columns, tuple(rows), caption, keys=2)


def metrics_table(programs: Sequence[TopProgram]) -> Table:
    """Return a table with a row for each program, in the given order, and a column for each metric of any of them.

    The cell of a metric that a program does not have is None. There are no rows if no program has metrics.
    """
    names = metric_names(each.metrics for each in programs)
    shown = (Column(metric_column(name), SCORE, title=name) for name in names)
    columns = (Column("rank", COUNT), Column("candidate", COUNT), *shown)
    rows = tuple(
        (rank, each.candidate, *(each.metrics.get(name) for name in names)) for rank, each in enumerate(programs, 1)
    )
    return Table("metrics", "metrics of the ten best behaviours", columns, rows if names else (), keys=2)
