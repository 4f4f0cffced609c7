"""The ASP task: golden values, and blocking proved by the definition of admissibility on the expanded set."""

import math
from itertools import accumulate, chain, combinations, product

import numpy as np
import pytest
from behavesim_tasks.asp import SYMBOLS, AdmissibleSet, AdmissibleSets

from behavesim.task import InvalidSolution
from behavesim.trajectory import Trajectory

task = AdmissibleSet()
SEARCH = AdmissibleSets(15, 10)
SEPARATING = {(0, 1, 2), (0, 0, 1), (0, 0, 2)}


def rotations(group):
    return {tuple(np.roll(group, shift).tolist()) for shift in range(3)}


def expanded(instance, picks):
    vectors = []
    for index in picks:
        groups = [rotations(SYMBOLS[symbol]) for symbol in instance.rows[index]]
        vectors += [sum(combination, ()) for combination in product(*groups)]
    return vectors


def supports(vectors):
    return [tuple(value != 0 for value in vector) for vector in vectors]


def admissible_by_definition(vectors, w):
    """Conditions 1 to 3 in plain Python; only for small sets."""
    return (
        all(sum(value != 0 for value in vector) == w for vector in vectors)
        and len(set(supports(vectors))) == len(vectors)
        and all(
            any(tuple(sorted(values)) in SEPARATING for values in zip(*triple, strict=True))
            for triple in combinations(vectors, 3)
        )
    )


def any_inseparable(vectors, firsts):
    """Whether no coordinate tells some triple apart, one of whose vectors is among `firsts`, which are indices.

    A bit set holds the vectors that stay inseparable from a pair.
    """
    array = np.array(vectors)
    masks = [[_bits(array[:, c] == value) for value in range(3)] for c in range(array.shape[1])]
    # the values that leave a coordinate useless, for two given ones
    useless = {
        (a, b): [c for c in range(3) if tuple(sorted((a, b, c))) not in SEPARATING] for a in range(3) for b in range(3)
    }
    table = [
        {pair: sum((column[c] for c in thirds), 0) for pair, thirds in useless.items()} for column in masks
    ]  # the sets are disjoint, so that their sum is their union
    for first in firsts:
        for second in set(range(len(vectors))) - {first}:
            third = (1 << second) - 1 & ~(1 << first)
            for coordinate, pair in enumerate(zip(vectors[first], vectors[second], strict=True)):
                third &= table[coordinate][pair]
                if not third:
                    break
            if third:
                return True
    return False


def _bits(mask):
    return sum(1 << int(index) for index in np.flatnonzero(mask))


def greedy_by_definition(instance, priority):
    """A second evaluator: add a row's vectors iff the whole expanded set is still admissible.

    A triple with none of the new vectors has been looked at before.
    """
    chosen, picks = [], []
    order = sorted(range(len(instance.rows)), key=lambda i: -priority(instance.vectors[i], instance.n, instance.w))
    for index in order:
        grown = chosen + expanded(instance, [index])
        new = range(len(chosen), len(grown))
        if len(set(supports(grown))) == len(grown) and not any_inseparable(grown, new):
            chosen, picks = grown, [*picks, index]
    return picks, len(chosen)


def random_priority(seed):
    weights = np.random.default_rng(seed).normal(size=(18, 3))
    return lambda el, n, w: float(sum(weights[position, value] for position, value in enumerate(el)))


def changes(el, n, w):
    return sum(el[i] != el[i - 1] for i in range(n))


def test_the_template_picks_74_rows_and_scores_1842():
    namespace = {}
    exec(task.template, namespace)
    picks = task.solve(namespace[task.entry_point], SEARCH)
    assert (len(picks), task.score(SEARCH, picks)) == (74, 1842)


def test_there_are_2432_candidate_rows_in_lexicographic_order_and_101_vectors_of_group_weights():
    assert len(SEARCH.rows) == 2432
    assert list(SEARCH.rows) == sorted(SEARCH.rows)
    assert list(SEARCH.vectors) == sorted(SEARCH.vectors)
    assert len(SEARCH.twins) == task.normaliser == 101


def test_the_search_split_is_the_problem_of_the_paper():
    assert list(task.instances("search")) == [SEARCH]
    assert task.objective.best_known == math.comb(15, 10)


