"""Two programs are told in which stretch of an instance one of them loses what, from what the task says steps cost."""

from __future__ import annotations

import re

import numpy as np
import pytest

from behavesim.prompts.behaviour_diff import STRETCHES, costs_in_words
from behavesim.task import InWords, TaskReference
from behavesim.trajectory import Trajectory

TSP = TaskReference("tsp").load()
WORDS = InWords(TSP)
LINE = [1, 2, 3, 4, 5, 6, 7, 8]


class Given(InWords):
    """Each step costs its decision."""

    def costs(self, index: int, decisions: object) -> tuple[float, ...]:
        return tuple(np.asarray(decisions, float))


def said(first: list[int], second: list[int], is_cost: bool = True) -> str:
    return costs_in_words([Trajectory.prefixes(each) for each in (first, second)], 0, Given(TSP), is_cost, 2)


@pytest.mark.parametrize("at", range(8))
def test_the_quarter_that_is_named_is_the_one_in_which_the_costlier_program_loses_most(at: int) -> None:
    costlier = [*LINE[:at], LINE[at] + 40, *LINE[at + 1 :]]
    lost = f"costs 40 more than program %s; in the {STRETCHES[at // 2]} quarter alone it costs 40 more."
    assert f"In all, program 1 {lost % 2}" in said(costlier, LINE)
    assert f"In all, program 2 {lost % 1}" in said(LINE, costlier)
    gained = said(costlier, LINE, is_cost=False)
    assert f"In all, program 1 adds 40 more than program 2; in the {STRETCHES[at // 2]} quarter" in gained
    assert f"The costliest step of program 1 is number {at + 1} of 8, at {LINE[at] + 40}: " in said(costlier, LINE)


@pytest.mark.parametrize("steps", [[9, 1, 9], [0, 0, 0]])
def test_no_step_is_named_the_costliest_where_several_are_or_none_costs_anything(steps: list[int]) -> None:
    found = said(steps, LINE)
    assert "The costliest step of program 1" not in found
    assert "The costliest step of program 2 is number 8 of 8, at 8: " in found


def test_programs_that_cost_the_same_are_not_compared() -> None:
    assert "In all" not in said(LINE, LINE[::-1])
    assert re.findall(r"program \d [\d ]+", said(LINE, LINE[::-1])) == ["program 1 3 7 11 15", "program 2 15 11 7 3"]


def test_the_quarters_of_a_tour_sum_to_its_length() -> None:
    tour = list(range(50))
    trajectories = [Trajectory.prefixes(tour), Trajectory.prefixes(tour[::-1])]
    found = costs_in_words(trajectories, 0, WORDS, True, 2)
    parts = [float(each) for each in re.search(r"program 1 ([\d. ]+);", found)[1].split()]  # type: ignore[index]
    assert sum(parts) == pytest.approx(sum(WORDS.costs(0, tour)), rel=0.01)
    assert all(re.search(rf"The costliest step of program {k} is number \d+ of {len(tour)}, at", found) for k in (1, 2))


def test_trajectories_that_are_no_single_decisions_have_no_costs() -> None:
    assert costs_in_words([Trajectory.vectors([[1.0], [2.0]])], 0, WORDS, True) == ""
