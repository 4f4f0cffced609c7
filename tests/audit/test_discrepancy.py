"""How an event that is not the one expected is shown to a person."""

from __future__ import annotations

import pytest

from behavesim.audit.audit import SHOWN, Discrepancy, discrepancy, make_discrepancy
from behavesim.state.events import Added, Asked, Compared, Event, NotAdded, Prompt, RunStopped


def asked(text: str, operator: str = "improve") -> Asked:
    return Asked(4, (1, 2), "0", Prompt(text, operator))


def test_an_event_that_is_the_one_expected_differs_in_nothing() -> None:
    assert discrepancy(7, Added(4, "0"), Added(4, "0")) is None


@pytest.mark.parametrize(
    ("expected", "recorded", "shown"),
    [
        (Added(4, "0"), Added(4, "1"), ("group='0'", "group='1'")),
        (Added(4, "0"), Added(4, "1", (2,)), ("group='0', evicted=()", "group='1', evicted=(2,)")),
        (Compared(4, {"0": 0.5}), Compared(4, {"0": 0.25}), ("to_groups={'0': 0.5}", "to_groups={'0': 0.25}")),
        (Compared(4, {"0": 0.5, "1": 1.0}), Compared(4, {"0": 0.5}), ("to_groups={'1': 1.0}", "to_groups={}")),
        (NotAdded(4), Added(4, "1"), ("NotAdded(candidate=4)", "Added(candidate=4, group='1', evicted=())")),
        (None, NotAdded(4), ("nothing yet", "NotAdded(candidate=4)")),
    ],
)
def test_what_differs_is_shown_on_both_sides(expected: Event | None, recorded: Event, shown: tuple[str, str]) -> None:
    found = discrepancy(7, expected, recorded)
    assert found == Discrepancy(7, type(recorded).__name__, 4, *shown)


def test_long_texts_are_shown_from_shortly_before_where_they_part() -> None:
    found = discrepancy(7, asked("x" * 50 + "1" + "y" * 500), asked("x" * 50 + "2" + "y" * 500))
    assert found is not None
    assert found.expected.startswith(f"prompt=…'{'x' * 20}1y")
    assert found.recorded.startswith(f"prompt=…'{'x' * 20}2y")
    assert len(found.expected) == len("prompt=…") + SHOWN + len("…")
    assert found.expected.endswith("…")


def test_texts_that_part_at_once_or_where_one_ends_are_shown_from_there() -> None:
    early = discrepancy(7, asked("abc"), asked("xyz"))
    assert early is not None
    assert (early.expected, early.recorded) == ("prompt='abc'", "prompt='xyz'")
    longer = discrepancy(7, asked("x" * 50), asked("x" * 50 + "and more"))
    assert longer is not None
    assert (longer.expected, longer.recorded) == (f"prompt=…'{'x' * 20}'", f"prompt=…'{'x' * 20}and more'")


def test_prompts_of_different_operators_are_shown_whole() -> None:
    found = discrepancy(7, asked("a", "improve"), asked("b", "repair"))
    assert found is not None
    assert "operator='improve'" in found.expected
    assert "operator='repair'" in found.recorded


def test_an_event_of_no_candidate_is_named_without_one() -> None:
    assert make_discrepancy(7, "something else", RunStopped("x" * 500)) == Discrepancy(
        7, "RunStopped", None, "something else", f"{RunStopped('x' * 500)!r}"[:SHOWN] + "…"
    )
    short = make_discrepancy(7, "something else", RunStopped("x"))
    assert short.recorded == "RunStopped(reason='x')"
