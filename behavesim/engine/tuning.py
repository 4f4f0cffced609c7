"""Tuning: trials of a program with other numbers, and whether the best of them is better for certain.

`tuning_steps` decides: a pure generator asks for scores, and what it asks next follows from numbers, seed and answers
alone. `tune_numbers` answers with the sandbox, and `verify` with what the journal holds. Values are drawn by CMA-ES
(Hansen 2016, from the package cmaes). The trials share search instances, and further ones where the task has them
without end: five would decide by luck. The winner is told apart from its parent on instances that no trial used.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from behavesim.programs.numbers import Number, tunable_numbers, write_numbers
from behavesim.state.champion import ERROR, Interval, interval, told_apart
from behavesim.state.events import Tuning
from behavesim.state.protocols import Judge, unnoticed
from behavesim.state.race import mean, relative_gains
from behavesim.task import Objective, Task, instances_of
from behavesim.task.evaluated import EvaluatorTask
from behavesim.task.verdict import Block, Failure

if TYPE_CHECKING:
    from cmaes import CMA

# The values of a program's numbers in one trial, in the order of `tunable_numbers`.
Values = tuple[float, ...]
# Standard deviation of the first trials, as a fraction of each number's scale.
FIRST_STEP = 0.2
# Fresh instances on which the best trial and its parent are compared first, and at most; each block doubles them.
FIRST_FRESH, MOST_FRESH = 10, 80
# What the random numbers of tuning are drawn with besides seed and candidate.
PURPOSE = 52


def numbers_of(task: Task, source: str) -> tuple[Number, ...]:
    """Return the numbers of a task's program that may be tuned."""
    return tunable_numbers(source, task.suffix, task.template)


# Which instances decide.


@dataclass(frozen=True)
class Grounds:
    """The instances on which a task's programs are tuned and checked.

    `check` says on which instances the best trial is told apart from its parent: "fresh" ones, those of "validation",
    or none, so that the "score" of the trials decides.
    """

    search: int
    """The number of search instances."""
    first: int
    """The number of the first search instance that nothing else uses."""
    further: int
    """So many search instances from there on belong to each trial, besides those of the search."""
    check: Literal["fresh", "validation", "score"]
    has_own_mean: bool

    @classmethod
    def of(cls, task: Task, race: int = 0) -> Grounds:
        """Return the grounds of a task whose run uses `race` further search instances for itself."""
        search = len(instances_of(task, "search"))
        if task.endless and not task.has_own_mean:
            return cls(search, search + race, search, "fresh", False)
        is_self_reported = isinstance(task, EvaluatorTask)
        check: Literal["validation", "score"] = "score"
        if not is_self_reported and len(instances_of(task, "validation")):
            check = "validation"
        return cls(search, search + race, 0, check, task.has_own_mean)

    @property
    def extra(self) -> int:
        """How many further search instances a sandbox needs for tuning."""
        return self.further + MOST_FRESH if self.check == "fresh" else 0

    @property
    def block(self) -> Block | None:
        """The further instances of each trial; None if there are none."""
        return Block(self.first, self.further, self.further / self.search) if self.further else None

    def fresh_block(self, seen: int, count: int) -> Block:
        """Return the fresh instances that follow the first `seen` ones."""
        return Block(self.first + self.further + seen, count, count / self.search)


# What is tried next: pure functions of the scores so far.


@dataclass(frozen=True)
class Trials:
    """Asks for the mean scores of the program with each of these values; None for one that fails."""

    values: tuple[Values, ...]


@dataclass(frozen=True)
class Check:
    """Asks for the scores of the program as it is, and with these values, on instances that no trial used.

    They are `count` from number `seen` on of the fresh ones, or with a count of 0 all those of validation. The scores
    of a program that fails are ().
    """

    values: Values
    seen: int
    count: int


# Requests; `Trials` is answered with a score for each, and `Check` with the scores of both programs.
Steps = Generator[Trials | Check, Any, Tuning]
Scores = Sequence[float | None]


