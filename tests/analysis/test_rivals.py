"""What else the work of a set could buy, and what is said of it."""

from __future__ import annotations

from statistics import fmean

from behavesim.analysis.portfolio import SET, Alternative, rivals_of, table, verdict
from behavesim.task import Objective

OURS = Alternative(SET, 4, 4, 2.0, (3.0, 5.0))


def test_the_better_score_comes_first_and_the_cheaper_of_equal_ones() -> None:
    tried = [OURS, Alternative("dear", 1, 4, 9.0, (2.0, 5.0)), Alternative("cheap", 1, 4, 1.0, (4.0, 3.0))]
    found = rivals_of(tried, Objective("minimise"), fmean)
    assert [(each.name, each.score, each.better, each.worse) for each in found] == [
        ("cheap", 3.5, 1, 1),
        ("dear", 3.5, 1, 0),
        (SET, 4.0, 0, 0),
    ]
    assert [each.name for each in rivals_of(tried, Objective("maximise"), fmean)] == [SET, "cheap", "dear"]
    assert table(found).rows[1] == ("dear", 4, 9.0, 3.5, "1 / 0")


def test_it_is_said_who_wins_and_whether_one_program_is_enough() -> None:
    def said(*others: Alternative) -> str:
        return verdict(rivals_of([OURS, *others], Objective("minimise"), fmean))

    assert said(Alternative("worse", 1, 1, 1.0, (9.0, 9.0))).startswith(
        "the portfolio is better than every alternative"
    )
    improved = Alternative("the set improved", 4, 4, 3.0, (1.0, 1.0))
    assert said(improved) == "best here: the set improved, 1 on validation instances; the portfolio has 4"
    assert said(improved, Alternative("begun 4 times", 1, 4, 2.0, (3.0, 4.0))).endswith(
        "\none program is enough to beat the portfolio: begun 4 times, 3.5"
    )


def test_a_program_with_the_score_of_the_set_equals_it_and_does_not_beat_it() -> None:
    said = verdict(rivals_of([OURS, Alternative("cheap", 1, 1, 1.0, OURS.scores)], Objective("minimise"), fmean))
    assert said.endswith("\none program is enough to equal the portfolio: cheap, 4")
