"""The runs of a folder as they are served: read when somebody looks, and once for all who do."""

from __future__ import annotations

import gzip
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, TypeVar

from behavesim.analysis.comparison import comparison
from behavesim.analysis.glance import glance
from behavesim.analysis.report import report
from behavesim.analysis.run import Run, load_run
from behavesim.analysis.summary import Summary
from behavesim.analysis.table import Table
from behavesim.base.errors import BehavesimError, UsageError
from behavesim.reports.comparison import comparison_tables
from behavesim.reports.page import Document, document
from behavesim.store.database import check_is_current, last_event
from behavesim.store.folder import RunFolder

K = TypeVar("K")
V = TypeVar("V")

RENEW_S = 2.0
"""Seconds for which what was found out is good enough, at least."""
SHARE = 0.2
"""Of a core's time, at most so much is spent on finding one thing out anew."""
HELD = 12
"""Runs held in memory at most, and comparisons: those looked at last."""
COMPARED = 20
"""Runs in one comparison at most."""


@dataclass(frozen=True)
class Snapshot:
    """A run as it was shown last; `version` is another as soon as something is added to the run, or it ends."""

    version: str
    document: Document
    json: bytes
    """The document, gzipped."""


class Renewed(Generic[V]):
    """What a function finds out, or why it cannot, for as long as that is good enough."""

    def __init__(self, find: Callable[[], V]) -> None:
        self._find = find
        self._due = 0.0
        self._found: V | BehavesimError | None = None

    def value(self) -> V:
        """What was found last, or is now; raises the BehavesimError that the function raised."""
        if self._found is None or time.monotonic() >= self._due:
            began = time.thread_time()
            try:
                self._found = self._find()
            except BehavesimError as error:
                self._found = error
            self._due = time.monotonic() + max(RENEW_S, (time.thread_time() - began) / SHARE)
        if isinstance(self._found, BehavesimError):
            raise self._found.with_traceback(None)  # or it would grow with each who asks
        return self._found


class ShownRun:
    """One run and what is shown of it; what it has read before it does not read again."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._run: Run | None = None
        self._document = Renewed(self._snapshot)
        self._last: Snapshot | None = None

    def renew(self) -> Snapshot:
        """The run as it stands, or stood a moment ago; raises BehavesimError where it cannot be read."""
        return self._document.value()

    def _snapshot(self) -> Snapshot:
        check_is_current(self._folder.journal)
        events = last_event(self._folder.journal)
        version = f"{events}{'+' if self._folder.is_running() else ''}"
        if self._last is not None and version == self._last.version:
            return self._last
        if self._run is None or events < len(self._run.events_at):  # it was removed, and another made in its place
            self._run = load_run(self._folder.path)
        else:
            self._run.follow()
        found = document(self._run)
        self._last = Snapshot(version, found, gzip.compress(found.json().encode(), compresslevel=5, mtime=0))
        return self._last


@dataclass(frozen=True)
class Listing:
    """A summary of each run that can be read, and of the others why not; runs by their paths below the folder."""

    summaries: tuple[Summary, ...]
    unreadable: Mapping[str, str]


class Shelf:
    """The runs of a folder, by their paths below it; nothing is written to any of them.

    Its functions may take a while; one is called at a time.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: OrderedDict[str, ShownRun] = OrderedDict()
        self._listing = Renewed(self._list)
        self._comparisons: OrderedDict[tuple[str, ...], Renewed[list[Table]]] = OrderedDict()

    def snapshot(self, name: str) -> Snapshot:
        """The run of that name, held from now on; raises UsageError where there is none, JournalError if damaged."""
        if name not in self._held:
            self._held[name] = ShownRun(self._named(name))
        return _last_used(self._held, name).renew()

    def versions(self) -> dict[str, str]:
        """The versions of the runs held, those that changed read anew; what cannot be read is left out."""
        found = {}
        for name, run in self._held.items():
            with suppress(BehavesimError):
                found[name] = run.renew().version
        return found

    def listing(self) -> Listing:
        """All runs, those of experiments included: first those that go on, then those that were changed last."""
        return self._listing.value()

    def compared(self, names: Sequence[str]) -> list[Table]:
        """The tables of a comparison; raises UsageError where a run is missing, JournalError where it is damaged."""
        if not 0 < len(names) <= COMPARED:
            raise UsageError(f"a comparison takes 1 to {COMPARED} runs, not {len(names)}")
        folders, key = [self._named(name) for name in names], tuple(names)
        if key not in self._comparisons:
            self._comparisons[key] = Renewed(lambda: _compared(folders))
        return _last_used(self._comparisons, key).value()

    def _names(self) -> dict[str, RunFolder]:
        found = [path.parent for pattern in ("*/run.db", "*/*/run.db") for path in self._folder.glob(pattern)]
        return {path.relative_to(self._folder).as_posix(): RunFolder(path) for path in found}

    def _named(self, name: str) -> RunFolder:
        """The folder of a run, looked up and never put together: no name leads out of the shelf."""
        known = self._names()
        if name not in known:
            raise UsageError(f"there is no run {name!r} here")
        return known[name]

    def _list(self) -> Listing:
        summaries, unreadable = [], {}
        for name, folder in sorted(self._names().items(), key=lambda pair: -pair[1].journal.stat().st_mtime):
            try:
                check_is_current(folder.journal)
                summaries.append(replace(glance(folder, is_kept=False), run=name))
            except BehavesimError as error:
                unreadable[name] = str(error)
        return Listing(tuple(sorted(summaries, key=lambda each: each.state != "running")), unreadable)


def _compared(folders: Sequence[RunFolder]) -> list[Table]:
    for folder in folders:
        check_is_current(folder.journal)
    return comparison_tables(comparison([report(load_run(folder.path)) for folder in folders]))


def _last_used(held: OrderedDict[K, V], key: K) -> V:
    """What is held under a key, which is now the last of those used; the first is let go where they are too many."""
    held.move_to_end(key)
    while len(held) > HELD:
        held.popitem(last=False)
    return held[key]
