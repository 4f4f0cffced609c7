"""What a task's own methods return is checked, and a fault is named with the method."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from behavesim.base.errors import TaskError
from behavesim.task import Bins, Disks, Route, Score, calls, instances_of
from behavesim.task.calls import begin_instances, instances_made_anew, number_from, picture_of
from behavesim.task.task import Picture
from tests.engine.toys import Toy


class Odd(Toy):
    """A task whose instances and picture are whatever it is told."""

    name = "odd"

    def __init__(self, made: Any = None, drawn: Any = None) -> None:
        self.made, self.drawn, self.calls = made, drawn, 0

    def instances(self, split: Any) -> Any:
        self.calls += 1
        if isinstance(self.made, Exception):
            raise self.made
        return self.made

    def picture(self, instance: Any) -> Any:
        if isinstance(self.drawn, BaseException):
            raise self.drawn
        return self.drawn


@pytest.mark.parametrize("made", [[1, 2], (1,), np.ones((2, 3))])
def test_a_task_is_asked_once_for_a_split(made: Any) -> None:
    task, another = Odd(made), Odd([3])
    assert instances_of(task, "search") is instances_of(task, "search") is made
    assert task.calls == 1
    assert instances_of(another, "search") == [3]
    instances_of(task, "validation")
    assert instances_made_anew(task, "search") is made
    assert task.calls == 3


def noted(error: Exception) -> Exception:
    error.add_note("while the file was read")
    return error


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (None, "must return a list, not None"),
        (iter([1]), "must return a list, not list_iterator"),
        ([], "gives none, where a search needs one at least"),
        (np.ones((0, 3)), "gives none"),
        (ValueError("no\ndata"), r"raised ValueError: no data, in line \d+"),
        (noted(KeyError("depot")), r"raised KeyError: 'depot', in line \d+"),
        (SyntaxError("unfinished", ("drawn.py", 1, 4, "1 +", 1, 5)), r"raised SyntaxError: unfinished, in line \d+"),
    ],
)
def test_what_are_no_instances_is_refused(made: Any, said: str) -> None:
    with pytest.raises(TaskError, match=rf"`instances\('search'\)` of task 'odd' {said}"):
        instances_of(Odd(made), "search")


def test_a_task_that_was_typed_in_has_no_file_to_name_a_line_of(monkeypatch: pytest.MonkeyPatch) -> None:
    typed = ModuleType("typed")
    monkeypatch.setitem(sys.modules, "typed", typed)
    task = type("Typed", (Odd,), {"__module__": "typed"})(ValueError("boom"))
    with pytest.raises(TaskError, match=r"raised ValueError: boom$"):
        instances_of(task, "search")


def test_what_a_task_itself_says_of_its_instances_is_said_as_it_is() -> None:
    with pytest.raises(TaskError, match=r"^download the cities first$"):
        instances_of(Odd(TaskError("download the cities first")), "search")


def test_other_splits_may_have_no_instances() -> None:
    assert instances_of(Odd([]), "held-out") == []


def test_instances_that_are_never_done_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless(Odd):
        def instances(self, split: Any) -> Any:
            while True:
                pass

    monkeypatch.setattr(calls, "INSTANCES_S", 0.05)
    with pytest.raises(TaskError, match=r"of task 'odd' is not done after 0\.05 s of CPU time; look for a loop"):
        instances_of(Endless(), "search")


@pytest.mark.parametrize(
    "drawn", [None, Route(((0.0, 1.0), (0.5, 0.5))), Disks(), Bins((1.0, 2.0), 3.0)], ids=lambda drawn: str(drawn)[:6]
)
def test_a_picture_is_one_that_pages_can_draw_or_none(drawn: Picture | None) -> None:
    assert picture_of(Odd(drawn=drawn), 0) == drawn


@pytest.mark.parametrize(
    ("drawn", "said"),
    [
        ("a bitmap", "must return a Route, Disks, Bins or None"),
        (Route("no places"), "must return a Route, Disks, Bins or None"),  # type: ignore[arg-type]
        (RuntimeError("no ink"), r"raised RuntimeError: no ink, in line \d+"),
        (SystemExit(3), r"raised SystemExit: 3, in line \d+"),
    ],
)
def test_any_other_picture_is_refused(drawn: Any, said: str) -> None:
    with pytest.raises(TaskError, match=rf"`picture` of task 'odd' {said}"):
        picture_of(Odd(drawn=drawn), 0)


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (None, "a number, not None$"),
        ("3.5", r"a number, not str \('3.5'\)$"),
        (Score("3.5"), r"a Score whose value is a number, not str"),  # type: ignore[arg-type]
        ([], r"a number, not list \(float\(\) argument"),
        (10**400, r"a number, not int \(int too large"),
        (Score(np.ones(2)), r"a Score whose value is a number, not ndarray \(only"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_number_is_named_with_the_method(returned: object, said: str) -> None:
    with pytest.raises(TaskError, match=rf"`score` of task 'odd' must return {said}"):
        number_from(Odd(), "score", returned)


def test_a_number_of_any_kind_is_a_float() -> None:
    assert [number_from(Odd(), "score", each) for each in (3, np.float32(0.5))] == [3.0, 0.5]


@pytest.mark.parametrize("given", [None, [], [1, 2, 3], iter([1])])
def test_versions_of_an_instance_are_a_list_of_as_many_as_asked_for(given: Any) -> None:
    class Begun(Odd):
        def starts(self, instance: Any, count: int) -> Any:
            return given

    with pytest.raises(TaskError, match="`starts` of task 'odd' must return 1 to 2 instances"):
        begin_instances(Begun([1]), "search", 2)


def test_an_instance_begins_in_one_way_alone_and_a_solution_is_not_improved_unless_the_task_says_how() -> None:
    assert begin_instances(Odd([1, 2]), "search", 3) == [1, 2]
    assert Odd().improve(1, np.ones(1)) is None
