"""Recovery: what can be read of a damaged run becomes a new run, in which the same decisions are taken once more."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from behavesim.base.config import Settings
from behavesim.base.errors import JournalError
from behavesim.methods.method import Measurement, Method
from behavesim.programs.fences import fenced
from behavesim.proposers.proposer import note_number
from behavesim.proposers.replay import injected_again
from behavesim.search.admission import run_provenance
from behavesim.search.build import Parts, assembled, evaluated_template, judging
from behavesim.search.caps import Caps
from behavesim.search.loop import Search
from behavesim.search.settings import recorded
from behavesim.state.events import (
    INJECTED,
    TEMPLATE,
    Added,
    Asked,
    CandidateId,
    ClockRead,
    Evaluated,
    Event,
    Injected,
    NotAdded,
    NoteAsked,
    NoteReceived,
    Prompt,
    Regrouped,
    Rejected,
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
from behavesim.store.run_files import RunFiles
from behavesim.store.salvage import salvaged
from behavesim.task import TaskReference

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


@dataclass
class Salvage:
    """The events that can be read, by what they are good for."""

    opening: RunStarted | RunForked | None = None
    template: Evaluated | None = None
    asked: dict[CandidateId, Asked] = field(default_factory=dict)
    replies: dict[CandidateId, list[Reply]] = field(default_factory=lambda: defaultdict(list))
    verdicts: dict[str, Verdict | Failure] = field(default_factory=dict)
    sources: dict[CandidateId, str] = field(default_factory=dict)
    injected: list[Injected] = field(default_factory=list)
    readings: list[ClockRead] = field(default_factory=list)
    registered: int = 0

    @property
    def put_in(self) -> list[Injected]:
        """What people put in: what had its turn has it again, the rest comes behind all that was asked for.

        Whose question is lost had its turn where the reply is that program.
        """
        again = injected_again(self.asked.values())
        tried = {program.source for program in again}
        replies = [(candidate, reply) for candidate, each in self.replies.items() for reply in each]
        turns = {reply.text: candidate for candidate, reply in replies if reply.model == INJECTED}
        behind = max((*self.asked, *self.replies), default=-1) + 1
        rest = (each for each in self.injected if each.source not in tried)
        return [*again, *(replace(each, not_before=turns.get(fenced(each.source), behind)) for each in rest)]

    @classmethod
    def of(cls, events: Iterable[Event]) -> Salvage:
        """Sort events by their use."""
        salvage = cls()
        for event in events:
            salvage._take(event)
        return salvage

    def _take(self, event: Event) -> None:
        match event:
            case RunStarted() | RunForked():
                self.opening = event
            case Injected():
                self.injected.append(event)
            case ClockRead():
                self.readings.append(event)
            case Asked(candidate):
                self.asked.setdefault(candidate, event)  # what comes later for it is a repair
            case Responded(candidate, reply):
                self.replies[candidate].append(reply)
            case NoteReceived(number, reply):
                self.replies[note_number(number)].append(reply)
            case Added(candidate) | NotAdded(candidate):
                self.registered = max(self.registered, candidate + 1)
            case Evaluated() if event.candidate == TEMPLATE:
                self.template = event
            case Evaluated(candidate, source):
                if event.copy_of is None:  # in older runs a copy can be of another text
                    verdict = Verdict(event.score, event.scores, tuple(event.trajectories), event.cpu_s)
                    self.verdicts[source] = verdict
                self.sources[candidate] = source
            case Rejected(candidate, source=source) if source:
                if event.copy_of is None:
                    self.verdicts[source] = Failure(event.reason, event.message, event.cpu_s)
                self.sources[candidate] = source


async def recover(folder: RunFolder, target: RunFolder, workers: int = 1) -> Recovery:
    """Make a new run of all that can be read of a run; it can be resumed and reported like any other.

    Replies and verdicts are taken as they are; decisions, which follow from them, are taken anew. A candidate that was
    done with and whose reply is lost counts as rejected; one that was not is asked for again on resume. Raises
    JournalError where nothing can be read, UsageError where the target exists.
    """
    found = salvaged(folder.journal)
    events = found.events
    salvage = Salvage.of(event for _, event in events.values())
    if not salvage.replies:
        raise JournalError(f"no reply can be read in {folder.journal}; start the run anew")
    settings = recorded(folder.read_settings() if salvage.opening is None else salvage.opening.settings)
    settings, proposer = folder.with_task_at_hand(settings), SalvagedProposer(salvage)
    await _rerun(salvage, settings.model_copy(update={"workers": workers}), target, proposer)
    target.note(f"recovered from {folder.path}: {len(events)} events could be read")
    replies = sum(len(each) for each in salvage.replies.values())
    missing = max(events) - len(events)
    return Recovery(target.run, len(events), replies, tuple(sorted(proposer.lost)), missing, found.proved)


async def _rerun(salvage: Salvage, settings: Settings, target: RunFolder, proposer: SalvagedProposer) -> None:
    task = TaskReference(settings.task).load()
    async with judging(settings, task) as judge:
        template = salvage.template or await evaluated_template(task, judge)
        made_of = run_provenance(settings, task) if salvage.opening is None else salvage.opening.provenance
        started = RunStarted(settings.flat(), made_of, judge.isolation)
        with target.created(), target.locked():
            target.keep_task(settings.task)
            target.write_settings(settings.flat())
            async with SqliteJournal(target.journal) as journal:
                beginning: list[Event] = [started, template, *salvage.put_in, *salvage.readings]
                await journal.append(beginning)
                parts = Parts(proposer, SalvagedJudge(judge, salvage.verdicts), journal, RunFiles(target, target.note))
                search = assembled(settings, task, parts, Caps(settings.budget, price=lambda model, tokens: 0.0))
                search.method = SalvagedMethod(search.method, salvage.asked)
                search.clock_every_s = 0.0  # the time is the journal's
                for event in beginning:
                    search.fold(event)
                await _run_dry(search, proposer, max(salvage.replies) + 1)


async def _run_dry(search: Search, proposer: SalvagedProposer, replied: CandidateId) -> None:
    """Run until every reply is used, and what is left waits for replies that only the model can give."""

    def is_dry() -> bool:
        state = search.state
        has_asked = state.asked >= min(replied, state.registered + search.rules.window)
        is_waiting = all(c.outcome is not None or number in proposer.waiting for number, c in state.open.items())
        return has_asked and is_waiting and state.registered in proposer.waiting

    async def stop_when_dry() -> None:
        while not is_dry():
            await asyncio.sleep(POLL_S)
        search.stop("recovered")

    watching = asyncio.create_task(stop_when_dry())
    try:
        await search.run()
    finally:
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching


class SalvagedProposer:
    """Answers with the replies there are; `lost` are those it had to do without, `waiting` those still to be asked."""

    def __init__(self, salvage: Salvage) -> None:
        self.lost: set[CandidateId] = set()
        self.waiting: set[CandidateId] = set()
        self._replies = {number: list(replies) for number, replies in salvage.replies.items()}
        self._sources = salvage.sources
        self._registered = salvage.registered

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        """The next reply to a candidate or note; waits for ever where it had none yet, and there may still be one."""
        if replies := self._replies.get(number):
            return replies.pop(0)
        if number >= self._registered:
            self.waiting.add(number)
            await asyncio.Event().wait()
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
