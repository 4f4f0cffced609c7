"""Ranks, and the costs of steps, as prompts say them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from behavesim.base.errors import TaskError
from behavesim.task import InWords, rank_words
from tests.engine.toys import Toy


@pytest.mark.parametrize(
    ("rank", "said"),
    [
        (1, "the nearest"),
        (2, "the 2nd nearest"),
        (3, "the 3rd nearest"),
        (4, "the 4th nearest"),
        (11, "the 11th nearest"),
        (12, "the 12th nearest"),
        (13, "the 13th nearest"),
        (21, "the 21st nearest"),
        (22, "the 22nd nearest"),
        (113, "the 113th nearest"),
    ],
)
def test_a_rank_has_its_ending(rank: int, said: str) -> None:
    assert rank_words(rank, "nearest") == said


class Priced(Toy):
    """A task whose steps cost whatever it is told, or whose `cost_so_far` raises that."""

    def __init__(self, costs: Any) -> None:
        self.told = costs

    def cost_so_far(self, instance: Any, decisions: Sequence[int]) -> Any:
        if isinstance(self.told, Exception):
            raise self.told
        return self.told


class Named(Toy):
    """A task of three instances, which are their own names; a decision is said with what came before it."""

    def __init__(self, *names: Any) -> None:
        self.names = names

    def instances(self, split: Any) -> Any:
        return self.names

    def instance_name(self, instance: Any) -> Any:
        return instance

    def choice_in_words(self, instance: Any, before: Sequence[int], decision: int) -> str:
        return f"{instance}\n{[*before]} `{decision}` {'x' * 200}"


def test_an_instance_is_said_with_its_number_and_what_kind_it_is_unless_it_is_the_only_one() -> None:
    words = InWords(Named("small", "", "a `large`\none" + "x" * 50))
    assert [words.instance(index) for index in range(3)] == [
        "instance 1 (small)",
        "instance 2",
        f"instance 3 (a 'large' one{'x' * 27})",
    ]
    assert InWords(Named("small")).instance(0) == "the instance"
    assert InWords(Named("small")).name(0) == "small"


def test_a_decision_is_said_on_one_line_that_opens_no_block_and_is_not_too_long() -> None:
    assert InWords(Named("a", "b")).choice(1, [4, 5], 6) == f"b [4, 5] '6' {'x' * 147}"


def test_a_name_that_is_no_text_is_refused_with_the_name_of_the_method() -> None:
    with pytest.raises(TaskError, match=r"^`instance_name` of task 'toy' must return a text, not int$"):
        InWords(Named(1, 2)).instance(0)


def test_a_step_costs_what_the_costs_so_far_rise_by() -> None:
    assert InWords(Priced([1, 3.5, 3.5])).costs(0, [4, 5, 6]) == (1.0, 2.5, 0.0)
    assert InWords(Priced(None)).costs(0, [4, 5, 6]) == ()


@pytest.mark.parametrize(
    ("costs", "said"),
    [
        (5, "must return None or 2 finite numbers, not int \\('int' object is not iterable"),
        (["one", "two"], "must return None or 2 finite numbers, not list \\(could not convert string to float: 'one'"),
        ([1, 10**400], "must return None or 2 finite numbers, not list \\(int too large"),
        ([1.0], "must return None or 2 finite numbers, one for each decision$"),
        ([1.0, float("nan")], "must return None or 2 finite numbers, one for each decision$"),
        (KeyError(7), r"raised KeyError: 7, in line \d+$"),
    ],
)
def test_costs_of_steps_that_are_none_are_refused_with_the_name_of_the_method(costs: Any, said: str) -> None:
    with pytest.raises(TaskError, match=f"`cost_so_far` of task 'toy' {said}"):
        InWords(Priced(costs)).costs(0, [4, 5])


def test_a_fault_that_the_task_names_itself_is_not_named_again() -> None:
    with pytest.raises(TaskError, match=r"^no prices for this year$"):
        InWords(Priced(TaskError("no prices for this year"))).costs(0, [4, 5])
