"""What a report counts: distinct programs and behaviours, failures, islands, the best programs."""

from __future__ import annotations

from itertools import repeat
from pathlib import Path

import pytest

from behavesim.analysis.behaviours import DistinctCounts, TopProgram, distinct, top, top_table
from behavesim.analysis.candidate_details import RejectionReason, failures, failures_table
from behavesim.analysis.convergence import Diversity, IslandSummary, islands, islands_table
from behavesim.analysis.operators import operators, throughput_table
from behavesim.analysis.table import Scored
from tests.analysis.journals import asked, clustered, feasible, journalled, rejected, started

A, B = [0, 1, 2, 3], [0, 3, 2, 1]


def test_programs_and_behaviours_that_repeat_are_counted(tmp_path: Path) -> None:
    run = journalled(
        tmp_path / "first",
        started(),
        feasible(0, 5.0, A, program="one"),
        feasible(1, 5.0, A, program="one"),
        feasible(2, 5.0, A),
        feasible(3, 6.0, B),
        rejected(4, "timeout"),
    )
    assert distinct(run) == DistinctCounts(feasible=4, programs=3, behaviours=2, top=2)


def test_behaviours_are_counted_among_the_ten_best_as_well(tmp_path: Path) -> None:
    same = (feasible(number, 5.0, A) for number in range(10))
    run = journalled(tmp_path / "first", started(), *same, feasible(10, 6.0, B))
    assert distinct(run) == DistinctCounts(feasible=11, programs=11, behaviours=2, top=1)


def test_repetitions_are_shares_of_what_could_repeat() -> None:
    found = DistinctCounts(feasible=100, programs=90, behaviours=60, top=4)
    assert found.repeated_programs == pytest.approx(0.1)
    assert found.repeated_behaviours == pytest.approx(1 / 3)
    nothing = DistinctCounts(0, 0, 0, 0)
    assert (nothing.repeated_programs, nothing.repeated_behaviours) == (None, None)
    few = DistinctCounts(feasible=4, programs=3, behaviours=2, top=2)
    assert few.sentence == "4 feasible candidates, 3 different programs, 2 different behaviours"
    assert found.sentence == (
        "100 feasible candidates, 90 different programs, 60 different behaviours; the ten best programs have 4 of them"
    )


def test_a_new_best_of_an_operator_beats_the_template_too(tmp_path: Path) -> None:
    run = journalled(tmp_path / "first", started(), feasible(0, 12.0), feasible(1, 11.0), feasible(2, 9.0))
    (found,) = operators(run)
    assert (found.asked, found.bests, len(run.state.bests)) == (3, 1, 3)


def test_failures_are_counted_by_stage_and_reason_most_frequent_first(tmp_path: Path) -> None:
    run = journalled(
        tmp_path / "first",
        started(),
        rejected(0, "exception", "KeyError"),
        rejected(1, "exception", "IndexError"),
        rejected(2, "exception", "IndexError"),
        rejected(3, "timeout", "b"),
        rejected(4, "syntax", "a", stage="extraction"),
        feasible(5, 5.0),
        asked(6),
    )
    assert failures(run) == (
        RejectionReason("evaluation", "exception", 3, 0.5, 1, "IndexError"),
        RejectionReason("evaluation", "timeout", 1, 1 / 6, 3, "b"),
        RejectionReason("extraction", "syntax", 1, 1 / 6, 4, "a"),
    )


def test_where_nothing_failed_there_is_no_reason(tmp_path: Path) -> None:
    assert failures(journalled(tmp_path / "first", started(), feasible(0, 5.0))) == ()
    assert failures(journalled(tmp_path / "other", started())) == ()


def test_a_reason_has_a_row() -> None:
    table = failures_table((RejectionReason("evaluation", "timeout", 3, 0.25, 4, "too long"),))
    headings = [column.heading for column in table.columns]
    assert headings == ["stage", "reason", "candidates", "share %", "such as", "most often"]
    assert table.rows == (("evaluation", "timeout", 3, 0.25, 4, "too long"),)


def test_an_island_has_its_size_its_scores_and_its_best(tmp_path: Path) -> None:
    run = journalled(
        tmp_path / "first",
        started(islands=3),
        clustered((), (), ()),
        feasible(0, 5.0, island=1),
        feasible(1, 4.0, island=1),
        feasible(2, 5.0, island=1),
        feasible(3, 6.0, island=2),
    )
    empty, full, other = islands(run.state)
    assert empty == IslandSummary(0, "0", 0, 0, None, None, None)
    assert full == IslandSummary(1, "1", 3, 2, Scored(1, 4.0, 1.0), 14 / 3, 1)
    assert other == IslandSummary(2, "2", 1, 1, Scored(3, 6.0, 2.0), 6.0, 3)


