"""How alike some programs are by what they do."""

from __future__ import annotations

import pytest

from behavesim.analysis.difference import similarities
from behavesim.base.errors import BehavesimError
from behavesim.similarity import BehaveSim
from behavesim.trajectory import Trajectory

ONE = (Trajectory.prefixes([0, 1, 2, 3]), Trajectory.prefixes([0, 1, 2]))
OTHER = (Trajectory.prefixes([0, 1, 2, 3]), Trajectory.prefixes([2, 1, 0]))


def test_the_matrix_is_the_mean_of_those_of_the_instances() -> None:
    measure = BehaveSim(5, "erp", 0.0, 0, clip=False)
    found = similarities(["a", "b"], [ONE, OTHER], measure)
    assert (found.labels, found.metric) == (("a", "b"), "erp")
    assert found.settings == {"normaliser": 5, "truncate": 0.0, "skip": 0, "clip": False}
    first, second = found.per_instance
    assert first == ((1.0, 1.0), (1.0, 1.0))
    assert second[0][1] == second[1][0] == measure.similarity(ONE[1], OTHER[1]) < 1
    assert found.matrix[0][1] == pytest.approx((first[0][1] + second[0][1]) / 2)


def test_there_is_a_table_of_all_instances_and_one_of_each_where_there_are_several() -> None:
    whole, first, second = similarities(["a", "b"], [ONE, OTHER], BehaveSim(5)).tables()
    assert [table.title for table in (whole, first, second)] == ["all instances", "instance 1", "instance 2"]
    assert [column.heading for column in whole.columns] == ["", "1", "2"]
    assert [row[0] for row in whole.rows] == ["1 a", "2 b"]
    assert first.rows[0][1:] == (1.0, 1.0)
    assert second.rows[1][2] == 1.0 > second.rows[1][1]  # type: ignore[operator]
    (alone,) = similarities(["a", "b", "c"], [ONE[:1], OTHER[:1], ONE[:1]], BehaveSim(5)).tables()
    assert alone.title == "all instances"
    assert [column.heading for column in alone.columns] == ["", "1", "2", "3"]


def test_what_cannot_be_compared_is_said() -> None:
    with pytest.raises(BehavesimError):
        similarities(["a", "b"], [ONE, OTHER], BehaveSim(1))
