"""A metric as a value: what fits into it, and what it says of a run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from behavesim.analysis.metrics import Metric, add_metrics
from behavesim.analysis.table import COUNT, RATIO
from behavesim.base.errors import UsageError
from tests.analysis.examples import made

SEED = Metric("seed", "seed of the run", RATIO, None, lambda run: run.summary.seed)
RUN = made("eoh", 7, None)


def returning(value: Any) -> Metric:
    return replace(SEED, of=lambda run: value)


@pytest.mark.parametrize(
    ("part", "value", "expected"),
    [
        ("name", "", "a Python name"),
        ("name", "two words", "a Python name"),
        ("name", 3, "a Python name"),
        ("title", None, "text"),
        ("unit", "%", "a behavesim.Unit"),
        ("unit", COUNT, "can write 0.5"),  # people read means of it
        ("direction", "up", "lower, higher, task or None"),
        ("of", 0.5, "a function"),
        ("about", "everything", "search, held-out, behaviour or None"),
    ],
)
def test_a_part_that_does_not_fit_is_named_with_what_was_expected(part: str, value: object, expected: str) -> None:
    with pytest.raises(UsageError, match=expected) as caught:
        replace(SEED, **{part: value})  # type: ignore[arg-type]
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize("value", [3, 0.5, np.float32(0.5), np.int64(3), -1e300, None])
def test_a_value_is_a_plain_number_or_unknown(value: Any) -> None:
    found = returning(value).value(RUN)
    assert found == value
    assert type(found) in (int, float, type(None))


@pytest.mark.parametrize("value", [float("nan"), float("-inf"), np.float64("nan"), "0.5", True, [1.0], 1j])
def test_what_is_no_finite_number_is_refused_with_the_metric_and_the_run(value: Any) -> None:
    with pytest.raises(UsageError, match=r"metric 'seed' returned .* for run eoh-7-; it is to return a finite number"):
        returning(value).value(RUN)


def test_a_function_that_raises_is_named_with_what_it_raised_in_one_line() -> None:
    def fails(run: object) -> float:
        raise ValueError("two\nlines")

    with pytest.raises(UsageError, match="metric 'seed' raised ValueError: two lines for run eoh-7-"):
        replace(SEED, of=fails).value(RUN)
    with pytest.raises(UsageError, match="OverflowError"):
        returning(10**400).value(RUN)


def test_a_report_has_the_values_of_all_its_metrics() -> None:
    assert add_metrics(RUN, [SEED, replace(returning(None), name="none")]).metrics == {"seed": 7, "none": None}
