"""The runs of a folder for the server: read on request, once for all clients, in a bounded share of the CPU time."""

from __future__ import annotations

import gzip
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from hashlib import sha256
from itertools import chain
from pathlib import Path
from threading import Lock
from traceback import extract_tb
from typing import Generic, TypeVar

from behavesim.analysis.comparison import comparison
from behavesim.analysis.held_out import read_held_out
from behavesim.analysis.report import RunReport, report, try_or_note
from behavesim.analysis.run import Run
from behavesim.analysis.summary import Summary, load_summary
from behavesim.base.errors import BehavesimError, UsageError
from behavesim.base.text import one_line
from behavesim.reports.page.html import Page, comparison_page, run_page
from behavesim.store.database import last_event_number, origin
from behavesim.store.folder import HELD_OUT, RunFolder
from behavesim.store.reading import read_texts

V = TypeVar("V")

# Smallest age in seconds at which a value is computed again: a page that is 2 s old is new enough to a person.
RENEW_S = 2.0
# Largest fraction of one core's time for which the whole server computes values again.
#
# The first computation of a value counts too, but is never held back.
SHARE = 0.2
# Seconds since the last change of a run's files from which their sizes and times tell a later change: they are as exact
# as the file system's clock.
SETTLED_S = 2.0
# Largest number of runs held in memory, and of comparisons; the least recently used are dropped.
HELD = 12


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A run at one moment. Two snapshots are never equal, so that a page can be kept for each."""

    version: str
    """Text that changes when the run gets new events, is stopped or resumed, or is made again."""
    page: Page
    json: bytes
    """The page as gzipped JSON."""


class CpuBudget:
    """Delays renewals of values so that a server computes for at most SHARE of one core's time, for all clients."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._free_at = 0.0

    def has_room(self) -> bool:
        """Whether a value may be computed again now."""
        return time.monotonic() >= self._free_at

    def spend(self, cpu_s: float) -> None:
        """Count CPU seconds as used; `has_room` is false until they are at most SHARE of the time since."""
        with self._lock:
            self._free_at = max(self._free_at, time.monotonic()) + cpu_s / SHARE


class Cached(Generic[V]):
    """Cache of a function's result or error: computed at the first request, and again when it is RENEW_S old.

    Any thread may ask. While one thread computes the value again, the others get the old one.
    """

    def __init__(self, find: Callable[[], V], budget: CpuBudget) -> None:
        self._find, self._budget = find, budget
        self._lock = Lock()
        self._found: V | BehavesimError | None = None
        self.renewed_at = -math.inf
        """When the value was computed last, in seconds of the monotonic clock; −∞ before the first time."""

    def value(self) -> V:
        """Return the last value, computed again if it is old; raises BehavesimError for any error of the function."""
        is_first = self._found is None
        # only the first value is worth waiting for: later, who does not get the lock takes the old value
        if (is_first or self._is_old()) and self._lock.acquire(blocking=is_first):
            try:
                if self._found is None or self._is_old():  # another thread may have been faster
                    self._renew()
            finally:
                self._lock.release()
        assert self._found is not None, "the first caller waits for the value"
        if isinstance(self._found, BehavesimError):
            raise self._found.with_traceback(None)  # the kept error's traceback would grow with each raise
        return self._found

    def _is_old(self) -> bool:
        return time.monotonic() >= self.renewed_at + RENEW_S and self._budget.has_room()

    def _renew(self) -> None:
        began = time.thread_time()
        try:
            with _in_one_line():
                self._found = self._find()
        except BehavesimError as error:
            self._found = error
        self.renewed_at = time.monotonic()
        self._budget.spend(time.thread_time() - began)


