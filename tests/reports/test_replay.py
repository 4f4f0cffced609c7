"""How a replay differs from its original, in words."""

from __future__ import annotations

from behavesim.analysis.replayed import ReplayDifference
from behavesim.reports.replay import replay_lines


def test_a_replay_that_went_the_same_way_says_so() -> None:
    assert replay_lines(ReplayDifference("first", 12, {}, {})) == ["all 12 candidates are as in first"]


def test_each_aspect_that_differs_has_a_line_with_the_first_candidate() -> None:
    assert replay_lines(ReplayDifference("first", 12, {"prompt": 3, "score": 1}, {"prompt": 4, "score": 7})) == [
        "3 of 12 candidates have another prompt than in first, first candidate 4",
        "1 of 12 candidates have another score than in first, first candidate 7",
    ]
