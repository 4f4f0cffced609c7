"""The different behaviours of a run: programs that behave alike share one way."""

from __future__ import annotations

from behavesim.similarity import BehaveSim
from behavesim.state.views import BehaviourGroup, BehaviourGroups
from behavesim.trajectory import AlgorithmRun, Trajectory

FORTH, ALIKE, BACK = [0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 5, 4], [5, 4, 3, 2, 1, 0]


def does(order: list[int]) -> tuple[AlgorithmRun, ...]:
    return (Trajectory.prefixes(order),)


def test_programs_that_behave_alike_share_a_way_with_the_score_and_idea_of_the_best() -> None:
    ways = BehaviourGroups(BehaveSim(6.0), radius=0.5, sign=-1)
    assert ways.best() == []
    for order, score, idea in [(FORTH, 5.0, "forth"), (BACK, 4.0, "back"), (FORTH, 6.0, "worse"), (ALIKE, 3.0, "")]:
        ways.add(does(order), score, idea)
    assert ways.best() == [BehaviourGroup(3, 3.0, "forth"), BehaviourGroup(1, 4.0, "back")]


def test_where_greater_scores_are_better_the_greatest_comes_first() -> None:
    ways = BehaviourGroups(BehaveSim(6.0), radius=0.5, sign=1)
    for order, score, idea in [(FORTH, 5.0, "forth"), (BACK, 6.0, "back"), (FORTH, 7.0, "better")]:
        ways.add(does(order), score, idea)
    assert ways.best() == [BehaviourGroup(2, 7.0, "better"), BehaviourGroup(1, 6.0, "back")]
