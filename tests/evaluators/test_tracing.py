"""What is recorded of a program's calls: equal for equal choices, bounded, and from outside the program alone."""

from __future__ import annotations

import inspect
import math
import pickle
import sys
import threading

import numba
import numpy as np
import pytest

from behavesim.evaluators.tracing import (
    ANSWERS,
    CALLS,
    FEW,
    MOST_RANKED,
    MOST_STEPS,
    ROUNDINGS,
    Recorder,
    answer_steps,
    fingerprint,
    metric_steps,
    numbers_in,
    token,
)


def recorded(function, arguments, returns: str = "") -> tuple[int, ...]:
    recorder = Recorder()
    watched = recorder.watching(function, returns)
    for argument in arguments:
        watched(argument)
    return recorder.steps


def test_equal_choices_have_equal_numbers_whatever_their_type():
    assert fingerprint(3) == fingerprint(np.int64(3)) == fingerprint(np.array(3)) == 3
    assert fingerprint(True) == fingerprint(np.bool_(True)) == 1
    assert fingerprint(np.array([0.1, 7.0, 3.0])) == 1
    assert fingerprint([1, 2]) == fingerprint((1, 2)) != fingerprint([2, 1])
    assert fingerprint(np.array([1, 2])) == fingerprint(np.array([1, 2, 3])[:2])
    assert 0 <= fingerprint(-5) < 2**31 and 0 <= token(10**5000) < 2**31
    assert token("a" * 10**6) == token("a" * 10**6 + "b")  # the first bytes are read
    assert token({"a": 1}) == token({"a": np.int64(1)}) != token({"a": 2})
    assert token([0] * 10_000) == token([0] * 10_000 + [1]) != token([1] + [0] * 10_000)


def test_a_single_float_is_rounded():
    assert fingerprint(0.5) == fingerprint(np.float64(0.51)) != fingerprint(0.6)
    assert fingerprint(4.0) == 4 and fingerprint(1000.5) == fingerprint(1001.5)
    assert fingerprint(float("nan")) == fingerprint(float("inf")) == 0


def test_of_few_calls_the_answers_are_compared_number_by_number():
    recorder = Recorder()
    pack = recorder.watching(lambda x: (np.full((3, 2), x), [x, 2 * x], x))
    pack(0.5)
    assert recorder.traced == ANSWERS and len(recorder.steps) == 9 * len(ROUNDINGS)
    for _ in range(FEW):
        pack(0.5)
    assert recorder.traced == CALLS and len(recorder.steps) == FEW + 1


@pytest.mark.parametrize("value", [0.3, 30.0, 3e30, -0.3])
def test_the_nearer_two_numbers_the_more_steps_they_share(value):
    first, *others = (answer_steps([[value * factor]]) for factor in (1, 1.0001, 1.02, 1.3, 100, -10))
    shared = [sum(a == b for a, b in zip(first, other, strict=True)) for other in others]
    assert shared == sorted(shared, reverse=True)
    assert shared[0] >= len(ROUNDINGS) - 1 and shared[-1] <= 1


def test_whole_numbers_of_an_answer_are_steps_as_they_are():
    assert answer_steps([numbers_in([3, 1, [2]]), numbers_in(np.array([5, 4]))]) == (3, 1, 2, 5, 4)
    assert numbers_in((1, 0.5)) == [1.0, 0.5] and numbers_in({"a": np.float32(0.5), "b": True}) == [0.5, 1.0]
    assert numbers_in(None) == numbers_in(None) != numbers_in("x") and numbers_in([]) == []


def test_answers_of_any_size_have_a_bounded_number_of_steps():
    large = numbers_in(np.random.default_rng(0).random((100, 100)))
    deep = [[[[[[0.5] * 10] * 10] * 10] * 10] * 10] * 10
    assert len(large) == MOST_STEPS and 0 < len(numbers_in(deep)) <= MOST_STEPS
    assert MOST_STEPS // 2 < len(answer_steps([large])) <= MOST_STEPS
    assert 0 < len(answer_steps([large] * FEW)) <= MOST_STEPS
    assert len(answer_steps([list(range(MOST_STEPS))])) == MOST_STEPS
    assert answer_steps([[math.inf, math.nan, 10**400]]) and numbers_in([0.5, 10**400]) == [0]


