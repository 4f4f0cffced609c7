"""A small world for a search: a task, a proposer, a judge and a journal in memory, with the real ones' behaviour.

The tests and `behavesim method check` examine methods in it.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from behavesim.base.config import OWN, Settings
from behavesim.base.heartbeat import Heartbeat
from behavesim.base.tokens import Tokens, Usage
from behavesim.engine.build import wired
from behavesim.engine.caps import Caps
from behavesim.engine.loop import Search
from behavesim.engine.settings import settings_from_person
from behavesim.methods.installed import method_type
from behavesim.state.events import TEMPLATE, Evaluated, Event, Prompt, Rejected, Reply, RunResumed, RunStarted
from behavesim.state.protocols import Postponed, Responder, unnoticed
from behavesim.store.codec import decode, encode
from behavesim.task import Objective, Split, Task, instances_of
from behavesim.task.verdict import Failure, Verdict
from behavesim.trajectory import Trajectory

CITIES = 6
"""Length of the permutations that are the toy's behaviours."""
TURN_S = 0.0003
"""Seconds that a decision of a small search takes, with its way to the worker thread and its commit."""


class Toy(Task):
    """A task whose programs return a number, from which and the instance a permutation is drawn as the behaviour."""

    name = "toy"
    description = "Return a number."
    template = "def number() -> int:\n    return 0\n"
    objective = Objective("minimise", best_known=1.0)
    normaliser = float(CITIES)

    def instances(self, split: Split) -> Sequence[Any]:
        """Return the instances, the same for every split: two numbers; `score` divides by the one it is given."""
        return (1, 2)

    def solve(self, function: Any, instance: Any) -> Any:
        """Return the number that the program `function` returns, as an array of one, whatever the instance."""
        return np.array([function()])

    def score(self, instance: int, solution: Any) -> float:
        """Return a score from 1 to 7, lower is better; an instance has only seven, so that ties are common."""
        return 1.0 + float(solution[0] % 7) / instance

    def trajectory(self, instance: Any, solution: Any) -> Trajectory:
        """Return a permutation drawn from the number and the instance."""
        return Trajectory.prefixes(np.random.default_rng([int(solution[0]), instance]).permutation(CITIES))


class ToyProposer:
    """Answers from the seed, the number and the prompt; about 15 % of its replies to candidates hold no program.

    `delay` draws how long each reply takes, None for equal times; `connections` replies are under way at most. `asked`
    are the numbers of the candidates and notes asked for so far.
    """

    def __init__(self, seed: int = 0, delay: random.Random | None = None, connections: int = 8) -> None:
        self.asked: list[int] = []
        self._connections = asyncio.Semaphore(connections)
        self._seed = seed
        self._delay = delay

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        """Return a program drawn or made from those in the prompt, or a text without one; for a note a hint.

        `number` is the candidate's; that of a note is below -1.
        """
        self.asked.append(number)
        async with self._connections:
            await pause(self._delay)
        # notes have negative numbers, which no seed may be; a repair's prompt draws anew
        rng = np.random.default_rng([self._seed, number % 2**32, prompt.text.count("rejected")])
        if number < -1:
            return Reply(f"Choose {rng.integers(40)}.", "toy", (Usage(prompt=9, cached=0, completion=3, reasoning=0),))
        usage = (Usage(prompt=len(prompt.text), cached=0, completion=10, reasoning=0),)
        if rng.random() < 0.15:
            return Reply("I would rather not say.", "toy", usage)
        parents = [int(number) for number in re.findall(r"return (\d+)", prompt.text)]
        number = int(rng.integers(40)) if rng.random() < 0.5 else sum(parents) % 40 + int(rng.integers(3))
        return Reply(f"```python\ndef number() -> int:\n    return {number}\n```", "toy", usage)


