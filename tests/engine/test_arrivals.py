"""A reply is committed where it arrives, whatever else is under way: what waits in memory, a kill would lose."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from behavesim.base.errors import JournalError, ProposerError
from behavesim.engine import loop
from behavesim.engine.due import next_decision
from behavesim.engine.loop import Search
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import (
    DECISIONS,
    Added,
    Advised,
    Asked,
    Compared,
    Decision,
    Event,
    Injected,
    NotAdded,
    NoteAsked,
    Prompt,
    Regrouped,
    Reply,
    Responded,
    RunStopped,
)
from behavesim.state.state import RunState
from behavesim.store.codec import decode
from behavesim.store.reading import read_events
from tests.engine.toys import DiskJournal, MemoryJournal, ToyProposer, finished, search

SMALL = {"budget": 40, "window": 8, "n_init": 5}


def candidates(journal: MemoryJournal, kind: type[Asked] | type[Responded]) -> set[int]:
    events: list[Event] = [decode(*row) for row in journal.rows]
    return {event.candidate for event in events if isinstance(event, kind)}


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not is_so():
            await asyncio.sleep(0.001)


def all_answers_are_committed(journal: MemoryJournal) -> bool:
    return candidates(journal, Asked) == candidates(journal, Responded)


async def ended(run: Search, running: asyncio.Task[str]) -> str:
    assert await running == "budget"
    return run.state.digest()


async def test_replies_are_committed_while_the_kernels_load(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {**SMALL, "method": "funsearch+behavesim", "n_init": 20}
    journal, are_loaded = MemoryJournal(), threading.Event()
    run = await search(journal, settings)
    monkeypatch.setattr(run.behaviours, "warm", lambda: are_loaded.wait(60))
    assert not run.is_warming
    running = asyncio.create_task(run.run())
    await until(lambda: len(candidates(journal, Asked)) == 8 and all_answers_are_committed(journal))
    await until(lambda: run.is_warming)
    are_loaded.set()
    assert await ended(run, running) == (await finished(settings)).state.digest()
    assert not run.is_warming


async def test_the_kernels_are_loaded_while_the_first_replies_are_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    journal, asked = MemoryJournal(), list[int]()
    run = await search(journal, {**SMALL, "method": "funsearch+behavesim", "n_init": 20})
    monkeypatch.setattr(run.behaviours, "warm", lambda: asked.append(len(candidates(journal, Asked))))
    await run.run()
    assert asked == [8]


async def test_replies_are_committed_while_behaviours_are_measured() -> None:
    settings = {**SMALL, "method": "niche", "renew_every": 5}
    journal, is_measuring, is_measured = MemoryJournal(), asyncio.Event(), threading.Event()
    run, loop, elections = await search(journal, settings), asyncio.get_running_loop(), list[int]()
    committed_before = set[int]()
    elites, propose = run.behaviours.elites, run.proposer.propose

    def slow(members: list[tuple[float, int, int]], radius: float, count: int) -> list[int]:
        elections.append(len(members))
        if len(elections) == 2:
            loop.call_soon_threadsafe(measuring)
            is_measured.wait(60)
        return elites(members, radius, count)

    def measuring() -> None:
        committed_before.update(candidates(journal, Responded))
        is_measuring.set()

    async def late(prompt: Prompt, candidate: int) -> Reply:
        if candidate >= 12:  # ten are registered when the elites are elected for the second time
            await is_measuring.wait()
        return await propose(prompt, candidate)

    run.behaviours.elites = slow  # type: ignore[method-assign, assignment]
    run.proposer.propose = late  # type: ignore[method-assign]
    running = asyncio.create_task(run.run())
    await until(is_measuring.is_set)
    await until(lambda: len(candidates(journal, Responded) - committed_before) >= 4)
    assert len(elections) == 2
    is_measured.set()
    assert await ended(run, running) == (await finished(settings)).state.digest()


@pytest.mark.parametrize("method", ["funsearch+behavesim", "eoh+behavesim", "niche", "map-elites", "set-search"])
async def test_decisions_that_wait_for_measurements_keep_their_order_whatever_arrives_meanwhile(method: str) -> None:
    async def registering(delay: random.Random | None) -> list[Event]:
        journal = MemoryJournal()
        run = await search(journal, {**SMALL, "method": method, "repair": 1, "population": 4}, delay)
        assert await run.run() == "budget"
        events: list[Event] = [decode(*row) for row in journal.rows]
        return [event for event in events if isinstance(event, Compared | Added | NotAdded | Regrouped)]

    expected = await registering(None)
    assert await registering(random.Random(0)) == expected


@pytest.mark.parametrize(
    ("arrived", "comes_next"),
    [
        (Advised("1", "Look ahead."), "Look ahead."),
        (Injected("mine.py", "def number() -> int:\n    return 3\n"), "return 3"),
        (None, "number"),
    ],
)
async def test_what_arrives_during_a_decision_is_committed_at_once_and_takes_part_in_it(
    arrived: Advised | Injected | None, comes_next: str
) -> None:
    journal, is_asking, may_go_on = MemoryJournal(), asyncio.Event(), threading.Event()
    run, loop, asked = await search(journal, {**SMALL, "method": "best-of-n"}), asyncio.get_running_loop(), list[int]()
    ask = run.method.ask

    def slow(state: RunState, behaviours: Behaviours, candidate: int) -> Asked | NoteAsked | None:
        found = ask(state, behaviours, candidate)
        asked.append(candidate)
        if asked.count(8) == 1 and candidate == 8:
            loop.call_soon_threadsafe(is_asking.set)
            may_go_on.wait(60)
        return found

    run.method.ask = slow  # type: ignore[method-assign]
    running = asyncio.create_task(run.run())
    await is_asking.wait()
    if arrived is not None:
        run.bring(arrived)
        await until(lambda: arrived in [decode(*row) for row in journal.rows])
        assert not run.state.brought_names  # the thread reads the state
    may_go_on.set()
    assert await running == "budget"
    assert asked.count(8) == (1 if arrived is None else 2)
    events: list[Event] = [decode(*row) for row in journal.rows]
    eighth = next(event for event in events if isinstance(event, Asked) and event.candidate == 8)
    assert comes_next in eighth.prompt.text


@pytest.mark.parametrize("is_cancelled", [True, False])
async def test_a_run_that_ends_during_a_decision_waits_for_it_and_keeps_what_arrived(is_cancelled: bool) -> None:
    journal, is_asking, may_go_on = MemoryJournal(), asyncio.Event(), threading.Event()
    settings = {**SMALL, "method": "best-of-n"}
    run, loop = await search(journal, settings), asyncio.get_running_loop()
    ask = run.method.ask

    def slow(state: RunState, behaviours: Behaviours, candidate: int) -> Asked | NoteAsked | None:
        if candidate == 20:
            loop.call_soon_threadsafe(is_asking.set)
            may_go_on.wait(60)
        return ask(state, behaviours, candidate)

    run.method.ask = slow  # type: ignore[method-assign]
    running = asyncio.create_task(run.run())
    await is_asking.wait()
    await until(lambda: len(candidates(journal, Responded)) == 20)  # whoever is asked for before is asked meanwhile
    if is_cancelled:
        running.cancel()
    else:
        run.stop("interrupted")
    await asyncio.sleep(0.01)
    assert not running.done()
    may_go_on.set()
    if is_cancelled:
        with pytest.raises(asyncio.CancelledError):
            await running
    else:
        assert await running == "interrupted"
    assert {number for number, each in run.state.open.items() if each.reply is None} == set()
    assert run.state.asked == 20
    again = await search(MemoryJournal(journal.rows), settings)
    assert await again.run() == "budget"
    assert again.state.digest() == (await finished(settings)).state.digest()


@pytest.mark.parametrize("method", ["funsearch+behavesim", "eoh", "reevo", "map-elites", "eoh-s"])
async def test_no_reply_waits_for_more_than_one_decision(method: str) -> None:
    journal = MemoryJournal()
    run = await search(journal, {**SMALL, "method": method, "restart_every": 10}, random.Random(1))
    propose, fold = run.proposer.propose, run.fold
    decided, when_it_came, waited = 0, dict[int, int](), dict[int, int]()

    def counted(event: Event) -> None:
        nonlocal decided
        decided += isinstance(event, DECISIONS) and not isinstance(event, Compared)  # part of a registration
        if isinstance(event, Responded):
            waited[event.candidate] = decided - when_it_came[event.candidate]
        fold(event)

    async def observed(prompt: Prompt, candidate: int) -> Reply:
        reply = await propose(prompt, candidate)
        when_it_came[candidate] = decided
        return reply

    run.fold = counted  # type: ignore[method-assign]
    run.proposer.propose = observed  # type: ignore[method-assign]
    await run.run()
    assert len(waited) == run.state.asked == SMALL["budget"]
    assert max(waited.values()) <= 1


class Silent(ToyProposer):
    """Answers no prompt."""

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        await asyncio.Event().wait()
        raise AssertionError("nobody sets the event")


async def test_no_decision_is_taken_again_while_the_run_only_waits_for_replies(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = 0

    def counted(*given: Any) -> tuple[Decision, ...]:
        nonlocal taken
        taken += 1
        return next_decision(*given)

    monkeypatch.setattr(loop, "next_decision", counted)
    run = await search(MemoryJournal(), {**SMALL, "method": "best-of-n"}, proposer=Silent())
    running = asyncio.create_task(run.run())
    await until(lambda: run.state.asked == 8)
    for _ in range(50):  # turns of the loop, in which a run that does not rest would decide again
        await asyncio.sleep(0.002)
    assert taken <= 8 + 3
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running


async def test_decisions_are_committed_together_and_before_anything_follows_from_them() -> None:
    journal = MemoryJournal()
    run = await search(journal, {**SMALL, "method": "funsearch", "n_init": SMALL["window"]})
    append, propose, committed = journal.append, run.proposer.propose, list[int]()
    window = asyncio.Barrier(SMALL["window"])  # replies come together, however fast the machine is

    async def counted(events: Sequence[Event]) -> None:
        committed.append(sum(isinstance(event, DECISIONS) for event in events))
        await append(events)

    async def checked(prompt: Prompt, candidate: int) -> Reply:
        assert candidate in candidates(journal, Asked)
        async with asyncio.timeout(60):
            await window.wait()
        return await propose(prompt, candidate)

    journal.append = counted  # type: ignore[method-assign]
    run.proposer.propose = checked  # type: ignore[method-assign]
    await run.run()
    assert run.state.asked == SMALL["budget"]
    assert max(committed) > 1
    assert len([each for each in committed if each]) < sum(committed) / 1.5


class TellingJournal(DiskJournal):
    """Tells when it begins to commit a reply."""

    def __init__(self, path: Path, patience_s: float = 5.0) -> None:
        super().__init__(path, patience_s)
        self.has_begun = asyncio.Event()

    async def append(self, events: Sequence[Event]) -> None:
        if any(isinstance(event, Responded) for event in events):
            self.has_begun.set()
        await super().append(events)


class Refusing(ToyProposer):
    """Answers seven questions at once, and refuses the eighth for good as those answers are committed."""

    def __init__(self, committing: asyncio.Event) -> None:
        super().__init__()
        self._all_are_asked = asyncio.Event()
        self._committing = committing

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        if number == 7:
            self._all_are_asked.set()
            await self._committing.wait()
            raise ProposerError("your money is gone")
        reply = await super().propose(prompt, number)
        await self._all_are_asked.wait()
        return reply


async def test_an_endpoint_that_refuses_for_good_costs_no_reply_that_arrived(tmp_path: Path) -> None:
    async with TellingJournal(tmp_path / "run.db") as journal:
        run = await search(journal, {**SMALL, "method": "best-of-n"}, proposer=Refusing(journal.has_begun))
        with pytest.raises(ProposerError):
            await run.run()
    kinds = [type(event) for _, _, event in read_events(tmp_path / "run.db")]
    assert kinds.count(Responded) == 7
    assert kinds[-1] is RunStopped


async def test_replies_that_arrive_while_the_database_is_locked_are_committed_together_once_it_is_not(
    tmp_path: Path,
) -> None:
    settings = {**SMALL, "method": "funsearch+behavesim"}
    commits = list[int]()
    async with DiskJournal(tmp_path / "run.db", patience_s=600.0) as journal:
        model = ToyProposer()
        run = await search(journal, settings, proposer=model)
        append, propose, answered = journal.append, model.propose, list[int]()

        async def counted(events: Sequence[Event]) -> None:
            await append(events)
            commits.append(sum(isinstance(event, Responded) for event in events))

        async def noted(prompt: Prompt, number: int) -> Reply:
            reply = await propose(prompt, number)
            if number < 8:
                answered.append(number)
            if len(answered) == 1:
                answered.append(number)
                other.execute("BEGIN IMMEDIATE")
            return reply

        journal.append = counted  # type: ignore[method-assign]
        model.propose = noted  # type: ignore[method-assign]
        with closing(sqlite3.connect(tmp_path / "run.db", isolation_level=None)) as other:
            running = asyncio.create_task(run.run())
            await until(lambda: len(answered) >= 6)
            await asyncio.sleep(0.01)
            assert not running.done()
            assert commits[-1] == 0
            other.execute("ROLLBACK")
            assert await ended(run, running) == (await finished(settings)).state.digest()
    assert max(commits) >= 5


class Locking(ToyProposer):
    """Answers seven questions, and refuses the eighth for good while a foreign lock holds up their commit."""

    def __init__(self, committing: asyncio.Event, other: sqlite3.Connection) -> None:
        super().__init__()
        self._committing, self._other = committing, other
        self._all_are_asked = asyncio.Event()

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        if number == 7:
            self._other.execute("BEGIN IMMEDIATE")
            self._all_are_asked.set()
            await self._committing.wait()
            asyncio.get_running_loop().call_later(0.02, self._other.execute, "ROLLBACK")
            raise ProposerError("your money is gone")
        reply = await super().propose(prompt, number)
        await self._all_are_asked.wait()
        return reply


async def test_the_state_lacks_nothing_that_a_commit_held_up_while_the_run_failed(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    async with TellingJournal(path, patience_s=600.0) as journal:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            run = await search(journal, {**SMALL, "method": "best-of-n"}, proposer=Locking(journal.has_begun, other))
            with pytest.raises(ProposerError):
                await run.run()
    replies = [event.candidate for _, _, event in read_events(path) if isinstance(event, Responded)]
    assert len(replies) == 7
    assert [number for number, each in run.state.open.items() if each.reply is not None] == replies


class Held(MemoryJournal):
    """A journal in which the commit of the first reply waits until `let_go` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.is_held, self.let_go = False, asyncio.Event()

    async def append(self, events: Sequence[Event]) -> None:
        self.is_held = self.is_held or any(isinstance(event, Responded) for event in events)
        if self.is_held:
            await self.let_go.wait()
        await super().append(events)

    async def arrived_meanwhile(self, run: Search) -> set[int]:
        """Wait until replies have arrived during that commit; return their candidates."""
        await until(lambda: any(isinstance(event, Responded) for event in run._arrived))
        return {event.candidate for event in run._arrived if isinstance(event, Responded)}


