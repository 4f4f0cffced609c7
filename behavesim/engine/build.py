"""Turns settings into a search: opens its journal, proposer and sandbox, puts them together and closes them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from behavesim.base.config import Settings
from behavesim.base.errors import TaskError
from behavesim.base.heartbeat import Heartbeat
from behavesim.base.notices import Notices
from behavesim.engine.admission import (
    refuse_another_run,
    refuse_changes,
    refuse_incomparable,
    refuse_unpriced,
    refuse_unsteady,
    refuse_unsuited,
    run_provenance,
)
from behavesim.engine.caps import Caps
from behavesim.engine.due import Rules
from behavesim.engine.loop import Search, Show
from behavesim.engine.settings import settings_from_journal
from behavesim.methods.installed import method
from behavesim.programs.hashing import program_hash
from behavesim.proposers.installed import argument, keeps_requests, proposer, proposer_type
from behavesim.proposers.price_list import PriceList, name_of_list
from behavesim.proposers.prices import Prices
from behavesim.proposers.proposer import Errand, Proposer
from behavesim.proposers.weighing import Weighing
from behavesim.sandbox import Limits, Pool, SandboxJudge
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import (
    TEMPLATE,
    ClockRead,
    Evaluated,
    Event,
    Injected,
    RunForked,
    RunResumed,
    RunStarted,
)
from behavesim.state.protocols import Journal, Judge, Responder
from behavesim.state.requests import Requests
from behavesim.state.verdict import Failure
from behavesim.store.activity import Activity
from behavesim.store.folder import RunFolder
from behavesim.store.journal import SqliteJournal
from behavesim.store.reading import read_events
from behavesim.store.run_files import RunFiles
from behavesim.store.upgrade import copy_journal
from behavesim.task import Split, Task, TaskReference, instances_of


@dataclass(frozen=True)
class Launch:
    """What a session of a run starts from: its settings, its task, its folder and one clock."""

    settings: Settings
    task: Task
    folder: RunFolder
    brought: tuple[Injected | ClockRead, ...] = ()
    """Events that a new run begins with: programs that people gave, and clock readings of the run that it replays."""

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

    def journal(self) -> SqliteJournal:
        """Return the run's journal, not opened yet."""
        return SqliteJournal(self.folder.journal, steady=self.clock, notes=self.notices)

    def search(self, proposer: Responder, judge: Judge, journal: Journal, before: Activity | None = None) -> Search:
        """Return the session's search without its events; `before` is the time that earlier sessions took."""
        caps = Caps.of(self.settings, Prices.named(self.settings.prices).cost, self.clock, before)
        files = RunFiles(self.folder, self.notices)
        return wired(self.settings, self.task, proposer, judge, journal, caps, files, self.requests)


@asynccontextmanager
async def new_search(launch: Launch) -> AsyncIterator[Search]:
    """Yield the search of a new run: its template is evaluated, its folder made and its journal begun.

    The folder is made last, so that a refused run leaves nothing behind. Raises TaskError if the template fails, its
    behaviour cannot be compared or the instances differ when made again. Raises UsageError if the folder cannot be
    made, or if cost is capped and a price is unknown.
    """
    # before anything uses the instances, as it will be when the run is resumed
    origin = run_provenance(launch.settings, launch.task)
    refuse_unsteady(launch.task, origin["instances"])
    if launch.settings.recommend:
        instances_of(launch.task, "validation")  # refused now, if at all, and not when the search is paid for
    await asyncio.to_thread(refuse_unpriced, launch.settings)  # which loads the price list
    async with AsyncExitStack() as stack:
        proposer = await stack.enter_async_context(_proposer(launch))
        judge = await stack.enter_async_context(judging(launch.settings, launch.task, clock=launch.clock))
        template = await evaluated_template(launch.task, judge)
        await asyncio.to_thread(refuse_unsuited, launch.settings, launch.task, template)
        started = RunStarted(launch.settings.flat(), origin, judge.isolation)
        with launch.folder.created():
            stack.enter_context(launch.folder.locked())
            launch.folder.keep_task(launch.settings.task)
            launch.folder.write_settings(launch.settings.flat())
            journal = await stack.enter_async_context(launch.journal())
            beginning: list[Event] = [started, template, *launch.brought]
            await journal.append(beginning)
        search = launch.search(proposer, judge, journal)
        for event in beginning:
            search.fold(event)
        yield search


