"""Tuning: trials of a program with other numbers, and whether the best of them is better for certain.

A run tunes too: the reply of some candidates is written by trials in place of a model (`next_tuned`, `tuned_reply`).

`tuning_steps` decides: a pure generator asks for scores, and what it asks next follows from numbers, seed and answers
alone. `tune_numbers` answers with the sandbox, and `verify` with what the journal holds. Values are drawn by CMA-ES
(Hansen 2016, from the package cmaes). The trials share search instances, and further ones where the task has them
without end: five would decide by luck. The winner is told apart from its parent on instances that no trial used. If a
task has no others, both are run again on the same ones; `evidence_in_words` says so beside the gain.

Some numbers cannot change: how long a table is, which column is meant. Any trial that changes one fails, and CMA-ES
learns nothing from it. So the first trials look for them by halving (`_Trying.find_fixed`), and they stay as they are.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from functools import lru_cache
from heapq import nlargest
from typing import TYPE_CHECKING, Any

import numpy as np

from behavesim.base.config import Settings
from behavesim.programs.answer import add_fence
from behavesim.programs.extract import WholeForm, form_of
from behavesim.programs.numbers import Number, tunable_numbers, write_numbers
from behavesim.state.events import TEMPLATE, TUNE, Asked, CandidateId, Prompt, Reply, Responded, Tuning, TuningCheck
from behavesim.state.members import Member, OpenCandidate
from behavesim.state.protocols import Judge, unnoticed
from behavesim.state.race import ERROR, Interval, interval, mean, relative_gains, told_apart
from behavesim.state.state import RunState
from behavesim.task import Objective, Task, instances_of
from behavesim.task.evaluated import EvaluatorTask
from behavesim.task.verdict import Block, Failure

if TYPE_CHECKING:
    from cmaes import CMA

# The values of a program's numbers in one trial, in the order of `tunable_numbers`.
Values = tuple[float, ...]
# Standard deviation of the first trials, as a fraction of each number's scale.
FIRST_STEP = 0.2
# The look for numbers that have to stay as they are may use one in LOOK of the trials that are left.
LOOK = 3
# Fresh instances on which the best trial and its parent are compared first, and at most; each block doubles them.
FIRST_FRESH, MOST_FRESH = 10, 80
# Where there are no other instances, both are run so often again: the best of many noisy scores is mostly luck.
REPEATS = 5
# Part of the seed of all random numbers of tuning, besides the run's seed and the candidate.
PURPOSE = 52


def numbers_of(task: Task, source: str) -> tuple[Number, ...]:
    """Return the numbers of a task's program that may be tuned."""
    form = form_of(task)
    # of functions, markers and whatever stands around them are no part of the program
    return tunable_numbers(source, task.suffix, form.initial if isinstance(form, WholeForm) else "")


# The instances on which trials are compared.


@dataclass(frozen=True)
class Grounds:
    """The instances on which a task's programs are tuned and checked.

    `check` says on which instances the best trial is told apart from its parent.
    """

    search: int
    """The number of search instances."""
    first: int
    """The number of the first search instance that nothing else uses."""
    further: int
    """The number of search instances from there on that each trial uses besides the search's own."""
    check: TuningCheck
    has_own_mean: bool

    @classmethod
    def of(cls, task: Task, race: int = 0) -> Grounds:
        """Return the grounds of a task whose run uses `race` further search instances for itself."""
        search = len(instances_of(task, "search"))
        # an evaluator that takes an instance's number has others for validation, and none for the search
        if task.endless and not task.has_own_mean and not isinstance(task, EvaluatorTask):
            return cls(search, search + race, search, "fresh", False)
        check: TuningCheck = "validation" if len(instances_of(task, "validation")) else "score"
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
class AskGains:
    """Asks for the mean gains on the program itself with each of these values; None for one that fails."""

    values: tuple[Values, ...]


@dataclass(frozen=True)
class AskScores:
    """Asks for the scores of the program as it is, and with these values, on the instances of the check.

    They are `count` from number `seen` on of the fresh ones, or with a count of 0 all those of validation. Where there
    are no others, they are those of the trials, `count` times. The scores of a program that fails are ().
    """

    values: Values
    seen: int
    count: int


