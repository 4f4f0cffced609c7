"""What else the work of a set could buy, and what is said of it."""

from __future__ import annotations

from statistics import fmean

from behavesim.application.portfolio import SET, Rival, rank_rivals, rivals_table, verdict_on_rivals
from behavesim.task import Objective

OURS = Rival(SET, 4, 4, 2.0, (3.0, 5.0))


def test_the_better_score_comes_first_and_the_cheaper_of_equal_ones() -> None:
    tried = [OURS, Rival("dear", 1, 4, 9.0, (2.0, 5.0)), Rival("cheap", 1, 4, 1.0, (4.0, 3.0))]
    found = rank_rivals(tried, Objective("minimise"), fmean)
    assert [(each.name, each.score, each.better, each.worse) for each in found] == [
        ("cheap", 3.5, 1, 1),
        ("dear", 3.5, 1, 0),
        (SET, 4.0, 0, 0),
    ]
    assert [each.name for each in rank_rivals(tried, Objective("maximise"), fmean)] == [SET, "cheap", "dear"]
    assert rivals_table(found).rows[1] == ("dear", 4, 9.0, 3.5, "1 / 0")


def test_it_is_said_who_wins_and_whether_one_program_is_enough() -> None:
    def said(*others: Rival) -> str:
        return verdict_on_rivals(rank_rivals([OURS, *others], Objective("minimise"), fmean))

    assert said(Rival("worse", 1, 1, 1.0, (9.0, 9.0))).startswith("the portfolio is better than every alternative")
    assert said(Rival("dear", 1, 4, 9.0, OURS.scores)).startswith("the portfolio is as good as the best alternative")
    improved = Rival("the set improved", 4, 4, 3.0, (1.0, 1.0))
    assert said(improved) == "best here: the set improved, 1 on validation instances; the portfolio has 4"
    assert said(improved, Rival("begun 4 times", 1, 4, 2.0, (3.0, 4.0))).endswith(
        "\none program is enough to beat the portfolio: begun 4 times, 3.5"
    )


def test_a_program_with_the_score_of_the_set_equals_it_and_does_not_beat_it() -> None:
    said = verdict_on_rivals(rank_rivals([OURS, Rival("cheap", 1, 1, 1.0, OURS.scores)], Objective("minimise"), fmean))
    assert said.endswith("\none program is enough to equal the portfolio: cheap, 4")
