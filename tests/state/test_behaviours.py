"""The behaviours of a run's members: what is kept as events come, and compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from behavesim.base.errors import PartError, TaskError
from behavesim.engine.admission import settings_from_person
from behavesim.engine.build import Launch, new_search
from behavesim.similarity import BehaveSim
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import TEMPLATE, Added, CandidateId, Evaluated, NotAdded, Regrouped
from behavesim.store.folder import RunFolder
from behavesim.task import TaskReference
from behavesim.trajectory import Trajectory
from tests.engine.toys import Toy, finished, fitting

RAW, CLIPPED = BehaveSim(4.0, clip=False), BehaveSim(4.0)
ORDERS = [[0, 1, 2, 3], [0, 1, 3, 2], [3, 2, 1, 0], [3, 2, 0, 1], [1, 0, 3, 2], [0, 1, 2, 3]]
DOES = {number - 1: (Trajectory.prefixes(order),) for number, order in enumerate(ORDERS)}
"""What the template (-1) and candidates 0 to 4 do; the last one repeats the template."""


def evaluated(candidate: CandidateId) -> Evaluated:
    return Evaluated(candidate, "", 1.0, (1.0,), DOES[candidate])


def behaviours(*members: CandidateId) -> Behaviours:
    """A run whose archive holds the template and some members."""
    known, alive = Behaviours(RAW), {TEMPLATE}
    known.apply(evaluated(TEMPLATE), alive)
    for member in members:
        known.apply(evaluated(member), alive)
        alive.add(member)
        known.apply(Added(member, "0"), alive)
    return known


def sim(one: CandidateId, other: CandidateId) -> float:
    return CLIPPED.between(DOES[one], DOES[other])


def test_an_evaluated_candidate_is_compared_with_members_before_it_is_one() -> None:
    known = behaviours(0, 1)
    known.apply(evaluated(2), {TEMPLATE, 0, 1})
    assert known.similarities(2, [1, TEMPLATE]) == {1: sim(2, 1), TEMPLATE: sim(2, TEMPLATE)}
    assert known.means(2, {"a": [0, 1], "b": [TEMPLATE]}) == {
        "a": pytest.approx((sim(2, 0) + sim(2, 1)) / 2),
        "b": sim(2, TEMPLATE),
    }


def test_means_tell_which_of_two_is_nearer_beyond_zero_and_similarities_do_not() -> None:
    short, long = Trajectory.prefixes([9]), Trajectory.prefixes([0, 1, 2, 3])
    known = Behaviours(RAW)
    known.apply(Evaluated(TEMPLATE, "", 1.0, (1.0,), (long,)), {TEMPLATE})
    known.apply(Evaluated(0, "", 1.0, (1.0,), (short,)), {TEMPLATE})
    assert known.means(0, {"a": [TEMPLATE]}) == {"a": 1 - 10 / 4}  # 1, 2, 3 and 4 edits
    assert known.similarities(0, [TEMPLATE]) == {TEMPLATE: 0.0}


def test_the_matrix_is_in_the_order_asked_for() -> None:
    asked = [2, TEMPLATE, 0]
    found = behaviours(0, 1, 2).matrix(asked)
    assert found.tolist() == [[sim(one, other) for other in asked] for one in asked]


def test_what_became_of_no_member_is_forgotten() -> None:
    known = behaviours(0)
    known.apply(evaluated(1), {TEMPLATE, 0})
    known.apply(NotAdded(1), {TEMPLATE, 0})
    known.apply(NotAdded(2), {TEMPLATE, 0})  # one that was never evaluated
    with pytest.raises(PartError, match="candidate 1, which is no feasible program"):
        known.similarities(1, [0])


@pytest.mark.parametrize("event", [Added(2, "0", evicted=(0,)), Regrouped({"0": (1, 2)})])
@pytest.mark.parametrize("were_compared", [False, True])
def test_members_that_are_gone_are_forgotten_and_the_others_kept(event: Added | Regrouped, were_compared: bool) -> None:
    known = behaviours(0, 1) if isinstance(event, Added) else behaviours(0, 1, 2)
    if were_compared:
        known.matrix([TEMPLATE, 0, 1])
    if isinstance(event, Added):
        known.apply(evaluated(2), {TEMPLATE, 0, 1})
    known.apply(event, {TEMPLATE, 1, 2})
    assert known.matrix([1, 2, TEMPLATE]).tolist() == [[sim(a, b) for b in (1, 2, -1)] for a in (1, 2, -1)]
    known.apply(evaluated(3), {TEMPLATE, 1, 2})
    assert known.similarities(3, [2, 1]) == {2: sim(3, 2), 1: sim(3, 1)}
    with pytest.raises(PartError, match="candidate 0, which is no feasible program"):
        known.similarities(3, [0])


async def test_what_programs_did_is_not_held_where_no_prompt_says_it() -> None:
    run = await finished({"budget": 20, "window": 4, "method": "best-of-n", "prompt_feedback": "behaviour"})
    assert run.state.tally.feasible > 10
    assert len(run.behaviours._waiting) <= 4


def test_elites_are_chosen_from_all_members_however_many_came_since_the_last_time() -> None:
    known = behaviours(0, 1, 2, 3, 4)
    preferences = [(float(number), 1, number) for number in (3, 0, 1, 2, 4)]
    assert known.elites(preferences[:2], 0.0, 9) == [0, 3]
    assert known.elites(preferences, 0.0, 9) == [0, 1, 2, 3, 4]
    assert known.elites(preferences, 0.0, 2) == [0, 1]


def test_of_programs_that_do_the_same_the_preferred_one_stands_for_both() -> None:
    known = behaviours(0, 1)
    known.apply(Evaluated(9, "", 1.0, (1.0,), DOES[0]), {TEMPLATE, 0, 1})
    assert known.elites([(2.0, 1, 0), (3.0, 1, 1)], 0.0, 9) == [0, 1]
    assert known.elites([(2.0, 1, 0), (3.0, 1, 1), (1.0, 1, 9)], 0.0, 9) == [9, 1]


class TestRefusal:
    def test_what_can_be_compared_with_the_template_is_not_refused(self) -> None:
        assert behaviours().why_incomparable(DOES[2]) == ""

    @pytest.mark.parametrize(
        ("trajectory", "said"),
        [
            (Trajectory.vectors(np.zeros((3, 2))), "one kind; got"),
            (Trajectory.prefixes(range(10, 20)), "two states are 10 apart"),
        ],
    )
    def test_what_cannot_is_refused_with_the_reason(self, trajectory: Trajectory, said: str) -> None:
        refused = behaviours().why_incomparable((trajectory,))
        assert refused.startswith("what the program does cannot be compared with what the template does: ")
        assert said in refused

    def test_two_programs_beyond_the_normaliser_of_one_another_are_compared_all_the_same(self) -> None:
        far = {0: Trajectory.vectors([[4.0]]), 1: Trajectory.vectors([[-4.0]]), TEMPLATE: Trajectory.vectors([[0.0]])}
        known, alive = Behaviours(RAW), {TEMPLATE}
        for candidate in (TEMPLATE, 0, 1):
            known.apply(Evaluated(candidate, "", 1.0, (1.0,), (far[candidate],)), alive)
            assert known.why_incomparable((far[candidate],)) == ""
        known.apply(Added(0, "0"), {TEMPLATE, 0})
        assert known.means(1, {"0": [0]}) == {"0": -1.0}


@pytest.mark.parametrize(
    ("settings", "measure"),
    [
        ({"measure": "erp"}, {"measure": "erp"}),
        ({"truncate": 0.5}, {"truncate": 0.5}),
        ({"skip": 3}, {"skip": 3}),
        ({"normaliser": "pair"}, {"normaliser": "pair"}),
        ({"method": "eoh+behavesim", "measure": "mean"}, {"measure": "mean"}),
        ({"method": "niche", "skip": 1}, {"skip": 1}),
    ],
)
def test_the_measure_of_a_run_is_that_of_its_settings(settings: dict[str, Any], measure: dict[str, Any]) -> None:
    behaviours = Behaviours.of_run(fitting(settings), Toy(), is_read=True)
    for used in (behaviours._raw, behaviours._clipped):
        wanted = {"normaliser": Toy.normaliser, **measure}
        assert {name: getattr(used, name) for name in wanted} == wanted


def test_a_pairwise_normaliser_tells_short_solutions_apart_that_a_constant_takes_for_alike() -> None:
    short = {TEMPLATE: Trajectory.prefixes([0, 1]), 0: Trajectory.prefixes([1, 0])}
    similar = {}
    for normaliser in ("constant", "pair"):
        known = Behaviours.of_run(fitting({"normaliser": normaliser}), Toy(), is_read=True)
        for candidate, trajectory in short.items():
            known.apply(Evaluated(candidate, "", 1.0, (1.0,), (trajectory,)), {TEMPLATE})
        similar[normaliser] = known.similarities(0, [TEMPLATE])[TEMPLATE]
    # the routes differ in one of one city, then in two of two; the toy's constant is six cities
    assert similar == {"constant": pytest.approx(1 - (1 + 2) / 6 / 2), "pair": 0.0}


async def test_a_run_whose_task_has_no_pairs_to_divide_by_does_not_begin(tmp_path: Path) -> None:
    task = TaskReference("cpp").load()
    settings = settings_from_person(
        {"task": "cpp", "normaliser": "pair", "budget": 1, "allow_weak_isolation": True}, task=task
    )
    folder = RunFolder(tmp_path / "run")
    with pytest.raises(TaskError, match="vectors have no pairwise normaliser"):
        async with new_search(Launch(settings, task, folder)):
            pass
    assert not folder.path.exists()