# Requests; `AskGains` is answered with a gain for each, and `AskScores` with the scores of both programs.
Steps = Generator[AskGains | AskScores, Any, Tuning]
# Mean gains of trials on the program itself, as fractions: higher is better. None for a trial that fails.
Gains = Sequence[float | None]


class Tuner:
    """Draws the values of the trials, a generation at a time: they follow from numbers, seed and gains alone."""

    def __init__(self, numbers: Sequence[Number], begin: Values, free: Sequence[int], seed: int) -> None:
        """Begin at the values `begin`; only the numbers at the places `free` change."""
        from cmaes import CMA  # imported late: few runs tune

        self._numbers, self._begin, self._free = numbers, begin, free
        start = np.array([numbers[place].place_of(begin[place]) for place in free]).clip(0.0, 1.0)
        bounds = np.tile([0.0, 1.0], (len(free), 1))
        self._search: CMA = CMA(mean=start, sigma=FIRST_STEP, bounds=bounds, seed=seed)
        self._places: list[np.ndarray[tuple[int], np.dtype[np.float64]]] = []

    def draw(self) -> tuple[Values, ...]:
        """Return the values of the next generation."""
        self._places = [self._search.ask() for _ in range(self._search.population_size)]
        return tuple(
            _replaced(
                self._begin,
                {place: self._numbers[place].value_at(float(at)) for place, at in zip(self._free, places, strict=True)},
            )
            for places in self._places
        )

    def learn(self, gains: Gains) -> None:
        """Take the gains of the generation that was drawn last."""
        losses = (math.inf if gain is None else -gain for gain in gains)
        self._search.tell(list(zip(self._places, losses, strict=True)))


def seed_of(seed: int, candidate: int) -> int:
    """Return the seed of a candidate's trials, which follows from the run's seed and the candidate's number."""
    return int(np.random.default_rng([seed, candidate, PURPOSE]).integers(1 << 31))


