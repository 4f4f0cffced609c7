"""Deals programs out to the workers of a cluster, and again where a worker is lost."""

from __future__ import annotations

import asyncio
import itertools
import math
from collections import Counter, deque
from collections.abc import Callable, Iterable

from behavesim.base.errors import SandboxError
from behavesim.base.text import counted
from behavesim.cluster.link import Job, Link
from behavesim.sandbox.connection import Ran

MOST_LOST = 3
"""The run stops when this many workers were lost or failed with one program running: it may be the cause."""
MOST_STRIKES = 3
"""A worker is left out when it was lost or failed with programs this many times, without a result in between."""
AHEAD_S = 0.05
"""Work queued at each place of a worker (s): covers the round trip."""
MOST_AHEAD = 16
"""Most programs that wait at each place of a worker."""
SLOW_S = 1.0
"""Mean CPU seconds of programs from which none waits at a worker: another worker could be free earlier."""


class Dealer:
    """Keeps the programs that wait, and the workers that serve; each program goes to the least busy worker.

    `leave_out` is called with a worker's name and a sentence for a person when it is not to serve any more. `done` is
    the number of results that came.
    """

    def __init__(self, leave_out: Callable[[str, str], None]) -> None:
        self.links: set[Link] = set()
        self.done = 0
        self._leave_out = leave_out
        self._numbers = itertools.count()
        self._waiting: deque[Job] = deque()
        self._strikes: Counter[str] = Counter()  # by worker's name, since its last result
        self._mean_s = 0.0  # CPU seconds of a program, averaged over some twenty

    @property
    def places(self) -> int:
        """The number of programs that the workers can run at once."""
        return sum(link.places for link in self.links)

    def put(self, source: str, question: bytes, alone: bool = False) -> Job:
        """Return a new program to be run, `alone` on its worker or not; it has been dealt out if there is room.

        `question` holds the encoded calls that it is to answer; empty if it runs on every instance.
        """
        job = Job(next(self._numbers), source, question, alone, asyncio.get_running_loop().create_future())
        self._waiting.append(job)
        if len(self._waiting) == 1:  # otherwise nobody has room for the first one
            self._deal()
        return job

    def drop(self, job: Job) -> None:
        """Forget a program; the worker that has it kills it."""
        if job.link:
            job.link.cancel(job)
            self._deal()
        elif job in self._waiting:
            self._waiting.remove(job)
            self._deal()

    def join(self, link: Link) -> None:
        """Let a worker serve."""
        self.links.add(link)
        self._deal()

    def part(self, link: Link, why: str) -> None:
        """Take a worker out of service, and put the programs that it has before all that wait for a worker.

        If it had any, that counts against the worker. After MOST_STRIKES times without a result it is left out for the
        reason `why`, a text for people. Otherwise it may join again. It also counts against the programs that ran
        there, as they may be the cause, but not against those that only waited there.
        """
        self.links.discard(link)
        held, link.held = list(link.held.values()), {}
        if held:
            self._strike(link.name, why)
        for at, job in reversed(list(enumerate(held))):  # each goes to the front, so that they keep their order
            self._again(job, link.name, is_suspect=at < link.places)
        self._deal()

    def end(self, link: Link, job: Job, found: Ran | str) -> None:
        """Take a program's result; a text `found` says why the worker's sandbox failed: the program is dealt again."""
        if isinstance(found, str):
            self._strike(link.name, f"worker {link.name} is left out, its sandbox fails: {found}")
            self._again(job, link.name, is_suspect=True)
            self._deal()
            return
        self._strikes.pop(link.name, None)
        self.done += 1
        self._mean_s += (found.cpu_s - self._mean_s) / min(self.done, 20)
        job.link = None
        if not job.done.done():
            job.done.set_result(found)
        self._deal([link])

    def fail(self, error: BaseException) -> None:
        """Raise `error` where somebody waits for a program that has no result yet; drop those that wait."""
        for job in (*self._waiting, *(job for link in self.links for job in link.held.values())):
            if not job.done.done():
                job.done.set_exception(error)
                job.done.exception()  # marks it as seen: nobody may wait for it any more
        self._waiting.clear()

    def _deal(self, links: Iterable[Link] | None = None) -> None:
        """Give the programs that wait to workers that have room; `links` are those that may have it, None for all.

        Afterwards no worker has room for the first program that waits.
        """
        among = self.links if links is None else links
        while self._waiting and (link := self._room_for(self._waiting[0], among)):
            link.give(self._waiting.popleft())

    def _room_for(self, job: Job, among: Iterable[Link]) -> Link | None:
        """Return the one of the workers `among` with the fewest programs per place; None if all have enough.

        One that had the program before, and was lost or failed, is taken only if there is no other.
        """
        most = 1 + self._ahead()
        is_new = not job.had_by or job.had_by.issuperset(link.name for link in self.links)
        best, least = None, float(most)
        for link in among:
            load = len(link.held) / link.places
            if load < least and (is_new or link.name not in job.had_by):
                best, least = link, load
                if not load:
                    break
        return best

    def _ahead(self) -> int:
        """Return how many programs may wait at each place of a worker: the fewer, the longer programs take."""
        if not self.done:
            return 1
        return 0 if self._mean_s >= SLOW_S else min(MOST_AHEAD, math.ceil(AHEAD_S / max(self._mean_s, 1e-3)))

    def _again(self, job: Job, name: str, is_suspect: bool) -> None:
        """Put a program before those that wait, since the worker `name` was lost or failed with it.

        `is_suspect` is whether the program may be the cause. At the MOST_LOST-th such time it fails with SandboxError.
        """
        job.link = None
        job.lost += is_suspect
        if job.done.done():
            return
        if job.lost < MOST_LOST:
            self._waiting.appendleft(job)
            return
        said = f"{counted(MOST_LOST, 'worker')} were lost or failed while one program ran there, the last was {name}"
        job.done.set_exception(SandboxError(f"{said}; look at the workers' logs, then resume"))

    def _strike(self, name: str, why: str) -> None:
        """Note that a worker was lost or failed; after MOST_STRIKES times, leave it out for the reason `why`."""
        self._strikes[name] += 1
        if self._strikes[name] == MOST_STRIKES:
            self._leave_out(name, why)
