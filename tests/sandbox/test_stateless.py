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
from behavesim.engine.build import judge_of
from behavesim.sandbox.judge import SandboxJudge
from behavesim.sandbox.limits import Limits
from behavesim.sandbox.pool import Pool
from behavesim.sandbox.program import (
    ASKED_AGAIN,
    TOGETHER,
    AnsweredCall,
    DrawnCalls,
    Unanswered,
    _decode_question,
    encode_question,
    fresh_processes,
)
from behavesim.task import TaskReference
from behavesim.task.verdict import Failure, Verdict
from tests.sandbox.fakes import judge_with

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
    "writes into an argument": program(f"points[:] = np.roll(points, 7)\n{SORTED}"),
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
async def test_a_program_that_looks_for_the_instances_or_its_callers_finds_neither(judge: SandboxJudge) -> None:
    looking = (
        "names = [f for f in gc.get_objects() if type(f).__name__ in ('Work', 'Steps', 'DrawnCalls')]\nassert not names"
    )
    verdict = await judge.evaluate(program(f"{looking}\n{SORTED}", "import gc"))
    assert isinstance(verdict, Verdict), verdict


FAILING_AGAIN = {
    "timeout": ("while True: pass", "calls were made again in a fresh process, with as much time"),
    "memory": ("bytearray(1 << 31)", "calls were made again in a fresh process, with as much time"),
    "keeps-state": ("import os; os.abort()", "it fails: the program's process was killed by SIG"),
}


@pytest.mark.parametrize("reason", FAILING_AGAIN)
async def test_only_what_the_machine_may_have_caused_keeps_its_name_the_second_time(reason: str) -> None:
    body, said = FAILING_AGAIN[reason]
    counting = f"calls.append(0)\nif len(left) < 30 and len(calls) == 1:\n    {body}\n{SORTED}"
    limits = Limits(timeout_s=0.3, memory_mb=512)
    async with judge_with(STEPS, Pool(STEPS, "search", 1, limits, True, preloaded=())) as judge:
        failure = await judge.evaluate(program(counting, "calls = []"))
    assert isinstance(failure, Failure)
    assert failure.reason == reason
    assert said in failure.message
    assert failure.cpu_s > 0


def drawn(counts: Sequence[int]) -> list[list[AnsweredCall]]:
    """The calls to repeat in each process, of a program that was called so often on each instance."""
    found = DrawnCalls(len(counts))
    for number, count in enumerate(counts):
        function = found.recorded(lambda step: -step, number)
        assert [function(step) for step in range(count)] == [-step for step in range(count)]
    return found.divided(fresh_processes(len(counts)))


def test_the_calls_that_are_made_again_are_drawn_evenly_from_those_of_all_instances() -> None:
    calls = [call for group in drawn([30, 30]) for call in group]
    assert len(calls) == ASKED_AGAIN
    assert all(call.arguments == (call.step,) and call.answer == -call.step for call in calls)
    often = Counter((call.instance, call.step) for _ in range(400) for group in drawn([30, 30]) for call in group)
    assert set(often) == {(instance, step) for instance in (0, 1) for step in range(30)}
    assert max(often.values()) < 3 * min(often.values())


@given(st.lists(st.integers(0, 20), min_size=1, max_size=40))
def test_no_process_repeats_two_calls_on_one_instance(counts: list[int]) -> None:
    groups = drawn(counts)
    calls = [(call.instance, call.step) for group in groups for call in group]
    share = -(-ASKED_AGAIN // len(counts))
    assert len(set(calls)) == len(calls) == min(ASKED_AGAIN, sum(min(count, share) for count in counts))
    for group in groups:
        assert len({call.instance for call in group}) == len(group) <= TOGETHER


def test_arguments_are_kept_as_they_were_but_arrays_that_cannot_change_are_not_copied() -> None:
    found, fixed, free = DrawnCalls(1), np.arange(3), np.arange(3)
    fixed.setflags(write=False)
    function = found.recorded(lambda *_: 0, 0)
    function(fixed, free)
    free[0] = 9
    ((call,), *_) = found.divided(1)
    assert call.arguments[0] is fixed
    assert call.arguments[1].tolist() == [0, 1, 2]


def test_answers_are_compared_exactly_but_for_the_rounding_of_fractions() -> None:
    def difference(first: Any, again: Any) -> str:
        try:
            AnsweredCall(1, 4, (), {}, first).repeat(lambda: again)
        except Unanswered as unanswered:
            return str(unanswered)
        return ""

    equal = ((7, 7), (7.0, 7.0), (7.0, 7.0 + 1e-12), ([1.0, np.nan], [1.0, np.nan]))
    assert not any(difference(first, again) for first, again in equal)
    assert "call 5 on instance 2 was answered with 7.0001, and first with 7.0" in difference(7.0, 7.0001)
    for first, again in ((7, 8), (7.0, [7.0, 7.0]), (True, False), ([1.0, 2.0], 1.0)):
        assert difference(first, again)


def test_a_read_only_array_is_sent_once_as_long_as_each_call_has_it() -> None:
    large, small = np.zeros(1 << 16), np.arange(3)
    large.setflags(write=False)
    first, shared = encode_question((large, small))
    second, shared = encode_question((small, large), None, shared)
    assert len(first) > large.nbytes > 100 * len(second)
    _, shared = encode_question((small,), None, shared)
    assert not shared  # neither process keeps what it may not need again
    arguments, _, known = _decode_question(first[8:], {})
    again, _, _ = _decode_question(second[8:], known)
    assert again[1] is arguments[0]
    assert again[0].tolist() == [0, 1, 2]


async def test_programs_are_asked_again_on_every_split() -> None:
    task = STEPS.load()
    settings = settings_from_person({"task": STEPS.text, "allow_weak_isolation": True}, task=task)
    async with judge_of(settings, task, "held-out") as judge:
        failure = await judge.evaluate(program("return left[np.random.randint(len(left))]"))
    assert isinstance(failure, Failure)
    assert failure.reason == "keeps-state"
