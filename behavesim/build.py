"""The one place where settings become a search: adapters are chosen, wired and taken down here."""

from __future__ import annotations

import hashlib
import pickle
import platform
import sys
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from behavesim.caps import Caps
from behavesim.config import Settings, differences
from behavesim.errors import TaskError, UsageError
from behavesim.events import Evaluated, Event, Recommended, Responded, RunResumed, RunStarted
from behavesim.methods.choice import compares, method
from behavesim.protocols import Failure, Proposer
from behavesim.sandbox import Judge, Limits, Pool
from behavesim.search import Search
from behavesim.similarity.behaviours import Behaviours
from behavesim.state import TEMPLATE
from behavesim.store.folder import RunFolder
from behavesim.store.journal import SqliteJournal, read_events
from behavesim.store.keeper import Keeper
from behavesim.task import Task, TaskReference

if TYPE_CHECKING:
    from behavesim.proposers.openai import Sampling


@dataclass(frozen=True)
class Launch:
    """What a run is launched with: its settings, its task and its folder."""

    settings: Settings
    task: Task
    folder: RunFolder


@asynccontextmanager
async def new_search(launch: Launch) -> AsyncIterator[Search]:
    """A search at its first ticket: the template has been evaluated, the folder made, the journal begun.

    The folder is made last, so that whatever is refused leaves nothing behind. Raises TaskError where the template
    fails, UsageError where the folder cannot be made.
    """
    async with AsyncExitStack() as stack:
        proposer = await _proposer(launch, stack)
        pool = await stack.enter_async_context(sandbox(launch.settings))
        judge = Judge(launch.task, "search", pool)
        template = await evaluated_template(launch.task, judge)
        launch.folder.create()
        stack.enter_context(launch.folder.locked())
        launch.folder.write_settings(launch.settings)
        journal = await stack.enter_async_context(SqliteJournal(launch.folder.journal))
        started = RunStarted(launch.settings.model_dump(mode="json"), fingerprint(launch.task), pool.isolation)
        await journal.append([started, template])
        search = _wired(launch, proposer, judge, journal)
        search.fold(started)
        search.fold(template)
        yield search


@asynccontextmanager
async def resumed_search(launch: Launch) -> AsyncIterator[Search]:
    """A search as its journal left it; raises UsageError where the task or the settings are not those of the run."""
    async with AsyncExitStack() as stack:
        stack.enter_context(launch.folder.locked())
        journal = await stack.enter_async_context(SqliteJournal(launch.folder.journal))
        events = [pair async for pair in journal.read()]
        _refuse_changes(launch, events[0][1] if events else None)
        proposer = await _proposer(launch, stack)
        pool = await stack.enter_async_context(sandbox(launch.settings))
        search = _wired(launch, proposer, Judge(launch.task, "search", pool), journal, active_s(events))
        for _, event in events:
            search.fold(event)
        again = tuple(ticket for ticket, candidate in search.state.open.items() if candidate.reply is None)
        await search.record(RunResumed(again, pool.isolation))
        yield search


def fingerprint(task: Task) -> dict[str, str]:
    """What a run's results depend on beside its settings; resume and verify compare `task`, `instances`, `template`."""
    module = sys.modules[type(task).__module__]
    source = Path(str(module.__file__)).read_bytes()
    return {
        "task": hashlib.sha256(source).hexdigest(),
        "instances": hashlib.sha256(pickle.dumps(task.instances("search"), protocol=4)).hexdigest(),
        "template": hashlib.sha256(task.template.encode()).hexdigest(),
        "direction": task.objective.direction,
        "best_known": "" if task.objective.best_known is None else repr(task.objective.best_known),
        "behavesim": version("behavesim"),
        "numpy": version("numpy"),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
    }


def active_s(events: list[tuple[float, Event]]) -> float:
    """Seconds a run has been active over all its sessions: the pauses between them do not count."""
    total, begun, last = 0.0, None, 0.0
    for at, event in events:
        if isinstance(event, RunStarted | RunResumed):
            total, begun = total + (last - begun if begun is not None else 0.0), at
        last = last if isinstance(event, Recommended) else at
    return total + (last - begun if begun is not None else 0.0)


def sandbox(settings: Settings) -> Pool:
    """The sandbox of a run, not entered yet."""
    return Pool(
        TaskReference(settings.task),
        "search",
        settings.workers,
        Limits(settings.timeout_s, settings.memory_mb, settings.output_mb),
        allow_weak_isolation=settings.allow_weak_isolation,
    )