class ToyJudge:
    """Judges a program by the number in its source; multiples of 13 fail, multiples of 11 are put off; 0 does neither.

    `delay` draws how long each takes, None for equal times; `workers` programs are judged at once. `evaluated` are the
    sources so far.
    """

    def __init__(self, task: Task, delay: random.Random | None = None, workers: int = 1) -> None:
        self.evaluated: list[str] = []
        self._workers = asyncio.Semaphore(workers)
        self._task = task
        self._delay = delay

    async def evaluate(self, source: str, postponed: Postponed = unnoticed, /) -> Verdict | Failure:
        """Return the verdict or failure after a delay; if put off, after calling `postponed` and a second delay."""
        self.evaluated.append(source)
        async with self._workers:
            await pause(self._delay)
        number = int(re.findall(r"return (\d+)", source)[0])
        if number and number % 11 == 0:
            postponed("clock", "as in a run on a busy machine")
            await pause(self._delay)
        # 0 is the template's number, which must not fail
        if number and number % 13 == 0:
            return Failure("exception", "bad luck", 0.1)
        pairs = [(instance, np.array([number])) for instance in instances_of(self._task, "search")]
        scores = tuple(float(self._task.score(*pair)) for pair in pairs)
        return Verdict(sum(scores) / len(scores), scores, tuple(self._task.trajectory(*pair) for pair in pairs), 0.1)


class Stop(Exception):
    """Raised by a MemoryJournal in place of a kill of the process."""


class MemoryJournal:
    """A journal in memory, new or with the given list of rows; it raises Stop once it has `die_after` rows, if set.

    The list itself is used and grows. A row is an event as the journal's table has it: its type, its JSON, and the
    bytes of its trajectories, None without any.
    """

    def __init__(self, rows: list[tuple[str, str, bytes | None]] | None = None) -> None:
        self.rows = rows if rows is not None else []
        self.die_after: int | None = None

    async def append(self, events: Sequence[Event]) -> None:
        """Keep the events; then raise Stop if there are `die_after` rows or more."""
        await asyncio.sleep(0)
        self.rows += [encode(event) for event in events]
        if self.die_after is not None and len(self.rows) >= self.die_after:
            raise Stop

    def events(self) -> Iterator[Event]:
        """Return all events in order."""
        return (decode(*row) for row in self.rows)

    async def earlier_outcome(self, candidate: int, source: str) -> Evaluated | Rejected:
        """Return the outcome of a candidate's program with this text; there must be one."""
        # by the text of the rows, since decoding all of them would take most of a test's time
        events = (decode(*row) for row in self.rows if f'"candidate":{candidate},' in row[1])
        return next(each for each in events if isinstance(each, Evaluated | Rejected) and each.source == source)


async def pause(delay: random.Random | None) -> None:
    """Wait for as long as 0 to 5 decisions take, drawn by `delay`; for one turn of the event loop if it is None."""
    await asyncio.sleep(TURN_S * delay.randrange(6) if delay else 0)


def fitting(settings: Mapping[str, Any]) -> Settings:
    """Return settings of a search on the toy; those that neither every run nor the method has are left out.

    The method is funsearch+behavesim unless they name one. Raises UsageError for an unknown method or a bad value.
    """
    options = method_type(settings.get("method", "funsearch+behavesim")).settings_type
    known = OWN | set(options.model_fields)
    return settings_from_person(
        {"task": "toy", "proposer": "replay:toy", **{key: value for key, value in settings.items() if key in known}},
        task=Toy(),
    )


def price(model: str, tokens: Tokens) -> float | None:
    """Return the cost in dollars of prompt and completion tokens, 1 dollar a million; None for the model `unknown`."""
    return None if model == "unknown" else (tokens.prompt + tokens.completion) / 1e6


async def search(
    journal: MemoryJournal,
    settings: Mapping[str, Any],
    delay: random.Random | None = None,
    proposer: Responder | None = None,
) -> Search:
    """Return a search on the toy, new or as its journal left it, wired as the real one is. It does not run yet.

    `delay` draws how long replies and judgements take, None for equal times. `proposer` is a ToyProposer if None. In
    the journal it records the start and the template, or else that it is resumed. Raises UsageError for an unknown
    method or a bad value, and Stop where the journal does.
    """
    task = Toy()
    resolved = fitting(settings)
    caps = Caps.of(resolved, price, Heartbeat())
    proposer = proposer or ToyProposer(resolved.seed, delay, resolved.connections)
    built = wired(resolved, task, proposer, ToyJudge(task, delay, resolved.workers_here), journal, caps)
    for event in journal.events():
        built.fold(event)
    if built.state.started is not None:
        await built.record(RunResumed((), "none"))
        return built
    verdict = await ToyJudge(task).evaluate(task.template)
    assert isinstance(verdict, Verdict)
    template = Evaluated(TEMPLATE, task.template, verdict.score, verdict.scores, verdict.trajectories)
    for event in (RunStarted(resolved.flat(), {"direction": "minimise"}, "none"), template):
        await journal.append([event])
        built.fold(event)
    return built
