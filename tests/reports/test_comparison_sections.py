"""The comparison as a person reads it."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from behavesim.analysis.comparison import RunComparison, comparison
from behavesim.analysis.convergence import DiversityAt
from behavesim.analysis.held_out import HeldOutMean
from behavesim.analysis.report import RunReport
from behavesim.reports.comparison_sections import comparison_sections, comparison_tables, family_names, remarks
from behavesim.task import Objective
from tests.analysis.examples import grid, made, made_elsewhere, tried, unfinished, unknown_gaps
from tests.reports.drawing import seen


def text(*runs: RunReport, width: int = 100) -> str:
    return seen(comparison_tables(comparison(runs)), width)


def test_a_value_that_some_runs_lack_says_of_how_many_it_is() -> None:
    assert "of 1: 30.00" in text(made("eoh", 0, None), made("eoh", 1, 0.3), made("niche", 0, 0.1))


def test_where_no_best_is_known_scores_are_shown_and_tested() -> None:
    shown = text(*(unknown_gaps(made(method, seed, seed / 10)) for method in ("eoh", "niche") for seed in range(7)))
    assert "1.3 ± 0.216025" in shown and "[1.1, 1.5]" in shown
    assert "best score" in shown and "[0, 0]" in shown, "all differences within seeds are 0"


def test_bold_is_explained_where_one_group_is_the_best() -> None:
    shown, *_ = comparison_tables(comparison([made("eoh", 0, 0.1), made("niche", 0, 0.3)]))
    assert shown.best and "Bold: best mean (not necessarily significant)" in shown.caption
    equal, *_ = comparison_tables(comparison([made("eoh", 0, 0.1), made("niche", 0, 0.1)]))
    assert not equal.best and "Bold" not in equal.caption


def test_an_interval_of_few_runs_is_not_shown() -> None:
    shown = text(*(made(method, seed, seed / 10) for method in ("eoh", "niche") for seed in range(4)))
    assert "15.00 ± 12.91 " in shown and "shown from" not in shown
    shown = text(*(made(method, seed, seed / 10) for method in ("eoh", "niche") for seed in range(7)))
    assert "[10.00, 50.00]" in shown and "95 % confidence interval of the mean, shown from 6 runs" in shown


def test_a_task_of_ones_own_is_called_by_its_files_name() -> None:
    shown = text(*(replace(each, summary=replace(each.summary, task="/home/ada/knapsack.py")) for each in grid()))
    assert "comparison on knapsack: what was found" in shown


@pytest.mark.parametrize("direction", ["maximise", "minimise"])
def test_of_several_tasks_the_best_score_is_bold_in_the_direction_of_the_task(direction: Any) -> None:
    known: Any = SimpleNamespace(state=SimpleNamespace(objective=Objective(direction)))
    runs = [
        replace(unknown_gaps(made(method, seed, seed / 10 + 5 * (method == "niche"), task)), run=known)
        for task in ("asp", "tsp")
        for method in ("eoh", "niche")
        for seed in range(7)
    ]
    (section,) = comparison_sections(comparison(runs), ["matrix"])
    (table,) = section.tables
    bold = {table.columns[column].heading for _, column in table.best}
    assert bold == {"maximise": {"niche"}, "minimise": {"eoh"}}[direction]
    marked = {table.columns[at].heading for row in table.rows for at, cell in enumerate(row) if "†" in str(cell)}
    assert marked == {"maximise": {"eoh"}, "minimise": {"niche"}}[direction]


def test_where_the_best_is_known_scores_are_not_shown() -> None:
    assert "best score" not in text(*grid())


def test_a_gain_on_the_template_stands_in_for_a_gap_that_is_not_known() -> None:
    runs = [made("eoh", seed, 0.1) for seed in range(2)]
    gains = text(*(tried(run, HeldOutMean(0.5, None), HeldOutMean(0.75, None)) for run in runs), width=200)
    assert "held-out gain of best %" in gains and "75.00" in gains
    assert "held-out gap" not in gains
    gaps = text(*(tried(run, HeldOutMean(0.5, 0.1), HeldOutMean(0.75, 0.2)) for run in runs), width=200)
    assert "held-out gap of best %" in gaps
    assert "held-out gain" not in gaps


def on_tsp() -> RunComparison:
    return comparison([run for run in grid() if run.summary.task == "tsp"])


def test_the_tables_can_be_read_on_a_narrow_terminal() -> None:
    shown = text(*grid())
    assert "comparison on asp" in shown
    assert "25.00 ± 18.71" in shown
    assert "Holm" in shown
    assert "…" not in shown


def test_how_far_runs_came_is_said_and_which_are_left_out_of_tests() -> None:
    runs = [made(method, seed, 0.1, budget=100) for method in ("eoh", "niche") for seed in range(3)]
    found = comparison([*runs, unfinished(made("eoh", 3, 0.1, budget=100), 29)])
    tables = {table.name: table for table in comparison_tables(found)}
    candidates = [column.name for column in tables["groups_search"].columns].index("candidates")
    assert [row[candidates] for row in tables["groups_search"].rows] == ["29..100 of 100", "100"]
    assert tables["tests"].caption.endswith(" Left out, as unfinished: eoh-3-100-stopped.")
    assert remarks(found) == ["unfinished, and left out of tests and ranks: eoh-3-100-stopped"]
    assert remarks(comparison(runs)) == []


def test_where_runs_were_made_on_several_sets_of_instances_each_is_named() -> None:
    found = comparison([made("eoh", 0, 0.1), made_elsewhere("eoh", 0, 0.1)])
    titles = [table.title for table in comparison_tables(found) if table.name == "groups_search"]
    assert titles == [f"comparison on tsp (instances {each}): what was found" for each in ("2", "9")]
    (remark,) = remarks(found)
    assert remark.endswith("not compared with one another: tsp (instances 2), tsp (instances 9)")


def test_two_task_files_of_one_name_are_told_apart_by_their_paths() -> None:
    files = "/a/mine.py", "/b/mine.py"
    found = comparison([made("eoh", seed, 0.1, task=file) for seed in range(2) for file in files])
    assert family_names(found.tasks) == list(files)
    assert remarks(found) == [], "their instances have one hash"


def test_metrics_of_which_neither_end_is_better_are_not_shown_as_tested() -> None:
    (tests,) = [table for table in comparison_tables(on_tsp()) if table.name == "tests"]
    assert {row[0] for row in tests.rows} == {"best gap %", "top-10 gap %"}


def test_significant_differences_in_the_primary_metric_are_marked() -> None:
    (tests,) = [table for table in comparison_tables(on_tsp()) if table.name == "tests"]
    assert {tests.rows[place][0] for place in tests.marked} == {"best gap %"} and len(tests.marked) == 3
    assert "Primary metric: best gap; tests of the others are exploratory." in tests.caption
    few = comparison([made(method, seed, seed / 10) for method in ("eoh", "niche") for seed in range(3)])
    (tests,) = [table for table in comparison_tables(few) if table.name == "tests"]
    assert tests.rows and tests.marked == frozenset()


def test_the_distances_between_islands_are_shown_at_every_other_tenth() -> None:
    runs = comparison([made(method, 0, 0.1, budget=100) for method in ("eoh", "niche", "best-of-n")])
    (table,) = [t for t in comparison_tables(runs) if t.name == "over_time"]
    assert [column.heading for column in table.columns] == ["group", "20 %"]
    assert [row[0] for row in table.rows] == ["eoh", "niche", "best-of-n"]


def test_runs_of_different_budgets_stand_side_by_side_at_equal_shares_of_them() -> None:
    longer = replace(
        made("niche", 0, 0.1, budget=75),
        diversity_over_time=tuple(DiversityAt((0.5,), 0.1 * tenth, registered=15 * tenth) for tenth in range(1, 5)),
    )
    (table,) = [
        t for t in comparison_tables(comparison([made("eoh", 0, 0.1, budget=50), longer])) if t.name == "over_time"
    ]
    assert [column.heading for column in table.columns] == ["group", "20 %", "40 %", "60 %", "80 %"]
    assert [row[1:] for row in table.rows] == [
        (None, pytest.approx(3.0), None, None),
        pytest.approx((0.2, 0.4, 0.6, 0.8)),
    ]


def test_what_the_choice_was_worth_is_shown_in_points() -> None:
    runs = [tried(made("eoh", seed, 0.1), HeldOutMean(0.5, 0.3), HeldOutMean(0.75, 0.2)) for seed in range(6)]
    (table,) = [each for each in comparison_tables(comparison(runs)) if each.name == "recommended_vs_best"]
    assert [row[0] for row in table.rows] == ["gap", "gain on the template"]
    shown = seen([table], width=160)
    assert "mean advantage (points)" in shown and "10.00 [10.00, 10.00]" in shown and "25.00" in shown


def claimed(*runs: RunReport) -> list[RunReport]:
    """The reports as of runs whose evaluator scored itself."""
    return [replace(run, summary=replace(run.summary, score_source="self-reported")) for run in runs]


def test_self_reported_scores_are_compared_apart_and_marked() -> None:
    ours = [made(method, seed, 0.5) for method in ("eoh", "niche") for seed in range(3)]
    found = comparison([*ours, *claimed(*ours)])
    trusted, own = family_names(found.tasks)
    assert "self-reported" not in trusted
    assert own.endswith("(scores self-reported)")
    assert "(scores self-reported)" in seen(comparison_tables(found), 100)
    assert any("self-reported" in said for said in remarks(found))


def test_ranks_over_trusted_and_self_reported_scores_say_so() -> None:
    runs = [made(method, seed, seed / 10) for method in ("eoh", "niche") for seed in range(3)]
    others = [made(method, seed, seed / 10, task="asp") for method in ("eoh", "niche") for seed in range(3)]
    said = "Trusted and self-reported scores are ranked together"
    assert said in " ".join(text(*runs, *claimed(*others)).split())
    assert said not in " ".join(text(*runs, *others).split())