@asynccontextmanager
async def resumed_search(launch: Launch) -> AsyncIterator[Search]:
    """Yield the search of a run as its journal left it; raises UsageError if its task or a fixed setting changed."""
    async with AsyncExitStack() as stack:
        stack.enter_context(launch.folder.locked())
        journal = await stack.enter_async_context(launch.journal())
        refuse_changes(launch.folder, launch.settings, launch.task)
        await asyncio.to_thread(refuse_unpriced, launch.settings)
        connections = settings_from_journal(launch.folder.read_settings()).connections
        launch.folder.keep_task(launch.settings.task)
        launch.folder.write_settings(launch.settings.flat())
        proposer = await stack.enter_async_context(_proposer(launch))
        pool = sandbox(launch.settings, launch.task, clock=launch.clock)
        before = Activity()
        search = launch.search(proposer, SandboxJudge(launch.task, "search", pool), journal, before)
        folding = asyncio.to_thread(_fold, launch.folder, search, before)  # while the sandbox loads its libraries
        await asyncio.gather(stack.enter_async_context(pool), folding)
        again = tuple(number for number, candidate in search.state.open.items() if candidate.reply is None)
        notes = tuple(note.asked.number for note in search.state.awaited_notes)
        lost = search.state.under_way
        if not proposer.costs_money or keeps_requests(launch.settings):
            lost = 0
        elif lost is None:  # as after a kill: then at most
            lost = min(len(again) + len(notes), connections)
        try:
            await search.record(RunResumed(again, pool.isolation, lost, name_of_list(), notes))
        except asyncio.CancelledError:  # it is committed all the same, and must not look like a killed session
            search.stop("interrupted")
            await search.run()
            raise
        yield search


@asynccontextmanager
async def forked_search(launch: Launch, source: RunFolder) -> AsyncIterator[Search]:
    """Yield the search of a new run that begins with a copy of the journal of `source` and has other settings.

    Raises UsageError if something changed that a fork must keep, such as its task, or if a program that it takes over
    cannot be compared.
    """
    refuse_another_run(source, launch.settings, launch.task)
    await asyncio.to_thread(refuse_incomparable, source, launch.settings, launch.task)
    await asyncio.to_thread(refuse_unpriced, launch.settings)
    with launch.folder.created():
        launch.folder.keep_task(launch.settings.task)
        launch.folder.write_settings(launch.settings.flat())
        copy_journal(source.journal, launch.folder.journal)
        async with launch.journal() as journal:
            provenance = run_provenance(launch.settings, launch.task)
            await journal.append([RunForked(source.run, launch.settings.flat(), provenance)])
    async with resumed_search(launch) as search:
        yield search


def _fold(folder: RunFolder, search: Search, before: Activity) -> None:
    """Take all events of a run's journal into its search and into the time that it has been active."""
    for _, at, event in read_events(folder.journal):
        before.take(at, event)
        search.fold(event)


def sandbox(settings: Settings, task: Task, split: Split = "search", clock: Heartbeat | None = None) -> Pool:
    """Return the sandbox of a run for the instances of a split, not entered yet."""
    return Pool(
        TaskReference(settings.task),
        split,
        settings.workers,
        Limits.of(settings).on(task, split),
        allow_weak_isolation=settings.allow_weak_isolation,
        clock=clock,
    )


@asynccontextmanager
async def judging(
    settings: Settings, task: Task, split: Split = "search", clock: Heartbeat | None = None
) -> AsyncIterator[SandboxJudge]:
    """Yield a judge of programs on the instances of a split, with its sandbox, under the limits of the settings."""
    async with sandbox(settings, task, split, clock) as pool:
        yield SandboxJudge(task, split, pool)


async def evaluated_template(task: Task, judge: Judge) -> Evaluated:
    """Evaluate the template; return the event for it. Raises TaskError if it fails."""
    verdict = await judge.evaluate(task.template)
    if isinstance(verdict, Failure):
        said = f"task {task.name!r} fails with its template ({verdict.reason}): {verdict.message}"
        advice = "; look for a loop without end in `solve` or the template, or raise timeout_s"
        raise TaskError(said + (advice if verdict.reason == "timeout" else ""))
    return Evaluated(
        TEMPLATE,
        task.template,
        verdict.score,
        verdict.scores,
        verdict.trajectories,
        program_hash=program_hash(task.template),
        cpu_s=verdict.cpu_s,
    )


def wired(
    settings: Settings,
    task: Task,
    proposer: Responder,
    judge: Judge,
    journal: Journal,
    caps: Caps,
    show: Show = lambda event, state: None,
    requests: Requests | None = None,
) -> Search:
    """Return a search that has no events yet and is not running; every search is put together here."""
    writer = proposer_type(settings.proposer)
    chosen = method(settings, task, writer.writes_text)
    return Search(
        task=task,
        rules=Rules.of(settings),
        caps=caps,
        method=chosen,
        proposer=Weighing(proposer, PriceList(writer.endpoint()).cost if writer.costs_money else None),
        judge=judge,
        journal=journal,
        behaviours=Behaviours.of_run(settings, task) if chosen.needs_behaviour else None,
        show=show,
        clock_every_s=0.0 if writer.brings_time else chosen.clock_every_s,
        requests=requests,
    )


def _proposer(launch: Launch) -> Proposer[Any]:
    settings = launch.settings
    errand = Errand(
        launch.task,
        settings.seed,
        settings.connections,
        argument(settings.proposer),
        launch.folder.path.parent,
        launch.notices,
        launch.clock,
        launch.requests,
    )
    return proposer(settings, errand)
