"""Turns settings into a search: opens its journal, proposer and sandbox, puts them together and closes them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from behavesim.base.config import Settings
from behavesim.base.heartbeat import Heartbeat
from behavesim.base.notices import Notices, on_stderr
from behavesim.engine.admission import (
    has_other_task,
    method_of_run,
    refuse_another_run,
    refuse_changes,
    refuse_incomparable,
    refuse_rescored,
    refuse_spent,
    refuse_unpriced,
    refuse_unrepeatable,
    refuse_unsteady,
    refuse_unsuited,
    run_provenance,
)
from behavesim.engine.caps import Caps
from behavesim.engine.due import Rules
from behavesim.engine.judging import evaluated_template, judge_of, pool_of
from behavesim.engine.loop import Observe, Search
from behavesim.evaluators.judge import EvaluatorJudge
from behavesim.methods.method import Method
from behavesim.proposers.installed import keeps_requests, proposer_of, proposer_type
from behavesim.proposers.price_list import PriceList, name_of_list
from behavesim.proposers.priced import PricedProposer
from behavesim.proposers.prices import Prices
from behavesim.proposers.proposer import Proposer, ProposerContext
from behavesim.sandbox.judge import SandboxJudge
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import Advised, ClockRead, Injected, RunForked, RunResumed, RunStarted
from behavesim.state.protocols import Journal, Judge, Responder
from behavesim.state.requests import Requests
from behavesim.state.settings import settings_from_journal
from behavesim.store.activity import Activity
from behavesim.store.database import copy_journal
from behavesim.store.folder import RunFolder
from behavesim.store.journal import SqliteJournal
from behavesim.store.reading import read_events
from behavesim.store.run_files import RunFiles
from behavesim.task import Task, instances_of


@dataclass(frozen=True)
class Launch:
    """What a session of a run is made from: the run's settings, its task and its folder.

    It makes the proposer, the sandbox, the journal and the search of the session. The clock, the notices and the open
    requests are made once and shared by these parts.
    """

    settings: Settings
    task: Task
    folder: RunFolder
    brought: tuple[Injected | Advised | ClockRead, ...] = ()
    """Events that a new run begins with: programs and advice from people, and clock readings of the run that it
    replays. Empty if there are none."""

    @cached_property
    def clock(self) -> Heartbeat:
        """The clock of all time limits of the session."""
        return Heartbeat()

    @cached_property
    def notices(self) -> Notices:
        """The messages of the session to a person; they are also written to the run's log."""
        return Notices(self.folder.note)

    @cached_property
    def requests(self) -> Requests:
        """The requests of the session that have no answer yet."""
        return Requests(self.notices, self.clock)

    @cached_property
    def early(self) -> list[str]:
        """The lines that `tell` was given before the run's folder, which holds the log, was made."""
        return []

    @cached_property
    def sights(self) -> list[Callable[[], str]]:
        """Functions that say what the workers of a cluster do now; empty if programs run on this machine."""
        return []

    def tell(self, text: str) -> None:
        """Give a person a notice; before the folder is made, keep it in `early` and write it to standard error."""
        if self.folder.path.is_dir():
            self.notices(text)
        else:
            self.early.append(text)
            on_stderr(text)

    @cached_property
    def proposer(self) -> Proposer[Any]:
        """The run's proposer, a context manager that the session enters once.

        Raises UsageError if the proposer refuses its settings.
        """
        settings = self.settings
        context = ProposerContext(
            self.task,
            settings.seed,
            settings.connections,
            runs_dir=self.folder.path.parent,
            folder=self.folder.path,
            budget=settings.budget,
            tell=self.notices,
            clock=self.clock,
            requests=self.requests,
        )
        return proposer_of(settings, context)

    def judge(self) -> SandboxJudge | EvaluatorJudge:
        """Return the judge of the run's programs, a context manager not entered yet."""
        pool = pool_of(self.settings, self.task, "search", self.clock, self.tell, self.sights)
        return judge_of(self.settings, self.task, "search", pool, self.clock)

    def journal(self) -> SqliteJournal:
        """Return the run's journal, not opened yet."""
        return SqliteJournal(self.folder.journal, steady=self.clock, notes=self.notices)

    def write_files(self) -> None:
        """Write the task's file and the settings into the run's folder; raises JournalError if that fails."""
        self.folder.keep_task(self.settings.task)
        self.folder.write_settings(self.settings.flat())

    def search(self, proposer: Responder, judge: Judge, journal: Journal, before: Activity | None = None) -> Search:
        """Return the session's search, which has no events and is not running yet.

        `before` is the active time of earlier sessions; None for a new run.
        """
        caps = Caps.of(self.settings, Prices.named(self.settings.prices).cost, self.clock, before)
        files = RunFiles(self.folder, self.notices, self.task.suffix)
        return wired(self.settings, self.task, proposer, judge, journal, caps, files, self.requests)


