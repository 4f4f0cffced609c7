"""How a program came about."""

from __future__ import annotations

from pathlib import Path

from behavesim.analysis.candidate_details import lineage
from behavesim.analysis.run import Run
from tests.analysis.journals import asked, feasible, journalled, rejected, started


def child(candidate: int, score: float, *parents: int) -> list:
    """A feasible candidate of some parents."""
    return [*asked(candidate, parents), *feasible(candidate, score)[2:]]


def ways(run: Run) -> list[int]:
    return [each.candidate for each in lineage(run, run.best)]


def test_it_leads_from_the_template_by_the_better_of_the_parents(tmp_path: Path) -> None:
    run = journalled(
        tmp_path / "first",
        started(),
        child(0, 5.0, -1),
        child(1, 4.0, -1),
        child(2, 3.0, 0, 1),
        child(3, 6.0, 0),
        child(4, 2.5, 3, 2),
    )
    assert ways(run) == [-1, 1, 2, 4]
    found = lineage(run, run.best)
    assert [(each.score, each.gap) for each in found] == [(10.0, 4.0), (4.0, 1.0), (3.0, 0.5), (2.5, 0.25)]
    assert found[-1].parents == (3, 2)


def test_a_program_without_parents_is_all_there_is_and_no_program_is_nothing(tmp_path: Path) -> None:
    assert ways(journalled(tmp_path / "first", started(), feasible(0, 3.0))) == [0]
    assert ways(journalled(tmp_path / "none", started(), rejected(0, "timeout"))) == []
