"""How a run got better."""

from __future__ import annotations

from pathlib import Path

import pytest

from behavesim.analysis.convergence import Checkpoint, Improvement, convergence, improvements
from tests.analysis.journals import PROVENANCE, asked, feasible, journalled, rejected, started


def test_a_run_is_told_candidate_by_candidate_while_it_is_short(tmp_path: Path) -> None:
    run = journalled(
        tmp_path / "first",
        started(),
        rejected(0, "timeout"),
        feasible(1, 5.0),
        feasible(2, 3.0),
        feasible(3, 4.0),
        asked(4),
    )
    assert convergence(run) == (
        Checkpoint(1, None, None, None),
        Checkpoint(2, 5.0, 1.5, 1.5),
        Checkpoint(3, 3.0, 0.5, 1.0),
        Checkpoint(4, 3.0, 0.5, 1.0),
        Checkpoint(5, 3.0, 0.5, 1.0),
    )


def test_each_candidate_that_was_better_than_all_before_is_an_improvement(tmp_path: Path) -> None:
    scores = (rejected(0, "timeout"), feasible(1, 5.0), feasible(2, 5.0), feasible(3, 3.0), feasible(4, 4.0))
    run = journalled(tmp_path / "first", started(), *scores)
    assert improvements(run) == (Improvement(1, 5.0, 1.5, asked=2), Improvement(3, 3.0, 0.5, asked=4))


def test_a_program_that_was_there_before_does_not_count_again(tmp_path: Path) -> None:
    run = journalled(
        tmp_path / "first", started(), feasible(0, 5.0, program="p"), feasible(1, 3.0), feasible(2, 5.0, program="p")
    )
    assert convergence(run)[-1].top10_gap == 1.0


def test_programs_without_a_hash_as_in_old_journals_all_count(tmp_path: Path) -> None:
    scores = (feasible(number, 5.0 - number, program="") for number in range(3))
    assert convergence(journalled(tmp_path / "first", started(), *scores))[-1] == Checkpoint(3, 3.0, 0.5, 1.0)


def test_the_top_ten_are_ten(tmp_path: Path) -> None:
    run = journalled(tmp_path / "first", started(), *(feasible(number, 14.0 - number) for number in range(12)))
    assert convergence(run)[-1] == Checkpoint(12, 3.0, 0.5, pytest.approx(sum(range(1, 11)) / 20))


def test_a_long_run_is_told_at_fifty_moments_and_its_end(tmp_path: Path) -> None:
    at_once = journalled(tmp_path / "first", started(), *(asked(number) for number in range(100)))
    assert [each.asked for each in convergence(at_once)] == list(range(2, 101, 2))
    longer = journalled(tmp_path / "second", started(), *(asked(number) for number in range(101)))
    assert [each.asked for each in convergence(longer)] == [*range(3, 100, 3), 101]


def test_scores_are_told_where_gaps_are_unknown_and_higher_ones_are_better(tmp_path: Path) -> None:
    provenance = PROVENANCE | {"best_known": "", "direction": "maximise"}
    run = journalled(tmp_path / "first", started(provenance), feasible(0, 5.0), feasible(1, 3.0))
    assert convergence(run)[-1] == Checkpoint(2, 5.0, None, None)


def test_a_run_without_a_candidate_has_nothing_to_tell(tmp_path: Path) -> None:
    assert convergence(journalled(tmp_path / "first", started())) == ()
