"""The recommended program: behaviours that differ, judged over all instances they were tried on."""

from __future__ import annotations

import pytest

from behavesim.analysis.recommendation import best_overall
from behavesim.task import Objective

LOW, HIGH = Objective("minimise"), Objective("maximise")


@pytest.mark.parametrize(("objective", "best"), [(LOW, 7), (HIGH, 3)])
def test_the_best_mean_wins_in_the_objectives_direction(objective: Objective, best: int) -> None:
    assert best_overall({3: (2.0, 4.0), 7: (1.0, 4.0)}, objective) == best


def test_a_large_instance_weighs_no_more_than_a_small_one() -> None:
    # 1 is a tenth better on the small instance, 2 a hundredth on the large one
    assert best_overall({1: (0.9, 1010.0), 2: (1.0, 1000.0)}, LOW) == 1


def test_of_several_as_good_the_first_is_chosen() -> None:
    assert best_overall({5: (1.0, 2.0), 2: (1.0, 2.0)}, HIGH) == 5


def test_an_instance_on_which_all_score_zero_decides_nothing() -> None:
    assert best_overall({1: (0.0, 2.0), 2: (0.0, 1.0)}, LOW) == 2
