"""Verification of a whole run: its events, and the recommended programs and portfolios."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace

from behavesim.analysis.recommendation import recommend
from behavesim.analysis.run import Run
from behavesim.application.recommendation import choose_portfolio
from behavesim.audit.audit import Discrepancy, discrepancy
from behavesim.audit.verify import OPENINGS, Verification, verify
from behavesim.engine.build import judging
from behavesim.state.events import PortfolioChosen, Recommended, RunForked, RunStarted
from behavesim.state.protocols import Judge
from behavesim.store.database import count_registered
from behavesim.store.folder import RunFolder
from behavesim.store.reading import read_events
from behavesim.task import Task, instances_of

Choice = Recommended | PortfolioChosen


async def verified(
    folder: RunFolder,
    workers: int = 1,
    progress: Callable[[int, int], None] = lambda done, total: None,
    sample: int | None = None,
) -> Verification:
    """Verify a run's events, then repeat its recommendations and choices of portfolios and compare the results.

    `workers` is the number of sandbox workers; `progress` gets the numbers of finished and of all steps. With `sample`,
    a number of candidates, choices are not repeated, since they depend on all candidates. Raises what `verify` raises.
    """
    found = await verify(folder, workers, progress, sample)
    if not found.damage and not found.is_lost and sample is None:
        found.differences += [each async for each in _differences(folder, workers, found)]
        found.differences.sort(key=lambda each: each.seq)
    return found


async def _differences(folder: RunFolder, workers: int, found: Verification) -> AsyncIterator[Discrepancy]:
    """Yield the choices that do not follow from the events before them.

    If the run changed its task, choices are only counted as unchecked.
    """
    openings = [event for _, _, event in read_events(folder.journal, only=OPENINGS) if isinstance(event, OPENINGS)]
    choices = list(read_events(folder.journal, only=(Recommended, PortfolioChosen)))
    if any(_task_of(event) != _task_of(openings[-1]) for event in openings):
        found.unchecked["chosen in a run that changed its task"] += len(choices)
        return
    for seq, _, event in choices:
        assert isinstance(event, Choice), "only choices are read"
        if difference := discrepancy(seq, await _again(folder, workers, seq, event, found), event):
            yield difference


def _task_of(event: RunStarted | RunForked) -> list[str | None]:
    return [event.provenance.get(key) for key in ("task", "instances")]


async def _again(folder: RunFolder, workers: int, seq: int, event: Choice, found: Verification) -> Choice:
    """Repeat a choice from the events before it; a portfolio of several runs is counted as unchecked and returned."""
    if isinstance(event, PortfolioChosen) and event.others:
        found.unchecked["portfolio of several runs"] += 1
        return event
    found.decisions += 1
    earlier = ((at, each) for k, at, each in read_events(folder.journal) if k < seq and not isinstance(each, Choice))
    run = Run(folder, earlier, count_registered(folder.journal))
    task = run.task()
    if not len(instances_of(task, "validation")):
        return await _chosen(run, task, event, None)
    settings = folder.with_task_at_hand(run.settings).model_copy(update={"workers": workers})
    async with judging(settings, task, "validation") as judge:
        return await _chosen(run, task, event, judge)


async def _chosen(run: Run, task: Task, event: Choice, judge: Judge | None) -> Choice:
    if isinstance(event, PortfolioChosen):
        again = await choose_portfolio(run, (), event.wanted, judge)
        name = event.programs[0][0] if event.programs else ""  # the run may have been forked or moved since
        return replace(again, programs=tuple((name, candidate) for _, candidate in again.programs))
    return Recommended(None, {}) if judge is None else await recommend(run, judge)
