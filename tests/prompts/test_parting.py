"""A model may be told where what two programs do parts, in words that the task gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import behavesim as bs
from behavesim.engine.admission import settings_from_person
from behavesim.prompts.behaviour_diff import first_difference
from behavesim.prompts.prompts import Prompts, placeholder
from behavesim.similarity import BehaveSim
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import Asked
from behavesim.state.members import Member
from behavesim.state.state import RunState
from behavesim.task import InWords, TaskReference
from behavesim.trajectory import Trajectory
from tests.engine.toys import Toy
from tests.methods.runs import events_of

TSP = TaskReference("tsp").load()
PLACE = placeholder("behaviour")
DECISIONS = st.lists(st.integers(0, 3), min_size=1, max_size=8)


class Plain(InWords):
    """Decisions by their numbers, without ranks and costs."""

    def choice(self, index: int, before: Sequence[int], decision: int) -> str:
        return f"city {decision}"

    def costs(self, index: int, decisions: Sequence[int]) -> tuple[float, ...]:
        return ()

    def instance(self, index: int) -> str:
        return f"instance {index + 1}"


class Known(Behaviours):
    """Behaviours that are given."""

    def __init__(self, *algorithms: tuple[Trajectory, ...]) -> None:
        super().__init__(BehaveSim(normaliser=50))
        self._algorithms = dict(enumerate(algorithms))


def told(
    worse: list[Any],
    better: list[Any],
    scores: tuple[tuple[float, ...], tuple[float, ...]],
    words: InWords | None = None,
) -> str:
    prompts = Prompts.of_run(settings_from_person({"task": "tsp", "prompt_feedback": "behaviour"}, task=TSP), TSP)
    prompts = replace(prompts, in_words=words or Plain(TSP))
    members = [Member(n, f"program {n}", sum(each), -sum(each), scores=each) for n, each in enumerate(scores)]
    state = RunState(TSP.objective)
    state.members = dict(enumerate(members))
    state.tried.ran = 2
    asked = Asked(7, (0, 1), None, prompts.showing_programs("improve", members))
    text = prompts.complete(asked, state, Known(tuple(worse), tuple(better))).prompt.text
    assert PLACE not in text
    return next((line for line in text.splitlines() if line.startswith("What they do")), "")


def test_the_parting_is_shown_on_the_instance_where_the_scores_differ_most() -> None:
    one = [Trajectory.prefixes(each) for each in ([0, 1, 2, 3], [0, 1, 2, 3])]
    other = [Trajectory.prefixes(each) for each in ([0, 2, 1, 3], [0, 1, 3, 2])]
    assert told(one, other, ((3.0, 9.0), (2.0, 1.0))) == (
        "What they do: on instance 2, programs 1 and 2 do the same in the first 2 steps, and then part. "
        "Program 1 chooses city 2; program 2 chooses city 3. Program 2 is better there: it scores 1, program 1 9."
    )
    assert "on instance 1, programs 1 and 2 do the same in the first step, and" in told(
        one, other, ((9.0, 2.0), (1.0, 2.0))
    )


def test_an_instance_on_which_the_other_program_is_better_is_named() -> None:
    pair = [Trajectory.prefixes([0, 1])] * 2, [Trajectory.prefixes([0, 2])] * 2
    assert told(*pair, ((1.0, 9.0), (2.5, 1.0))).endswith(
        "Program 2 is better there: it scores 1, program 1 9. It is the other way round on instance 1, by 1.5."
    )
    assert told(*pair, ((9.0, 1.0), (1.0, 2.5))).endswith("It is the other way round on instance 2, by 1.5.")


def test_samples_part_at_the_first_step_of_any_run() -> None:
    one, other = (
        bs.Samples(map(Trajectory.prefixes, runs)) for runs in ([[0, 1, 2], [0, 2, 1]], [[0, 1, 2], [0, 2, 3]])
    )
    assert first_difference(one, other) == 2
    assert first_difference(one, bs.Samples(one.runs)) is None
    assert first_difference(one, bs.Samples(one.runs[:1])) == 0
    assert told([one], [other], ((3.0,), (2.0,))) == (
        "What they do: on instance 1, programs 1 and 2 do the same in the first 2 steps, and then part. "
        "Program 1 goes on otherwise in its 2 runs; program 2 goes on otherwise in its 2 runs. "
        "Program 2 is better there: it scores 2, program 1 3."
    )


def test_an_instance_on_which_they_do_the_same_is_passed_over() -> None:
    one, other = Trajectory.prefixes([0, 1]), Trajectory.prefixes([1, 0])
    line = told([one, one], [one, other], ((9.0, 2.0), (1.0, 2.0)))
    assert line.startswith("What they do: on instance 2, programs 1 and 2 part at once.")


def test_programs_that_do_the_same_are_said_to() -> None:
    same = [Trajectory.prefixes([0, 1])]
    assert told(same, same, ((1.0,), (1.0,))).endswith("do exactly the same, in other words.")


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        (Trajectory.prefixes([0, 1]), Trajectory.prefixes([0]), "program 2 has come to its end there"),
        (Trajectory.vectors([[0.0], [1.0]]), Trajectory.vectors([[0.0], [2.0]]), "goes on for 1 more steps of its own"),
        (Trajectory.sequences([[1], [1, 2]]), Trajectory.sequences([[1], [3]]), "in the first step"),
    ],
)
def test_any_kind_of_trajectory_can_part(one: Trajectory, other: Trajectory, said: str) -> None:
    assert said in told([one], [other], ((2.0,), (1.0,)))


def test_bare_numbers_of_steps_are_not_shown() -> None:
    class Bare(Plain):
        @property
        def are_given(self) -> bool:
            return False

    pair = [Trajectory.prefixes([0, 1])], [Trajectory.prefixes([0, 2])]
    assert "Program 1 chooses" in told(*pair, ((2.0,), (1.0,)))
    assert told(*pair, ((2.0,), (1.0,)), Bare(TSP)) == ""
    assert "do exactly the same" in told(pair[0], pair[0], ((1.0,), (1.0,)), Bare(TSP))
    assert InWords(TSP).are_given and not InWords(Toy()).are_given


@given(DECISIONS, DECISIONS)
def test_the_first_difference_is_that_of_the_states(left: list[int], right: list[int]) -> None:
    states = [[each[: step + 1] for step in range(len(each))] for each in (left, right)]
    slow = next((k for k, (a, b) in enumerate(zip(*states, strict=False)) if a != b), min(len(left), len(right)))
    expected = None if left == right else slow
    assert first_difference(Trajectory.prefixes(left), Trajectory.prefixes(right)) == expected
    assert first_difference(Trajectory.sequences(states[0]), Trajectory.sequences(states[1])) == expected


@pytest.mark.parametrize("method", ["funsearch", "eoh", "reevo", "niche"])
def test_a_run_with_feedback_asks_with_it_whatever_arrives_first(method: str) -> None:
    settings = {"method": method, "prompt_feedback": "behaviour", "budget": 40}
    told_of = [event for event in events_of(**settings) if isinstance(event, Asked) and len(event.parents) > 1]
    assert told_of
    for asked in told_of:
        assert PLACE not in asked.prompt.text
        assert asked.prompt.text.count("What they do: ") <= 1
    again = [event for event in events_of(**settings, connections=1) if isinstance(event, Asked)]
    assert [asked for asked in again if len(asked.parents) > 1] == told_of
