"""Examines a method: rehearses searches in memory, with each decision made twice."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from copy import copy, deepcopy
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from behavesim.base.config import OWN, Settings, describe_settings
from behavesim.base.errors import PROVOKED, BehavesimError, Finding
from behavesim.base.heartbeat import Heartbeat
from behavesim.base.plugins import docstring, file_of, line_in
from behavesim.base.text import read_text_file
from behavesim.base.tokens import Tokens, Usage
from behavesim.engine.admission import settings_from_person
from behavesim.engine.build import assemble_search, race_template
from behavesim.engine.caps import Caps
from behavesim.engine.loop import Search
from behavesim.methods.method import Method, method_type
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import (
    TEMPLATE,
    Added,
    Asked,
    CandidateId,
    Evaluated,
    Event,
    Injected,
    NotAdded,
    NoteAsked,
    Prompt,
    Regrouped,
    Rejected,
    Reply,
    RunResumed,
    RunStarted,
)
from behavesim.state.members import OpenCandidate
from behavesim.state.protocols import Postponed, Responder, unnoticed
from behavesim.state.state import RunState
from behavesim.store.codec import decode, encode
from behavesim.task import Objective, Split, Task, instances_of
from behavesim.task.verdict import Block, Failure, Verdict
from behavesim.trajectory import Trajectory

# A method under watch: its decisions are made twice, and must change nothing.


T = TypeVar("T")


class Impure(Exception):
    """A decision changed something, or came out otherwise when it was made again."""


class Watched(Method[Any]):
    """Decides as another method does, twice each time; raises Impure if the two differ or it changed what it must not.

    That is its attributes, and the state's members, groups, open candidates and counts.
    """

    def __init__(self, method: Method[Any]) -> None:
        super().__init__(method.settings, method.context)
        self._method = method

    @property
    def name(self) -> str:
        """The watched method's name."""
        return self._method.name

    @property
    def uses_behaviour(self) -> bool:
        """Whether the watched method uses behaviour."""
        return self._method.uses_behaviour

    def regroup(self, state: RunState, behaviours: Behaviours) -> Regrouped | None:
        """Return what the watched method decides; raises Impure if that changes anything or differs if repeated."""
        return self._decide_twice("regroup", state, lambda: self._method.regroup(state, behaviours))

    def ask(self, state: RunState, behaviours: Behaviours, candidate: CandidateId) -> Asked | NoteAsked | None:
        """Return what the watched method decides; raises Impure if that changes anything or differs if repeated."""
        return self._decide_twice("ask", state, lambda: self._method.ask(state, behaviours, candidate))

    def register(self, state: RunState, behaviours: Behaviours, candidate: OpenCandidate) -> Added | NotAdded:
        """Return what the watched method decides; raises Impure if that changes anything or differs if repeated."""
        return self._decide_twice("register", state, lambda: self._method.register(state, behaviours, candidate))

    def _decide_twice(self, name: str, state: RunState, decide: Callable[[], T]) -> T:
        """Return what `decide` does, the watched method's decision of this name; it is called twice."""
        # these two are frozen, and copying them would take most of the time
        frozen = {id(given): given for given in (self.settings, self.context)}
        before, own = _snapshot(state), deepcopy(vars(self._method), frozen)
        # a decision that draws from a generator of its own, or counts, comes out otherwise the second time
        first, second = decide(), decide()
        if first != second:
            raise Impure(
                f"`{name}` decides otherwise when asked again: draw random numbers from self.generator(number)"
            )
        if (now := vars(self._method)) != own:
            changed = next(key for key in (*now, *own) if key not in now or key not in own or now[key] != own[key])
            raise Impure(f"`{name}` keeps something in self.{changed}, which a resumed run does not have")
        if _snapshot(state) != before:
            raise Impure(f"`{name}` changes the state, which only events may do: return a decision instead")
        return first


def _snapshot(state: RunState) -> tuple[Any, ...]:
    """Return a copy of the state's members, groups, open candidates and counts, to compare it with a later one."""
    # members are frozen, so copies of what holds them are enough
    groups = {name: copy(vars(group)) | {"members": list(group.members)} for name, group in state.groups.items()}
    opened = {candidate: copy(vars(each)) for candidate, each in state.open.items()}
    return state.asked, state.registered, dict(state.members), groups, list(state.ungrouped), opened, len(state.notes)


