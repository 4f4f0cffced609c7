"""Which scores are better, and how far they are from the best known."""

from __future__ import annotations

import pytest

from behavesim.base.errors import TaskError
from behavesim.task import Objective


@pytest.mark.parametrize(("direction", "utility"), [("minimise", -3.0), ("maximise", 3.0), ("minimize", -3.0)])
def test_what_is_better_is_greater(direction: str, utility: float) -> None:
    assert Objective(direction).utility(3.0) == utility  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("direction", "best_known", "gap"),
    [("minimise", 2.0, 0.5), ("maximise", 4.0, 0.25), ("maximise", 2.0, -0.5), ("maximise", -4.0, -1.75)],
)
def test_a_gap_is_a_fraction_of_the_best_known_and_is_positive_where_a_score_is_worse(
    direction: str, best_known: float, gap: float
) -> None:
    assert Objective(direction, best_known).gap(3.0) == gap  # type: ignore[arg-type]


@pytest.mark.parametrize("best_known", [None, 0.0])
def test_without_a_best_known_score_there_is_no_gap(best_known: float | None) -> None:
    assert Objective("minimise", best_known).gap(3.0) is None


def test_any_other_direction_is_refused() -> None:
    with pytest.raises(TaskError, match="not to 'up'"):
        Objective("up")  # type: ignore[arg-type]
