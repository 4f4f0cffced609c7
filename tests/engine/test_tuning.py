"""Tuning the numbers of one program: what is tried, when it ends, and whether the result is told apart."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from behavesim.engine.tuning import (
    MOST_FRESH,
    REPEATS,
    AskGains,
    AskScores,
    Grounds,
    Tuner,
    TuningBench,
    best_trial,
    certainty,
    evidence_in_words,
    is_better,
    numbers_of,
    seed_of,
    tune_numbers,
    tuned_source,
    tuning_steps,
)
from behavesim.programs.numbers import tunable_numbers
from behavesim.state.events import Tuning
from behavesim.state.protocols import Judge, Postponed, unnoticed
from behavesim.task import Objective
from behavesim.task.verdict import Block, Failure, Verdict
from tests.engine.toys import Hurdles, Toy

SOURCE = "a = 0.05\nb = 30.0\nk = 3\n"
NUMBERS = tunable_numbers(SOURCE)
BEST = (0.2, 80.0, 7)
"""The numbers with which a program has the best score on every instance."""
DOWN = Objective("minimise")
FRESH = Grounds(5, 5, 5, "fresh", False)


class Bowl:
    """A judge for whom a program is as good as its numbers are near BEST; each instance adds its own luck."""

    def __init__(self, luck: float = 0.2, is_flat: bool = False, fails: Callable[[Block | None], bool] = bool) -> None:
        self.luck, self.is_flat, self.fails = luck, is_flat, lambda block: fails(block) if block else False
        self.asked: list[Block | None] = []
        self.sources: list[str] = []

    async def evaluate(
        self, source: str, postponed: Postponed = unnoticed, block: Block | None = None, /
    ) -> Verdict | Failure:
        self.asked.append(block)
        self.sources.append(source)
        if self.fails(block):
            return Failure("timeout", "", 1.0)
        values = [float(text) for text in re.findall(r"= \(?(-?[\d.e-]+)", source)]
        far = sum(np.log(value / best) ** 2 for value, best in zip(values, BEST, strict=True))
        first, count = (0, 5) if block is None else (block.first, block.size)
        draws = [
            np.random.default_rng([number, int(1e6 * far)]).normal(0, self.luck)
            for number in range(first, first + count)
        ]
        scores = tuple(5.0 + (0.0 if self.is_flat else float(far) + draw) for draw in draws)
        return Verdict(sum(scores) / count, scores, (), 1.0)


def on_validation(judge: Judge) -> Any:
    @asynccontextmanager
    async def opened() -> AsyncIterator[Judge]:
        yield judge

    return opened


def quiet(request: Block | None) -> bool:
    return False


async def tuned(judge: Bowl, most: int = 150, grounds: Grounds = FRESH, seed: int = 1) -> Tuning:
    bench = TuningBench(SOURCE, NUMBERS, grounds, DOWN, judge, on_validation(judge))
    return await tune_numbers(bench, NUMBERS, seed, most, DOWN, grounds)


async def test_the_known_optimum_is_found_and_told_apart_on_instances_that_no_trial_used() -> None:
    judge = Bowl(fails=quiet)
    found = await tuned(judge)
    values = found.values[best_trial(found.gains)]
    assert values == pytest.approx(BEST, rel=0.3) and values[2] == int(values[2])
    assert found.trials <= 150 and is_better(found, DOWN)
    gain = certainty(found, DOWN)
    assert gain is not None and 0 < gain.low < gain.mean < gain.high
    assert tunable_numbers(tuned_source(SOURCE, NUMBERS, found))[2].value == values[2]
    tried = {number for block in judge.asked if block == FRESH.block for number in range(block.first, block.first + 5)}
    checked = [block for block in judge.asked if block is not None and block != FRESH.block]
    assert tried == {5, 6, 7, 8, 9} and len(found.after) == len(found.before) >= 10
    assert min(block.first for block in checked) == 10 and max(block.first + block.size for block in checked) <= 90
    assert found.cpu_s == len(judge.asked)


async def test_the_same_scores_lead_to_the_same_trials_whatever_comes_first() -> None:
    class Slow(Bowl):
        async def evaluate(self, source: str, *given: Any) -> Verdict | Failure:
            await asyncio.sleep(0.001 * (hash(source) % 3))
            return await super().evaluate(source, *given)

    first, again, other = (
        await tuned(Bowl(fails=quiet)),
        await tuned(Slow(fails=quiet)),
        await tuned(Bowl(fails=quiet), seed=2),
    )
    assert first == again != other
    assert seed_of(0, 3) == seed_of(0, 3) != seed_of(0, 4)


async def test_a_plateau_ends_it_and_no_text_is_run_twice() -> None:
    judge = Bowl(is_flat=True, fails=quiet)
    found = await tuned(judge)
    assert found.trials == 1 + len(Tuner(NUMBERS, (0.05, 30.0, 3.0), (0, 1, 2), 1).draw()) and not found.after
    assert not is_better(found, DOWN)
    bench = TuningBench(SOURCE, NUMBERS, FRESH, DOWN, judge, on_validation(judge))
    judge.sources.clear()
    trials = AskGains(((0.05, 30.0, 3.0), (0.05, 30.0, 4.0), (0.05, 30.0, 3.0)))
    await bench.answer(trials)
    await bench.answer(trials)
    assert len(judge.sources) == 4 and len(set(judge.sources)) == 2


STRUCTURE = "a = 0.05\nb = 30.0\nk = 3\nsizes = (7, 5, 7, 12, 5, 4)\nturns = (20, 900)\nc = 0.7\n"


def structured(frozen: set[float]) -> tuple[tuple[int, ...], Callable[[tuple[float, ...]], bool]]:
    """The places of the numbers of STRUCTURE with these values, and whether a trial leaves all of them as they are."""
    numbers = tunable_numbers(STRUCTURE)
    places = tuple(place for place, number in enumerate(numbers) if number.value in frozen)
    return places, lambda values: all(values[place] == numbers[place].value for place in places)


def tried(works: Callable[[tuple[float, ...]], bool], most: int = 60) -> Tuning:
    """What is tried of STRUCTURE where each trial that does not work fails, and the others gain what `a` gains."""
    steps = tuning_steps(tunable_numbers(STRUCTURE), 3, most, DOWN, FRESH)
    request = next(steps)
    while isinstance(request, AskGains):
        request = steps.send([1 - abs(np.log(each[0] / 0.2)) if works(each) else None for each in request.values])
    with pytest.raises(StopIteration) as ended:
        steps.send(((), ()))
    tuning = ended.value.value
    assert isinstance(tuning, Tuning)
    return tuning


@pytest.mark.parametrize("frozen", [{7.0}, {7.0, 5.0}, {7.0, 5.0, 4.0, 12.0}, {7.0, 5.0, 4.0, 12.0, 3.0, 20.0, 900.0}])
def test_numbers_without_which_all_trials_fail_are_left_as_they_are_early(frozen: set[float]) -> None:
    places, works = structured(frozen)
    found = tried(works)
    failed = [at for at, gain in enumerate(found.gains) if gain is None]
    assert len(failed) <= 13 and max(failed) <= 20  # a third of the trials may look for them
    assert found.values[best_trial(found.gains)][0] == pytest.approx(0.2, rel=0.2)
    changed = {
        place for values in found.values for place in range(len(values)) if values[place] != found.values[0][place]
    }
    assert len(changed) == len(found.values[0])  # each was changed once
    later = found.values[21:]
    free = set(range(len(found.values[0]))) - set(places)
    assert all(len({values[place] for values in later}) > 1 for place in free)


def test_a_number_that_fails_later_is_found_in_a_trial_that_failed() -> None:
    real = [number.value for number in tunable_numbers(STRUCTURE)].index(0.7)
    found = tried(lambda values: values[real] == 0.7)
    shares = [sum(gain is None for gain in found.gains[at:]) / len(found.gains[at:]) for at in (1, 30)]
    assert shares[0] < 0.4 and shares[1] == 0


def test_where_all_trials_fail_it_ends_without_a_gain() -> None:
    own = tuple(number.value for number in tunable_numbers(STRUCTURE))
    steps = tuning_steps(tunable_numbers(STRUCTURE), 3, 60, DOWN, FRESH)
    request: Any = next(steps)
    found: Tuning | None = None
    while found is None:
        try:
            request = steps.send([0.0 if each == own else None for each in request.values])
        except StopIteration as ended:
            found = ended.value
    assert best_trial(found.gains) == 0 and found.trials <= 60


async def test_luck_alone_is_not_told_apart() -> None:
    class Lucky(Bowl):
        async def evaluate(self, source: str, *given: Any) -> Verdict | Failure:
            found = await super().evaluate(source, *given)
            assert isinstance(found, Verdict)
            luck = np.random.default_rng([len(source), sum(map(ord, source))]).normal(0, 1, len(found.scores))
            return replace(found, scores=tuple(5.0 + each for each in luck.tolist()))

    told = [is_better(await tuned(Lucky(fails=quiet), most=40, seed=seed), DOWN) for seed in range(10)]
    assert told.count(True) <= 1


async def test_what_fails_is_no_better() -> None:
    further = await tuned(Bowl(fails=lambda block: block == FRESH.block))
    assert further.values == (tuple(number.value for number in NUMBERS),) and further.gains == (None,)
    on_check = await tuned(Bowl(fails=lambda block: block != FRESH.block))
    assert on_check.before == on_check.after == () and not is_better(on_check, DOWN)


async def test_without_fresh_instances_those_of_validation_decide_and_without_any_the_score() -> None:
    judge = Bowl(luck=0.01, fails=quiet)
    validation = Grounds(5, 5, 0, "validation", False)
    found = await tuned(judge, grounds=validation)
    assert len(found.before) == len(found.after) == 5 and is_better(found, DOWN)
    assert set(judge.asked) == {None}
    assert not is_better(replace(found, after=found.before), DOWN)
    by_score = Grounds(1, 1, 0, "score", False)
    found = await tuned(judge, grounds=by_score)
    assert len(found.after) == REPEATS and set(judge.asked) == {None} and is_better(found, DOWN)
    assert "trials' own instances, 5 runs" in evidence_in_words(found)


async def test_the_best_of_many_noisy_scores_is_not_taken_where_nothing_else_can_say() -> None:
    class Noisy(Bowl):
        async def evaluate(self, source: str, *given: Any) -> Verdict | Failure:
            found = await super().evaluate(source, *given)
            noise = np.random.default_rng([len(self.asked)]).normal(0, 1)
            return replace(found, score=5.0 + noise, scores=(5.0 + noise,)) if isinstance(found, Verdict) else found

    by_score = Grounds(1, 1, 0, "score", False)
    found = [await tuned(Noisy(fails=quiet), most=40, grounds=by_score, seed=seed) for seed in range(10)]
    assert all(best_trial(each.gains) for each in found)
    assert sum(is_better(each, DOWN) for each in found) <= 1


def test_the_grounds_follow_from_the_task_and_leave_its_race_its_instances() -> None:
    toy, hurdles = Toy(), Hurdles()
    count = len(hurdles.instances("search"))
    grounds = Grounds.of(hurdles, race=14)
    assert (grounds.check, grounds.first, grounds.further) == ("fresh", count + 14, count)
    assert grounds.extra == count + MOST_FRESH
    assert grounds.fresh_block(10, 20) == Block(2 * count + 24, 20, 20 / count)
    assert Grounds.of(toy).check in ("validation", "score") and Grounds.of(toy).extra == 0


@pytest.mark.parametrize(("most", "blocks"), [(2, (2,)), (7, (1, 6)), (16, (1, 7, 7, 1))])
def test_there_are_at_most_so_many_trials(most: int, blocks: tuple[int, ...]) -> None:
    steps = tuning_steps(NUMBERS, 0, most, DOWN, FRESH)
    next(steps)
    request, asked = steps.send([0.0]), list[int]()
    while isinstance(request, AskGains):
        asked.append(len(request.values))
        request = steps.send([0.1 - place for place in range(len(request.values))])
    assert tuple(asked) == blocks
    assert isinstance(request, AskScores) and (request.seen, request.count) == (0, 10)


@pytest.mark.parametrize(("gain", "seen"), [(-0.01, (10,)), (0.1, (10, 10, 20, 40)), (1.0, (10, 10)), (5.0, (10,))])
def test_the_check_goes_on_as_long_as_it_could_still_tell(gain: float, seen: tuple[int, ...]) -> None:
    steps = tuning_steps(NUMBERS, 0, 1, DOWN, FRESH)
    next(steps)
    steps.send([0.0])
    request, counts, tuning = steps.send([0.1]), list[int](), None
    while tuning is None:
        assert isinstance(request, AskScores) and request.seen == sum(counts)
        counts.append(request.count)
        luck = [1.0 if place % 2 else -1.0 for place in range(request.count)]
        try:
            request = steps.send(((5.0,) * request.count, tuple(5.0 - gain + each for each in luck)))
        except StopIteration as ended:
            tuning = ended.value
    assert tuple(counts) == seen
    assert is_better(tuning, DOWN) == (gain >= 1)


def test_markers_around_a_function_are_no_part_of_it() -> None:
    class Marked(Toy):
        template = "# EVOLVE-BLOCK-START\ndef number() -> int:\n    return 0\n# EVOLVE-BLOCK-END\n"

    assert [each.value for each in numbers_of(Marked(), "def number() -> int:\n    return 5\n")] == [5.0]