@asynccontextmanager
async def new_search(launch: Launch) -> AsyncIterator[Search]:
    """Yield the search of a new run: its template is evaluated, its folder made and its journal begun.

    The folder is made last, so that a refused run leaves nothing behind. Raises TaskError if the template fails, its
    behaviour cannot be compared or the instances differ when made again, here or (if the run costs money) in another
    process. Raises UsageError if the folder cannot be made, the isolation is too weak, the proposer refuses its
    settings, or cost is capped and a price unknown. Raises SandboxError if the sandbox does not start.
    """
    # before anything uses the instances, as it will be when the run is resumed
    origin = run_provenance(launch.settings, launch.task)
    refuse_unsteady(launch.task, origin["instances"])
    await refuse_unrepeatable(launch.settings, launch.task, origin["instances"])
    if launch.settings.recommend:
        instances_of(launch.task, "validation")  # refused now, if at all, and not when the search is paid for
    await asyncio.to_thread(refuse_unpriced, launch.settings)  # which loads the price list
    async with AsyncExitStack() as stack:
        proposer = await stack.enter_async_context(launch.proposer)
        judge = launch.judge()
        await stack.enter_async_context(judge)
        template = await evaluated_template(launch.task, judge)
        await asyncio.to_thread(refuse_unsuited, launch.settings, launch.task, template)
        told = {"cluster": "; ".join(launch.early)} if launch.early else {}
        told |= {"behaviour": judge.traced} if isinstance(judge, EvaluatorJudge) else {}
        started = RunStarted(launch.settings.flat(), {**origin, **told}, judge.isolation)
        with launch.folder.created():
            stack.enter_context(launch.folder.locked())
            launch.write_files()
            for line in launch.early:
                launch.folder.note(line)
            search = launch.search(proposer, judge, await stack.enter_async_context(launch.journal()))
            await search.record(started, template, *launch.brought)
        if isinstance(judge, EvaluatorJudge):
            launch.notices(judge.behaviour)
        yield search


@asynccontextmanager
async def resumed_search(launch: Launch) -> AsyncIterator[Search]:
    """Yield the search of a run as its journal left it, after its RunResumed was committed.

    Raises BehavesimError if another process holds the run. Raises UsageError if something changed that a resumed run
    must keep, the isolation is too weak, the proposer refuses its settings, or cost is capped and a price unknown.
    Raises JournalError if the journal is faulty, SandboxError if the sandbox does not start.
    """
    async with AsyncExitStack() as stack:
        stack.enter_context(launch.folder.locked())
        journal = await stack.enter_async_context(launch.journal())
        refuse_changes(launch.folder, launch.settings, launch.task)
        await asyncio.to_thread(refuse_unpriced, launch.settings)
        # those of the last session, whose file `write_files` replaces
        connections = settings_from_journal(launch.folder.read_settings()).connections
        launch.write_files()
        proposer = await stack.enter_async_context(launch.proposer)
        judge = launch.judge()
        before = Activity()
        search = launch.search(proposer, judge, journal, before)
        folding = asyncio.to_thread(_fold, launch.folder, search, before)  # while the sandbox loads its libraries
        await asyncio.gather(stack.enter_async_context(judge), folding)
        again = tuple(number for number, candidate in search.state.open.items() if candidate.reply is None)
        notes = tuple(note.asked.number for note in search.state.awaited_notes)
        lost, batched = search.state.under_way, search.state.batched
        if keeps_requests(launch.settings):
            launch.requests.batches.earlier = dict(batched)
        if not proposer.costs_money or keeps_requests(launch.settings):
            lost = 0
        elif lost is None:  # as after a kill: then at most a request for each connection, or the batches
            lost = max(min(len(again) + len(notes), connections), len(batched))
        try:
            await search.record(RunResumed(again, judge.isolation, lost, name_of_list(), notes))
        except asyncio.CancelledError:  # it is committed all the same, and must not look like a killed session
            search.stop("interrupted")
            await search.run()
            raise
        yield search