async def evaluated_template(task: Task, judge: Judge) -> Evaluated:
    """The template as the archive's first program; raises TaskError where it fails."""
    verdict = await judge.evaluate(task.template)
    if isinstance(verdict, Failure):
        raise TaskError(f"the template of task {task.name!r} fails ({verdict.reason}): {verdict.message}")
    return Evaluated(TEMPLATE, task.template, verdict.score, verdict.scores, verdict.trajectories, cpu_s=verdict.cpu_s)


def _wired(
    launch: Launch, proposer: Proposer, judge: Judge, journal: SqliteJournal, active_before_s: float = 0.0
) -> Search:
    settings, task = launch.settings, launch.task
    known = behaviours(settings, task)
    return Search(
        task=task,
        window=settings.window,
        repairs=settings.repair,
        caps=_caps(settings, active_before_s),
        method=method(settings, task, known),
        proposer=proposer,
        judge=judge,
        journal=journal,
        behaviours=known,
        show=Keeper(launch.folder),
    )


def _caps(settings: Settings, active_before_s: float) -> Caps:
    from behavesim.proposers.prices import Prices

    prices = Prices.extended(settings.prices)
    unpriced = [model for model in settings.models if prices.of(model) is None]
    if settings.max_cost_usd is not None and settings.proposer == "openai" and unpriced:
        raise UsageError(f"--max-cost cannot hold: the price of {', '.join(unpriced)} is unknown; name it in `prices`")
    return Caps(
        settings.budget,
        prices.cost,
        settings.max_calls,
        settings.max_tokens,
        settings.max_cost_usd,
        settings.max_time_s,
        active_before_s,
        since=time.monotonic(),
    )


def behaviours(settings: Settings, task: Task) -> Behaviours | None:
    """What keeps the behaviours of a run's members; None where its method compares none."""
    if not compares(settings):
        return None
    from behavesim.similarity import BehaveSim

    def measure(clip: bool) -> BehaveSim:
        return BehaveSim(task.normaliser, settings.measure, settings.truncate, settings.skip, clip)

    clips = settings.selection == "dissimilarity"  # S is a similarity in [0, 1] there
    return Behaviours(registration=measure(clip=clips), clipped=measure(clip=True))


async def _proposer(launch: Launch, stack: AsyncExitStack) -> Proposer:
    settings = launch.settings
    if settings.proposer == "genetic":
        from behavesim.proposers.genetic import GeneticProposer

        return GeneticProposer(launch.task, settings.seed)
    if settings.proposer == "openai":
        from behavesim.proposers.openai import OpenAIProposer, Patience

        patience = Patience(request_s=settings.request_timeout_s)
        proposer = OpenAIProposer(_sampling(settings), settings.connections, patience, launch.folder.note)
        return await stack.enter_async_context(proposer)
    from behavesim.proposers.replay import ReplayProposer

    source = RunFolder.find(launch.folder.path.parent, settings.proposer.removeprefix("replay:"))
    events = (event for _, _, event in read_events(source.journal))
    return ReplayProposer({e.candidate: e.reply for e in events if isinstance(e, Responded)}, source.run)


def _sampling(settings: Settings) -> Sampling:
    from behavesim.proposers.openai import Sampling

    return Sampling(
        settings.models,
        settings.seed,
        settings.temperature,
        settings.max_completion_tokens,
        settings.reasoning_effort,
        settings.system_prompt,
        settings.extra_body,
    )


def _refuse_changes(launch: Launch, first: Event | None) -> None:
    if not isinstance(first, RunStarted):
        raise UsageError(f"the journal of run {launch.folder.run} does not begin with its settings; nothing to resume")
    now = fingerprint(launch.task)
    changed = [key for key in ("task", "instances", "template") if now[key] != first.fingerprint.get(key)]
    if changed:
        raise UsageError(f"cannot resume {launch.folder.run}: its {' and '.join(changed)} changed since it was started")
    recorded = Settings.model_validate(dict(first.settings))
    moved = differences(recorded.model_copy(update={"budget": launch.settings.budget}), launch.settings)
    if moved or launch.settings.budget < recorded.budget:
        moved = moved or {"budget": (recorded.budget, launch.settings.budget)}
        listed = ", ".join(f"{key} was {then!r} and is {now!r}" for key, (then, now) in moved.items())
        raise UsageError(f"cannot resume {launch.folder.run}: {listed}; put it back, or start a new run")
