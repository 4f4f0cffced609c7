"""Recovery: what can be read of a damaged run becomes a new run, in which the same decisions are taken once more."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from behavesim.build import behaviours, evaluated_template, sandbox
from behavesim.caps import Caps
from behavesim.config import Settings
from behavesim.due import Rules
from behavesim.errors import JournalError
from behavesim.events import (
    Asked,
    Discarded,
    Evaluated,
    Event,
    Placed,
    Prompt,
    Rejected,
    Reply,
    Responded,
    RunForked,
    RunStarted,
    Ticket,
)
from behavesim.methods.choice import method
from behavesim.methods.protocol import Measurement, Regrouping, SearchMethod
from behavesim.programs.fingerprint import fingerprint
from behavesim.protocols import Failure, Judge, Verdict
from behavesim.provenance import provenance
from behavesim.sandbox import Judge as SandboxJudge
from behavesim.search import Search
from behavesim.state import TEMPLATE, OpenCandidate, RunState
from behavesim.store.folder import RunFolder
from behavesim.store.journal import SqliteJournal
from behavesim.store.keeper import Keeper
from behavesim.store.salvage import salvaged
from behavesim.task import TaskReference

LOST = "lost"
"""The finish reason of a reply that could not be read any more."""
POLL_S = 0.02


@dataclass(frozen=True)
class Recovery:
    """What came of it: events that could be read, replies among them, and the candidates whose replies are lost."""

    run: str
    events: int
    replies: int
    lost: tuple[Ticket, ...]


@dataclass
class Salvage:
    """The events that can be read, by what they are good for."""

    opening: RunStarted | RunForked | None = None
    template: Evaluated | None = None
    asked: dict[Ticket, Asked] = field(default_factory=dict)
    replies: dict[Ticket, list[Reply]] = field(default_factory=lambda: defaultdict(list))
    verdicts: dict[str, Verdict | Failure] = field(default_factory=dict)
    sources: dict[Ticket, str] = field(default_factory=dict)
    told: Ticket = 0

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
            case Asked(candidate):
                self.asked.setdefault(candidate, event)  # what comes later for it is a repair
            case Responded(candidate, reply):
                self.replies[candidate].append(reply)
            case Placed(candidate) | Discarded(candidate):
                self.told = max(self.told, candidate + 1)
            case Evaluated() if event.candidate == TEMPLATE:
                self.template = event
            case Evaluated(candidate, source):
                self.verdicts[event.fingerprint] = Verdict(event.score, event.scores, event.trajectories, event.cpu_s)
                self.sources[candidate] = source
            case Rejected(candidate) if event.source:
                self.verdicts[event.fingerprint] = Failure(event.reason, event.message, event.cpu_s)
                self.sources[candidate] = event.source


async def recover(folder: RunFolder, target: RunFolder, workers: int = 1) -> Recovery:
    """Make a new run of all that can be read of a run; it can be resumed and reported like any other.

    Replies and verdicts are taken as they are; decisions, which follow from them, are taken anew. A candidate that was
    done with and whose reply is lost counts as rejected; one that was not is asked for again on resume. Raises
    JournalError where nothing can be read, UsageError where the target exists.
    """
    events = salvaged(folder.journal)
    salvage = Salvage.of(event for _, event in events.values())
    if not salvage.replies:
        raise JournalError(f"no reply can be read in {folder.journal}; start the run anew")
    settings = folder.read_settings()
    if salvage.opening is not None:
        settings = Settings.model_validate(dict(salvage.opening.settings))
    proposer = SalvagedProposer(salvage)
    await _rerun(salvage, settings.model_copy(update={"workers": workers}), target, proposer)
    target.note(f"recovered from {folder.path}: {len(events)} events could be read")
    replies = sum(len(each) for each in salvage.replies.values())
    return Recovery(target.run, len(events), replies, tuple(sorted(proposer.lost)))


async def _rerun(salvage: Salvage, settings: Settings, target: RunFolder, proposer: SalvagedProposer) -> None:
    task = TaskReference(settings.task).load()
    opening, known = salvage.opening, behaviours(settings, task)
    async with sandbox(settings) as pool:
        judge = SandboxJudge(task, "search", pool)
        template = salvage.template or await evaluated_template(task, judge)
        target.create()
        target.write_settings(settings)
        made_of = provenance(task) if opening is None else opening.fingerprint
        started = RunStarted(settings.model_dump(mode="json"), made_of, pool.isolation)
        with target.locked():
            async with SqliteJournal(target.journal) as journal:
                await journal.append([started, template])
                search = Search(
                    task,
                    Rules(settings.window, settings.repair),
                    Caps(settings.budget, price=lambda model, tokens: 0.0),
                    SalvagedMethod(method(settings, task), salvage.asked),
                    proposer,
                    SalvagedJudge(judge, salvage.verdicts),
                    journal,
                    known,
                    Keeper(target),
                )
                search.fold(started)
                search.fold(template)
                await _run_dry(search, proposer, max(salvage.replies) + 1)


async def _run_dry(search: Search, proposer: SalvagedProposer, replied: Ticket) -> None:
    """Run until every reply is used, and what is left waits for replies that only the model can give."""

    def is_dry() -> bool:
        state = search.state
        has_asked = state.asked >= min(replied, state.told + search.rules.window)
        is_waiting = all(c.outcome is not None or ticket in proposer.waiting for ticket, c in state.open.items())
        return has_asked and is_waiting and state.told in proposer.waiting

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
        self.lost: set[Ticket] = set()
        self.waiting: set[Ticket] = set()
        self._replies = {ticket: list(replies) for ticket, replies in salvage.replies.items()}
        self._sources = salvage.sources
        self._told = salvage.told

    async def propose(self, prompt: Prompt, ticket: Ticket) -> Reply:
        """The next reply to a ticket; waits for ever where it had none yet, and there may still be one."""
        if replies := self._replies.get(ticket):
            return replies.pop(0)
        if ticket >= self._told:
            self.waiting.add(ticket)
            await asyncio.Event().wait()
        self.lost.add(ticket)
        source = self._sources.get(ticket)
        return Reply(f"```python\n{source}\n```" if source else "", "", (), "stop" if source else LOST)


class SalvagedJudge:
    """Gives the verdicts there are, and has the sandbox find those that are lost."""

    def __init__(self, judge: Judge, verdicts: Mapping[str, Verdict | Failure]) -> None:
        self._judge = judge
        self._verdicts = verdicts

    async def evaluate(self, source: str) -> Verdict | Failure:
        """The verdict on a program."""
        known = self._verdicts.get(fingerprint(source))
        return known if known is not None else await self._judge.evaluate(source)


class SalvagedMethod:
    """Decides as the method does, but asks what was asked: the replies belong to these prompts."""

    def __init__(self, method: SearchMethod, asked: Mapping[Ticket, Asked]) -> None:
        self._method = method
        self._asked = asked

    def regroup(self, state: RunState) -> Regrouping | Measurement | None:
        """As the method does."""
        return self._method.regroup(state)

    def ask(self, state: RunState, ticket: Ticket) -> Asked | None:
        """The question as it was put, when the method would ask one."""
        asked = self._method.ask(state, ticket)
        return None if asked is None else self._asked.get(ticket, asked)

    def compare(self, state: RunState, candidate: OpenCandidate) -> Measurement | None:
        """As the method does."""
        return self._method.compare(state, candidate)

    def tell(self, state: RunState, candidate: OpenCandidate) -> Placed | Discarded:
        """As the method does."""
        return self._method.tell(state, candidate)
