"""What the examination of a task finds, one fault at a time."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from behavesim.base.errors import Finding, TaskError
from behavesim.checks import solutions
from behavesim.checks.instances import (
    check_fresh_instances,
    check_instances_elsewhere,
    check_instances_present,
    check_instances_unchanged,
    check_splits_distinct,
)
from behavesim.checks.solutions import examine_solutions, forgeries, halves
from behavesim.sandbox.limits import Limits
from behavesim.task import SPLITS, InvalidSolution, Objective, Task, TaskReference
from behavesim.task.verdict import Solved
from behavesim.trajectory import Trajectory


class Picks(Task):
    """Pick three numbers of which the sum is great, none of them twice."""

    name = "picks"
    template = "def better(value):\n    return value\n"
    objective = Objective("maximise", best_known=30)
    normaliser = 3

    def instances(self, split: Any) -> Sequence[Any]:
        return [np.array([1, 7, 9, 3, 5]), np.array([2, 8, 6, 4])]

    def solve(self, function: Callable[..., Any], instance: Any) -> Any:
        return np.argsort([-function(value) for value in instance])[1:4]

    def score(self, instance: Any, solution: Any) -> float:
        picks = np.asarray(solution)
        if picks.shape != (3,) or picks.dtype.kind not in "iu" or not 0 <= picks.min() <= picks.max() < len(instance):
            raise InvalidSolution("three numbers of the instance")
        if len(set(picks.tolist())) < 3:
            raise InvalidSolution("one twice")
        return float(instance[picks].sum())

    def trajectory(self, instance: Any, solution: Any) -> Trajectory:
        return Trajectory.prefixes(solution)


def findings(task: Task, seconds: float = 0.01, limits: Limits | None = None) -> dict[str, Finding]:
    """What is found on two runs of the template, the second of which took so long."""
    namespace: dict[str, Any] = {}
    exec(task.template, namespace)
    function = namespace[task.entry_point]
    first, second = (
        Solved(tuple(task.solve(function, instance) for instance in task.instances("search")), cpu_s, cpu_s)
        for cpu_s in (0.01, 0.011)
    )
    return {finding.name: finding for finding in examine_solutions(task, first, second, seconds, limits or Limits())}


def test_a_task_in_order_is_found_in_order() -> None:
    assert {finding.result for finding in findings(Picks()).values()} == {"ok"}


@pytest.mark.parametrize(("scale", "said"), [(0.001, "the best alone"), (1e6, "as if all were alike")])
def test_a_scale_that_does_not_fit_the_scores_is_named_with_one_that_does(scale: float, said: str) -> None:
    task = Picks()
    task.score_scale = scale
    found = findings(task)["score scale"]
    assert found.result == "warning"
    assert said in found.message
    task.score_scale = float(found.message.rpartition("= ")[2])
    assert findings(task)["score scale"].result == "ok"


@pytest.mark.parametrize(("seconds", "said"), [(0.01, "20 s"), (0.06, "2 min"), (4.0, "2.2 h")])
def test_what_a_budget_takes_is_said_in_a_unit_that_fits(seconds: float, said: str) -> None:
    assert f"2000 such programs take {said} on one worker" in findings(Picks(), seconds)["template"].message


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.01, "the time limit is 5,000 times what the template took; a program that never ends costs 50 s: "),
        (0.01, ": consider --set timeout_s=1"),
        (0.4, ": consider --set timeout_s=8"),
    ],
)
def test_a_time_limit_far_beyond_the_template_is_said_with_what_it_costs(seconds: float, said: str) -> None:
    assert said in findings(Picks(), seconds)["template"].message
    assert "time limit" not in findings(Picks(), 0.6)["template"].message


def test_a_template_near_the_time_limit_and_a_trajectory_of_one_state_are_warnings() -> None:
    class Final(Picks):
        def trajectory(self, instance: Any, solution: Any) -> Trajectory:
            return Trajectory.vectors([np.sort(solution)])

    found = findings(Final(), limits=Limits(timeout_s=0.04))
    assert {name for name, each in found.items() if each.result != "ok"} == {"template", "trajectory"}
    assert found["template"].message.endswith("; that is near the limit of 0.04 s")
    assert found["trajectory"].message.startswith("one state only")


def test_a_solution_that_differs_on_a_second_run_is_solves_fault() -> None:
    class Task(Picks):
        calls = itertools.count()

        def solve(self, function: Any, instance: Any) -> Any:
            return np.roll(super().solve(function, instance), next(self.calls))

    found = findings(Task())["determinism"]
    assert found.result == "fail"
    assert "second run" in found.message


def test_a_score_that_differs_on_the_same_solution_is_scores_fault() -> None:
    class Task(Picks):
        calls = itertools.count()

        def score(self, instance: Any, solution: Any) -> float:
            return super().score(instance, solution) + next(self.calls)

    found = findings(Task())["determinism"]
    assert found.result == "fail"
    assert "the same solution" in found.message


def test_a_rule_that_is_not_checked_is_found_by_breaking_it() -> None:
    class Task(Picks):
        def score(self, instance: Any, solution: Any) -> float:
            return float(np.asarray(instance)[np.asarray(solution)].sum())

    assert findings(Task())["trusted scoring"].result == "fail"

    class Lax(Picks):
        def score(self, instance: Any, solution: Any) -> float:
            if np.shape(solution) != (3,):
                raise InvalidSolution("three")
            return float(instance[np.asarray(solution)].sum())

    found = findings(Lax())["trusted scoring"]
    assert found.result == "warning"
    assert "one part all over" in found.message


def counted_once(instance: Any, solution: Any) -> Any:
    """Picks of which none is there twice by the same name; those below 0 are other names."""
    picks = np.asarray(solution)
    if picks.dtype.kind not in "iu" or picks.ndim != 1 or not len(picks) or len(set(picks.tolist())) < len(picks):
        raise InvalidSolution("one twice")
    if picks.max() >= len(instance):
        raise InvalidSolution("beyond the numbers")
    return picks


class Hidden(Picks):
    """Only picks from 0 on are counted against the limit of three."""

    def score(self, instance: Any, solution: Any) -> float:
        picks = counted_once(instance, solution)
        if len(picks[picks >= 0]) > 3 or picks.min() < -len(instance):
            raise InvalidSolution("more than three")
        return float(instance[picks].sum())


class Weighed(Picks):
    """Everything picked costs, and a pick below 0 costs nothing."""

    objective = Objective("minimise")

    def score(self, instance: Any, solution: Any) -> float:
        picks = counted_once(instance, solution)
        if len(picks) != 3:
            raise InvalidSolution("three")
        return float(instance[picks[picks >= 0]].sum())


class Renamed(Picks):
    """The three greatest, of which NumPy counts those below 0 from the end: the best number could be picked twice."""

    def solve(self, function: Callable[..., Any], instance: Any) -> Any:
        return np.argsort([-function(value) for value in instance])[:3]

    def score(self, instance: Any, solution: Any) -> float:
        picks = counted_once(instance, solution)
        if len(picks) != 3 or picks.min() < -len(instance):
            raise InvalidSolution("three")
        return float(instance[picks].sum())


@pytest.mark.parametrize(
    ("task", "said"),
    [
        (Hidden(), "every index, counted from the end scores 25, better than the template's 15"),
        (Weighed(), "its indices counted from the end scores 0, better"),
        (Renamed(), "its indices counted from the end scores as much as the template's; if one thing could"),
    ],
)
def test_indices_below_zero_are_tried(task: Task, said: str) -> None:
    found = findings(task)["trusted scoring"]
    assert (found.result, said in found.message) == ("warning", True), found.message


def test_the_things_that_indices_count_are_the_instances() -> None:
    forged = {
        each.what: np.asarray(each.solution).tolist()
        for instance in ({"limit": 3, "worth": np.arange(5), "pair": [1, 2]},)
        for each in forgeries(np.array([2, 0, 3], np.uint8), instance)
    }
    assert forged["its indices counted from the end"] == [-3, -5, -2]
    assert forged["its indices negated"] == [-2, 0, -3]
    assert forged["its first half twice, the second time counted from the end"] == [2, -3]
    assert forged["every index, counted from the end"] == [-5, -4, -3, -2, -1]
    of_a_number = [each.what for each in forgeries(np.array([0.5, 1.0]), None)]
    assert not any("ind" in what for what in of_a_number)


def test_the_numbers_beside_the_arrays_of_a_half_solution_stay_as_they_are() -> None:
    found = [each.solution for each in halves({"order": np.arange(5), "limit": np.array(7), "last": np.array([2])})]
    assert [each["order"].tolist() for each in found] == [[0, 1], [2, 3, 4]]
    assert [(int(each["limit"]), each["last"].tolist()) for each in found] == [(7, [2])] * 2


def test_a_forged_solution_that_may_be_right_is_for_the_author_to_judge() -> None:
    class Sphere(Picks):
        objective = Objective("minimise", best_known=0.0)

        def score(self, instance: Any, solution: Any) -> float:
            if np.shape(solution) != (3,) or not np.isfinite(solution).all() or np.abs(solution).max() > 9:
                raise InvalidSolution("three numbers of at most nine")
            return float(np.square(solution).sum())

    found = findings(Sphere())
    assert found["trusted scoring"].result == "warning"
    assert "only zeros" in found["trusted scoring"].message
    assert "best_known is 0" in found["direction"].message


@pytest.mark.parametrize(
    ("name", "function", "said"),
    [
        ("trajectory", lambda instance, solution: solution.tolist(), "Trajectory.*, not list"),
        ("trajectory", lambda instance, solution: None, "Trajectory.*, not NoneType"),
        (
            "trajectory",
            lambda instance, solution: Trajectory.prefixes([]),
            "`trajectory` of task 'picks' raised .*TrajectoryError",
        ),
        (
            "score",
            lambda instance, solution: instance.nope,
            "`score` of task 'picks' raised AttributeError: .*, in line",
        ),
        ("score", lambda instance, solution: np.nan, "must be finite"),
        ("score", lambda instance, solution: None, "`score` of task 'picks' must return a number, not None"),
    ],
)
def test_trusted_code_that_fails_on_an_honest_solution_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, function: Any, said: str
) -> None:
    task = Picks()
    monkeypatch.setattr(task, name, function)
    with pytest.raises(TaskError, match=said):
        findings(task)


def test_scoring_that_fails_on_a_forged_solution_by_anything_but_a_refusal_is_named() -> None:
    class Task(Picks):
        def score(self, instance: Any, solution: Any) -> float:
            assert np.shape(solution) == (3,)
            return super().score(instance, solution)

    with pytest.raises(TaskError, match="AssertionError on a forged solution"):
        findings(Task())


@pytest.mark.parametrize(("normaliser", "result"), [(3, "ok"), (1, "fail"), ("pair", "warning")])
def test_a_normaliser_is_held_against_the_templates_own_states(normaliser: Any, result: str) -> None:
    class Task(Picks):
        pass

    task = Task()
    task.normaliser = normaliser
    assert findings(task)["normaliser"].result == result


def test_instances_of_different_dimensions_are_in_order() -> None:
    class Task(Picks):
        def trajectory(self, instance: Any, solution: Any) -> Trajectory:
            return Trajectory.vectors(np.eye(len(instance)))

    assert findings(Task())["normaliser"].result == "ok"


@pytest.mark.parametrize(
    "instances", [lambda split: (n for n in range(2)), lambda split: [lambda: 0], lambda split: 1 / 0]
)
def test_instances_that_cannot_be_kept_are_named(monkeypatch: pytest.MonkeyPatch, instances: Any) -> None:
    task = Picks()
    monkeypatch.setattr(task, "instances", instances)
    assert check_instances_present(task, "search").result == "fail"


@pytest.mark.parametrize("direction", ["maximum", "max", "", None])
def test_a_direction_that_is_neither_is_refused(direction: Any) -> None:
    with pytest.raises(TaskError, match="to 'minimise' or to 'maximise'"):
        Objective(direction)


async def test_another_process_that_cannot_load_the_task_says_why() -> None:
    found = await check_instances_elsewhere(TaskReference("nowhere.py"), dict.fromkeys(SPLITS, ""))
    assert found.result == "fail"
    assert "there is no task file nowhere.py" in found.message


async def test_another_process_takes_no_module_of_pythons_from_the_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "random.py").write_text("raise RuntimeError")
    found = await check_instances_elsewhere(TaskReference("tsp"), dict.fromkeys(SPLITS, ""))
    assert "another process has other search instances" in found.message


@pytest.mark.parametrize(
    ("waited_s", "message"),
    [(10.0, "1.0 ms for"), (11.0, "1.0 ms for"), (9.96, "40.0 ms for"), (0.0, "10000.0 ms for")],
)
def test_what_others_on_the_machine_take_is_not_the_time_of_scoring(
    monkeypatch: pytest.MonkeyPatch, waited_s: float, message: str
) -> None:
    clocks = SimpleNamespace(perf_counter=iter((0.0, 10.0)).__next__, thread_time=iter((0.0, 0.001)).__next__)
    waiting = iter((0.0, waited_s))
    monkeypatch.setattr(solutions, "time", clocks)
    monkeypatch.setattr(solutions, "seconds_without_a_core", lambda pid: next(waiting))
    found = findings(Picks())["scoring time"]
    assert found.message.startswith(message)
    assert found.result == ("warning" if waited_s == 0.0 else "ok")


class Splits(Picks):
    """The same with other instances in each split."""

    seeds: Mapping[str, tuple[int, ...]] = {"search": (1, 2), "validation": (3,), "held-out": (4, 5)}

    def instances(self, split: Any) -> Sequence[Any]:
        return [np.random.default_rng(seed).permutation(9) for seed in self.seeds[split]]


@pytest.mark.parametrize(
    ("split", "seeds", "result", "said"),
    [
        ("held-out", (4, 5), "ok", "no instance belongs to two"),
        ("held-out", (4, 2), "warning", "1 of 2 held-out instances are among the search instances"),
        ("held-out", (2, 1), "fail", "2 of 2 held-out instances are among the search instances"),
        ("validation", (1, 2), "fail", "2 of 2 validation instances are among the search instances"),
        ("validation", (1,), "fail", "1 of 1 validation instances are among the search instances"),
        ("held-out", (3,), "fail", "1 of 1 held-out instances are among the validation instances"),
        ("validation", (), "ok", "no instance belongs to two"),
    ],
)
def test_instances_that_belong_to_two_splits_are_named(
    split: str, seeds: tuple[int, ...], result: str, said: str
) -> None:
    task = Splits()
    task.seeds = {**task.seeds, split: seeds}
    found = check_splits_distinct(task)
    assert (found.result, said in found.message) == (result, True), found


def test_what_is_wrong_with_instances_by_number_is_named() -> None:
    class Endless(Splits):
        endless = True
        given: Callable[[str, int], Any] = staticmethod(lambda split, number: np.full(3, 100.0 * len(split) + number))

        def instance(self, split: str, number: int) -> Any:
            own = self.instances(split)  # type: ignore[arg-type]
            return own[number] if number < len(own) else self.given(split, number)

    def told(task: Any) -> tuple[str, str]:
        found = check_fresh_instances(task)
        return found.result, found.message

    task, draw = Endless(), np.random.default_rng(0)
    assert told(task)[0] == "ok"
    for given, said in (
        (lambda split, number: draw.random(3), "two calls give different instances"),
        (lambda split, number: np.zeros(3), "some are equal"),
        (lambda split, number: task.instances(split)[0], "some are equal"),
        (lambda split, number: [][number], "set endless = False"),
    ):
        task.given = given
        assert told(task)[0] == "fail" and said in told(task)[1]

    class Shifted(Endless):
        def instance(self, split: str, number: int) -> Any:
            return self.given(split, number)

    assert "is not the first of instances('search')" in told(Shifted())[1]


def test_a_solve_that_changes_its_instance_is_named() -> None:
    class Sorting(Picks):
        def solve(self, function: Callable[..., Any], instance: Any) -> Any:
            instance.sort()
            return super().solve(function, instance)

    assert check_instances_unchanged(Picks()).result == "ok"
    found = check_instances_unchanged(Sorting())
    assert (found.result, "changes its instance (search instance 1)" in found.message) == ("fail", True)


def test_a_solve_that_fails_beside_the_sandbox_is_named() -> None:
    class Failing(Picks):
        def solve(self, function: Callable[..., Any], instance: Any) -> Any:
            raise ValueError("no such number")

    with pytest.raises(TaskError, match="`solve` of task 'picks' raised ValueError: no such number"):
        check_instances_unchanged(Failing())


def test_a_solve_that_keeps_what_it_computes_in_a_cached_property_changes_nothing() -> None:
    class Instance:
        def __init__(self) -> None:
            self.numbers = [3, 1, 2]

        @cached_property
        def total(self) -> int:
            return sum(self.numbers)

    class Cached(Picks):
        def instances(self, split: Any) -> Sequence[Any]:
            return [Instance()]

        def solve(self, function: Callable[..., Any], instance: Any) -> Any:
            return np.array([instance.total])

    Cached.__module__, Instance.__qualname__ = __name__, "Instance"
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "Instance", Instance)
        assert check_instances_unchanged(Cached()).result == "ok"


def test_a_score_that_takes_half_a_solution_for_a_better_one_is_named() -> None:
    class Shortest(Picks):
        objective = Objective("minimise")

        def score(self, instance: Any, solution: Any) -> float:
            if len(np.unique(solution)) != len(solution) or not np.isin(solution, np.arange(len(instance))).all():
                raise InvalidSolution("one twice, or none")
            if not len(solution):
                raise InvalidSolution("nothing")
            return float(instance[solution].sum())

    assert findings(Picks())["whole solutions"].result == "ok"
    found = findings(Shortest())["whole solutions"]
    assert found.result == "fail"
    assert "a solution with only its first half scores" in found.message


def test_a_score_that_looks_at_half_a_solution_only_is_named_and_one_that_counts_parts_is_in_order() -> None:
    class Lazy(Picks):
        def score(self, instance: Any, solution: Any) -> float:
            return float(instance[np.asarray(solution, int)[:1]].sum())

    class Knapsack(Picks):
        def score(self, instance: Any, solution: Any) -> float:
            picks = np.asarray(solution)
            if len(set(picks.tolist())) < len(picks):
                raise InvalidSolution("one twice")
            return float(instance[picks].sum())

    assert findings(Lazy())["whole solutions"].result == "fail"
    assert findings(Knapsack())["whole solutions"].result == "ok"  # half of what is packed is packed, and worth less
