"""Metrics and feedback beside a score: what is kept of them, and what they come to over the instances."""

from __future__ import annotations

from typing import Any

import pytest

from behavesim.task.score import (
    LONGEST_METRIC_NAME,
    MISSING,
    MOST_FEEDBACK,
    MOST_METRICS,
    Score,
    join_feedback,
    limit_feedback,
    limit_metrics,
    mean_metrics,
)


def test_a_score_is_its_value_where_a_number_is_needed() -> None:
    assert float(Score(3)) == 3.0
    assert (Score(3).metrics, Score(3).feedback) == ({}, "")


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (2, 2.0),
        (True, 1.0),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        (10**400, "inf"),
        (-(10**400), "-inf"),
        ("missing", MISSING),
    ],
)
def test_a_metric_is_a_finite_number_or_one_of_a_few_words(value: Any, kept: float | str) -> None:
    assert limit_metrics({"a": value}) == {"a": kept}


def test_names_are_short_lines_and_the_first_metrics_are_kept() -> None:
    assert list(limit_metrics({"n\n" + "x" * 200: 1.0})) == ["n " + "x" * (LONGEST_METRIC_NAME - 2)]
    assert list(limit_metrics({f"{n}": 1.0 for n in range(200)})) == [f"{n}" for n in range(MOST_METRICS)]


@pytest.mark.parametrize("value", [[1.0], "two", "1.0"])
def test_what_is_no_number_and_none_of_the_words_is_no_metric(value: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        limit_metrics({"a": value})


def test_a_metric_of_a_program_is_the_mean_over_the_instances() -> None:
    assert mean_metrics([{"a": 1.0, "b": 2.0}, {"b": 4.0, "a": 2.0}]) == {"a": 1.5, "b": 3.0}
    assert list(mean_metrics([{"b": 2.0}, {"a": 1.0, "b": 2.0}])) == ["b", "a"]
    assert mean_metrics([]) == {}


@pytest.mark.parametrize(
    ("on_instances", "said"),
    [
        ([{"a": 1.0}, {}], MISSING),
        ([{"a": 1.0}, {"a": "nan"}], "nan"),
        ([{}, {"a": "inf"}, {"a": 1.0}], "inf"),
    ],
)
def test_a_metric_that_has_no_mean_is_text(on_instances: list[dict[str, float | str]], said: str) -> None:
    assert mean_metrics([{"a": 1.0}, *on_instances]) == {"a": said}


@pytest.mark.parametrize("large", [1e308, -1e308])
def test_the_mean_of_large_numbers_is_none_too_large(large: float) -> None:
    assert mean_metrics([{"a": large}, {"a": large}]) == {"a": large}


def test_as_many_metrics_are_averaged_as_one_instance_may_have() -> None:
    others = [{f"{n}": 1.0 for n in range(start, start + 80)} for start in (0, 80)]
    assert list(mean_metrics(others)) == [f"{n}" for n in range(MOST_METRICS)]


def test_feedback_names_the_instance_where_there_are_several() -> None:
    assert join_feedback(["only"]) == "only"
    assert join_feedback(["first", "", "third"]) == "instance 1: first\ninstance 3: third"
    assert join_feedback(["", ""]) == ""


def test_feedback_that_is_too_long_is_cut_and_says_so() -> None:
    assert limit_feedback("x" * MOST_FEEDBACK) == "x" * MOST_FEEDBACK
    for extra in (1, 50):
        assert limit_feedback("x" * (MOST_FEEDBACK + extra)) == "x" * (MOST_FEEDBACK - 1) + "…"
    assert limit_feedback("lone \ud800") == "lone \ufffd"