# A small world for a search: a task, a proposer, a judge and a journal in memory, with the real ones' behaviour.
#
# The tests and `behavesim method check` examine methods in it.


# Length of the permutations that are the toy's behaviours.
CITIES = 6
# Seconds that a decision of a small search takes, with its way to the worker thread and its commit.
TURN_S = 0.0003


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

    On further instances multiples of 5 plus 2 fail, too.
    `delay` draws how long each takes, None for equal times; `workers` programs are judged at once. `evaluated` are the
    sources so far.
    """

    def __init__(self, task: Task, delay: random.Random | None = None, workers: int = 1) -> None:
        self.evaluated: list[str] = []
        self._workers = asyncio.Semaphore(workers)
        self._task = task
        self._delay = delay

    async def evaluate(
        self, source: str, postponed: Postponed = unnoticed, block: Block | None = None, /
    ) -> Verdict | Failure:
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
        instances = instances_of(self._task, "search")
        if block is not None:
            if number % 5 == 2:
                return Failure("timeout", "too long", 0.1)
            instances = [self._task.instance("search", block.first + number) for number in range(block.size)]
        pairs = [(instance, np.array([number])) for instance in instances]
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
    task: Task | None = None,
) -> Search:
    """Return a search on the toy, new or as its journal left it, wired as the real one is. It does not run yet.

    `task` is one like the toy in its place. `delay` draws how long replies and judgements take, None for equal times.
    `proposer` is a ToyProposer if None. In the journal it records the start and the template, or else that it is
    resumed. Raises UsageError for an unknown method or a bad value, and Stop where the journal does.
    """
    task = task or Toy()
    resolved = fitting(settings)
    caps = Caps.of(resolved, price, Heartbeat())
    proposer = proposer or ToyProposer(resolved.seed, delay, resolved.connections)
    built = assemble_search(resolved, task, proposer, ToyJudge(task, delay, resolved.workers_here), journal, caps)
    for event in journal.events():
        built.fold(event)
    if built.state.started is not None:
        await built.record(RunResumed((), "none"))
        return built
    verdict = await ToyJudge(task).evaluate(task.template)
    assert isinstance(verdict, Verdict)
    template = Evaluated(TEMPLATE, task.template, verdict.score, verdict.scores, verdict.trajectories)
    raced = await race_template(resolved, task, ToyJudge(task))
    started = RunStarted(resolved.flat(), {"direction": "minimise"}, "none")
    beginning: list[list[Event]] = [[started], [template, *raced]]
    for events in beginning:
        await journal.append(events)
        for event in events:
            built.fold(event)
    return built


# Settings of a rehearsed search: enough for many decisions, and it takes less than a second.
SMALL: Mapping[str, Any] = {"budget": 60, "window": 8}
# Number of random orders of arrival in which the search must come out the same.
SHUFFLES = 4
# Number of events from one stop of a search to the next; 1 would try every event, but takes long.
STRIDE = 7

# Programs that are injected at the start, to become candidates 5, 27 and 28; the last one fails in the `ToyJudge`.
INJECTED_PROGRAMS = tuple(
    Injected(f"{turn}.py", f"def number() -> int:\n    return {number}\n", turn)
    for turn, number in ((5, 3), (27, 2), (28, 13))
)

# What stands in a new method's file wherever its author has something to say.
MARK = "CHANGE: "

# Exceptions of an examined method that become the finding `complete`; others are raised.
FAILED = (*PROVOKED, AssertionError, BehavesimError, Impure)


async def examine_method(method: str) -> AsyncIterator[Finding]:
    """Examine a method, given by its name or the path of its file, and yield each finding as it is made.

    The findings are `documented`, `complete`, `deterministic` and `resumable`; after a failure of `complete` there are
    no others. For a method that asks for notes the last three come once more, named with ", without texts", as if the
    proposer wrote none. Raises UsageError if there is no such method. If the method raises one of FAILED in the search
    for `complete`, that becomes the finding; whatever else it raises is raised.
    """
    found, rehearsed = method_type(method), f"a search of {SMALL['budget']} candidates"
    yield _check_docstrings(found)
    for proposer in ("replay:toy", "genetic") if found.asks_notes else ("replay:toy",):
        settings = {**SMALL, "method": method, "proposer": proposer}
        kind = ", without texts" if proposer == "genetic" else ""
        journal = MemoryJournal()
        try:
            whole = await _search_watched(journal, settings)
        except FAILED as error:
            line = line_in(file_of(found), error)
            where = "" if line is None else f", in line {line}"
            yield Finding(f"complete{kind}", "fail", f"{rehearsed} fails: {_error_message(error)}{where}")
            return
        ended = f"{rehearsed} ends, {whole.state.tally.feasible} of them feasible"
        yield Finding(f"complete{kind}", "ok", ended)
        digest = whole.state.digest()
        yield await _deterministic(settings, digest, kind)
        yield await _resumable(settings, digest, len(journal.rows), kind)


def _check_docstrings(method: type[Method[Any]]) -> Finding:
    """Return a finding on whether the class of a method and all its settings have docstrings; a warning if not."""
    silent = [name for name, _, text in describe_settings(method.settings_type) if not text]
    if not (said := docstring(method)):
        missing = "the class has no docstring; write one that says what the method does"
    elif silent:
        missing = f"the setting {silent[0]} has no docstring below it; write one that says what it sets"
    elif line := _find_mark(file_of(method)):
        missing = f"line {line} still says CHANGE, as a new file does; say there what yours does"
    else:
        return Finding("documented", "ok", said.splitlines()[0])
    return Finding("documented", "warning", missing)


def _find_mark(file: Path) -> int | None:
    """Return the number of the first line of a file with MARK; None if there is none."""
    lines = read_text_file(file, "method").splitlines()
    return next((number for number, line in enumerate(lines, 1) if MARK in line), None)


async def _deterministic(settings: Mapping[str, Any], digest: str, kind: str) -> Finding:
    """Return a finding on whether the search has this digest with replies in other orders; `kind` ends its name."""
    for shuffle in range(SHUFFLES):
        other = await _search_watched(MemoryJournal(), settings, random.Random(shuffle))
        if other.state.digest() != digest:
            advice = (
                "decide by the state alone, draw from self.generator(number), and do not read outcomes of candidates "
                "that are still open"
            )
            return Finding(f"deterministic{kind}", "fail", f"replies in another order make another run: {advice}")
    return Finding(f"deterministic{kind}", "ok", f"the same run with replies in {SHUFFLES} orders")


async def _resumable(settings: Mapping[str, Any], digest: str, events: int, kind: str) -> Finding:
    """Return a finding on whether the search has this digest also if it is stopped once and resumed."""
    # before the third of its `events` there is no run: it has no settings or no template yet
    for k in range(3, events, STRIDE):
        broken = MemoryJournal()
        broken.die_after = k
        try:
            await _search_watched(broken, settings, random.Random(k))
        except Stop:
            broken.die_after = None
        # other delays than before the stop, since a resumed run gets its replies in another order
        resumed = await _search_watched(broken, settings, random.Random(-k))
        if resumed.state.digest() != digest:
            advice = "keep nothing in attributes, since a resumed run has the state alone"
            return Finding(f"resumable{kind}", "fail", f"stopped after event {k}, it makes another run: {advice}")
    said = f"stopped after every {STRIDE}th of {events} events, it makes the same run"
    return Finding(f"resumable{kind}", "ok", said)


async def _search_watched(
    journal: MemoryJournal, settings: Mapping[str, Any], delay: random.Random | None = None
) -> Search:
    """Run a search, new or as its journal left it, with the method watched; `delay` draws how long answers take."""
    # the journal may stop the search only after the template and a person's programs are in: no run begins without
    last, journal.die_after = journal.die_after, None
    rehearsed = await search(journal, settings, delay)
    if not rehearsed.state.brought_names:
        await rehearsed.record(*INJECTED_PROGRAMS)
    journal.die_after = last
    rehearsed.method = Watched(rehearsed.method)
    await rehearsed.run()
    return rehearsed


def _error_message(error: BaseException) -> str:
    """Return an error's message; with the error's type where a method's mistake rather than a check raised it."""
    return f"{type(error).__name__}: {error}" if isinstance(error, PROVOKED) else str(error) or type(error).__name__
