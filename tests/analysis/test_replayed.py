"""A replay beside the run whose replies it had."""

from __future__ import annotations

from pathlib import Path

from behavesim.analysis.provenance import ReplayDifference, beside_original, compare_replay
from behavesim.state.events import Added, Asked, Evaluated, Prompt
from behavesim.trajectory import Trajectory
from tests.analysis.journals import answered, asked, feasible, journalled, rejected, started


def test_a_run_is_as_itself(tmp_path: Path) -> None:
    run = journalled(tmp_path / "first", started(), feasible(0, 5.0), rejected(1, "timeout"), asked(2))
    assert compare_replay(run.folder, run.folder) == ReplayDifference("first", 3, {}, {})


def test_candidates_are_told_apart_by_aspect(tmp_path: Path) -> None:
    original = journalled(
        tmp_path / "original",
        started(),
        feasible(0, 5.0),
        feasible(1, 5.0),
        feasible(2, 5.0),
        rejected(3, "timeout"),
        feasible(4, 5.0),
        feasible(5, 5.0),
    )
    done = Evaluated(4, "source 4", 5.0, (5.0,), (Trajectory.prefixes([0]),))
    replay = journalled(
        tmp_path / "replay",
        started(),
        feasible(0, 5.0),
        feasible(1, 5.5),
        feasible(2, 5.0, island=1),
        rejected(3, "exception"),
        [Asked(4, (), None, Prompt("another", "improve")), answered(4), done, Added(4, "1")],
    )
    found = compare_replay(replay.folder, original.folder)
    assert found.of == "original"
    assert found.candidates == 5
    assert found.differing == {"prompt": 1, "outcome": 1, "score": 1, "island": 2}
    assert found.first == {"prompt": 4, "outcome": 3, "score": 1, "island": 2}


def test_another_program_is_told_from_the_one_before(tmp_path: Path) -> None:
    original = journalled(tmp_path / "original", started(), feasible(0, 5.0), rejected(1, "timeout"))
    replay = journalled(tmp_path / "replay", started(), feasible(0, 5.0, source="other"), feasible(1, 5.0))
    found = compare_replay(replay.folder, original.folder)
    assert found.differing == {"program": 2, "outcome": 1, "score": 1, "island": 1}


def test_only_a_replay_has_an_original(tmp_path: Path) -> None:
    journalled(tmp_path / "first", started(), feasible(0, 5.0))
    assert beside_original(journalled(tmp_path / "other", started(), feasible(0, 5.0))) is None
    replay = journalled(tmp_path / "replay", started(proposer="replay:first"), feasible(0, 6.0))
    assert beside_original(replay) == ReplayDifference("first", 1, {"score": 1}, {"score": 0})


def test_a_replay_that_went_the_same_way_says_so() -> None:
    assert ReplayDifference("first", 12, {}, {}).lines() == ["all 12 candidates are as in first"]


def test_each_aspect_that_differs_has_a_line_with_the_first_candidate() -> None:
    assert ReplayDifference("first", 12, {"prompt": 3, "score": 1}, {"prompt": 4, "score": 7}).lines() == [
        "3 of 12 candidates have another prompt than in first, first candidate 4",
        "1 of 12 candidates have another score than in first, first candidate 7",
    ]
