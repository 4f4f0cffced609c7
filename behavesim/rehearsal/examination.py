"""Examines a method: rehearses searches, and checks what a run needs of its method."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from behavesim.base.config import described
from behavesim.base.errors import BehavesimError
from behavesim.base.finding import PROVOKED, Finding
from behavesim.base.plugins import docstring, file_of, line_in
from behavesim.base.text_file import read_text_file
from behavesim.engine.loop import Search
from behavesim.methods.installed import method_type
from behavesim.methods.method import Method
from behavesim.rehearsal.watched import Impure, Watched
from behavesim.rehearsal.world import MemoryJournal, Stop, search
from behavesim.state.events import Injected

SMALL: Mapping[str, Any] = {"budget": 60, "window": 8}
"""Settings of a rehearsed search: enough for many decisions, and it takes less than a second."""
SHUFFLES = 4
"""Number of random orders of arrival in which the search must come out the same."""
STRIDE = 7
"""Number of events from one stop of a search to the next; 1 would try every event, but takes long."""

INJECTED_PROGRAMS = tuple(
    Injected(f"{turn}.py", f"def number() -> int:\n    return {number}\n", turn)
    for turn, number in ((5, 3), (27, 2), (28, 13))
)
"""Programs that are injected at the start, to become candidates 5, 27 and 28; the last one fails in the `ToyJudge`."""

MARK = "CHANGE: "
"""What stands in a new method's file wherever its author has something to say."""

FAILED = (*PROVOKED, AssertionError, BehavesimError, Impure)
"""Exceptions of an examined method that become the finding `complete`; others are raised."""


async def examined(method: str) -> AsyncIterator[Finding]:
    """Examine a method, given by its name or the path of its file, and yield each finding as it is made.

    The findings are `documented`, `complete`, `deterministic` and `resumable`; after a failure of `complete` there are
    no others. For a method that asks for notes the last three come once more, named with ", without texts", as if the
    proposer wrote none. Raises UsageError if there is no such method. If the method raises one of FAILED in the search
    for `complete`, that becomes the finding; whatever else it raises is raised.
    """
    found, rehearsed = method_type(method), f"a search of {SMALL['budget']} candidates"
    yield _documented(found)
    for proposer in ("replay:toy", "genetic") if found.asks_notes else ("replay:toy",):
        settings = {**SMALL, "method": method, "proposer": proposer}
        kind = ", without texts" if proposer == "genetic" else ""
        journal = MemoryJournal()
        try:
            whole = await _searched(journal, settings)
        except FAILED as error:
            line = line_in(file_of(found), error)
            where = "" if line is None else f", in line {line}"
            yield Finding(f"complete{kind}", "mend", f"{rehearsed} fails: {_said(error)}{where}")
            return
        ended = f"{rehearsed} ends, {whole.state.tally.feasible} of them feasible"
        yield Finding(f"complete{kind}", "ok", ended)
        digest = whole.state.digest()
        yield await _deterministic(settings, digest, kind)
        yield await _resumable(settings, digest, len(journal.rows), kind)


def _documented(method: type[Method[Any]]) -> Finding:
    """Return a finding on whether the class of a method and all its settings have docstrings; a warning if not.

    It is a warning too if the file still has a mark of the example that `method init` copies.
    """
    silent = [name for name, _, text in described(method.settings_type) if not text]
    if not (said := docstring(method)):
        missing = "the class has no docstring; write one that says what the method does"
    elif silent:
        missing = f"the setting {silent[0]} has no docstring below it; write one that says what it sets"
    elif line := _unfinished(file_of(method)):
        missing = f"line {line} still says CHANGE, as a new file does; say there what yours does"
    else:
        return Finding("documented", "ok", said.splitlines()[0])
    return Finding("documented", "warning", missing)


def _unfinished(file: Path) -> int | None:
    """Return the number of the first line of a file with MARK; None if there is none."""
    lines = read_text_file(file, "method").splitlines()
    return next((number for number, line in enumerate(lines, 1) if MARK in line), None)


async def _deterministic(settings: Mapping[str, Any], digest: str, kind: str) -> Finding:
    """Return a finding on whether the search has this digest with replies in other orders; `kind` ends its name."""
    for shuffle in range(SHUFFLES):
        other = await _searched(MemoryJournal(), settings, random.Random(shuffle))
        if other.state.digest() != digest:
            advice = (
                "decide by the state alone, draw from self.generator(number), and do not read outcomes of candidates "
                "that are still open"
            )
            return Finding(f"deterministic{kind}", "mend", f"replies in another order make another run: {advice}")
    return Finding(f"deterministic{kind}", "ok", f"the same run with replies in {SHUFFLES} orders")


async def _resumable(settings: Mapping[str, Any], digest: str, events: int, kind: str) -> Finding:
    """Return a finding on whether the search has this digest also if it is stopped once and resumed.

    This is tried with a stop after event 3 and every STRIDEth after it; the search has `events` of them. `kind` ends
    the finding's name.
    """
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
        if resumed.state.digest() != digest:
            advice = "keep nothing in attributes, since a resumed run has the state alone"
            return Finding(f"resumable{kind}", "mend", f"stopped after event {k}, it makes another run: {advice}")
    said = f"stopped after every {STRIDE}th of {events} events, it makes the same run"
    return Finding(f"resumable{kind}", "ok", said)


async def _searched(journal: MemoryJournal, settings: Mapping[str, Any], delay: random.Random | None = None) -> Search:
    """Run a search, new or as its journal left it, with the method watched, and return it.

    `delay` draws how long replies and judgements take, None for equal times. Raises Stop where the journal does, Impure
    if a decision changes something or is not the same when repeated, and what the method raises.
    """
    # the journal may stop the search only after the template and a person's programs are in: no run begins without
    last, journal.die_after = journal.die_after, None
    rehearsed = await search(journal, settings, delay)
    if not rehearsed.state.brought_names:
        await rehearsed.record(*INJECTED_PROGRAMS)
    journal.die_after = last
    rehearsed.method = Watched(rehearsed.method)
    await rehearsed.run()
    return rehearsed


def _said(error: BaseException) -> str:
    """Return an error's message; with the error's type where a method's mistake rather than a check raised it."""
    return f"{type(error).__name__}: {error}" if isinstance(error, PROVOKED) else str(error) or type(error).__name__
