"""Several groups on one map of behaviours, and what one of them found alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from behavesim.analysis.behaviours import map_groups
from tests.analysis.journals import feasible, journalled, rejected, started


def test_what_one_group_found_is_alone_where_nothing_of_the_others_is_near(tmp_path: Path) -> None:
    near, far, other = [0, 1, 2, 3, 4, 5], [0, 5, 4, 3, 2, 1], [0, 1, 2, 3, 5, 4]
    first = journalled(tmp_path / "a1", started(), feasible(0, 5.0, near), feasible(1, 3.0, far), feasible(2, 4.0, far))
    again = journalled(tmp_path / "a2", started(seed=8), feasible(0, 6.0, near), rejected(1, "timeout"))
    second = journalled(tmp_path / "b1", started(), feasible(0, 5.0, near), feasible(1, 7.0, other))
    found = map_groups([[first, again], [second]])
    named = [(each.run, each.candidate, each.group, each.score) for each in found.programs]
    assert named == [("a1", 1, 0, 3.0), ("a1", 0, 0, 5.0), ("b1", 0, 1, 5.0), ("b1", 1, 1, 7.0)]
    does = [*first.trajectories([1, 0]), *second.trajectories([0, 1])]
    distances = 1.0 - first.measure().matrix(does)
    assert [each.elsewhere for each in found.programs] == pytest.approx(
        [distances[0, 2:].min(), 0.0, 0.0, distances[3, :2].min()]
    )
    assert found.far == pytest.approx(0.3 * np.median(distances[np.triu_indices(4, 1)]))
    for group, places in enumerate(found.alone):
        ours = [place for place, each in enumerate(found.programs) if each.group == group]
        assert list(places) == [place for place in ours if (found.programs[place].elsewhere or 0.0) >= found.far]
    assert 0 in found.alone[0]


def test_programs_of_runs_of_one_name_are_told_apart(tmp_path: Path) -> None:
    first = journalled(tmp_path / "a" / "seed0", started(), feasible(0, 5.0))
    second = journalled(tmp_path / "b" / "seed0", started(seed=8), feasible(0, 6.0))
    found = map_groups([[first], [second]]).programs
    assert [each.run for each in found] == [str(run.folder.path) for run in (first, second)]


def test_groups_without_a_feasible_program_have_an_empty_map(tmp_path: Path) -> None:
    run = journalled(tmp_path / "a", started(), rejected(0, "timeout"))
    assert map_groups([[run], [run]]).alone == ((), ())
