"""A task can ask for programs that keep nothing between calls: what they answered is asked again elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st

from behavesim.engine.admission import settings_from_person
from behavesim.engine.build import judging
from behavesim.sandbox.frames import whole_answers
from behavesim.sandbox.judge import SandboxJudge
from behavesim.sandbox.limits import Limits
from behavesim.sandbox.messages import encode_question
from behavesim.sandbox.pool import Pool
from behavesim.sandbox.referee import (
    ANSWERS,
    ASKED_AGAIN,
    TOGETHER,
    AnsweredCall,
    _draw_calls,
    answers_apart,
    calls_to_repeat,
)
from behavesim.state.protocols import unnoticed
from behavesim.task import InvalidSolution, TaskReference
from behavesim.task.verdict import Failure, Sent, Verdict
from tests.sandbox.fakes import Returns, judge_here, judge_with

STEPS = TaskReference(str(Path(__file__).parent / "steps.py"))
SORTED = "return left[np.argmin(points[left])]"
BACKWARDS = "return left[np.argmax(points[left])]"


def program(body: str, before: str = "") -> str:
    lines = "\n    ".join(body.splitlines())
    return f"import numpy as np\n{before}\ndef go(points, left):\n    {lines}\n"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def judge() -> AsyncIterator[SandboxJudge]:
    async with judge_with(STEPS, Pool(STEPS, "search", 1, Limits(), True, preloaded=())) as judge:
        yield judge


HONEST = {
    "template": program("return left[0]"),
    "sorts": program(SORTED),
    "seeds in the call": program("return left[np.random.default_rng(len(left)).integers(len(left))]"),
    "caches what it computed": program(
        "return left[half(len(left))]", "from functools import cache\n@cache\ndef half(n): return n // 2"
    ),
}
KEEPING = {
    "counts": program("calls.append(0)\nreturn left[len(calls) % len(left)]", "calls = []"),
    "plans at its first call": program(
        "if len(left) == 30: plan[:] = np.argsort(points).tolist()\nreturn plan.pop(0)", "plan = []"
    ),
    "plans wherever it begins": program(
        "plan[:] = [c for c in plan if c in left] or np.roll(left, len(left) // 2).tolist()\nreturn plan[0]",
        "plan = []",
    ),
    "draws": program("return left[np.random.randint(len(left))]"),
    "writes into an argument": program(f"points[:] = np.roll(points, 7)\n{SORTED}"),
}


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", HONEST)
async def test_what_follows_from_the_arguments_alone_is_judged_as_ever(judge: SandboxJudge, name: str) -> None:
    verdict = await judge.evaluate(HONEST[name])
    assert isinstance(verdict, Verdict), verdict
    assert all(len(trajectory) == 30 for trajectory in verdict.trajectories)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", KEEPING)
async def test_what_depends_on_earlier_calls_is_rejected(judge: SandboxJudge, name: str) -> None:
    failure = await judge.evaluate(KEEPING[name])
    assert isinstance(failure, Failure), failure
    assert failure.reason == "keeps-state", failure
    # without its plan the program fails, unless the calls drawn by chance begin with one that makes a plan
    fails = name == "plans at its first call" and "it fails: IndexError: pop from empty list" in failure.message
    assert fails or "was answered with" in failure.message
    assert failure.cpu_s > 0


@pytest.mark.asyncio(loop_scope="module")
async def test_answers_that_are_made_up_afterwards_lead_to_another_solution(judge: SandboxJudge) -> None:
    forging = "if len(left) == 1: sys._getframe(2).f_locals['answers'].reverse()"
    failure = await judge.evaluate(program(f"{forging}\n{BACKWARDS}", "import sys"))
    assert isinstance(failure, Failure)
    assert (failure.reason, failure.message) == ("invalid-solution", "a program's answers must lead to its solution")


async def test_a_solution_that_no_program_was_asked_for_is_rejected(judge: SandboxJudge) -> None:
    silent = Returns(np.arange(30), np.arange(30), cpu_s=0.1)
    failure = await judge_here(STEPS.load(), silent).evaluate("")
    assert failure == Failure("invalid-solution", "a program's answers must come with its solutions", 0.1)


@pytest.mark.parametrize(("reason", "becomes"), [("timeout", "timeout"), ("exception", "keeps-state")])
async def test_only_what_the_machine_may_have_caused_keeps_its_name_the_second_time(reason: str, becomes: str) -> None:
    class Failing(Returns):
        async def send(self, source: str, postponed: object, questions: bytes = b"") -> Sent | Failure:
            return Failure(reason, "so it is", 0.25) if questions else await super().send(source)

    answered = {"": np.arange(30), ANSWERS: np.arange(30)}
    failure = await judge_here(STEPS.load(), Failing(answered, answered, cpu_s=0.5)).evaluate("")
    assert isinstance(failure, Failure)
    assert (failure.reason, failure.cpu_s) == (becomes, 0.75)
    assert "so it is" in failure.message


TOURS = (np.arange(30), np.arange(30))


def repeated(answers: Sequence[np.ndarray] = TOURS, seed: int = 0) -> list[AnsweredCall]:
    task = STEPS.load()
    processes = calls_to_repeat(task, task.instances("search"), TOURS, answers, np.random.default_rng(seed))
    assert all(0 < len(calls) <= TOGETHER for calls in processes)
    assert all(len({call.instance for call in calls}) == len(calls) for calls in processes)
    return [call for calls in processes for call in calls]


def test_the_calls_that_are_made_again_are_drawn_evenly_from_those_of_all_instances() -> None:
    calls = repeated()
    places = [(call.instance, call.step) for call in calls]
    assert len(set(places)) == len(places) == ASKED_AGAIN
    assert places != sorted(places)
    instances = STEPS.load().instances("search")
    for call in calls:
        points, left = call.arguments
        assert points.tolist() == instances[call.instance].tolist()
        assert left.tolist() == list(range(call.step, 30))
        assert call.answer == call.step
    drawn = Counter((call.instance, call.step) for seed in range(200) for call in repeated(seed=seed))
    assert set(drawn) == {(instance, step) for instance in (0, 1) for step in range(30)}


async def test_which_calls_are_made_again_is_not_for_the_program_to_know() -> None:
    answered = [{"": tour, ANSWERS: tour} for tour in TOURS]
    judge = judge_here(STEPS.load(), Returns(*answered))
    (_, first), (_, second) = [await judge.first_verdict("") for _ in range(2)]
    assert [questions for _, questions in first] != [questions for _, questions in second]
    assert len(first) == ASKED_AGAIN // len(TOURS), "calls on different instances share a process"


@given(st.lists(st.integers(0, 20), min_size=1, max_size=9), st.integers(0, 9))
def test_no_instance_is_asked_again_more_often_than_others_that_have_as_many_calls(
    counts: list[int], seed: int
) -> None:
    drawn = _draw_calls(counts, np.random.default_rng(seed))
    assert len(set(drawn)) == len(drawn) == min(ASKED_AGAIN, sum(counts))
    asked = Counter(instance for instance, _ in drawn)
    assert all(0 <= step < counts[instance] for instance, step in drawn)
    assert all(asked[a] + 1 >= min(asked[b], counts[a]) for a in range(len(counts)) for b in range(len(counts)))


@pytest.mark.asyncio(loop_scope="module")
async def test_answers_and_questions_of_any_size_pass_each_other() -> None:
    doubling = "def go(points, left):\n    return points * 2\n"
    calls = [(np.full(1 << 18, float(number)), 0) for number in range(4)]  # 2 MB each: more than a socket holds
    async with Pool(STEPS, "search", 1, Limits(), allow_weak_isolation=True, preloaded=()) as pool:
        questions = b"".join(map(encode_question, calls))
        found = await pool.send(doubling, unnoticed, questions)
        assert isinstance(found, Sent)
        answers = whole_answers(found.data, 4, 1 << 23)
        assert [float(answer[0]) for answer in answers] == [0.0, 2.0, 4.0, 6.0]  # type: ignore[union-attr]
        failing = doubling.replace("return", "assert points[0] != 2\n    return")
        failed = await pool.send(failing, unnoticed, questions)
        assert isinstance(failed, Sent)
        failure = whole_answers(failed.data, 4, 1 << 23)
        assert isinstance(failure, Failure) and failure.reason == "exception"


def test_answers_are_compared_exactly_but_for_the_rounding_of_fractions() -> None:
    def found(first: Any, again: Any) -> str:
        return AnsweredCall(1, 4, (), np.array(first)).difference(np.array(again))

    assert found(7, 7) == found(7.0, 7.0) == found(7.0, 7.0 + 1e-12) == found([1.0, np.nan], [1.0, np.nan]) == ""
    assert found(7.0, 7.0001) == "call 5 on instance 2 was answered with 7.0001, and first with 7.0"
    for first, again in ((7, 8), (7.0, [7.0, 7.0]), (True, False), ([1.0, 2.0], 1.0)):
        assert found(first, again)


def test_solutions_and_answers_are_told_apart() -> None:
    tour, answers = np.arange(3), np.arange(3.0)
    (bare, named), given = answers_apart(({"": tour, ANSWERS: answers}, {"a": tour, "b": tour, ANSWERS: answers}))
    assert bare is tour
    assert list(named) == ["a", "b"]  # type: ignore[arg-type]
    assert all(each is answers for each in given)
    assert answers_apart((tour, tour)) == ((tour, tour), ())


@pytest.mark.parametrize("answers", [(), (np.arange(30),), (np.arange(30), np.array(7))])
def test_answers_that_are_missing_or_none_are_refused(answers: tuple[np.ndarray, ...]) -> None:
    with pytest.raises(InvalidSolution, match="must come with"):
        repeated(answers)


async def test_programs_are_asked_again_on_every_split() -> None:
    task = STEPS.load()
    settings = settings_from_person({"task": STEPS.text, "allow_weak_isolation": True}, task=task)
    async with judging(settings, task, "held-out") as judge:
        failure = await judge.evaluate(program("return left[np.random.randint(len(left))]"))
    assert isinstance(failure, Failure)
    assert failure.reason == "keeps-state"
