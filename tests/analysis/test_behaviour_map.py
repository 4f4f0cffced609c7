"""The map of behaviours."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from behavesim.analysis.behaviours import BEST, OTHERS, behaviour_map, best_and_others, in_the_plane
from behavesim.analysis.candidates import Candidate
from tests.analysis.journals import feasible, journalled, rejected, started


def test_points_of_a_plane_are_as_far_from_one_another_on_the_map() -> None:
    points = np.random.default_rng(1).random((20, 2))
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    found, kept = in_the_plane(distances)
    assert np.linalg.norm(found[:, None] - found[None], axis=2) == pytest.approx(distances, abs=1e-9)
    assert kept == pytest.approx(1.0)


def test_what_all_is_alike_lies_in_one_place_and_nothing_tells_it_apart() -> None:
    found, kept = in_the_plane(np.zeros((3, 3)))
    assert found.tolist() == [[0, 0]] * 3
    assert kept is None
    assert in_the_plane(np.zeros((1, 1)))[0].shape == (1, 2)


def test_what_needs_more_than_a_plane_is_kept_in_part() -> None:
    assert in_the_plane(1.0 - np.eye(5))[1] == pytest.approx(2 / 4)  # a simplex: four dimensions, all alike


def test_of_many_programs_the_best_and_others_at_even_steps_are_on_it() -> None:
    programs = [Candidate(number, "feasible", (), "improve") for number in range(1000)]
    chosen = [program.candidate for program in best_and_others(programs)]
    assert len(chosen) == len(set(chosen)) == BEST + OTHERS
    assert chosen[:BEST] == list(range(BEST))
    assert chosen[-1] == 999
    assert set(np.diff(chosen[BEST:])) == {6, 7}
    assert [program.candidate for program in best_and_others(programs[:120])] == list(range(120))


def test_programs_of_a_run_have_their_scores_and_those_that_behave_alike_one_place(tmp_path: Path) -> None:
    run = journalled(
        tmp_path / "first",
        started(),
        feasible(0, 5.0, [0, 1, 2, 3]),
        feasible(1, 3.0, [0, 3, 2, 1]),
        rejected(2, "timeout"),
        feasible(3, 4.0, [0, 1, 2, 3]),
    )
    found = behaviour_map(run).places
    assert [(each.candidate, each.score, each.gap) for each in found] == [
        *((1, 3.0, 0.5), (3, 4.0, 1.0), (0, 5.0, 1.5)),
        (-1, 10.0, 4.0),
    ]
    assert [each.candidate for each in found[1].nearest] == [0, -1, 1]
    assert (found[1].x, found[1].y) == (found[2].x, found[2].y)
    distance = np.hypot(found[0].x - found[1].x, found[0].y - found[1].y)
    assert distance == pytest.approx(1 - run.matrix([1, 3])[0, 1], abs=1e-8)


def test_a_run_without_a_feasible_candidate_has_an_empty_map(tmp_path: Path) -> None:
    assert behaviour_map(journalled(tmp_path / "first", started(), rejected(0, "timeout"))).places == ()
