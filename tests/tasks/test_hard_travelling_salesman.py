"""The hard TSP task: what sets it apart from `tsp`, and that its references are what they are said to be."""

import numpy as np
import pytest
from behavesim_offline import GeneticProposer
from behavesim_tasks.best_known import TSP_HARD
from behavesim_tasks.routes import DIGITS
from behavesim_tasks.tsp_hard import SIZES, HardTravellingSalesman
from scipy.sparse.csgraph import minimum_spanning_tree

from behavesim.engine.admission import settings_from_person
from behavesim.engine.build import judge_of
from behavesim.programs.answer import fenced_blocks
from behavesim.state.events import Prompt
from behavesim.task import SPLITS, TaskReference
from behavesim.task.verdict import Failure, Verdict

task = HardTravellingSalesman()

PLANS = """
import numpy as np

plans = {}

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    key = float(distance_matrix.sum())
    if key not in plans:
        tour, left = [current_node], [int(node) for node in unvisited_nodes]
        while left:
            tour.append(min(left, key=lambda node: distance_matrix[tour[-1], node] - 0.5 * distance_matrix[0, node]))
            left.remove(tour[-1])
        tour[1:] = tour[:0:-1]  # back along it, which no later call can know
        plans[key] = dict(zip(tour, tour[1:]))
    return plans[key][current_node]
"""


def one_tree(weights):
    """The length of a minimum 1-tree about city 0, and the degree of each city in it."""
    tree = minimum_spanning_tree(np.triu(weights[1:, 1:])).tocoo()
    near = np.argsort(weights[0, 1:])[:2] + 1
    ends = np.concatenate([tree.row + 1, tree.col + 1, near, [0, 0]])
    return tree.data.sum() + weights[0, near].sum(), np.bincount(ends, minlength=len(weights))


def held_karp(distances, known, steps=40):
    """A lower bound on every tour: the 1-tree bound, raised by subgradient steps (Held and Karp, 1971)."""
    penalties, best, share = np.zeros(len(distances)), 0.0, 2.0
    for _ in range(steps):
        shifted = distances + penalties[:, None] + penalties + 9.0  # no weight may be 0, or it would be no edge
        length, degrees = one_tree(shifted)
        bound = length - 9.0 * len(distances) - 2 * penalties.sum()
        best, share, excess = max(best, bound), 0.95 * share, degrees - 2
        penalties = penalties + share * (known - bound) / (excess @ excess) * excess
    return best


@pytest.mark.parametrize("split", SPLITS)
def test_there_is_a_uniform_and_a_clustered_map_of_each_size(split):
    instances = task.instances(split)
    assert [(each.name, len(each.distances)) for each in instances] == [
        (f"{kind}-{size}", size) for size in SIZES[split] for kind in ("uniform", "clustered")
    ]
    assert all(200 <= len(each.distances) <= 500 for each in instances)
    for uniform, clustered in zip(instances[::2], instances[1::2], strict=True):
        nearest = [np.sort(each.distances, axis=1)[:, 1].mean() for each in (uniform, clustered)]
        assert nearest[1] < 0.7 * nearest[0]
        assert max(each.distances.max() for each in (uniform, clustered)) <= 2**0.5


def test_no_map_is_in_two_splits_and_all_are_the_same_on_every_call():
    firsts = [round(float(each.distances[0, 1]), DIGITS) for split in SPLITS for each in task.instances(split)]
    assert len(set(firsts)) == len(firsts)
    for split in SPLITS:
        again = HardTravellingSalesman().instances(split)
        assert [each.places for each in task.instances(split)] == [each.places for each in again]


@pytest.mark.parametrize("split", SPLITS)
def test_the_references_lie_closely_above_a_lower_bound(split):
    best = getattr(TSP_HARD, split.replace("-", "_"))
    smallest = zip(task.instances(split)[:2], best, (1.02, 1.07), strict=False)
    for instance, known, most in smallest:  # the bound is slow to rise where cities lie in clusters
        bound = held_karp(instance.distances, known)
        assert bound < known < most * bound, instance.name
    assert task.objective_on(split).best_known == pytest.approx(np.mean(best))


def test_a_run_gives_programs_two_seconds_a_tour_unless_told_otherwise():
    assert (
        settings_from_person({"task": "tsp_hard"}, task=task).timeout_s == 2.0 * len(task.instances("search")) == 12.0
    )
    assert settings_from_person({"task": "tsp_hard"}, ["timeout_s=30"], task=task).timeout_s == 30


async def test_a_program_that_follows_a_plan_is_refused_and_one_that_chooses_anew_is_not():
    loaded = TaskReference("tsp_hard").load()
    settings = settings_from_person({"task": "tsp_hard", "allow_weak_isolation": True, "timeout_s": 100.0}, task=loaded)
    async with judge_of(settings, loaded) as judge:
        greedy, planned = [await judge.evaluate(source) for source in (loaded.template, PLANS)]
    assert isinstance(greedy, Verdict)
    assert 0.2 < loaded.objective.gap(greedy.score) < 0.3
    assert isinstance(planned, Failure)
    assert planned.reason == "keeps-state"


async def test_the_offline_proposer_knows_how_to_build_for_it():
    proposer = GeneticProposer(task, seed=0)
    texts = [(await proposer.propose(Prompt("", "template"), number)).text for number in range(60)]
    sources = [fenced_blocks(text)[0] for text in texts]
    assert len(set(sources)) > 40
    assert any(f"left > {stage}" in source for source in sources for stage in (60, 90, 140, 200, 280, 400))
