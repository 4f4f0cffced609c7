"""Counts and times in words."""

from __future__ import annotations

import pytest

from behavesim.base.text import duration, number


def test_a_count_carries_its_noun() -> None:
    assert [number(count, "run") for count in (0, 1, 1200)] == ["0 runs", "1 run", "1,200 runs"]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.0, "0 s"),
        (0.023, "0.023 s"),
        (9.6, "9.6 s"),
        (9.99, "10 s"),
        (119.0, "119 s"),
        (130.0, "2.2 min"),
        (7200.0, "2 h"),
        (100 * 3600.0, "4.2 d"),
    ],
)
def test_a_time_is_said_in_the_largest_unit_of_which_there_are_two(seconds: float, said: str) -> None:
    assert duration(seconds) == said
