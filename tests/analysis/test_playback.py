"""What the best programs of a run did."""

from __future__ import annotations

from pathlib import Path

import pytest

from behavesim.analysis import difference as module
from behavesim.analysis.difference import playback, with_pictures
from behavesim.analysis.run import Run
from behavesim.base.errors import TaskError
from behavesim.task import Bins, Disks, Route
from behavesim.task.task import Picture
from tests.analysis.journals import feasible, journalled, started


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return journalled(
        tmp_path / "first",
        started(),
        feasible(0, 5.0, [0, 1, 2, 3], [0, 1, 2, 3], scores=(4.0, 6.0)),
        feasible(1, 3.0, [0, 1, 3, 2], [0, 1, 2, 3], scores=(2.0, 4.0)),
        feasible(2, 4.0, [0, 1, 2, 3], [0, 2, 1, 3], scores=(3.0, 5.0)),
    )


def test_it_has_what_each_did_on_each_instance_and_the_step_at_which_every_two_part(run: Run) -> None:
    first, second = with_pictures(run.task(), playback(run, [1, 2, 0]))
    assert (first.instance, first.kind, second.instance) == (1, "prefixes", 2)
    found = [(each.candidate, each.score, each.values) for each in first.programs]
    assert found == [(1, 2.0, (0, 1, 3, 2)), (2, 3.0, (0, 1, 2, 3)), (0, 4.0, (0, 1, 2, 3))]
    assert first.first_difference == ((None, 3, 3), (3, None, None), (3, None, None))
    assert second.first_difference == ((None, 2, None), (2, None, 2), (None, 2, None))
    assert isinstance(first.picture, Route)
    assert len(first.picture.places) == 50


def test_programs_for_which_there_is_no_room_are_left_out(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "NUMBERS", 20)  # of eight numbers each
    assert [len(scene.programs) for scene in playback(run, [1, 2, 0])] == [2, 2]
    monkeypatch.setattr(module, "NUMBERS", 5)
    assert playback(run, [1, 2, 0]) == ()


@pytest.mark.parametrize("picture", [Route(((0.0, 0.0),) * 3), Disks(), Bins((1.0, 2.0, 3.0), 9.0)])
def test_a_picture_that_does_not_suit_what_programs_did_is_refused(
    picture: Picture, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("behavesim_tasks.tsp.TravellingSalesman.picture", lambda task, instance: picture)
    with pytest.raises(TaskError, match="`picture` of task 'tsp' does not suit its trajectories"):
        with_pictures(run.task(), playback(run, [0, 1]))


def test_no_program_is_no_scene(run: Run) -> None:
    assert playback(run, []) == with_pictures(run.task(), ()) == ()