@contextmanager
def _in_one_line() -> Iterator[None]:
    """Turn any error of the block into a BehavesimError of one line: a task's code must not end the server."""
    try:
        yield
    except BehavesimError:
        raise
    except (Exception, SystemExit) as error:  # else a mistake in a task would be an empty page
        at = extract_tb(error.__traceback__)[-1]  # the line that raised, mostly of the task
        where = f"{Path(at.filename).name}, line {at.lineno}"
        raise BehavesimError(one_line(f"{type(error).__name__} in {where}: {error}")) from error


class ShownRun:
    """One run that is held in memory, with its last snapshot; a renewal reads only the new events of the journal."""

    def __init__(self, folder: RunFolder, budget: CpuBudget) -> None:
        self._folder = folder
        self._run: Run | None = None
        self._origin: tuple[object, ...] = ()
        self._last: Snapshot | None = None
        self.snapshot = Cached(self._snapshot, budget)
        """The cached snapshot."""

    def is_there(self) -> bool:
        """Whether the run's journal exists."""
        return self._folder.journal.is_file()

    def _snapshot(self) -> Snapshot:
        run, events = self._current()
        # the number of events alone could be that of an earlier run in this folder, or from before programs were tried
        beside = run.folder.notes, run.folder.kept(HELD_OUT)
        about = sha256(repr((self._origin, beside)).encode()).hexdigest()[:12]
        version = f"{events}{'+' if run.is_held else ''}-{about}"
        if self._last is not None and version == self._last.version:
            return self._last
        found = run_page(_report_as_it_is(run))
        # packed once for all clients; without a time inside, equal documents give equal bytes
        self._last = Snapshot(version, found, gzip.compress(found.json(), compresslevel=5, mtime=0))
        return self._last

    def _current(self) -> tuple[Run, int]:
        events, found = last_event_number(self._folder.journal), origin(self._folder.journal)
        is_same = found == self._origin and self._run is not None and events >= len(self._run.events_at)
        if self._run is not None and is_same:
            self._run.follow()
            return self._run, events
        self._run, self._origin = Run.load(self._folder), found
        return self._run, events


@dataclass(frozen=True)
class Listing:
    """Summaries of the readable runs, and error messages for the others by name: the path below the folder served.

    `unread` is the number of runs that are still to be read.
    """

    summaries: tuple[Summary, ...]
    unreadable: Mapping[str, str]
    unread: int = 0


