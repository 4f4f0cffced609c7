"""How groups join, as text."""

from __future__ import annotations

from behavesim.reports.characters import dendrogram
from behavesim.similarity.clustering import Join


def test_groups_join_the_further_to_the_right_the_further_apart_they_are() -> None:
    joins = [Join(0, 2, 0.1), Join(1, 3, 0.3), Join(5, 4, 0.5)]
    assert dendrogram(["a", "b", "c", "d"], joins, 23) == [
        "a ─┬──────────────────┐",
        "c ─┘                  │",
        "b ──────────┬─────────┘",
        "d ──────────┘",
        "  0.100     0.500 apart",
    ]


def test_a_branch_ends_where_others_of_one_distance_do() -> None:
    joins = [Join(0, 1, 0.1), Join(2, 3, 0.5), Join(4, 5, 0.5)]
    assert dendrogram(["a", "b", "c", "d"], joins, 16)[:4] == [
        "a ─┬───────────┐",
        "b ─┘           │",
        "c ─────────────┤",
        "d ─────────────┘",
    ]


def test_joins_of_one_distance_stand_at_the_right() -> None:
    assert dendrogram(["a", "b"], [Join(0, 1, 0.0)], 14) == ["a ───────────┐", "b ───────────┘", "   0.000 apart"]


def test_every_group_has_a_line_however_narrow_it_is() -> None:
    lines = dendrogram(["a long name", "b"], [Join(0, 1, 0.25)], 5)
    assert [line.split()[0] for line in lines[:2]] == ["a", "b"]