class AfterTheFirst(ToyProposer):
    """Answers the first prompt, and the others once the commit of that reply is held."""

    def __init__(self, journal: Held) -> None:
        super().__init__()
        self._journal = journal

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        if self.asked:
            await until(lambda: self._journal.is_held)
        return await super().propose(prompt, number)


@pytest.mark.parametrize("times", [1, 2])
async def test_a_search_cancelled_from_outside_keeps_what_arrived_during_its_last_commit(times: int) -> None:
    journal = Held()
    run = await search(journal, SMALL, random.Random(1), AfterTheFirst(journal))
    running = asyncio.create_task(run.run())
    arrived = await journal.arrived_meanwhile(run)
    for _ in range(times):
        running.cancel()
        await asyncio.sleep(0)
    journal.let_go.set()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert arrived <= candidates(journal, Responded)
    again = await search(MemoryJournal(journal.rows), SMALL)
    assert await again.run() == "budget"
    assert again.state.digest() == (await finished(SMALL)).state.digest()


async def test_an_observer_that_cannot_write_its_files_costs_no_reply() -> None:
    journal = Held()
    run = await search(journal, SMALL, random.Random(1), AfterTheFirst(journal))
    told = list[Event]()

    def observe(event: Event, state: object) -> None:
        told.append(event)
        if journal.is_held:
            raise JournalError("cannot write best.py: No space left on device")

    run.observe = observe
    running = asyncio.create_task(run.run())
    arrived = await journal.arrived_meanwhile(run)
    journal.let_go.set()
    with pytest.raises(JournalError, match=r"cannot write best\.py"):
        await running
    assert arrived <= candidates(journal, Responded)
    *_, last = journal.events()
    assert isinstance(last, RunStopped) and (last.reason, "best.py" in last.message) == ("failed", True)
    again = await search(MemoryJournal(journal.rows), SMALL)
    assert await again.run() == "budget"
    assert again.state.digest() == (await finished(SMALL)).state.digest()
