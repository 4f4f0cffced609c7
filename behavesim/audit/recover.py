"""Recovery: make a new run of the readable events of a damaged one, and take its decisions again."""

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
"""Finish reason of the empty reply that replaces one that cannot be read."""
POLL_S = 0.02
"""Seconds between two looks at whether a recovery has used all replies; short, as nothing else waits for it."""


@dataclass(frozen=True)
class Recovery:
    """The result of a recovery."""

    run: str
    """The name of the new run."""
    events: int
    """Events of the damaged run that could be read."""
    replies: int
    """Replies among those events."""
    lost: tuple[CandidateId, ...]
    """Candidates, ascending, whose replies could not be read and will not be asked for again; notes are below -1."""
    missing: int
    """Events before the last readable one that could not be read."""
    proved: bool
    """Whether each event that could be read had the seal (checksum) that behavesim writes with it."""


async def recover(folder: RunFolder, target: RunFolder, workers: int = 1) -> Recovery:
    """Write the new run `target` from all that can be read of the run `folder`, which stays as it is.

    Events up to the last fork before which none is missing are copied. After it, replies and verdicts are reused and
    decisions are taken again, under the settings of their time. A candidate that was registered but whose reply is lost
    is rejected; any other without a reply is asked for again on resume. Programs without a verdict are run again, in
    `workers` sandboxes. Raises JournalError if no reply can be read, UsageError if the target exists, TaskError if the
    task cannot be loaded, SandboxError if the sandbox fails.
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
    """Write the new run, one stretch between forks after the other; return the candidates whose replies are lost."""
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
    """Fold the new journal into the search, then record this stretch's injected programs and clock readings."""
    search.method = SalvagedMethod(search.method, salvage.asked)
    search.clock_every_s = 0.0  # the old run's clock readings are used
    for _, _, event in read_events(target.journal):
        search.fold(event)
    waiting = {program.source for program in search.state.injected}
    await search.record(*(each for each in salvage.put_in if each.source not in waiting), *salvage.readings)


async def _run_dry(search: Search, proposer: SalvagedProposer, replied: CandidateId) -> None:
    """Run the search until every saved reply is used and all open candidates wait for replies that are not saved.

    replied: the candidates that must be asked for before the search may stop, unless the budget is smaller.
    """

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
    """Whether the search asks for another candidate before it registers the next one."""
    state = search.state
    return state.asked < state.registered + search.rules.window and search.method.ask(state, state.asked) is not None


class SalvagedProposer:
    """A proposer that answers with the saved replies of a damaged run."""

    def __init__(self, salvage: Salvage) -> None:
        self.lost: set[CandidateId] = set()  # candidates and notes whose replies could not be read
        self.waiting: dict[CandidateId, asyncio.Event] = {}  # those that had no reply yet; setting one gives it up
        self._replies = {number: list(replies) for number, replies in salvage.replies.items()}
        self._sources = salvage.sources
        self._registered = salvage.registered

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        """Return the next saved reply to a candidate or note; the prompt is ignored.

        Without one, a candidate that was never registered waits until its event in `waiting` is set. A lost reply
        becomes a reply with the program if that is known, else an empty reply with finish reason `LOST`.
        """
        if replies := self._replies.get(number):
            return replies.pop(0)
        if number >= self._registered:
            self.waiting[number] = asyncio.Event()
            await self.waiting[number].wait()
        self.lost.add(number)
        source = self._sources.get(number)
        return Reply(fenced(source), "", finish_reason="stop") if source else Reply("", "", finish_reason=LOST)


class SalvagedJudge:
    """A judge that returns the saved verdicts of a damaged run and runs only programs without one."""

    def __init__(self, judge: Judge, verdicts: Mapping[str, Verdict | Failure]) -> None:
        self._judge = judge
        self._verdicts = verdicts

    async def evaluate(self, source: str) -> Verdict | Failure:
        """Return the saved verdict on a program; run it in the sandbox if there is none. Raises SandboxError."""
        known = self._verdicts.get(source)
        return known if known is not None else await self._judge.evaluate(source)


class SalvagedMethod(Method[Any]):
    """A method that decides as `method` does, but asks the prompts of the damaged run, to which its replies belong."""

    def __init__(self, method: Method[Any], asked: Mapping[CandidateId, Asked]) -> None:
        super().__init__(method.settings, method.brief)
        self._method = method
        self._asked = asked

    def regroup(self, state: RunState) -> Regrouped | Measurement | None:
        """Return what the wrapped method's `regroup` returns."""
        return self._method.regroup(state)

    def compare(self, state: RunState, candidate: OpenCandidate) -> Measurement | None:
        """Return what the wrapped method's `compare` returns."""
        return self._method.compare(state, candidate)

    def register(self, state: RunState, candidate: OpenCandidate) -> Added | NotAdded:
        """Return what the wrapped method's `register` returns."""
        return self._method.register(state, candidate)

    def ask(self, state: RunState, candidate: CandidateId) -> Asked | NoteAsked | None:
        """Return the question that the damaged run asked, or the method's own if that one is lost.

        It is the method's decision if it asks for a note, and None if it asks nothing now.
        """
        asked = self._method.ask(state, candidate)
        return self._asked.get(candidate, asked) if isinstance(asked, Asked) else asked
