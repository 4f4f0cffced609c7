"""Values over time as text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from behavesim.reports.characters import BLOCKS, area, at_the_end_of, convergence, from_template


def test_a_value_holds_from_its_step_to_the_next_and_there_is_none_before_the_first() -> None:
    steps = [(3, 30.0), (4, 20.0), (9, 10.0)]
    assert at_the_end_of(steps, 5, 10) == [None, 20.0, 20.0, 20.0, 10.0]
    assert at_the_end_of([], 2, 10) == [None, None]
    assert at_the_end_of([(0, 1.0)], 3, 0) == [1.0, 1.0, 1.0]


def test_an_area_rises_from_an_eighth_of_a_line_to_its_whole_height() -> None:
    assert area([None, 0.0, 1.0], 1) == [" ▁█"]
    assert area([0.0, 0.5, 1.0], 2) == [" ▁█", "▁██"]


def test_what_never_changes_is_flat() -> None:
    assert area([7.0, 7.0], 1) == ["▁▁"]
    assert area([None], 2) == [" ", " "]


@given(st.lists(st.one_of(st.none(), st.floats(-1e6, 1e6)), min_size=1), st.integers(1, 9))
def test_a_greater_value_never_stands_lower(values: list[float | None], height: int) -> None:
    columns = ["".join(reversed(column)) for column in zip(*area(values, height), strict=True)]
    heights = [sum(map(BLOCKS.index, column)) for column in columns]
    known = sorted((value, high) for value, high in zip(values, heights, strict=True) if value is not None)
    assert [high for _, high in known] == sorted(high for _, high in known)
    assert all(high == 0 for value, high in zip(values, heights, strict=True) if value is None)


def test_the_best_so_far_begins_with_the_template_and_leaves_out_what_is_no_better() -> None:
    assert from_template(6.0, [(0, 9.0), (3, 6.0), (4, 5.0)], 1 / 6) == [(0, 6.0), (4, 5.0)]
    assert from_template(6.0, [(0, 4.0), (4, 9.0)], 0.5) == [(0, 6.0), (4, 9.0)]
    assert from_template(6.0, [(0, 9.0), (3, 7.0)], -1 / 6) == [(0, 6.0)]
    assert from_template(None, [(0, 9.0)], None) == [(0, 9.0)]


def test_convergence_says_where_it_began_where_it_is_and_how_many_candidates_that_took() -> None:
    falling = convergence([(1, 20.0), (8, 10.0)], 10, 14, 4)
    assert falling == ["10         ███", "           ███", "20  ▁▁▁▁▁▁▁███", " 10 candidates"]
    rising = convergence([(0, 1.0), (9, 2.0)], 10, 14, 2)
    assert [line.split()[0] for line in rising] == ["1", "10"]
