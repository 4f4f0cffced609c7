"""The examination of a method: rehearsed searches, and what a run needs to hold of each."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Mapping
from typing import Any

from behavesim.base.config import described
from behavesim.base.errors import BehavesimError
from behavesim.base.finding import PROVOKED, Finding
from behavesim.base.plugins import line_in
from behavesim.methods.installed import method_type
from behavesim.rehearsal.watched import Impure, Watched
from behavesim.rehearsal.world import MemoryJournal, Stop, search
from behavesim.search.loop import Search
from behavesim.state.events import Injected

SMALL: Mapping[str, Any] = {"budget": 60, "window": 8}
SHUFFLES = 4
"""Orders of arrival that must not make a difference."""
STRIDE = 7
"""A run is stopped after every so manieth of its events, and gone on with."""

PUT_IN = tuple(
    Injected(f"{turn}.py", f"def number() -> int:\n    return {number}\n", turn)
    for turn, number in ((5, 3), (27, 2), (28, 13))
)
"""Programs that a person puts in, as may happen to any method: into its beginning, and later; the last one fails."""

FAILED = (*PROVOKED, AssertionError, BehavesimError, Impure)
"""What an examined method may raise, which is a finding and no defect of the examination."""


async def examined(method: str) -> AsyncIterator[Finding]:
    """Examine a method by its name or the path of its file: documented, pure, deterministic, resumable, complete.

    Each finding comes as it is made. Where something fails, what depends on it is left out. Raises UsageError where
    there is no such method.
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
            f"complete{kind}", "ok", f"60 candidates, {whole.state.tally.feasible} feasible, in turn and to the end"
        )
        yield await _deterministic(settings, whole.state.digest(), kind)
        yield await _resumable(settings, whole, kind)


def _documented(method: type) -> Finding:
    silent = [name for name, _, text in described(method.settings_type) if not text]  # type: ignore[attr-defined]
    if not method.__doc__:
        return Finding("documented", "warning", "the class has no docstring, so nobody learns what it does")
    if silent:
        return Finding("documented", "warning", f"no docstring below the setting {silent[0]}")
    return Finding("documented", "ok", method.__doc__.strip().splitlines()[0])


async def _deterministic(settings: Mapping[str, Any], digest: str, kind: str) -> Finding:
    for shuffle in range(SHUFFLES):
        other = await _searched(MemoryJournal(), settings, random.Random(shuffle))
        if other.state.digest() != digest:
            return Finding(
                f"deterministic{kind}",
                "mend",
                "another order of arrival makes another run: decide by the state alone, draw from "
                "self.generator(number), and look at no outcome of a candidate that is still open",
            )
    return Finding(f"deterministic{kind}", "ok", f"the same run in {SHUFFLES} orders of arrival")


async def _resumable(settings: Mapping[str, Any], whole: Search, kind: str) -> Finding:
    journal = MemoryJournal()
    await _searched(journal, settings)
    events = len(journal.rows)
    for k in range(3, events, STRIDE):
        broken = MemoryJournal()
        broken.die_after = k
        try:
            await _searched(broken, settings, random.Random(k))
        except Stop:
            broken.die_after = None
        resumed = await _searched(broken, settings, random.Random(-k))
        if resumed.state.digest() != whole.state.digest():
            advice = "keep nothing in attributes, a resumed run has the state alone"
            return Finding(f"resumable{kind}", "mend", f"stopped after event {k}, it goes on otherwise: {advice}")
    return Finding(
        f"resumable{kind}", "ok", f"stopped at every {STRIDE}th of {events} events, it goes on as if never stopped"
    )


async def _searched(journal: MemoryJournal, settings: Mapping[str, Any], delay: random.Random | None = None) -> Search:
    """A search that has run to its end under watch."""
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
