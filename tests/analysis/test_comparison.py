"""Runs compared: what is pooled, what is told apart, what is tested."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from behavesim.analysis.comparison import GroupTest, Pairs, TaskComparison, comparison, group_tests, verdicts
from behavesim.analysis.convergence import DiversityAt
from behavesim.analysis.held_out import HeldOutMean
from behavesim.analysis.metrics import METRICS, reaching
from behavesim.analysis.report import RunReport
from tests.analysis.examples import UNKNOWN, grid, made, made_elsewhere, tried, unfinished

METHODS = ("eoh", "niche", "funsearch", "best-of-n", "reevo")


def compared(*runs: RunReport, pairs: Pairs | None = None) -> tuple[TaskComparison, ...]:
    return comparison(runs, pairs).tasks


def labels(entry: TaskComparison) -> list[str]:
    return [group.label for group in entry.groups]


def found_in(entry: TaskComparison, metric: str) -> list[GroupTest]:
    return [test for test in entry.tests if test.metric == metric]


def test_one_run_is_compared_with_nothing() -> None:
    assert compared(made("eoh", 0, 0.1)) == ()


def test_seeds_of_equal_settings_are_pooled() -> None:
    (entry,) = compared(*(made(method, seed, 0.1 * seed) for method in ("eoh", "niche") for seed in (1, 2, 3)))
    assert labels(entry) == ["eoh", "niche"]
    assert [group.seeds for group in entry.groups] == [(1, 2, 3)] * 2
    assert [group.method for group in entry.groups] == ["eoh", "niche"]
    assert entry.groups[0].runs == ("eoh-1-", "eoh-2-", "eoh-3-")
    assert entry.groups[0].metrics["best_gap"].mean == pytest.approx(0.2)
    assert entry.groups[0].metrics["separation"].mean == pytest.approx((0.6 / 0.3 + 0.6 / 0.4 + 0.6 / 0.5) / 3)


def test_settings_that_change_nothing_do_not_part_runs() -> None:
    (entry,) = compared(made("eoh", 0, 0.1, workers=1), made("eoh", 1, 0.1, workers=8, max_cost_usd=3.0))
    assert len(entry.groups) == 1


def test_a_run_made_twice_counts_once_unless_a_model_answered_anew() -> None:
    first, other = made("eoh", 0, 0.1), made("eoh", 1, 0.3)
    again = replace(first, summary=replace(first.summary, run="again", digest="other"))
    found = comparison([first, again, other])
    assert found.tasks[0].groups[0].metrics["best_gap"].values == (0.1, 0.3)
    assert (found.repeats, len(found.runs)) == (("again",), 3)
    assert compared(first, first) == ()
    asked = [made("eoh", 0, gap, proposer="openai") for gap in (0.1, 0.2, 0.2)]
    (entry,) = compared(*asked)
    assert entry.groups[0].metrics["best_gap"].values == (0.1, 0.2)


def test_how_far_the_shortest_and_the_longest_run_of_a_group_came_is_said() -> None:
    (entry,) = compared(*(made("eoh", seed, 0.1, budget=100) for seed in (0, 1)))
    assert entry.groups[0].asked == (100, 100)
    short = made("eoh", 2, 0.1, budget=100)
    short = replace(short, summary=replace(short.summary, asked=40))
    (entry,) = compared(made("eoh", 0, 0.1, budget=100), short)
    assert entry.groups[0].asked == (40, 100)


def test_tasks_are_compared_apart() -> None:
    entries = compared(made("eoh", 0, 0.1), made("eoh", 0, 0.1, task="asp"), made("niche", 0, 0.1))
    assert [(entry.task, labels(entry)) for entry in entries] == [("tsp", ["eoh", "niche"]), ("asp", ["eoh"])]


def test_all_pairs_are_tested_unless_some_were_chosen() -> None:
    everything, chosen = compared(*grid()), compared(*grid(), pairs=[("eoh", "niche"), ("eoh", "absent")])
    gaps = [found_in(entry, "best_gap") for entry in (*everything, *chosen)]
    assert [len(tests) for tests in gaps] == [3, 3, 1, 1]
    assert (gaps[2][0].a, gaps[2][0].b) == ("eoh", "niche")
    assert gaps[2][0].difference == pytest.approx(-1.0)
    assert compared(*grid(), pairs=[("absent", "niche")])[0].tests == ()


def test_the_correction_holds_for_all_tests_of_a_metric_on_all_tasks() -> None:
    tests = [test for entry in compared(*grid()) for test in found_in(entry, "best_gap")]
    assert len({test.p for test in tests}) == 1
    assert all(test.p is not None and test.p_holm == pytest.approx(6 * test.p) for test in tests)


def test_a_difference_is_significant_if_its_metric_is_primary_and_its_corrected_p_value_small() -> None:
    (test,) = found_in(compared(*grid(), pairs=[("eoh", "niche")])[0], "best_gap")
    assert test.is_primary and test.is_significant
    assert not replace(test, p_holm=0.05).is_significant
    assert not replace(test, p_holm=None).is_significant
    (other,) = found_in(compared(*grid(), pairs=[("eoh", "niche")])[0], "top10_gap")
    assert other.p == test.p and not other.is_significant


def test_runs_that_share_their_seeds_are_tested_seed_by_seed_if_so_many_pairs_can_show_anything() -> None:
    shift = {"eoh": 0.0, "niche": 0.01}  # which seed it is matters more than which method

    def tests(seeds: int, methods: Sequence[str] = ("eoh", "niche"), first: int = 0, **settings: object) -> GroupTest:
        runs = [made(methods[0], seed, seed / 10 + shift[methods[0]], **settings) for seed in range(seeds)]
        runs += [made(methods[1], seed, seed / 10 + shift[methods[1]], **settings) for seed in range(first, seeds)]
        return found_in(compared(*runs)[0], "best_gap")[0]

    assert (tests(8).pairs, tests(8).p) == (8, pytest.approx(2 / 2**8))
    assert tests(8).difference == pytest.approx(-0.01) and tests(8).is_significant
    assert (tests(8, first=2).pairs, tests(14, first=8).pairs) == (6, None)  # of too few seeds both have a run
    assert tests(5).pairs is None  # 2 / 2**5 is above 0.05
    assert tests(8, proposer="openai").pairs is None  # a model answers anew: equal seeds do not begin alike
    many = [made(method, seed, 0.1, task) for task in ("tsp", "asp") for method in METHODS for seed in range(8)]
    assert {test.pairs for test in found_in(compared(*many)[0], "best_gap")} == {None}  # 20 tests: p >= 0.16


def test_several_runs_of_a_seed_are_one_pair_with_their_means() -> None:
    def values(*gaps: float) -> list[tuple[int | None, float]]:
        return [(place // 2, gap) for place, gap in enumerate(gaps)]

    a, b = values(*(k / 2 for k in range(12))), values(*(k / 2 + 1 + k % 2 for k in range(12)))
    ((test,),) = group_tests({"t": {"a": {"best_gap": a}, "b": {"best_gap": b}}}, None, METRICS).values()
    assert (test.pairs, test.difference, test.p) == (6, pytest.approx(-1.5), pytest.approx(2 / 2**6))


def test_every_task_has_one_primary_metric_and_one_correction_covers_them_all() -> None:
    entries = compared(
        *(
            tried(run, HeldOutMean(0.1, run.summary.top10_gap), UNKNOWN) if run.summary.task == "tsp" else run
            for run in grid()
        )
    )
    primary = [test for entry in entries for test in entry.tests if test.is_primary]
    assert [(len(entries), test.metric) for test in primary] == [(2, "held_out_best_gap")] * 3 + [(2, "best_gap")] * 3
    assert all(test.p is not None and test.p_holm == pytest.approx(6 * test.p) for test in primary)
    exploratory = found_in(entries[0], "best_gap")
    assert all(test.p is not None and test.p_holm == pytest.approx(3 * test.p) for test in exploratory)


def test_a_run_without_a_feasible_program_counts_where_it_has_values() -> None:
    (entry,) = compared(made("eoh", 0, None), made("eoh", 1, 0.3), made("niche", 0, 0.1))
    assert entry.groups[0].metrics["best_gap"].values == (0.3,)
    assert len(entry.groups[0].runs) == 2


def test_groups_are_tested_in_what_both_have_values_of() -> None:
    (entry,) = compared(made("eoh", 0, None), made("eoh", 1, None), made("niche", 0, 0.1))
    assert found_in(entry, "best_gap") == []
    assert "best_gap" not in entry.groups[0].metrics
    assert len(found_in(entry, "best_score")) == 0
    (entry,) = compared(made("eoh", 0, None), made("eoh", 1, 0.2), made("niche", 0, 0.1))
    assert len(found_in(entry, "best_score")) == 1


def test_a_metric_of_which_neither_end_is_better_is_tested_nowhere() -> None:
    to_half = reaching("candidates_to_gap_50")
    assert to_half is not None
    found = comparison(grid(), metrics=[*METRICS, to_half])
    tested = {test.metric for entry in found.tasks for test in entry.tests}
    assert "best_gap" in tested
    assert tested <= {metric.name for metric in METRICS if metric.direction is not None}


def test_runs_of_one_name_in_two_folders_are_told_apart_by_their_folders() -> None:
    runs = [made(method, seed, gap + seed / 10) for method, gap in (("eoh", 0.0), ("niche", 1.0)) for seed in range(4)]
    cut = unfinished(made("eoh", 4, 0.2), asked=50)
    same_name = replace(runs[4], summary=replace(runs[4].summary, run=cut.summary.run))
    other_folder = replace(same_name, origin=replace(same_name.origin, folder=Path("others")))
    found = comparison([*runs[:4], cut, other_folder, *runs[5:]])
    assert [run.summary.run for run in found.runs][4:6] == ["runs", "others"]
    assert found.untested == ("runs",)
    assert verdicts(found)[0].least_p == pytest.approx(2 / 70)


def test_unfinished_runs_are_named_and_left_out_of_tests_and_ranks_unless_asked_for() -> None:
    runs = [
        made(method, seed, 0.1 * seed, task, budget=100)
        for task in ("tsp", "asp")
        for method in ("eoh", "niche")
        for seed in range(4)
    ]
    cut = [unfinished(made(method, 4, gap, budget=100), 29) for method, gap in (("eoh", 9.0), ("niche", 8.0))]
    whole, mixed, asked_for = (
        comparison(runs),
        comparison([*runs, *cut]),
        comparison([*runs, *cut], tests_unfinished=True),
    )
    assert mixed.tasks[0].tests == whole.tasks[0].tests
    assert mixed.ranks == whole.ranks
    assert mixed.untested == tuple(run.summary.run for run in cut)
    assert [group.unfinished for group in mixed.tasks[0].groups] == [(run.summary.run,) for run in cut]
    assert [group.asked for group in mixed.tasks[0].groups] == [(29, 100)] * 2
    assert asked_for.untested == ()
    assert asked_for.ranks is not None and whole.ranks is not None
    assert [dict(found.means) for found in (whole.ranks, asked_for.ranks)] == [
        {"eoh": 1.5, "niche": 1.5},
        {"eoh": 1.75, "niche": 1.25},
    ]


def test_runs_on_different_instances_are_neither_pooled_nor_tested_nor_ranked_together() -> None:
    here = [made("eoh", seed, 0.1) for seed in range(3)]
    there = [made_elsewhere(method, seed, 0.9) for method in ("eoh", "niche") for seed in range(3)]
    found = comparison([*here, *there])
    assert [(entry.task, entry.instances, labels(entry)) for entry in found.tasks] == [
        ("tsp", "2", ["eoh"]),
        ("tsp", "9", ["eoh", "niche"]),
    ]
    assert found.tasks[0].tests == ()
    assert {(test.a, test.b) for test in found.tasks[1].tests} == {("eoh", "niche")}
    assert found.ranks is None, "one of the two sets of instances has both groups"


def test_what_choosing_on_validation_instances_was_worth_is_counted_over_all_runs() -> None:
    given = [made(method, seed, 0.1) for method in ("eoh", "niche") for seed in range(4)]
    gains = [0.1 * (number - 2) for number in range(8)]
    best = HeldOutMean(0.5, None)
    runs = [tried(run, best, HeldOutMean(0.5 + gain, None)) for run, gain in zip(given, gains, strict=True)]
    runs[0] = tried(given[0], UNKNOWN, HeldOutMean(0.5, None))
    (entry,) = compared(*runs)
    (choice,) = entry.recommended_vs_best
    assert (choice.metric, choice.runs, choice.unknown) == ("held_out_gain_advantage", 7, 1)
    assert (choice.better, choice.equal, choice.worse) == (5, 1, 1)
    assert choice.seeds == 4
    assert choice.mean == pytest.approx((0.2 + (-0.1 + 0.3) / 2 + (0.0 + 0.4) / 2 + (0.1 + 0.5) / 2) / 4)
    assert choice.p == choice.p_holm == pytest.approx(2 / 2**4)
    assert entry.groups[0].metrics["held_out_gain_advantage"].mean == pytest.approx(0.0)
    assert compared(*grid())[0].recommended_vs_best == ()


def test_runs_of_a_model_count_one_by_one_in_what_the_choice_was_worth_whatever_their_seeds() -> None:
    asked = [replace(made("eoh", 0, 0.1, proposer="openai"), held_out=None) for _ in range(8)]
    asked = [replace(run, summary=replace(run.summary, digest=f"{place}")) for place, run in enumerate(asked)]
    runs = [tried(run, HeldOutMean(0.5, None), HeldOutMean(0.6, None)) for run in asked]
    (choice,) = compared(*runs)[0].recommended_vs_best
    assert (choice.seeds, choice.p) == (8, pytest.approx(2 / 2**8))


def test_by_gap_the_choice_is_worth_what_it_takes_away() -> None:
    runs = [tried(made("eoh", seed, 0.1), HeldOutMean(None, 0.3), HeldOutMean(None, 0.2)) for seed in range(2)]
    (choice,) = compared(*runs)[0].recommended_vs_best
    assert (choice.metric, choice.mean) == ("held_out_gap_advantage", pytest.approx(0.1))


def test_diversity_over_time_is_the_mean_of_the_runs_that_know_it() -> None:
    (entry,) = compared(made("eoh", 0, 0.1), made("eoh", 2, 0.1))
    first, second = entry.groups[0].diversity_over_time
    assert (first.registered, first.intra, first.inter, first.separation) == (10, pytest.approx(0.1), None, None)
    assert (second.registered, second.intra, second.inter) == (20, pytest.approx(0.3), 0.6)
    assert second.separation == pytest.approx((3.0 + 1.5) / 2)


def test_moments_are_put_together_by_how_many_were_registered() -> None:
    moments = tuple(DiversityAt((0.5,), None, moment) for moment in (40, 20))
    (entry,) = compared(made("eoh", 0, 0.1), replace(made("eoh", 2, 0.1), diversity_over_time=moments))
    found = [(then.registered, then.intra) for then in entry.groups[0].diversity_over_time]
    assert found == [(10, pytest.approx(0.1)), (20, pytest.approx(0.35)), (40, pytest.approx(0.5))]
