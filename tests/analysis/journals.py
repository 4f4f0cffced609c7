"""Runs as their journals tell them, written event by event: what a search would have recorded, without one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from behavesim.analysis.run import Run
from behavesim.base.tokens import Usage
from behavesim.engine.admission import settings_from_person
from behavesim.state.events import (
    Added,
    Asked,
    Evaluated,
    Event,
    NotAdded,
    Prompt,
    Recommended,
    Regrouped,
    Rejected,
    Reply,
    Responded,
    RunStarted,
    RunStopped,
)
from behavesim.store.journal import SqliteJournal
from behavesim.trajectory import Trajectory

PROVENANCE = {"task": "1", "instances": "2", "template": "3", "direction": "minimise", "best_known": "2.0"}
"""Of a task whose best is known to be 2."""


def started(provenance: dict[str, str] | None = None, **settings: Any) -> list[Event]:
    """The beginning of a run of tsp on two islands, with the template, which scores 10."""
    given = {"task": "tsp", "budget": 20, "method": "funsearch", "seed": 7, **settings}
    dumped = settings_from_person(given).flat()
    template = Evaluated(-1, "template", 10.0, (10.0,), (Trajectory.prefixes([0, 1, 2, 3]),))
    return [RunStarted(dumped, provenance or PROVENANCE, "strong"), template]


def asked(candidate: int, parents: Sequence[int] = (), usage: Usage | None = None, model: str = "m") -> list[Event]:
    """A candidate that was asked for and answered."""
    calls = () if usage is None else (usage,)
    return [Asked(candidate, tuple(parents), None, Prompt("improve it", "improve")), answered(candidate, calls, model)]


def answered(candidate: int, calls: tuple[Usage, ...] = (), model: str = "m") -> Event:
    """A reply to it."""
    return Responded(candidate, Reply("a reply", model, calls))


def feasible(
    candidate: int,
    score: float,
    *tours: Sequence[int],
    island: int | None = 0,
    source: str | None = None,
    program: str | None = None,
    scores: tuple[float, ...] | None = None,
) -> list[Event]:
    """A candidate with a score, which joined an island, or none; programs of one normal form have one `program`."""
    done = tuple(Trajectory.prefixes(list(tour)) for tour in tours or [[0, 1, 2, 3]])
    text = f"source {candidate}" if source is None else source
    name = f"program {candidate}" if program is None else program
    evaluated = Evaluated(candidate, text, score, scores or (score,) * len(done), done, "a thought", name)
    return [*asked(candidate), evaluated, NotAdded(candidate) if island is None else Added(candidate, str(island))]


def tuned(parent: int, added: list[Event]) -> list[Event]:
    """The events of `feasible` as those of a candidate that is its parent with other numbers."""
    first, *rest = added
    assert isinstance(first, Asked)
    return [replace(first, parents=(parent,), prompt=Prompt("", "tune")), *rest]


def rejected(candidate: int, reason: str, message: str = "", stage: Any = "evaluation") -> list[Event]:
    """A candidate that came to nothing."""
    return [*asked(candidate), Rejected(candidate, stage, reason, message, "its source"), NotAdded(candidate)]


def told(events: list[Event], feedback: str = "", **metrics: float | str) -> list[Event]:
    """The events with these metrics and this feedback in the outcome."""
    return [
        replace(each, metrics=metrics, feedback=feedback) if isinstance(each, Evaluated | Rejected) else each
        for each in events
    ]


def recommended(choice: int | None, **validation: float | None) -> list[Event]:
    """The choice on validation instances: candidates as `c3=1.5`, None where one failed."""
    return [Recommended(choice, {int(name[1:]): score for name, score in validation.items()})]


def clustered(*islands: Sequence[int]) -> list[Event]:
    """The programs of each island from here on."""
    return [Regrouped({str(number): tuple(members) for number, members in enumerate(islands)})]


def stopped(reason: str) -> list[Event]:
    """The end of a session."""
    return [RunStopped(reason)]


def journalled(folder: Path, *parts: Iterable[Event], seconds: Iterator[float] | None = None) -> Run:
    """The run of some events, which come a second after one another unless `seconds` says when."""
    write(folder, *parts, seconds=seconds)
    return Run.load(folder)


def write(folder: Path, *parts: Iterable[Event], seconds: Iterator[float] | None = None) -> None:
    """Write events to the folder's journal, behind those that stand there."""
    folder.mkdir(parents=True, exist_ok=True)
    clock = iter(range(1_000_000)) if seconds is None else seconds

    async def appended() -> None:
        async with SqliteJournal(folder / "run.db", wall=lambda: 0.0, steady=lambda: float(next(clock))) as journal:
            for event in chain.from_iterable(parts):
                await journal.append([event])

    asyncio.run(appended())
