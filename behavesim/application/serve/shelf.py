"""The runs of a folder as they are served: read when somebody looks, and once for all who do."""

from __future__ import annotations

import gzip
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Generic, TypeVar

from behavesim.analysis.comparison import comparison
from behavesim.analysis.glance import glance
from behavesim.analysis.report import report
from behavesim.analysis.run import Run
from behavesim.analysis.summary import Summary
from behavesim.analysis.table import Table
from behavesim.base.errors import BehavesimError, UsageError
from behavesim.base.text import one_line
from behavesim.reports.comparison import comparison_tables
from behavesim.reports.page import Document, document
from behavesim.store.database import check_is_current, last_event, origin
from behavesim.store.folder import RunFolder

K = TypeVar("K")
V = TypeVar("V")

RENEW_S = 2.0
"""Seconds for which a value is not found out anew, at least."""
SHARE = 0.2
"""Fraction of a core's time that is spent at most on finding things out anew, for the whole server."""
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


class Pace:
    """Bounds the CPU time that a server spends on finding things out anew: a fixed share of a core for all together."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._free_at = 0.0

    def has_room(self) -> bool:
        """Whether something may be found out anew now."""
        return time.monotonic() >= self._free_at

    def spend(self, cpu_s: float) -> None:
        """Count CPU seconds; nothing is renewed until they are no more than the share."""
        with self._lock:
            self._free_at = max(self._free_at, time.monotonic()) + cpu_s / SHARE


class Renewed(Generic[V]):
    """Cache of a function's result or error: found out at the first question, and again when it is old.

    Any thread may ask. While one thread renews the value, the others get the old one.
    """

    def __init__(self, find: Callable[[], V], pace: Pace) -> None:
        self._find, self._pace = find, pace
        self._lock = Lock()
        self._found: V | BehavesimError | None = None
        self.renewed_at = -math.inf
        """When the value was found out, in seconds of the monotonic clock."""

    def value(self) -> V:
        """Return what was found last, or is now; raises BehavesimError, whatever the function raised."""
        is_first = self._found is None
        if (is_first or self._is_old()) and self._lock.acquire(blocking=is_first):
            try:
                if self._found is None or self._is_old():  # another thread may have been faster
                    self._renew()
            finally:
                self._lock.release()
        assert self._found is not None, "who asks first waits for the value"
        if isinstance(self._found, BehavesimError):
            raise self._found.with_traceback(None)  # or it would grow with each who asks
        return self._found

    def _is_old(self) -> bool:
        return time.monotonic() >= self.renewed_at + RENEW_S and self._pace.has_room()

    def _renew(self) -> None:
        began = time.thread_time()
        try:
            with _in_one_line():
                self._found = self._find()
        except BehavesimError as error:
            self._found = error
        self.renewed_at = time.monotonic()
        self._pace.spend(time.thread_time() - began)


@contextmanager
def _in_one_line() -> Iterator[None]:
    """Turn whatever is raised into BehavesimError: code of a task may raise anything, and must not end the server."""
    try:
        yield
    except BehavesimError:
        raise
    except (Exception, SystemExit) as error:
        raise BehavesimError(one_line(f"this cannot be shown: {type(error).__name__}: {error}")) from error


class ShownRun:
    """One run and what is shown of it; what it has read before it does not read again."""

    def __init__(self, folder: RunFolder, pace: Pace) -> None:
        self._folder = folder
        self._run: Run | None = None
        self._origin: tuple[object, ...] = ()
        self._made_again = 0
        self._last: Snapshot | None = None
        self.snapshot = Renewed(self._snapshot, pace)
        """The run as it stands, or stood a moment ago."""

    def is_there(self) -> bool:
        """Whether the run has not been removed."""
        return self._folder.journal.is_file()

    def _snapshot(self) -> Snapshot:
        check_is_current(self._folder.journal)
        run, events = self._current()
        mark = f"~{self._made_again}" if self._made_again else ""
        version = f"{events}{'+' if self._folder.is_running() else ''}{mark}"
        if self._last is not None and version == self._last.version:
            return self._last
        found = document(run)
        self._last = Snapshot(version, found, gzip.compress(found.json().encode(), compresslevel=5, mtime=0))
        return self._last

    def _current(self) -> tuple[Run, int]:
        """Return the run with all its events, and how many; read anew where another was made in its place."""
        events, found = last_event(self._folder.journal), origin(self._folder.journal)
        is_same = found == self._origin and self._run is not None and events >= len(self._run.events_at)
        if self._run is not None and is_same:
            self._run.follow()
            return self._run, events
        self._made_again += self._run is not None
        self._run, self._origin = Run.load(self._folder.path), found
        return self._run, events


@dataclass(frozen=True)
class Listing:
    """A summary of each run that can be read, and of the others why not; runs by their paths below the folder."""

    summaries: tuple[Summary, ...]
    unreadable: Mapping[str, str]


class Shelf:
    """The runs of a folder, by their paths below it; nothing is written to any of them.

    Its functions may take a while; any thread may call them.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pace = Pace()
        self._lock = Lock()  # of what is held
        self._held: OrderedDict[str, ShownRun] = OrderedDict()
        self._listing = Renewed(self._list, self._pace)
        self._comparisons: OrderedDict[tuple[str, ...], Renewed[list[Table]]] = OrderedDict()

    def snapshot(self, name: str) -> Snapshot:
        """The run of that name, held from now on; raises UsageError where there is none, JournalError if damaged."""
        with self._lock:
            if name not in self._held or not self._held[name].is_there():
                self._held.pop(name, None)
                self._held[name] = ShownRun(self._named(name), self._pace)
            run = _last_used(self._held, name)
        return run.snapshot.value()

    def versions(self) -> dict[str, str]:
        """The versions of the runs held, those that changed read anew; what cannot be read is left out."""
        with self._lock:
            held = list(self._held.items())
        found = {}
        for name, run in sorted(held, key=lambda pair: pair[1].snapshot.renewed_at):  # all have their turn
            with suppress(BehavesimError):
                found[name] = run.snapshot.value().version
        return found

    def listing(self) -> Listing:
        """All runs, those of experiments included: first those that go on, then those that were changed last."""
        return self._listing.value()

    def compared(self, names: Sequence[str]) -> list[Table]:
        """The tables of a comparison; raises UsageError where a run is missing, JournalError where it is damaged."""
        if not 0 < len(names) <= COMPARED:
            raise UsageError(f"a comparison takes 1 to {COMPARED} runs, not {len(names)}")
        folders, key = [self._named(name) for name in names], tuple(names)
        with self._lock:
            if key not in self._comparisons:
                self._comparisons[key] = Renewed(lambda: _compared(folders), self._pace)
            compared = _last_used(self._comparisons, key)
        return compared.value()

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
    return comparison_tables(comparison([report(Run.load(folder.path)) for folder in folders]))


def _last_used(held: OrderedDict[K, V], key: K) -> V:
    """What is held under a key, which is now the last of those used; the first is let go where they are too many."""
    held.move_to_end(key)
    while len(held) > HELD:
        held.popitem(last=False)
    return held[key]
