"""Recovery: what can be read of a damaged run becomes a new run, in which the same decisions are taken once more."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from behavesim.audit.salvage import Salvage, stretched, unbroken
from behavesim.base.config import Settings
from behavesim.base.errors import JournalError
from behavesim.base.heartbeat import Heartbeat
from behavesim.engine.admission import run_provenance
from behavesim.engine.build import evaluated_template, judging, wired
from behavesim.engine.caps import Caps
from behavesim.engine.loop import Search
from behavesim.engine.settings import settings_from_journal
from behavesim.methods.method import Measurement, Method
from behavesim.programs.fences import fenced
from behavesim.sandbox import SandboxJudge
from behavesim.state.events import (
    Added,
    Asked,
    CandidateId,
    Event,
    NotAdded,
    NoteAsked,
    NoteReceived,
    Prompt,
    Regrouped,
    Reply,
    Responded,
    RunForked,
    RunStarted,
)
from behavesim.state.members import OpenCandidate
from behavesim.state.protocols import Judge
from behavesim.state.state import RunState
from behavesim.state.verdict import Failure, Verdict
from behavesim.store.folder import RunFolder
from behavesim.store.journal import SqliteJournal
from behavesim.store.reading import read_events
from behavesim.store.run_files import RunFiles
from behavesim.store.salvage import salvaged
from behavesim.task import Task, TaskReference

LOST = "lost"
"""The finish reason of a reply that could not be read any more."""
POLL_S = 0.02


@dataclass(frozen=True)
class Recovery:
    """What came of it: events that could be read, replies among them, and the candidates whose replies are lost.

    `missing` counts the events before the last one found that could not be read. The events are `proved` where each
    row had its seal.
    """

    run: str
    events: int
    replies: int
    lost: tuple[CandidateId, ...]
    missing: int
    proved: bool


async def recover(folder: RunFolder, target: RunFolder, workers: int = 1) -> Recovery:
    """Make a new run of all that can be read of a run; it can be resumed and reported like any other.

    Replies and verdicts are taken as they are; decisions, which follow from them, are taken anew, each under the
    settings of its time: up to the last fork before which no event is missing, all events are copied. A candidate that
    was done with and whose reply is lost counts as rejected; one that was not is asked for again on resume. Raises
    JournalError where nothing can be read, UsageError where the target exists.
    """
    found = salvaged(folder.journal)
    events = {seq: event for seq, (_, event) in found.events.items()}
    replies = sum(isinstance(event, Responded | NoteReceived) for event in events.values())
    if not replies:
        raise JournalError(f"no reply can be read in {folder.journal}; start the run anew")
    kept = unbroken(events)
    stretches = stretched([*kept[-1:], *list(events.values())[len(kept) :]])
    known = [
        settings_from_journal(folder.read_settings() if each.opening is None else each.opening.settings)
        for each in stretches
    ]
    last = folder.with_task_at_hand(known[-1])
    settings = [each.model_copy(update={"task": last.task, "workers": workers}) for each in known]
    lost = await _rerun(kept, list(zip(stretches, settings, strict=True)), target)
    target.note(f"recovered from {folder.path}: {len(events)} events could be read")
    return Recovery(target.run, len(events), replies, tuple(sorted(lost)), max(events) - len(events), found.proved)


async def _rerun(kept: Sequence[Event], stretches: Sequence[tuple[Salvage, Settings]], target: RunFolder) -> set[int]:
    """Write the new run, stretch by stretch; returns the candidates whose replies are lost."""
    lost = set[int]()
    final, settings = stretches[-1]
    task = TaskReference(settings.task).load()
    async with judging(settings, task) as judge:
        beginning = kept or await _beginning(*stretches[0], task, judge)
        with target.created(), target.locked():
            target.keep_task(settings.task)
            target.write_settings(settings.flat())
            async with SqliteJournal(target.journal) as journal:
                await journal.append(beginning)
                for salvage, settings in stretches:
                    if salvage is not stretches[0][0] and isinstance(salvage.opening, RunForked):
                        await journal.append([replace(salvage.opening, settings=settings.flat())])
                    proposer = SalvagedProposer(salvage)
                    known = SalvagedJudge(judge, salvage.verdicts)
                    is_last = salvage is final
                    budget = settings.budget if is_last else salvage.asks
                    caps, files = Caps(budget, lambda model, tokens: 0.0, Heartbeat()), RunFiles(target, target.note)
                    search = wired(settings, task, proposer, known, journal, caps, files)
                    await _take_up(search, salvage, target)
                    await _run_dry(search, proposer, max(salvage.replies, default=-1) + 1 if is_last else budget)
                    await search.record(*(each for each in salvage.late if each.candidate in search.state.open))
                    lost |= proposer.lost
    return lost


async def _beginning(salvage: Salvage, settings: Settings, task: Task, judge: SandboxJudge) -> list[Event]:
    template = salvage.template or await evaluated_template(task, judge)
    made_of = run_provenance(settings, task) if salvage.opening is None else salvage.opening.provenance
    return [RunStarted(settings.flat(), made_of, judge.isolation), template]


async def _take_up(search: Search, salvage: Salvage, target: RunFolder) -> None:
    """Fold the new journal, and record what came from outside in this stretch."""
    search.method = SalvagedMethod(search.method, salvage.asked)
    search.clock_every_s = 0.0  # the time is the journal's
    for _, _, event in read_events(target.journal):
        search.fold(event)
    waiting = {program.source for program in search.state.injected}
    await search.record(*(each for each in salvage.put_in if each.source not in waiting), *salvage.readings)


async def _run_dry(search: Search, proposer: SalvagedProposer, replied: CandidateId) -> None:
    """Run until every reply is used, and what is left waits for replies that only the model can give."""

    def is_stuck() -> bool:
        state = search.state
        is_waiting = all(c.outcome is not None or number in proposer.waiting for number, c in state.open.items())
        return is_waiting and state.registered in proposer.waiting

    async def stop_when_dry() -> None:
        while not (is_stuck() and search.state.asked >= min(replied, search.caps.budget)):
            if is_stuck() and not _asks_more(search):  # later replies show that the candidate waited for was registered
                proposer.waiting.pop(search.state.registered).set()
            await asyncio.sleep(POLL_S)
        search.stop("recovered")

    watching = asyncio.create_task(stop_when_dry())
    try:
        await search.run()
    finally:
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching


def _asks_more(search: Search) -> bool:
    """Whether another candidate is due before the one that is waited for is registered."""
    state = search.state
    return state.asked < state.registered + search.rules.window and search.method.ask(state, state.asked) is not None


class SalvagedProposer:
    """Answers with the replies there are; `lost` are those it had to do without, `waiting` those still to be asked."""

    def __init__(self, salvage: Salvage) -> None:
        self.lost: set[CandidateId] = set()
        self.waiting: dict[CandidateId, asyncio.Event] = {}
        self._replies = {number: list(replies) for number, replies in salvage.replies.items()}
        self._sources = salvage.sources
        self._registered = salvage.registered

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        """The next reply to a candidate or note; where it had none yet, and may still get one, waits to be given up."""
        if replies := self._replies.get(number):
            return replies.pop(0)
        if number >= self._registered:
            self.waiting[number] = asyncio.Event()
            await self.waiting[number].wait()
        self.lost.add(number)
        source = self._sources.get(number)
        return Reply(fenced(source), "", finish_reason="stop") if source else Reply("", "", finish_reason=LOST)


class SalvagedJudge:
    """Gives the verdicts there are, and has the sandbox find those that are lost."""

    def __init__(self, judge: Judge, verdicts: Mapping[str, Verdict | Failure]) -> None:
        self._judge = judge
        self._verdicts = verdicts

    async def evaluate(self, source: str) -> Verdict | Failure:
        """The verdict on a program."""
        known = self._verdicts.get(source)
        return known if known is not None else await self._judge.evaluate(source)


class SalvagedMethod(Method[Any]):
    """Decides as the method does, but asks what was asked: the replies belong to these prompts."""

    def __init__(self, method: Method[Any], asked: Mapping[CandidateId, Asked]) -> None:
        super().__init__(method.settings, method.brief)
        self._method = method
        self._asked = asked

    def regroup(self, state: RunState) -> Regrouped | Measurement | None:
        """What the method decides."""
        return self._method.regroup(state)

    def compare(self, state: RunState, candidate: OpenCandidate) -> Measurement | None:
        """What the method decides."""
        return self._method.compare(state, candidate)

    def register(self, state: RunState, candidate: OpenCandidate) -> Added | NotAdded:
        """What the method decides."""
        return self._method.register(state, candidate)

    def ask(self, state: RunState, candidate: CandidateId) -> Asked | NoteAsked | None:
        """The question as it was put, when the method would ask one."""
        asked = self._method.ask(state, candidate)
        return self._asked.get(candidate, asked) if isinstance(asked, Asked) else asked