class Tuner:
    """Draws the values of the trials, a generation at a time: they follow from numbers, seed and utilities alone."""

    def __init__(self, numbers: Sequence[Number], seed: int) -> None:
        """Begin at the program's own values."""
        from cmaes import CMA  # imported late: few runs tune

        start = np.array([number.place_of(number.value) for number in numbers]).clip(0.0, 1.0)
        bounds = np.tile([0.0, 1.0], (len(numbers), 1))
        self._numbers = numbers
        self._search: CMA = CMA(mean=start, sigma=FIRST_STEP, bounds=bounds, seed=seed)
        self._places: list[np.ndarray[tuple[int], np.dtype[np.float64]]] = []

    def draw(self) -> tuple[Values, ...]:
        """Return the values of the next generation."""
        self._places = [self._search.ask() for _ in range(self._search.population_size)]
        return tuple(
            tuple(number.value_at(float(at)) for number, at in zip(self._numbers, place, strict=True))
            for place in self._places
        )

    def learn(self, utilities: Sequence[float]) -> None:
        """Take the utilities of the generation that was drawn last, higher is better."""
        self._search.tell(list(zip(self._places, (-utility for utility in utilities), strict=True)))


def seed_of(seed: int, candidate: int) -> int:
    """Return the seed of a candidate's trials, which follows from the run's seed and the candidate's number."""
    return int(np.random.default_rng([seed, candidate, PURPOSE]).integers(1 << 31))


def tuning_steps(numbers: Sequence[Number], seed: int, most: int, objective: Objective, grounds: Grounds) -> Steps:
    """Ask for the scores of at most `most` trials of other values, then for a check of the best; return what was tried.

    It ends early at a plateau: a whole generation scores exactly as the program itself does.
    """
    own = tuple(number.value for number in numbers)
    values: list[Values] = [own]
    scores: list[float | None] = [*(yield Trials((own,)))]
    if scores[0] is None:  # it fails on the further instances
        return Tuning(tuple(values), tuple(scores))
    tuner = Tuner(numbers, seed)
    while (left := most + 1 - len(values)) > 0:
        drawn = tuner.draw()
        found: Scores = yield Trials(drawn[:left])
        values += drawn[:left]
        scores += found
        if len(found) < len(drawn) or all(score == scores[0] for score in found):
            break
        tuner.learn([_utility(score, objective) for score in found])
    best = best_trial(scores, objective)
    tried = Tuning(tuple(values), tuple(scores))
    if best == 0 or grounds.check == "score":
        return tried
    before: tuple[float, ...] = ()
    after: tuple[float, ...] = ()
    while (count := _next_check(before, after, objective, grounds)) is not None:
        more, others = yield Check(values[best], len(before), count)
        before, after = (*before, *more), (*after, *others)
        if not more or not others:
            break
    return Tuning(tried.values, tried.scores, before, after)


def best_trial(scores: Scores, objective: Objective) -> int:
    """Return the index of the best score, the first of equal ones; 0 is the program itself."""
    return max(range(len(scores)), key=lambda place: (_utility(scores[place], objective), -place))


def certainty(tuning: Tuning, objective: Objective) -> Interval | None:
    """Return the mean gain of the best trial on its parent on fresh instances, with its interval; None without any."""
    gains = relative_gains(tuning.after, tuning.before, objective)
    return interval(gains, ERROR) if gains else None


def is_better(tuning: Tuning, objective: Objective, grounds: Grounds) -> bool:
    """Whether the best trial is better than its parent: for certain, or by its score where nothing else can say."""
    if best_trial(tuning.scores, objective) == 0:
        return False
    if grounds.check == "score":
        return True
    if not tuning.after or len(tuning.after) != len(tuning.before):  # one of both failed
        return False
    gains = relative_gains(tuning.after, tuning.before, objective)
    if grounds.check == "fresh":
        return interval(gains, ERROR).low > 0
    return mean(gains) > 0 and told_apart(tuning.after, tuning.before)