class _Trying:
    """The trials of a program so far, at first none; at most `most` besides that of the program itself."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.values: list[Values] = []
        self.gains: list[float | None] = []

    @property
    def left(self) -> int:
        """How many trials there may still be."""
        return self._most + 1 - len(self.values)

    @property
    def best(self) -> Values:
        """The values of the best trial."""
        return self.values[best_trial(self.gains)]

    def ask(self, drawn: tuple[Values, ...]) -> Generator[AskGains, Gains, Gains]:
        """Ask for the gains of trials, keep both, and return the gains."""
        found = yield AskGains(drawn)
        self.values += drawn
        self.gains += found
        return found

    def find_fixed(
        self, parts: Sequence[Sequence[Sequence[int]]], moved: Values
    ) -> Generator[AskGains, Gains, frozenset[int]]:
        """Return the places of the numbers that have to stay as they are: with those of `moved` the program fails.

        A trial changes the numbers of one part, which consists of groups. If it fails, each half of its groups is
        changed alone, down to one group. One trial of LOOK that are left may be used; what failed and was not told
        apart by then stays as it is.
        """
        most, fixed = self.left // LOOK, set[int]()
        waiting = [part for part in parts if part]
        if len(waiting) > most:  # no part is known to fail
            return frozenset()
        while waiting and most > 0:
            tried, waiting = waiting[:most], waiting[most:]
            most -= len(tried)
            changed = ({place: moved[place] for group in part for place in group} for part in tried)
            found = yield from self.ask(tuple(_replaced(self.values[0], new) for new in changed))
            for part, gain in zip(tried, found, strict=True):
                if gain is None and len(part) == 1:
                    fixed.update(part[0])
                elif gain is None:
                    waiting += [part[: len(part) // 2], part[len(part) // 2 :]]
        return frozenset(fixed).union(*(group for part in waiting for group in part))


def tuning_steps(numbers: Sequence[Number], seed: int, most: int, objective: Objective, grounds: Grounds) -> Steps:
    """Ask for the gains of at most `most` trials of other values, then for a check of the best; return what was tried.

    It begins with a look for numbers that have to stay as they are, and looks again when most trials of a generation
    fail. It ends early at a plateau: a whole generation scores exactly as the program itself does.
    """
    trying = _Trying(most)
    yield from trying.ask((tuple(number.value for number in numbers),))
    if trying.gains[0] is None:  # it fails on the further instances
        return Tuning(tuple(trying.values), tuple(trying.gains))
    fixed = yield from trying.find_fixed([_alike(numbers)], _raised(numbers))
    tuner: Tuner | None = None
    while trying.left > 0 and len(fixed) < len(numbers):
        free = [place for place in range(len(numbers)) if place not in fixed]
        tuner = tuner or Tuner(numbers, trying.best, free, seed + len(fixed))
        drawn = tuner.draw()
        found = yield from trying.ask(drawn[: trying.left])
        if len(found) < len(drawn) or all(gain == trying.gains[0] for gain in found):
            break
        tuner.learn(found)
        if 2 * found.count(None) > len(found):
            singles = [[place] for place in free]
            halves = singles[: len(free) // 2], singles[len(free) // 2 :]
            if more := (yield from trying.find_fixed(halves, drawn[found.index(None)])):
                fixed, tuner = fixed | more, None
    tried = Tuning(tuple(trying.values), tuple(trying.gains))
    if best_trial(trying.gains) == 0:
        return tried
    before: tuple[float, ...] = ()
    after: tuple[float, ...] = ()
    while (count := _next_check(before, after, objective, grounds)) is not None:
        ours, others = yield AskScores(trying.best, len(before), count)
        before, after = (*before, *ours), (*after, *others)
        if not ours or not others:
            break
    return replace(tried, before=before, after=after, check=grounds.check)


def _alike(numbers: Sequence[Number]) -> list[list[int]]:
    """Return the places of the whole numbers in groups of equal values, small values first.

    Sizes, counts and indices are whole, small, and often written several times: then they mean the same.
    """
    groups: dict[float, list[int]] = {}
    for place, number in enumerate(numbers):
        if number.is_whole:
            groups.setdefault(number.value, []).append(place)
    return [groups[value] for value in sorted(groups, key=abs)]


def _raised(numbers: Sequence[Number]) -> Values:
    """Return greater values: with these an index or a size fails more often than with smaller ones."""
    # by two different steps: copies of one number, which later change alone, must not stay equal
    steps = [FIRST_STEP / (1 + place % 2) for place in range(len(numbers))]
    return tuple(
        number.value_at(number.place_of(number.value) + step) for number, step in zip(numbers, steps, strict=True)
    )


def _replaced(values: Values, new: Mapping[int, float]) -> Values:
    return tuple(new.get(place, value) for place, value in enumerate(values))


def best_trial(gains: Gains) -> int:
    """Return the index of the greatest gain, the first of equal ones; 0 is the program itself."""
    return max(range(len(gains)), key=lambda place: (-math.inf if (gain := gains[place]) is None else gain, -place))


def certainty(tuning: Tuning, objective: Objective) -> Interval | None:
    """Return the mean gain of the best trial on its parent in the check, with its interval; None without any."""
    gains = relative_gains(tuning.after, tuning.before, objective)
    return interval(gains, ERROR) if gains else None


def is_better(tuning: Tuning, objective: Objective) -> bool:
    """Whether the best trial is better than its parent by more than chance, in the check."""
    if not tuning.after or len(tuning.after) != len(tuning.before):  # no trial was better, or one of both failed
        return False
    gains = relative_gains(tuning.after, tuning.before, objective)
    if tuning.check == "fresh":
        return interval(gains, ERROR).low > 0
    return mean(gains) > 0 and told_apart(tuning.after, tuning.before)


def evidence_in_words(tuning: Tuning) -> str:
    """Return on what the best trial was compared with its parent, to follow "on"; "" if it was not."""
    count = len(tuning.after)
    if not count:
        return ""
    if tuning.check == "score":
        return f"the trials' own instances, {count} runs each; others may differ"
    if count == 1:
        return "a single validation score: it may be luck"
    return f"{count} {tuning.check} instances, which no trial used"


def tuned_source(source: str, numbers: Sequence[Number], tuning: Tuning) -> str:
    """Return the program with the values of the best trial."""
    return write_numbers(source, numbers, tuning.values[best_trial(tuning.gains)])


def _next_check(before: Sequence[float], after: Sequence[float], objective: Objective, grounds: Grounds) -> int | None:
    """Return on how many more instances both programs are compared, 0 for those of validation; None if it is over."""
    if grounds.check != "fresh":
        return None if before else (REPEATS if grounds.check == "score" else 0)
    if not before:
        return FIRST_FRESH
    found = interval(relative_gains(after, before, objective), ERROR)
    # a mean below 0 could still rise, but a gain that is hard to see is worth little
    if found.low > 0 or found.mean <= 0 or len(before) >= MOST_FRESH:
        return None
    return min(len(before), MOST_FRESH - len(before))


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
        objective: Objective,
        judge: Judge,
        validation: OpenValidation,
        tried: Callable[[], object] = lambda: None,
    ) -> None:
        """Begin; the first trial must be of the program itself. `tried` is called after each program that was run."""
        self._source, self._numbers, self._grounds = source, numbers, grounds
        self._judge, self._validation, self._tried = judge, validation, tried
        self._known: dict[str, float | None] = {}  # gains by text: whole numbers come again
        self._objective = objective
        self._own: tuple[float, ...] = ()  # the scores of the program itself
        self.cpu_s = 0.0

    async def answer(self, request: AskGains | AskScores) -> Gains | tuple[Sequence[float], Sequence[float]]:
        """Return what a request asks for; raises as `Judge.evaluate` does."""
        if isinstance(request, AskGains):
            texts = [write_numbers(self._source, self._numbers, values) for values in request.values]
            new = [text for text in dict.fromkeys(texts) if text not in self._known]
            self._known.update(zip(new, await asyncio.gather(*map(self._gain, new)), strict=True))
            return [self._known[text] for text in texts]
        sources = self._source, write_numbers(self._source, self._numbers, request.values)
        if self._grounds.check == "validation":
            async with self._validation() as judge:
                before, after = await asyncio.gather(*(self._scores_of(judge, each, None) for each in sources))
        elif self._grounds.check == "score":
            before, after = await asyncio.gather(*(self._scores_again(each, request.count) for each in sources))
        else:
            block = self._grounds.fresh_block(request.seen, request.count)
            before, after = await asyncio.gather(*(self._scores_of(self._judge, each, block) for each in sources))
        return before, after

    async def _gain(self, text: str) -> float | None:
        scores = await self._scores_of(self._judge, text, None)
        if scores and (block := self._grounds.block) is not None:
            more = await self._scores_of(self._judge, text, block)
            scores = (*scores, *more) if more else ()
        self._tried()
        self._own = self._own or scores
        # relative to its own scores: one long instance must not outweigh many short ones
        return mean(relative_gains(scores, self._own, self._objective)) if scores else None

    async def _scores_again(self, source: str, times: int) -> tuple[float, ...]:
        """Return a program's scores on the search instances in each of `times` runs; () if one fails."""
        runs = (self._judge.evaluate(source) for _ in range(times))
        verdicts = await asyncio.gather(*runs)
        self.cpu_s += sum(verdict.cpu_s for verdict in verdicts)
        scores = tuple(verdict.score for verdict in verdicts if not isinstance(verdict, Failure))
        return scores if len(scores) == times else ()

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
    return replace(tuning, cpu_s=bench.cpu_s)