@pytest.mark.parametrize("size", [(6, 3), (6, 4)])
@pytest.mark.parametrize("seed", range(5))
def test_small_sets_are_admissible_by_the_definition_and_cannot_be_extended(size, seed):
    instance = AdmissibleSets(*size)
    picks = task.solve(random_priority(seed), instance).tolist()
    assert admissible_by_definition(expanded(instance, picks), instance.w)
    for index in set(range(len(instance.rows))) - set(picks):
        assert not admissible_by_definition(expanded(instance, [*picks, index]), instance.w)


@pytest.mark.parametrize("seed", range(50))
def test_picks_and_scores_equal_those_of_an_independent_evaluator(seed):
    instance = AdmissibleSets(9, 5 + seed % 3)
    priority = random_priority(seed)
    picks = task.solve(priority, instance)
    expected, size = greedy_by_definition(instance, priority)
    assert picks.tolist() == expected
    assert task.score(instance, picks) == size


def test_a_set_of_the_real_problem_is_admissible_on_its_thousands_of_expanded_vectors():
    picks = task.solve(changes, SEARCH)
    rows = [expanded(SEARCH, [index]) for index in picks]
    vectors = list(chain(*rows))
    assert len(vectors) == len(set(supports(vectors))) == task.score(SEARCH, picks) == 2610
    # rotating the same groups of all vectors gives the same set again, so that one vector of each row stands for all
    firsts = accumulate(map(len, rows[:-1]), initial=0)
    assert not any_inseparable(vectors, firsts)


def test_a_pick_that_breaks_admissibility_is_refused():
    picks = task.solve(changes, SEARCH)
    outside = next(index for index in range(len(SEARCH.rows)) if index not in picks)
    with pytest.raises(InvalidSolution, match="not be admissible"):
        task.score(SEARCH, np.append(picks, outside))
    with pytest.raises(InvalidSolution, match="not be admissible"):
        task.score(SEARCH, np.append(picks, picks[0]))


@pytest.mark.parametrize(
    "picks",
    [
        *(np.array(each) for each in ([], [0.0], [-1], [2432], [[0]], 0)),
        np.array([], int),
        {"": 0},
    ],
)
def test_what_is_not_a_row_of_indices_is_refused(picks):
    with pytest.raises(InvalidSolution):
        task.score(SEARCH, picks)
    with pytest.raises(InvalidSolution):
        task.trajectory(SEARCH, picks)


@pytest.mark.parametrize("answer", [math.nan, math.inf, -math.inf, 10**400])
def test_a_non_finite_priority_is_refused_and_named(answer):
    with pytest.raises(InvalidSolution, match="non-finite"):
        task.solve(lambda *_: answer, AdmissibleSets(6, 4))


@pytest.mark.parametrize("answer", [None, "high", "1.5", 1j, np.zeros(2)])
def test_a_priority_that_is_no_number_is_refused(answer):
    with pytest.raises(InvalidSolution, match="number"):
        task.solve(lambda *_: answer, AdmissibleSets(6, 4))


def test_every_row_is_shown_to_the_priority_once_and_ties_go_in_lexicographic_order():
    seen = []
    picks = task.solve(lambda el, n, w: seen.append((el, n, w)) or 0.0, SEARCH)
    assert seen == [(vector, 15, 10) for vector in SEARCH.vectors]
    assert picks.tolist() == sorted(picks)


def test_the_trajectory_is_the_growing_set():
    picks = task.solve(changes, SEARCH)
    assert task.trajectory(SEARCH, picks) == Trajectory.prefixes(picks)


def test_the_best_known_of_the_validation_split_is_reached_and_cannot_be_exceeded():
    def priority(el, n, w):
        ones = el.count(1)
        lean = ones - 0.044 * sum([i * el[i] for i in range(0, n, 3)])
        return 0.05 * (ones - 0.15 * el[7]) + 0.064 * lean + 0.081 * el[7]

    (instance,) = task.instances("validation")
    best = task.objective_on("validation").best_known
    assert task.score(instance, task.solve(priority, instance)) == best == math.comb(instance.n, instance.w)
    assert task.objective_on("held-out").gap(1.0) is None