@asynccontextmanager
async def forked_search(launch: Launch, source: RunFolder) -> AsyncIterator[Search]:
    """Yield the search of a new run that begins with a copy of the journal of `source` and has other settings.

    The run `source` may go on meanwhile: the fork is of the run as it stood when its journal was copied. If the task's
    file has changed, the programs of the run are evaluated again.

    Raises UsageError if something changed that a fork must keep, such as its instances or a program's score, or if a
    program that it takes over cannot be compared. It is also raised if the budget is smaller than what `source` has
    asked for. Raises UsageError, too, if the folder cannot be made, the isolation is too weak, the proposer refuses its
    settings, or cost is capped and a price unknown. Raises JournalError if the journal is faulty, SandboxError if the
    sandbox does not start.
    """
    settings, task, folder = launch.settings, launch.task, launch.folder
    refuse_another_run(source, settings, task)
    await asyncio.to_thread(refuse_unpriced, settings)
    with folder.created():
        launch.write_files()
        copy_journal(source.journal, folder.journal)
        # the copy is examined, as a run that goes on could ask for more after it was examined and before it is copied
        refuse_spent(source.run, folder, settings.budget)
        await asyncio.to_thread(refuse_incomparable, folder, settings, task)
        if has_other_task(folder, settings, task):
            async with launch.judge() as judge:
                await refuse_rescored(source, folder, judge)
        async with launch.journal() as journal:
            provenance = run_provenance(launch.settings, launch.task)
            await journal.append([RunForked(source.run, launch.settings.flat(), provenance)])
        launch.folder.note(f"forked from {source.run}")
    async with resumed_search(launch) as search:
        yield search


def _fold(folder: RunFolder, search: Search, before: Activity) -> None:
    """Apply all events of a run's journal to its search and to the time that it has been active."""
    for _, at, event in read_events(folder.journal):
        before.take(at, event)
        search.fold(event)


def wired(
    settings: Settings,
    task: Task,
    proposer: Responder,
    judge: Judge,
    journal: Journal,
    caps: Caps,
    observe: Observe = lambda event, state: None,
    requests: Requests | None = None,
    method: Method[Any] | None = None,
) -> Search:
    """Return a search that has no events yet and is not running; every search is put together here.

    `observe` is called with each event after its commit, and the state. `requests` counts requests under way; None
    makes a count that nobody else reads. `method` decides in place of the one that the settings name; None for that
    one. Raises UsageError if the method or the proposer is not installed, or if the prompts' wording cannot be loaded.
    """
    writer = proposer_type(settings.proposer)
    chosen = method or method_of_run(settings, task)
    return Search(
        task=task,
        rules=Rules.of(settings),
        caps=caps,
        method=chosen,
        proposer=PricedProposer(proposer, PriceList(writer.endpoint()).cost if writer.costs_money else None),
        judge=judge,
        journal=journal,
        behaviours=Behaviours.of_run(settings, task, chosen.uses_behaviour),
        observe=observe,
        clock_every_s=0.0 if writer.brings_time else chosen.clock_every_s,
        requests=requests,
    )
