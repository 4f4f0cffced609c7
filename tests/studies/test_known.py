"""The study of a task's programs in a folder gives each program's function the name that the task asks for."""

from __future__ import annotations

import pytest
from behavesim_studies.known import with_entry_point

TEMPLATE = "def priority(item, bins):\n    return -bins\n"


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("def score(item, bins):\n    return bins\n", "score"),
        ("def score(size, rooms, power=2):\n    return rooms\n", "score"),
        ("def room(item, bins):\n    return bins\n\n\ndef score(item, bins):\n    return room(item, bins)\n", "score"),
    ],
)
def test_the_only_function_that_fits_gets_the_name(source: str, name: str) -> None:
    assert with_entry_point(source, TEMPLATE, "priority") == f"{source.rstrip()}\n\n\npriority = {name}\n"


@pytest.mark.parametrize(
    "source",
    [
        TEMPLATE,
        "def score(item, bins):\n    return bins\n\n\ndef rank(item, bins):\n    return -bins\n",
        "def score(bins):\n    return bins\n",
        "def score(item, bins)\n",
        "capacity = 100\n",
    ],
    ids=["named already", "two fit", "another signature", "no Python", "no function"],
)
def test_any_other_source_stays_as_it_is(source: str) -> None:
    assert with_entry_point(source, TEMPLATE, "priority") == source