def test_a_value_that_cannot_be_looked_at_is_no_fault():
    class Odd:
        dtype = property(lambda self: 1 / 0)

    assert fingerprint(Odd()) == 0 and numbers_in(Odd()) == [0]


def test_long_traces_are_thinned_evenly_and_bounded():
    steps = recorded(lambda x: x, range(5 * MOST_STEPS))
    assert MOST_STEPS // 2 < len(steps) <= MOST_STEPS and steps == tuple(range(0, 5 * MOST_STEPS, 8))


def test_priorities_are_recorded_as_the_order_that_they_make():
    values = [0.5, 2.0, float("nan"), 2.0, -1.0, *range(-2, -9, -1)]
    expected = (1, 3, 0, 4, *range(5, 12), 2)
    assert recorded(lambda x: values[x], range(12), "float") == expected

    def annotated(x) -> float:
        return values[x] * 10

    assert recorded(annotated, range(12)) == expected
    annotated.__annotations__["return"] = np.float64  # as it stands there without postponed evaluation
    assert recorded(annotated, range(12)) == expected
    many = recorded(lambda x: (x * 7919) % 10_007, range(10_000), "float")
    assert many == tuple(sorted(range(10_000), key=lambda x: (x * 7919) % 10_007, reverse=True)[:MOST_RANKED])


def test_calls_from_within_the_program_are_its_own():
    recorder = Recorder()
    inner = recorder.watching(lambda x: x + 100)
    outer = recorder.watching(lambda x: inner(x) and x)
    assert outer(5) == 5 and recorder.steps == (5,)


def test_a_call_that_raises_is_not_recorded_and_the_next_one_is():
    recorder = Recorder()
    divided = recorder.watching(lambda x: 6 // x)
    with pytest.raises(ZeroDivisionError):
        divided(0)
    assert divided(2) == 3 and recorder.steps == (3,)


def test_methods_of_a_class_are_recorded():
    class Found:
        def ask(self, x):
            return self._twice(x)

        def _twice(self, x):
            return 2 * x

    recorder = Recorder()
    found = recorder.watching(Found)()
    assert [found.ask(1), found.ask(4)] == [2, 8] and recorder.steps == (2, 8)


def test_calls_side_by_side_in_threads_leave_no_trace():
    recorder, both = Recorder(), threading.Barrier(2)
    watched = recorder.watching(lambda x: (both.wait() and None) or x)
    threads = [threading.Thread(target=watched, args=(place,)) for place in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert recorder.steps == ()


@numba.njit
def doubled(x):
    return 2 * x


@numba.njit
def doubled_twice(function, x):
    return function(function(x))


def test_a_compiled_function_has_its_calls_from_python_recorded_and_compiled_code_can_call_it(monkeypatch):
    recorder = Recorder()
    watched = recorder.watching(doubled)
    assert doubled_twice(watched, 3) == 12 and recorder.steps == ()
    assert [watched(1), watched(3)] == [2, 6] and recorder.steps == (2, 6) and recorder.traced == "calls"
    assert watched.signatures == [(numba.int64,)]
    monkeypatch.setattr(sys.modules[__name__], "doubled", watched)
    assert pickle.loads(pickle.dumps(watched)) is watched


def test_metrics_of_the_clock_are_no_behaviour():
    known = {"score": 0.5, "eval_time": 1.0, "execution_time_mean": 2.0, "peak_memory": 3.0, "took_ms": 4.0}
    assert metric_steps(known) == metric_steps({"score": 0.5})
    assert metric_steps({"a": 0.12345678, "b": "nan"}) == metric_steps({"b": "nan", "a": 0.12345681})
    assert metric_steps({"a": 1.0}) != metric_steps({"a": 2.0})


def test_a_recorded_function_shows_its_own_parameters() -> None:
    def weigh(item, bins, *, scale=1.0):
        return item

    watched = Recorder().watching(weigh)
    assert inspect.getfullargspec(watched).args == ["item", "bins"] and inspect.getfullargspec(abs).args == ["x"]
    assert Recorder().watching(max)(1, 2) == 2  # a builtin without a signature
