"""The CPP task: golden values, strict checks, and scores equal to an evaluator written independently."""

import math
from itertools import combinations

import numpy as np
import pytest
from behavesim_tasks.cpp import CirclePacking, Circles, greatest_distance

from behavesim.similarity import BehaveSim
from behavesim.task import InvalidSolution

task = CirclePacking()
SEARCH = task.instances("search")[0]


def packed_by(seed, n):
    """A random valid packing: circles at random places, each grown until it meets a wall or one before it."""
    random = np.random.default_rng(seed)
    circles = []
    for x, y in random.random((n, 2)):
        room = min([x, 1 - x, y, 1 - y, *(math.dist((x, y), c[:2]) - c[2] for c in circles)])
        circles.append((x, y, room) if room > 0 else (0.0, 0.0, 0.0))
    return np.array(circles)


def score_by_definition(circles):
    """A second evaluator, in plain Python: every pair and every wall, or nothing."""
    rows = [tuple(map(float, row)) for row in circles]
    inside = all(r >= 0 and min(x, y, 1 - x, 1 - y) - r >= -1e-9 for x, y, r in rows)
    apart = all(math.dist(a[:2], b[:2]) - a[2] - b[2] >= -1e-9 for a, b in combinations(rows, 2))
    return sum(r for _, _, r in rows) if inside and apart else None


def test_the_template_scores_three_quarters():
    namespace = {}
    exec(task.template, namespace)
    score = task.score(SEARCH, task.solve(namespace[task.entry_point], SEARCH))
    assert score == pytest.approx(0.75, abs=1e-9)
    assert task.objective.gap(score) == pytest.approx(1 - 0.75 / 2.635983)


@pytest.mark.parametrize("seed", range(60))
def test_scores_and_refusals_equal_those_of_an_independent_evaluator(seed):
    random = np.random.default_rng(seed)
    circles = packed_by(seed, 26)
    if seed % 2:  # break it, or not, by a little
        circles[int(random.integers(26)), int(random.integers(3))] += 10.0 ** -random.integers(2, 14)
    expected = score_by_definition(circles)
    solution = task.solve(lambda n: circles.tolist(), SEARCH)
    if expected is None:
        with pytest.raises(InvalidSolution):
            task.score(SEARCH, solution)
    else:
        assert task.score(SEARCH, solution) == pytest.approx(expected, rel=1e-12)


def test_what_the_tolerance_lets_out_of_the_square_is_no_further_than_the_normaliser():
    corner = [np.tile([where, where, 0.0], (26, 1)) for where in (1 + 9e-10, -9e-10)]
    assert [task.score(SEARCH, circles) for circles in corner] == [0, 0]
    far, near = (task.trajectory(SEARCH, circles) for circles in corner)
    assert 0 <= BehaveSim(task.normaliser).similarity(far, near) < 1


@pytest.mark.parametrize("answer", [np.full((26, 3), 1j), [[10**400] * 3] * 26, "circles", [[1, 2], [3]], None])
def test_an_answer_that_is_no_array_of_numbers_is_refused(answer):
    with pytest.raises(InvalidSolution, match="array of numbers"):
        task.solve(lambda n: answer, SEARCH)


def two(x, y, r):
    return np.array([[0.25, 0.5, 0.25], [x, y, r]])


@pytest.mark.parametrize(
    ("circles", "complaint"),
    [
        (two(0.75, 0.5, 0.25 + 1e-8), "reaches"),
        (two(0.74, 0.5, 0.25), "overlap"),
        (two(0.7499999, 0.5, 0.25), "overlap"),
        (two(0.75, 0.5, -0.1), "0 or more"),
        (two(1.1, 0.5, 0.0), "reaches"),
        (two(math.nan, 0.5, 0.1), "non-finite"),
        (two(math.inf, 0.5, 0.1), "non-finite"),
        (np.zeros((3, 3)), "shape"),
        (np.zeros((2, 2)), "shape"),
        (np.zeros((2, 3), dtype=complex), "shape"),
        (np.zeros((2, 3), dtype=object), "shape"),
        ({"circles": np.zeros((2, 3))}, "shape"),
    ],
)
def test_what_is_no_packing_is_refused(circles, complaint):
    with pytest.raises(InvalidSolution, match=complaint):
        task.score(Circles(2), circles)
    with pytest.raises(InvalidSolution):
        task.trajectory(Circles(2), circles)


def test_circles_may_touch_and_radii_may_be_zero():
    assert task.score(Circles(2), two(0.75, 0.5, 0.25)) == 0.5
    assert task.score(Circles(2), np.zeros((2, 3))) == 0


def test_state_t_of_the_trajectory_is_the_first_t_circles():
    circles = packed_by(1, 26)
    states = task.trajectory(SEARCH, circles)
    assert states.kind == "vectors"
    for t, state in enumerate(np.array(states.values()), 1):
        np.testing.assert_array_equal(state.reshape(26, 3)[:t], circles[:t])
        assert not state.reshape(26, 3)[t:].any()


def test_the_normaliser_is_a_distance_that_two_packings_have_and_none_exceed():
    corner = np.tile([1.0, 1.0, 0.0], (26, 1))
    assert task.score(SEARCH, corner) == 0
    assert np.linalg.norm(corner) == pytest.approx(task.normaliser)
    assert task.normaliser == greatest_distance(26)
    states = [np.zeros((26, 3)), *(packed_by(seed, 26) for seed in range(20))]
    assert max(np.linalg.norm(a - b) for a, b in combinations(states, 2)) < task.normaliser