# In a run: which program is tuned next, and the reply that its trials write.


# Trials of one program, at most and at least.
MOST_TRIALS, FEWEST_TRIALS = 100, 20
# The number of best programs of which one is chosen to be tuned.
CONSIDERED = 20


def trials_each(share: float, budget: int) -> int:
    """Return how many trials a program has in a run that may take `share` of them for each candidate; 0 for none.

    They are as many as leave the trials of the whole run for two programs or more.
    """
    purse = int(share * budget)
    return 0 if purse < FEWEST_TRIALS else min(MOST_TRIALS, max(FEWEST_TRIALS, purse // 2))


def next_tuned(share: float, task: Task, state: RunState) -> Asked | None:
    """Return the candidate that is the best program with its numbers tuned; None if there are no trials for it.

    There are `share` trials, the setting `tune`, for each registered candidate; one under way counts with all that it
    may take. A program is tuned once, and so are all that differ from it in numbers alone, or score as it does on each
    instance: they behave alike. Only when no other is left, these get their turn, each once.
    """
    size = trials_each(share, state.budget)
    charged = state.trials + size * (state.tuning + 1)
    if not size or charged > share * state.registered_questions:
        return None
    best = nlargest(CONSIDERED, state.members.values(), key=lambda member: member.merit)
    known = {member.candidate for member in state.tuned}
    able = [
        member
        for member in best
        if member.candidate not in known and member.candidate != TEMPLATE and _mechanism(task, member.source)
    ]
    mechanisms = {_mechanism(task, member.source) for member in state.tuned}
    scores = {member.scores for member in state.tuned}
    new = (
        member for member in able if member.scores not in scores and _mechanism(task, member.source) not in mechanisms
    )
    chosen = next(new, None) or next(iter(able), None)
    return None if chosen is None else _asked(state, chosen)


@lru_cache(256)  # asked again at each decision while trials are to be had
def _mechanism(task: Task, source: str) -> str:
    """Return a hash that is equal for programs that differ in numbers and layout alone; "" without numbers to tune."""
    if not (numbers := numbers_of(task, source)):
        return ""
    same = write_numbers(source, numbers, [math.copysign(3.0, number.value) for number in numbers])
    return form_of(task).hash(same)


def _asked(state: RunState, parent: Member) -> Asked:
    text = f"No model is asked: the machine tunes the numbers of candidate {parent.candidate}."
    # it is put where its parent was put: a group means something else to each method
    return Asked(state.asked, (parent.candidate,), parent.origin, Prompt(text, TUNE))


def reply_of(
    candidate: CandidateId,
    source: str,
    numbers: Sequence[Number],
    tuning: Tuning,
    objective: Objective,
) -> Responded:
    """Return the reply that follows from the trials of the program `source`: without text if none is better."""
    if is_better(tuning, objective):
        reply = Reply(add_fence(tuned_source(source, numbers, tuning)), TUNE)
    elif tuning.gains[0] is None:
        reply = Reply("", TUNE, fault="the program fails on further instances, on which trials are compared")
    elif best_trial(tuning.gains) == 0:
        reply = Reply("", TUNE, fault=f"none of {tuning.trials} trials scored better")
    else:
        reply = Reply("", TUNE, fault=f"the best of {tuning.trials} trials is not told apart from what it was")
    return Responded(candidate, reply, tuning)


def untuned(candidate: CandidateId) -> Responded:
    """Return the reply to a tuning that was open at a fork that tunes no more: without text or trials."""
    return Responded(candidate, Reply("", TUNE, fault="this run tunes no more"))


async def tuned_reply(
    task: Task, settings: Settings, judge: Judge, validation: OpenValidation, opened: OpenCandidate, budget: int
) -> Responded:
    """Return the reply to a candidate with the operator TUNE, by trials; `budget` is that with which the run began."""
    source, most = opened.shown, trials_each(settings.tune, budget)
    numbers, objective, grounds = numbers_of(task, source), task.objective, Grounds.of(task, settings.race)
    bench = TuningBench(source, numbers, grounds, objective, judge, validation)
    tuning = await tune_numbers(bench, numbers, seed_of(settings.seed, opened.id), most, objective, grounds)
    return reply_of(opened.id, source, numbers, tuning, objective)


def derived_reply(task: Task, settings: Settings, event: Responded, opened: OpenCandidate, budget: int) -> Responded:
    """Return what `tuned_reply` returns where the trials have the gains and scores in `event`.

    It lacks trials, or has others, where the values or the reply do not follow from these.
    """
    source, most = opened.shown, trials_each(settings.tune, budget)
    numbers, grounds = numbers_of(task, source), Grounds.of(task, settings.race)
    recorded = event.tuning or Tuning((), ())
    gains, at = recorded.gains, 0
    steps = tuning_steps(numbers, seed_of(settings.seed, opened.id), most, task.objective, grounds)
    try:
        request = next(steps)
        while True:
            if isinstance(request, AskGains):
                found = gains[at : at + len(request.values)]
                if len(found) < len(request.values):
                    fault = f"more than {max(0, len(gains) - 1)} trials, or an earlier plateau"
                    return Responded(event.candidate, Reply("", TUNE, fault=fault))
                at += len(found)
                request = steps.send(found)
            else:
                part = slice(request.seen, request.seen + request.count if request.count else None)
                request = steps.send((recorded.before[part], recorded.after[part]))
    except StopIteration as ended:
        tuning = replace(ended.value, cpu_s=recorded.cpu_s)
    return reply_of(event.candidate, source, numbers, tuning, task.objective)