class ServedRuns:
    """The runs of a folder, named by their paths below it. Its methods block; any thread may call them."""

    def __init__(self, folder: Path, home: str) -> None:
        self._folder = folder
        self._budget = CpuBudget()
        self._lock = Lock()  # of what is held
        self._held: OrderedDict[str, ShownRun] = OrderedDict()
        # by name: the identity of the run's files when they were read, None to read them again, and what they said
        self._summaries: dict[str, tuple[tuple[object, ...] | None, Summary | str]] = {}
        self._so_far: dict[str, Summary | str] = {}  # what the listing that is being made knows by now
        self._listing = Cached(self._list, self._budget)
        # each comparison is cached before it is computed, which its first `value` does
        self._comparison = lru_cache(HELD)(
            lambda folders: Cached(partial(_compared, folders, home, folder), self._budget)
        )

    def snapshot(self, name: str) -> Snapshot:
        """Return the snapshot of a run, renewed if old, and hold the run in memory.

        Raises UsageError if there is no such run, another BehavesimError if it cannot be read or the task's code
        raises.
        """
        with self._lock:
            if name not in self._held or not self._held[name].is_there():
                self._held.pop(name, None)
                self._held[name] = ShownRun(self._named(name), self._budget)
            self._held.move_to_end(name)
            if len(self._held) > HELD:
                self._held.popitem(last=False)
            run = self._held[name]
        return run.snapshot.value()

    def texts(self, name: str, candidate: int) -> tuple[str, str]:
        """Return the last prompt and reply of a candidate, "" where there is none; raises as `snapshot` does."""
        return read_texts(self._named(name).journal, [candidate]).get(candidate, ("", ""))

    def listing(self) -> Listing:
        """Return all runs, those of experiments included: running ones first, then the most recently changed."""
        return self._listing.value()

    def listing_so_far(self) -> Listing:
        """Return the runs that the listing which is being made has read by now, the most recently changed first."""
        known = dict(self._so_far)
        return replace(_listing(known), unread=max(0, len(self._names()) - len(known)))

    def compared(self, names: Sequence[str]) -> Page:
        """Return the page of a comparison of some runs; raises UsageError if none is named or one is missing.

        A name that ends in "/" stands for all runs below that folder, as those of an experiment are.
        """
        if not names:
            raise UsageError("no run is marked: go back to the list, mark at least one, then press Compare")
        known = self._names()  # looked up once: for each name it would be a listing of the whole folder
        below = [sorted(run for run in known if run.startswith(name)) for name in names if name.endswith("/")]
        every = dict.fromkeys([*(name for name in names if not name.endswith("/")), *chain(*below)])
        return self._comparison(tuple(self._named(name, known) for name in every or names)).value()

    def _names(self) -> dict[str, RunFolder]:
        found = [path.parent for pattern in ("*/run.db", "*/*/run.db") for path in self._folder.glob(pattern)]
        return {path.relative_to(self._folder).as_posix(): RunFolder(path) for path in found}

    def _named(self, name: str, known: Mapping[str, RunFolder] | None = None) -> RunFolder:
        # The name is looked up in the list of runs: a path built from it could lead out of the folder.
        known = self._names() if known is None else known
        if name not in known:
            raise UsageError(f"there is no run {name!r} here")
        return known[name]

    def _list(self) -> Listing:
        # A run that cannot be read has its error message in `unreadable` instead. Only runs that have changed are read,
        # the newest first: those of 10 000 candidates take a second each.
        found = {name: (folder, *_identity(folder)) for name, folder in self._names().items()}
        self._so_far = {}
        summaries = {}
        for name, (folder, identity, changed_at) in sorted(found.items(), key=lambda each: -each[1][2]):
            known = self._summaries.get(name)
            if known is None or known[0] != identity:
                try:
                    known = identity, replace(load_summary(folder, is_kept=False), run=name)
                except BehavesimError as error:
                    known = identity, str(error)
            if changed_at > time.time() - SETTLED_S:
                known = None, known[1]  # the next commit may leave the same size and time
            summaries[name], self._so_far[name] = known, known[1]
        self._summaries = summaries  # without the runs that are gone
        return _listing(self._so_far)


def _listing(read: Mapping[str, Summary | str]) -> Listing:
    summaries = [each for each in read.values() if isinstance(each, Summary)]
    unreadable = {name: why for name, why in read.items() if isinstance(why, str)}
    return Listing(tuple(sorted(summaries, key=lambda each: each.state != "running")), unreadable)


def _identity(folder: RunFolder) -> tuple[tuple[object, ...], float]:
    """Return what changes with anything that a run's summary depends on, and the time of its journal's last change."""
    found: list[object] = [folder.is_running()]
    changed_at = 0.0
    for path in (folder.journal, folder.journal.with_name("run.db-wal"), folder.settings, folder.notes_file):
        try:
            stat = path.stat()
        except OSError:
            found.append(None)
            continue
        # a reader makes and removes an empty log; the time of a change of rights is `st_ctime_ns`
        is_empty_log = path.suffix == ".db-wal" and not stat.st_size
        found.append(None if is_empty_log else (stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns))
        changed_at = changed_at if is_empty_log else max(changed_at, stat.st_mtime)
    return tuple(found), changed_at


def _compared(folders: Sequence[RunFolder], home: str, served: Path) -> Page:
    reports = [_report_as_it_is(Run.load(folder)) for folder in folders]
    return comparison_page(comparison(reports), home, served)


def _report_as_it_is(run: Run) -> RunReport:
    # what earlier reports found on held-out instances is shown; a server evaluates nothing
    return report(run, {"held-out": try_or_note(partial(read_held_out, run), None, "")[0]})