def tuned_source(source: str, numbers: Sequence[Number], tuning: Tuning, objective: Objective) -> str:
    """Return the program with the values of the best trial."""
    return write_numbers(source, numbers, tuning.values[best_trial(tuning.scores, objective)])


def _next_check(before: Sequence[float], after: Sequence[float], objective: Objective, grounds: Grounds) -> int | None:
    """Return on how many more instances both programs are compared, 0 for those of validation; None if it is over."""
    if grounds.check == "validation":
        return None if before else 0
    if not before:
        return FIRST_FRESH
    found = interval(relative_gains(after, before, objective), ERROR)
    # a mean below 0 could still rise, but a gain that is hard to see is worth little
    if found.low > 0 or found.mean <= 0 or len(before) >= MOST_FRESH:
        return None
    return min(len(before), MOST_FRESH - len(before))


def _utility(score: float | None, objective: Objective) -> float:
    return -math.inf if score is None else objective.utility(score)


# Doing it: the sandbox answers.


# Opens a judge on the validation instances.
OpenValidation = Callable[[], AbstractAsyncContextManager[Judge]]


class TuningBench:
    """Answers the requests of `tuning_steps` for one program: runs it with other numbers, each text once."""

    def __init__(
        self,
        source: str,
        numbers: Sequence[Number],
        grounds: Grounds,
        judge: Judge,
        validation: OpenValidation,
        tried: Callable[[], object] = lambda: None,
    ) -> None:
        """Begin; `tried` is called after each program that was run for its score."""
        self._source, self._numbers, self._grounds = source, numbers, grounds
        self._judge, self._validation, self._tried = judge, validation, tried
        self._known: dict[str, float | None] = {}  # whole numbers come again
        self.cpu_s = 0.0

    async def answer(self, request: Trials | Check) -> Scores | tuple[Sequence[float], Sequence[float]]:
        """Return what a request asks for; raises as `Judge.evaluate` does."""
        if isinstance(request, Trials):
            texts = [write_numbers(self._source, self._numbers, values) for values in request.values]
            new = [text for text in dict.fromkeys(texts) if text not in self._known]
            self._known.update(zip(new, await asyncio.gather(*map(self._score, new)), strict=True))
            return [self._known[text] for text in texts]
        sources = self._source, write_numbers(self._source, self._numbers, request.values)
        if self._grounds.check == "validation":
            async with self._validation() as judge:
                before, after = await asyncio.gather(*(self._scores_of(judge, each, None) for each in sources))
        else:
            block = self._grounds.fresh_block(request.seen, request.count)
            before, after = await asyncio.gather(*(self._scores_of(self._judge, each, block) for each in sources))
        return before, after

    async def _score(self, text: str) -> float | None:
        scores = await self._scores_of(self._judge, text, None)
        if scores and (block := self._grounds.block) is not None:
            more = await self._scores_of(self._judge, text, block)
            scores = (*scores, *more) if more else ()
        self._tried()
        return mean(scores) if scores else None

    async def _scores_of(self, judge: Judge, source: str, block: Block | None) -> tuple[float, ...]:
        """Return a program's scores by which trials are compared; () if it fails."""
        verdict = await judge.evaluate(source, unnoticed, block)
        self.cpu_s += verdict.cpu_s
        if isinstance(verdict, Failure):
            return ()
        return (verdict.score,) if self._grounds.has_own_mean else tuple(verdict.scores)


async def tune_numbers(
    bench: TuningBench, numbers: Sequence[Number], seed: int, most: int, objective: Objective, grounds: Grounds
) -> Tuning:
    """Carry out the trials and the check of `tuning_steps`; return what was tried, with the CPU time of all."""
    steps = tuning_steps(numbers, seed, most, objective, grounds)
    try:
        request = next(steps)
        while True:
            request = steps.send(await bench.answer(request))
    except StopIteration as ended:
        tuning: Tuning = ended.value
    return Tuning(tuning.values, tuning.scores, tuning.before, tuning.after, bench.cpu_s)
