"""The bin packing task: golden values, strict checks, and scores equal to an evaluator written independently."""

import math

import numpy as np
import pytest
from behavesim_tasks.bin_packing import CAPACITY, Items, OnlineBinPacking

from behavesim.engine.admission import settings_from_person
from behavesim.engine.build import judge_of
from behavesim.task import InvalidSolution, TaskReference
from behavesim.task.verdict import Verdict
from behavesim.trajectory import Trajectory

task = OnlineBinPacking()
THREE = Items(np.array([60, 60, 40]))


def score_of(function):
    instances = task.instances("search")
    return task.mean_score([task.score(instance, task.solve(function, instance)) for instance in instances])


def bins_by_hand(sizes, priority):
    """A second evaluator, in plain Python: bins as lists of items."""
    bins, chosen = [], []
    for size in sizes:
        fitting = [place for place, held in enumerate([*bins, []]) if sum(held) + size <= CAPACITY]
        room = np.array([float(CAPACITY - sum(bins[place])) if place < len(bins) else 100.0 for place in fitting])
        ranked = [(-float(p), place) for p, place in zip(priority(float(size), room), fitting, strict=True)]
        place = min(ranked)[1]
        if place == len(bins):
            bins.append([])
        bins[place].append(size)
        chosen.append(place)
    return chosen, len(bins)


def random_priority(seed):
    a, b, c, d = np.random.default_rng(seed).normal(size=4)
    return lambda item, bins: (
        a * (bins - item) + b * np.abs(bins - item - 20) + c * (bins - item < 3) + d * (bins == 100)
    )


def test_the_template_is_best_fit_and_the_golden_values_hold():
    namespace = {}
    exec(task.template, namespace)
    assert score_of(namespace[task.entry_point]) == 2091.8
    assert score_of(lambda item, bins: np.zeros(len(bins))) == 2099.4  # first fit
    assert task.objective.best_known == 2011.4


@pytest.mark.parametrize("seed", range(50))
def test_choices_and_scores_equal_those_of_an_independent_evaluator(seed):
    items = Items(task.instances("search")[seed % 5].sizes[seed * 20 : seed * 20 + 150])
    priority = random_priority(seed)
    chosen, bins = bins_by_hand(items.sizes.tolist(), priority)
    solution = task.solve(priority, items)
    assert solution.tolist() == chosen
    assert task.score(items, solution) == bins


def test_a_function_sees_the_bins_that_fit_and_an_empty_one_last():
    seen = []
    task.solve(lambda item, bins: seen.append((item, bins.tolist())) or -bins, THREE)
    assert seen == [(60.0, [100.0]), (60.0, [100.0]), (40.0, [40.0, 40.0, 100.0])]


def test_a_function_that_writes_to_the_bins_changes_nothing():
    def spoiling(item, bins):
        bins[:] = 0
        return np.zeros(len(bins))

    assert task.solve(spoiling, THREE).tolist() == [0, 1, 0]


@pytest.mark.parametrize("answer", [None, 1.0, np.zeros(7), np.zeros((1, 1)), np.array(["a"]), np.array([1j])])
def test_an_answer_that_is_not_a_priority_for_each_bin_is_refused(answer):
    with pytest.raises(InvalidSolution, match="priorities"):
        task.solve(lambda item, bins: answer, THREE)


@pytest.mark.parametrize("worst", [math.nan, math.inf, -math.inf])
def test_a_non_finite_greatest_priority_is_refused_and_named(worst):
    with pytest.raises(InvalidSolution, match="non-finite"):
        task.solve(lambda item, bins: np.full(len(bins), worst), THREE)


def test_minus_infinity_leaves_a_bin_out():
    def only_new(item, bins):
        return np.where(bins == CAPACITY, 0.0, -np.inf)

    assert task.solve(only_new, THREE).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("bins", "complaint"),
    [
        ([0, 0, 1], "filled up to"),
        ([1, 0, 0], "order"),
        ([0, 2, 1], "order"),
        ([0, -1, 0], "in 0…2"),
        ([0, 3, 1], "in 0…2"),
        ([0, 1], "3 items"),
        ([0.0, 1.0, 0.0], "integers"),
    ],
)
def test_what_is_no_packing_is_refused(bins, complaint):
    with pytest.raises(InvalidSolution, match=complaint):
        task.score(THREE, np.array(bins))
    with pytest.raises(InvalidSolution, match=complaint):
        task.trajectory(THREE, np.array(bins))


def test_the_trajectory_is_the_bins_of_the_first_100_items():
    items = task.instances("search")[0]
    solution = task.solve(lambda item, bins: -bins, items)
    assert task.trajectory(items, solution) == Trajectory.prefixes(solution[:100])
    assert task.trajectory(THREE, np.array([0, 1, 0])) == Trajectory.prefixes([0, 1, 0])
    assert task.normaliser == 100


@pytest.mark.parametrize("split", ["search", "validation", "held-out", "shifted"])
def test_the_best_known_of_a_split_is_its_mean_lower_bound(split):
    bounds = [math.ceil(sum(items.sizes.tolist()) / 100) for items in task.instances(split)]
    assert task.objective_on(split).best_known == pytest.approx(sum(bounds) / len(bounds))


READS_AHEAD = """
import sys
import numpy as np

def coming(item):
    frame = sys._getframe()
    while frame is not None:
        for each in list(frame.f_locals.values()):
            if isinstance(getattr(each, "sizes", None), np.ndarray):
                return each.sizes
        frame = frame.f_back
    return None

def priority(item, bins):
    if coming(item) is not None:
        return -(bins - item)
    return -np.arange(len(bins))
"""


SHORT = """
from behavesim_tasks.bin_packing import Items, OnlineBinPacking

class Short(OnlineBinPacking):
    def instances(self, split):
        return [Items(each.sizes[:300]) for each in super().instances(split)]

task = Short()
"""


async def test_a_program_that_looks_for_the_items_to_come_finds_none_and_packs_first_fit(tmp_path):
    (tmp_path / "short.py").write_text(SHORT)
    short = TaskReference(str(tmp_path / "short.py")).load()
    settings = settings_from_person({"task": str(tmp_path / "short.py"), "allow_weak_isolation": True}, task=short)
    async with judge_of(settings, short) as judge:
        verdict = await judge.evaluate(READS_AHEAD)
    assert isinstance(verdict, Verdict), verdict
    first_fit, best_fit = lambda item, bins: np.zeros(len(bins)), lambda item, bins: item - bins
    packed = [
        [short.solve(function, each).max() + 1 for each in short.instances("search")]
        for function in (first_fit, best_fit)
    ]
    assert verdict.score == np.mean(packed[0]) != np.mean(packed[1])