def test_islands_are_as_they_stand_after_a_regrouping(tmp_path: Path) -> None:
    given = (feasible(number, 5.0 - number, island=0) for number in range(3))
    run = journalled(tmp_path / "first", started(), *given, clustered([0, 2], [1]))
    assert [(each.size, each.best and each.best.candidate) for each in islands(run.state)] == [(2, 2), (1, 1)]


def test_the_distance_inside_stands_beside_each_island() -> None:
    found = (IslandSummary(0, "a", 2, 2, Scored(1, 4.0, 1.0), 4.5, 1), IslandSummary(1, "b", 0, 0, None, None, None))
    table = islands_table(found, Diversity((0.25, None), 0.5))
    assert [column.name for column in table.columns] == [
        "island", "size", "score_levels", "best", "score", "gap", "mean", "intra",
    ]  # fmt: skip
    assert table.rows == (("a", 2, 2, 1, 4.0, 1.0, 4.5, 0.25), ("b", 0, 0, None, None, None, None, None))
    assert table.caption == "inside: mean distance of its programs; mean distance between islands 0.500"
    assert islands_table(found, Diversity((None, None), None)).caption == ""


def test_the_ten_best_behaviours_have_their_best_program_and_how_many_share_them(tmp_path: Path) -> None:
    tours = [[0, *(1 + (k // 2 + step) % 12 for step in range(12))] for k in range(24)]  # two programs of each
    given = (feasible(k, 30.0 - k, tours[k], source=f"x = {k}") for k in range(24))
    found = top(journalled(tmp_path / "first", started(), *given))
    assert [program.candidate for program in found] == list(range(23, 3, -2))
    assert (found[0].candidate, found[0].score, found[0].gap, found[0].programs) == (23, 7.0, 2.5, 2)
    assert (found[0].source, found[0].group, found[0].operator) == ("x = 23", "0", "improve")
    assert {program.programs for program in found} == {2}


def test_programs_stand_by_rank_with_where_they_came_from_and_how_they_behave() -> None:
    programs = (
        TopProgram(4, 3.0, 0.5, "x = 1\n\ny = 2\n", 2, "0", "improve", "m", (2, -1), standard_error=0.1, instances=9),
        TopProgram(2, 4.0, None, "", rank=2),
    )
    table = top_table(programs, [(7,), (9, 4)], "a caption")
    assert [column.name for column in table.columns] == [
        "rank", "candidate", "score", "gap", "standard_error", "instances", "cluster", "programs", "lines",
        "island", "operator", "model", "parents",
    ]  # fmt: skip
    assert table.rows == (
        (1, 4, 3.0, 0.5, 0.1, 9, 2, 2, 2, "0", "improve", "m", "2 -1"),
        (2, 2, 4.0, None, None, None, None, 1, 0, None, "", None, None),
    )
    assert table.caption == "a caption"


def test_each_second_of_a_run_belongs_to_what_was_under_way_in_it(tmp_path: Path) -> None:
    (begun, template), (ask_0, reply_0, done_0, added_0) = started(), feasible(0, 5.0)
    ask_1, reply_1, done_1, added_1 = feasible(1, 4.0)
    order = begun, template, ask_0, ask_1, reply_0, done_0, reply_1, done_1, added_0, added_1
    seconds = iter((0.0, 0.0, 1.0, 3.0, 4.0, 8.0, 10.0, 11.0, 14.0, 14.5, 15.0))
    run = journalled(tmp_path / "first", order, seconds=seconds)
    assert run.waits.seconds == {"evaluations": 1 + 3, "neither": 2 + 0.5 + 0.5, "requests": 1 + 4 + 1, "both": 2}
    table = throughput_table(run)
    assert [row[1:] for row in table.rows] == [(6, 6 / 15), (4, 4 / 15), (2, 2 / 15), (3, 3 / 15)]
    assert table.caption == "8.0 candidates a minute, without pauses"


def test_where_a_journal_has_no_times_nothing_is_said_of_waiting(tmp_path: Path) -> None:
    assert throughput_table(journalled(tmp_path / "first", started(), feasible(0, 5.0), seconds=repeat(0.0))).rows == ()
