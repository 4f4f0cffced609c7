"""The race on fresh instances: its intervals, who goes on, and what is said of the winner."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from scipy import stats

from behavesim.base.errors import JournalError
from behavesim.state.events import TEMPLATE, Event, FreshBegun, FreshScored, Recommended, RunForked
from behavesim.state.race import (
    Certificate,
    FreshRace,
    chance,
    describe,
    interval,
    most_instances,
    spread_of_pairs,
    told_apart,
)
from behavesim.state.state import RunState
from behavesim.task import Objective

LOW = Objective("minimise")


def test_an_interval_holds_the_mean_at_all_looks_together() -> None:
    draw, missed = np.random.default_rng(0), 0
    for _ in range(400):
        values = draw.normal(1.0, 2.0, 200)
        found = [interval(values[:count], 0.05) for count in (2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 200)]
        missed += any(not each.low <= 1.0 <= each.high for each in found)
    assert missed <= 20


def test_nothing_is_known_of_too_few_or_equal_values() -> None:
    for values in ([1.0], [1.0, 1.1], [2.0] * 50, [0.3, 0.1 + 0.2] * 50):
        found = interval(values, 0.005)
        assert (found.low, found.high) == (-math.inf, math.inf)
    assert interval([1.0, 2.0] * 50, 0.05).low > 1.3


def played(gains: dict[int, float], purse: int, size: int = 6, noise: float = 0.02) -> FreshRace:
    """A race of programs with these true gains, played to its end."""
    draw = np.random.default_rng(1)
    race = FreshRace(FreshBegun((TEMPLATE, *gains), 3, size, purse), LOW)
    while (block := race.next_block()) is not None:
        base = draw.uniform(5, 10, block.count)
        scores = {
            program: tuple(base * (1 - (gains[program] + draw.normal(0, noise, block.count))).tolist())
            if program != TEMPLATE
            else tuple(base.tolist())
            for program in block.programs
        }
        race.apply(FreshScored(block.first, block.count, scores))
    return race


def test_a_race_ends_when_one_stands_apart() -> None:
    race = played({0: 0.01, 1: 0.2, 2: 0.0}, purse=10_000)
    found = race.certificate(1)
    assert race.winner == 1 and found is not None and found.interval is not None
    assert found.told_apart_from == found.others == 2
    assert found.interval[0] <= 0.2 <= found.interval[1]
    assert race.spent < 200


@pytest.mark.parametrize("purse", [0, 30, 75, 500])
def test_a_race_costs_no_more_than_its_purse_or_first_block(purse: int) -> None:
    race = played({program: 0.001 * program for program in range(10)}, purse)
    assert race.spent <= max(purse, 11 * 6)
    assert race.seen <= most_instances(6, purse)
    if purse > 66:  # what does not suffice for all is spent on the best and the template
        assert race.seen > 6 and len(race.scores[TEMPLATE]) == race.seen


def test_what_fails_is_out_and_without_the_template_there_is_no_certificate() -> None:
    race = FreshRace(FreshBegun((TEMPLATE, 0, 1), 0, 2, 100), LOW)
    race.apply(FreshScored(0, 2, {TEMPLATE: (2.0, 2.0), 0: (1.0, 1.5), 1: ()}))
    block = race.next_block()
    assert block is not None and (block.first, block.count, block.programs) == (2, 2, (TEMPLATE, 0))
    assert race.certificate(1) is None
    race.apply(FreshScored(2, 2, {TEMPLATE: (), 0: (1.0, 1.5)}))
    assert race.next_block() is None and race.certificate(0) is None and race.winner is None


def test_a_certificate_is_a_line() -> None:
    said = describe(Certificate(4, 0.052, (0.046, 0.059), 180, 7, 9))
    assert said == (
        "5.20 % better than the template [4.60, 5.90] on instances like these, told apart from 7 of 9 others; "
        "180 fresh instances, none seen before"
    )
    assert "not told apart from it" in describe(Certificate(4, 0.01, (-0.01, 0.03), 20, 0, 9))
    assert "4.60 % worse than the template [3.00, 6.00]" in describe(Certificate(4, -0.046, (-0.06, -0.03), 20, 0, 9))
    assert "too few" in describe(Certificate(4, 0.052, None, 6, 0, 9))


def test_no_instance_is_used_twice_also_after_a_fork() -> None:
    def state(*events: Event) -> RunState:
        made = RunState(LOW)
        for event in events:
            made.apply(event)
        return made

    begun, scored = FreshBegun((TEMPLATE, 0), 0, 2, 100), FreshScored(0, 2, {TEMPLATE: (1.0, 1.0), 0: (1.0, 2.0)})
    more = FreshScored(2, 4, {TEMPLATE: (1.0,) * 4, 0: (1.0,) * 4})
    fork = RunForked("first", {}, {})
    assert state(begun, scored, more, Recommended(0, {0: 1.5}), fork).fresh_used == 6
    for wrong in (
        (begun, scored, more, fork, FreshBegun((TEMPLATE, 0), 5, 2, 100)),
        (begun, more),
        (begun, scored, fork, more),
        (scored,),
    ):
        with pytest.raises(JournalError, match=r"fresh|which the run has used"):
            state(*wrong)


def test_programs_are_told_apart_by_pairs() -> None:
    hard = [10.0, 50.0, 20.0, 90.0, 40.0]
    slightly = [each - 0.5 - 0.01 * each for each in hard]
    by_luck = [each + shift for each, shift in zip(hard, (5.0, -8.0, 3.0, -6.0, 4.0), strict=True)]
    assert told_apart(hard, slightly) and not told_apart(hard, by_luck) and not told_apart(hard, hard)
    assert told_apart([1.0], [2.0]) and told_apart([1.0, 2.0], [2.0, 3.0])  # nothing says what chance is


@pytest.mark.parametrize("large", [1.5e154, 1e200, 1e308, sys.float_info.max])
def test_scores_of_any_size_are_compared(large: float) -> None:
    small, failed_once = [1.0] * 8, [1.0] * 7 + [large]
    assert not told_apart(failed_once, small) and told_apart([large] * 8, small)
    for gains in (failed_once, [large] * 8, [large, -large] * 4):
        assert (interval(gains, 0.05).low, interval(gains, 0.05).high) == (-math.inf, math.inf)


@pytest.mark.parametrize("count", [2, 5, 16, 17, 60, 400])
def test_what_is_chance_is_what_a_t_test_says(count: int) -> None:
    assert chance(2.0, count) == pytest.approx(stats.t.isf(0.025, count - 1) * 2 / math.sqrt(count), rel=1e-3)


def test_the_noise_of_a_run_is_that_of_its_near_programs() -> None:
    assert spread_of_pairs([(10.0, 20.0), (10.0, 20.0), (9.0, 20.0)], LOW) == pytest.approx(
        0.111 / math.sqrt(2), abs=1e-3
    )
    assert spread_of_pairs([(1.0, 1.0), (1.0, 1.0)], LOW) is None
    assert spread_of_pairs([(1.0,), (2.0,)], LOW) is None
