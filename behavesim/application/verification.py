"""Verification of a whole run: its events, and the recommended programs and portfolios."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import get_args

from behavesim.analysis.run import Run
from behavesim.application.portfolio import choose_portfolio
from behavesim.application.recommendation import next_choice, race_under_way, validating
from behavesim.audit.audit import Discrepancy, discrepancy
from behavesim.audit.verify import OPENINGS, Verification, verify
from behavesim.engine.build import start_shared_cluster
from behavesim.state.events import Event, FreshBegun, FreshScored, PortfolioChosen, Recommended, RunForked, RunStarted
from behavesim.store.database import count_registered
from behavesim.store.folder import RunFolder
from behavesim.store.reading import read_events

# An event that records which programs were chosen after a search, or how.
Choice = FreshBegun | FreshScored | Recommended | PortfolioChosen


async def verify_runs(
    folder: RunFolder,
    workers: int | str = 1,
    progress: Callable[[int, int], None] = lambda done, total: None,
    sample: int | None = None,
) -> Verification:
    """Verify a run's events, then repeat its recommendations and choices of portfolios and compare the results.

    `workers` is the number of programs run at once, or a cluster's name. `progress` is called with the numbers of
    events checked so far and of all events. `sample` is the number of candidates that are checked; None means all.
    Choices depend on all candidates, so they are not repeated with a sample, or if the journal is damaged. Raises what
    `verify` raises.
    """
    async with start_shared_cluster(workers):
        found = await verify(folder, workers, progress, sample)
        if not found.damage and not found.is_lost and sample is None:
            found.differences += [each async for each in _compare_choices(folder, workers, found)]
            found.differences.sort(key=lambda each: each.seq)
    return found


async def _compare_choices(folder: RunFolder, workers: int | str, found: Verification) -> AsyncIterator[Discrepancy]:
    openings = [event for _, _, event in read_events(folder.journal, only=OPENINGS) if isinstance(event, OPENINGS)]
    choices = list(read_events(folder.journal, only=get_args(Choice)))
    if any(_task_of(event) != _task_of(openings[-1]) for event in openings):
        # the task of earlier choices is gone: repeating them with today's would accuse an honest run
        found.unchecked["chosen in a run that changed its task"] += len(choices)
        return
    for seq, _, event in choices:
        assert isinstance(event, Choice), "only choices are read"
        if isinstance(event, FreshBegun):
            found.fresh = 0
        found.fresh += event.count if isinstance(event, FreshScored) else 0
        if difference := discrepancy(seq, await _choose_again(folder, workers, seq, event, found), event):
            yield difference


def _task_of(event: RunStarted | RunForked) -> list[str | None]:
    return [event.provenance.get(key) for key in ("task", "instances")]


def _unchosen(event: Event) -> Event:
    """Return an event, a recommendation without the program that it names: that may be forged."""
    return Recommended(None, {}) if isinstance(event, Recommended) else event


async def _choose_again(folder: RunFolder, workers: int | str, seq: int, event: Choice, found: Verification) -> Choice:
    """Return the choice that follows from the events before event `seq`, and count that in `found`."""
    # A portfolio of several runs is not chosen again: it is counted as unchecked, and returned as recorded.
    if isinstance(event, PortfolioChosen) and event.others:
        found.unchecked["portfolio of several runs"] += 1
        return event
    found.decisions += 1
    earlier = ((at, _unchosen(each)) for k, at, each in read_events(folder.journal) if k < seq)
    run = Run(folder, earlier, count_registered(folder.journal))
    # how many evaluations a race may cost can differ from session to session: it is taken from the journal
    purse = event.purse if isinstance(event, FreshBegun) else 0
    race = race_under_way(run, purse)
    # nothing has to run where a race begins, or is over; in a forged journal one may begin or end before it is
    if purse if race is None else race.next_block() is None:
        return await next_choice(run, run.task(), None, purse)
    async with validating(run, run.task(), workers) as judge:
        if not isinstance(event, PortfolioChosen):
            return await next_choice(run, run.task(), judge, 0)
        again = await choose_portfolio(run, (), event.wanted, judge)
    name = event.programs[0][0] if event.programs else ""  # the run may have been forked or moved since
    return replace(again, programs=tuple((name, candidate) for _, candidate in again.programs))
