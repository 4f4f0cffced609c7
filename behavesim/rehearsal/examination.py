"""Examines a method: rehearses searches, and checks what a run needs of its method."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Mapping
from typing import Any

from behavesim.base.config import described
from behavesim.base.errors import BehavesimError
from behavesim.base.finding import PROVOKED, Finding
from behavesim.base.plugins import docstring, line_in
from behavesim.engine.loop import Search
from behavesim.methods.installed import method_type
from behavesim.rehearsal.watched import Impure, Watched
from behavesim.rehearsal.world import MemoryJournal, Stop, search
from behavesim.state.events import Injected

SMALL: Mapping[str, Any] = {"budget": 60, "window": 8}
"""Settings of a rehearsed search: many decisions, and less than a second."""
SHUFFLES = 4
"""Number of random orders of arrival in which the search must come out the same."""
STRIDE = 7
"""Distance between the events after which a search is stopped and resumed; 1 would try every event, but takes long."""

PUT_IN = tuple(
    Injected(f"{turn}.py", f"def number() -> int:\n    return {number}\n", turn)
    for turn, number in ((5, 3), (27, 2), (28, 13))
)
"""Programs that a person puts into the search: one at its beginning, two later; the last one fails (`ToyJudge`)."""

FAILED = (*PROVOKED, AssertionError, BehavesimError, Impure)
"""What an examined method may raise: it becomes a finding."""


async def examined(method: str) -> AsyncIterator[Finding]:
    """Examine a method, given by its name or the path of its file, and yield each finding as it is made.

    The method must be documented, make a whole search, decide the same in every order of arrival and after a stop. If
    a search fails, what depends on it is left out. Raises UsageError if there is no such method.
    """
    found = method_type(method)
    yield _documented(found)
    for proposer in ("replay:toy", "genetic") if found.asks_notes else ("replay:toy",):
        settings = {**SMALL, "method": method, "proposer": proposer}
        kind = ", without texts" if proposer == "genetic" else ""
        try:
            whole = await _searched(MemoryJournal(), settings)
        except FAILED as error:
            line = line_in(found, error)
            where = "" if line is None else f", in line {line}"
            yield Finding(f"complete{kind}", "mend", f"a search of 60 candidates fails: {_said(error)}{where}")
            return
        yield Finding(
            f"complete{kind}", "ok", f"a search of 60 candidates ends, {whole.state.tally.feasible} of them feasible"
        )
        yield await _deterministic(settings, whole.state.digest(), kind)
        yield await _resumable(settings, whole, kind)


def _documented(method: type) -> Finding:
    silent = [name for name, _, text in described(method.settings_type) if not text]  # type: ignore[attr-defined]
    said = docstring(method)
    if not said:
        return Finding("documented", "warning", "the class has no docstring; write one that says what the method does")
    if silent:
        return Finding(
            "documented",
            "warning",
            f"the setting {silent[0]} has no docstring below it; write one that says what it sets",
        )
    return Finding("documented", "ok", said.splitlines()[0])


async def _deterministic(settings: Mapping[str, Any], digest: str, kind: str) -> Finding:
    for shuffle in range(SHUFFLES):
        other = await _searched(MemoryJournal(), settings, random.Random(shuffle))
        if other.state.digest() != digest:
            return Finding(
                f"deterministic{kind}",
                "mend",
                "replies in another order make another run: decide by the state alone, draw from "
                "self.generator(number), and do not read outcomes of candidates that are still open",
            )
    return Finding(f"deterministic{kind}", "ok", f"the same run with replies in {SHUFFLES} orders")


async def _resumable(settings: Mapping[str, Any], whole: Search, kind: str) -> Finding:
    journal = MemoryJournal()
    await _searched(journal, settings)
    events = len(journal.rows)
    # before the third event there is no run: it has no settings or no template yet
    for k in range(3, events, STRIDE):
        broken = MemoryJournal()
        broken.die_after = k
        try:
            await _searched(broken, settings, random.Random(k))
        except Stop:
            broken.die_after = None
        # other delays than before the stop, since a resumed run gets its replies in another order
        resumed = await _searched(broken, settings, random.Random(-k))
        if resumed.state.digest() != whole.state.digest():
            advice = "keep nothing in attributes, since a resumed run has the state alone"
            return Finding(f"resumable{kind}", "mend", f"stopped after event {k}, it makes another run: {advice}")
    return Finding(
        f"resumable{kind}",
        "ok",
        f"stopped after every {STRIDE}th of {events} events, it makes the same run",
    )


async def _searched(journal: MemoryJournal, settings: Mapping[str, Any], delay: random.Random | None = None) -> Search:
    """Run a search of the watched method to its end, and return it; `delay` draws when replies arrive."""
    # the journal may stop the search only after the template and a person's programs are in: no run begins without
    last, journal.die_after = journal.die_after, None
    rehearsed = await search(journal, settings, delay)
    if not rehearsed.state.injected_names:
        await rehearsed.record(*PUT_IN)
    journal.die_after = last
    rehearsed.method = Watched(rehearsed.method)
    await rehearsed.run()
    return rehearsed


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if isinstance(error, PROVOKED) else str(error) or type(error).__name__
