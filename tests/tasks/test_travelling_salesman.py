"""The TSP task: golden values, strict checks, and scores equal to an evaluator written independently."""

import math

import numpy as np
import pytest
from behavesim_tasks.tsp import TravellingSalesman

from behavesim.task import InvalidSolution
from behavesim.trajectory import Trajectory

task = TravellingSalesman()


def compiled(source):
    namespace = {}
    exec(source, namespace)
    return namespace[task.entry_point]


def nearest(current, destination, unvisited, distances):
    return unvisited[0]


def coordinates():
    random = np.random.RandomState(2024)
    return [random.rand(50, 2) for _ in range(5)]


def length_by_hand(points, choose):
    """A second evaluator, in plain Python on coordinates: every step and every distance computed anew."""
    matrix = np.array([[math.hypot(*(a - b)) for b in points] for a in points])
    tour, rest = [0], set(range(1, len(points)))
    while rest:
        ordered = sorted(rest, key=lambda city: (matrix[tour[-1]][city], city))
        city = int(choose(tour[-1], 0, np.array(ordered), matrix)) if len(rest) > 1 else ordered[0]
        tour.append(city)
        rest.remove(city)
    return sum(math.dist(points[a], points[b]) for a, b in zip(tour, [*tour[1:], 0], strict=True))


def weighted(weights):
    def choose(current, destination, unvisited, distances):
        near, home = distances[current, unvisited], distances[destination, unvisited]
        spread = distances[np.ix_(unvisited, unvisited)].mean(axis=1)
        return unvisited[np.argmin(weights @ np.array([near, home, spread]))]

    return choose


def score_of(function, split="search"):
    instances = task.instances(split)
    return task.mean_score([task.score(instance, task.solve(function, instance)) for instance in instances])


def test_the_template_is_nearest_neighbour_with_the_golden_gap():
    score = score_of(compiled(task.template))
    assert score == pytest.approx(6.5334, abs=5e-5)
    assert task.objective.gap(score) == pytest.approx(0.1618, abs=5e-5)
    assert score == score_of(nearest)


@pytest.mark.parametrize("seed", range(50))
def test_scores_equal_those_of_an_independent_evaluator(seed):
    choose = weighted(np.random.default_rng(seed).normal(size=3))
    points = coordinates()[seed % 5]
    instance = task.instances("search")[seed % 5]
    assert task.score(instance, task.solve(choose, instance)) == pytest.approx(
        length_by_hand(points, choose), rel=1e-12
    )


def test_unvisited_nodes_come_in_ascending_distance_and_the_last_city_is_no_choice():
    steps = []

    def watching(current, destination, unvisited, distances):
        assert destination == 0
        assert (np.diff(distances[current, unvisited]) >= 0).all()
        steps.append(len(unvisited))
        return unvisited[-1]

    task.solve(watching, task.instances("search")[0])
    assert steps == list(range(49, 1, -1))


def test_a_function_that_writes_to_its_instance_changes_nothing_but_its_own_view():
    instance = task.instances("search")[0]
    before = instance.distances.copy()

    def spoiling(current, destination, unvisited, distances):
        city = unvisited[0]
        unvisited[:] = 0
        distances[:] = 0
        return city

    np.testing.assert_array_equal(task.solve(spoiling, instance), task.solve(nearest, instance))
    np.testing.assert_array_equal(instance.distances, before)


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [(0, "unvisited"), (50, "unvisited"), (-1, "unvisited"), (1.0, "integer"), (None, "integer")],
)
def test_a_choice_that_is_no_unvisited_node_is_refused(answer, complaint):
    with pytest.raises(InvalidSolution, match=complaint):
        task.solve(lambda *_: answer, task.instances("search")[0])


@pytest.mark.parametrize(
    "tour",
    [
        np.arange(49),
        np.arange(50.0),
        np.arange(50)[None],
        np.roll(np.arange(50), 1),
        np.array([0, *range(49)]),
        np.array([0, *range(2, 51)]),
        np.array([0, -1, *range(2, 50)]),
        np.arange(50).astype(object),
        np.zeros(50, dtype=bool),
        {"tour": np.arange(50)},
    ],
)
def test_what_is_not_a_tour_of_all_cities_from_city_0_is_refused(tour):
    instance = task.instances("search")[0]
    with pytest.raises(InvalidSolution):
        task.score(instance, tour)
    with pytest.raises(InvalidSolution):
        task.trajectory(instance, tour)


def test_the_trajectory_is_the_growing_route():
    instance = task.instances("search")[0]
    tour = task.solve(nearest, instance)
    assert task.trajectory(instance, tour) == Trajectory.prefixes(tour)


def test_splits_share_no_instance_and_are_the_same_on_every_call():
    seen = [task.instances(split) for split in ("search", "validation", "held-out")]
    firsts = {float(instance.distances[0, 1]) for instances in seen for instance in instances}
    assert len(firsts) == sum(map(len, seen))
    for split in ("search", "held-out"):
        again = TravellingSalesman().instances(split)
        assert [each.places for each in task.instances(split)] == [each.places for each in again]
    assert {len(instance.distances) for instance in task.instances("held-out")} >= {20, 50, 100, 200}


@pytest.mark.parametrize("split", ["search", "validation", "held-out"])
def test_the_optimum_is_known_on_every_split_and_no_heuristic_beats_it(split):
    objective = task.objective_on(split)
    scores = [score_of(weighted(weights), split) for weights in ([1.0, 0.0, 0.0], [1.0, 0.1, -0.5])]
    assert all(0 < objective.gap(score) < 0.3 for score in scores)


def test_the_instances_of_tsplib_fill_the_unit_square_and_keep_their_proportions():
    berlin, eil = task.instances("held-out")[-2:]
    assert (berlin.name, len(berlin.distances)) == ("berlin52", 52)
    assert (eil.name, len(eil.distances)) == ("eil51", 51)
    assert berlin.distances[0, 1] == pytest.approx(math.dist((565, 575), (25, 185)) / 1715)
    assert eil.distances[0, 50] == pytest.approx(math.dist((37, 52), (30, 40)) / 63)


def test_a_tour_from_another_city_has_the_length_that_it_has_from_the_first():
    (cities, *_) = task.instances("search")
    begun = task.starts(cities, 3)
    assert begun[0].distances.tolist() == cities.distances.tolist() and len(task.starts(cities, 99)) == 50
    for start, other in enumerate(begun):
        tour = task.solve(nearest, other)
        back = np.arange(50)
        back[[0, start]] = start, 0  # the cities' numbers in the instance itself
        tour_here = np.roll(back[tour], -int(np.flatnonzero(back[tour] == 0)[0]))
        assert tour[0] == 0 and back[tour][0] == start
        assert task.score(other, tour) == pytest.approx(task.score(cities, tour_here))


def test_no_exchange_of_two_edges_shortens_an_improved_tour():
    for cities in task.instances("search")[:2]:
        tour = task.solve(nearest, cities)
        better = task.improve(cities, tour)
        length = task.score(cities, better)
        assert length < task.score(cities, tour)
        for first in range(49):
            for last in range(first + 1, 50):
                exchanged = better.copy()
                exchanged[first + 1 : last + 1] = exchanged[first + 1 : last + 1][::-1]
                assert exchanged[0] == 0 and task.score(cities, exchanged) > length - 2e-9
