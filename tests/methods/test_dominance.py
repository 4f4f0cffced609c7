"""Dominance-dissimilarity against the paper's loops, and at its edges."""

from __future__ import annotations

import numpy as np
import pytest

from behavesim.methods.eoh import dissimilarity, similarities, survivors
from behavesim.state.members import Member


def by_the_paper(utility: np.ndarray, similarity: np.ndarray) -> list[float]:
    """Algorithm "Parent Selection", lines 1 to 8, as they are printed."""
    size = len(utility)
    best = next(i for i in range(size) if utility[i] == max(utility))
    S, D = np.zeros((size, size)), np.zeros((size, size))
    for i in range(size):
        for j in range(size):
            if i != j:
                S[i, j] = -similarity[i, j]
                mine, other = (-utility[i], similarity[i, best]), (-utility[j], similarity[j, best])
                if mine[0] <= other[0] and mine[1] <= other[1] and mine != other:
                    D[i, j] = 1
    return [sum(S[i, j] * D[i, j] for i in range(size)) for j in range(size)]


def members(utilities: list[float]) -> list[Member]:
    return [Member(number, f"program {number}", -utility, utility) for number, utility in enumerate(utilities)]


def random_case(seed: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.integers(0, 5, (size, size)) / 4, 1)  # few levels, so that ties are common
    return rng.integers(0, 6, size).astype(float), upper + upper.T + np.eye(size)


@pytest.mark.parametrize("seed", range(50))
def test_it_is_what_the_papers_loops_compute(seed: int) -> None:
    utility, similarity = random_case(seed, 2 + seed % 20)
    assert dissimilarity(utility, similarity).tolist() == pytest.approx(by_the_paper(utility, similarity), abs=1e-12)


def test_equal_members_do_not_dominate_each_other() -> None:
    similarity = np.array([[1.0, 0.2, 0.2], [0.2, 1.0, 1.0], [0.2, 1.0, 1.0]])
    assert dissimilarity(np.array([2.0, 1.0, 1.0]), similarity).tolist() == [0, 0, 0]


def test_a_dominated_member_loses_what_it_resembles_its_dominators() -> None:
    # 1 is better than 2 and less like the best, so 2 loses their similarity; 0 is best and dominates none
    similarity = np.array([[1.0, 0.1, 0.5], [0.1, 1.0, 0.7], [0.5, 0.7, 1.0]])
    assert dissimilarity(np.array([3.0, 2.0, 1.0]), similarity).tolist() == [0, 0, -0.7]


def test_a_new_best_changes_the_second_objective_of_all() -> None:
    similarity = np.array([[1.0, 0.1, 0.9, 0.9], [0.1, 1.0, 0.6, 0.2], [0.9, 0.6, 1.0, 0.3], [0.9, 0.2, 0.3, 1.0]])
    before = dissimilarity(np.array([3.0, 2.0, 1.0]), similarity[:3, :3])
    after = dissimilarity(np.array([3.0, 2.0, 1.0, 4.0]), similarity)
    assert before[2] == -0.6  # 1 is better and less like 0
    assert after[2] == -0.6  # still: 1 is less like 3, too
    assert after[0] == 0
    worse = dissimilarity(np.array([3.0, 1.0, 2.0, 4.0]), similarity)
    assert worse[2] == 0  # what was like the old best is no longer dominated by being so
    assert worse[1] == 0


def test_the_best_by_score_is_kept_whatever_its_value() -> None:
    kept = survivors(members([1.0, 5.0, 3.0]), [0.0, -9.0, 0.0], 2)
    assert kept == [1, 2]


def test_a_tie_at_the_top_does_not_cost_the_oldest_best_its_place() -> None:
    assert survivors(members([5.0, 5.0]), [-1.0, 0.0], 1) == [0]


def test_equal_values_are_told_apart_by_score_then_by_age() -> None:
    assert survivors(members([9.0, 1.0, 2.0, 2.0]), [0.0] * 4, 3) == [0, 2, 3]
    assert survivors(members([9.0, 2.0, 2.0, 2.0]), [0.0] * 4, 3) == [0, 1, 2]


def test_all_of_a_larger_population_take_part() -> None:
    # the paper's loop to N would leave the last newcomers out of the comparison
    assert survivors(members([1.0, 1.0, 1.0, 9.0, 8.0]), [-1.0, -1.0, -1.0, 0.0, 0.0], 2) == [3, 4]


def test_similarities_come_from_what_the_younger_was_compared_with() -> None:
    elder, younger = Member(3, "", 0.0, 0.0), Member(7, "", 0.0, 0.0, similarity={3: 0.25, 5: 0.5})
    assert similarities([elder, younger]).tolist() == [[1.0, 0.25], [0.25, 1.0]]
