"""What a set of programs has to beat is tried as far as the task can begin elsewhere and improve solutions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from behavesim.application.portfolio import SET, rivals
from behavesim.base.errors import TaskError
from behavesim.engine import build
from behavesim.engine.admission import settings_from_person
from behavesim.task import InvalidSolution, Task, TaskReference
from tests.crash.processes import FEW_CITIES
from tests.few_cities import FewCities
from tests.sandbox.fakes import Here

NEAREST = "def select_next_node(a, b, unvisited, d):\n    return unvisited[{}]\n"
PROGRAMS = [NEAREST.format(place) for place in (0, -1, "len(unvisited) // 2", "len(unvisited) // 3")]


class Improving(FewCities):
    """Its solutions are improved by a function that is given; the task of the sandbox is the one without it."""

    name = "few_cities"

    def __init__(self, improved: Callable[[Any], Any]) -> None:
        self._improved = improved

    def improve(self, instance: Any, solution: Any) -> Any:
        return self._improved(solution)


async def tried(task: Task, *programs: str) -> set[str]:
    """The names of the rivals, the set among them; this process scores, as no other can load such a task."""
    settings = settings_from_person({"task": FEW_CITIES, "workers": 1, "recommend": False}, task=task)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "RefereePool", lambda _, split, *rest: Here(task, split, rest[-2]))
        return {each.name for each in await rivals(settings, task, programs)}


IMPROVED = {
    "the best program, then improved",
    "the programs of the set, each improved",
    "the best program begun 4 times, each improved",
}
BEGUN = {"the best program begun 4 times", "the first 2 programs, each begun twice"}


async def test_a_set_is_tried_against_one_program_begun_elsewhere_and_improved() -> None:
    plain = {SET, "the best program alone"}
    assert await tried(Improving(np.sort), *PROGRAMS) == plain | BEGUN | IMPROVED
    assert await tried(Improving(lambda tour: None), *PROGRAMS) == plain | BEGUN


async def test_nothing_is_tried_for_one_program_one_that_fails_or_a_task_without_rivals() -> None:
    task = Improving(np.sort)
    assert await tried(task, PROGRAMS[0]) == set()
    assert await tried(TaskReference("cpp").load(), *PROGRAMS) == set()
    assert await tried(task, PROGRAMS[0], "def select_next_node(a, b, c, d):\n    return 1 / 0\n") == set()


async def test_nothing_is_tried_if_a_solution_is_not_valid_here() -> None:
    class Picky(Improving):
        def score(self, instance: Any, solution: Any) -> float:
            raise InvalidSolution("no tour will do")

    assert await tried(Picky(np.sort), *PROGRAMS[:2]) == set()


def refused(tour: Any) -> Any:
    raise InvalidSolution("not from here")


@pytest.mark.parametrize(
    ("improved", "said"),
    [
        (refused, "`improve` of task 'few_cities' refuses a valid solution: not from here"),
        (np.zeros_like, "`improve` of task 'few_cities' spoils a valid solution: "),
    ],
)
async def test_an_improvement_that_is_none_is_the_tasks_fault(improved: Callable[[Any], Any], said: str) -> None:
    with pytest.raises(TaskError, match=said):
        await tried(Improving(improved), *PROGRAMS[:2])
