"""Sends programs to the workers of a cluster, in batches, and again where a worker is lost."""

from __future__ import annotations

import asyncio
import itertools
import math
import ssl
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from behavesim.base.errors import SandboxError, UsageError
from behavesim.base.heartbeat import Heartbeat
from behavesim.base.text import count_noun
from behavesim.cluster.protocol import ENOUGH, HANDLER, Garbage, Line, LineLost, Order, failures_of, results_of
from behavesim.cluster.task_files import TaskFiles, differing_facts
from behavesim.sandbox.connection import GRACE_S, START_S, RawResult
from behavesim.sandbox.isolation import LEVELS
from behavesim.task.verdict import Block

# Seconds of silence after which a worker counts as hanging: it gives five signs of life in that time.
SILENT_S = 10.0
# The pickle that names `worker.install`, for Dask's worker to call; written here, so that Dask need not be loaded.
INSTALL = b"cbehavesim.cluster.worker\ninstall\n."
# The setting, as it is written behind --set, that accepts workers whose facts differ.
ALLOWED = "allow_other_workers=true"
# Most remarks on its isolation that are kept of a worker; the others are dropped.
MOST_NOTES = 20


class Refused(UsageError):
    """A worker cannot serve this run: it has another version or too weak an isolation, or its sandbox fails."""


@dataclass(eq=False)
class Job:
    """A program to be run."""

    number: int
    source: str
    alone: bool  # whether no other may run on the worker meanwhile
    done: asyncio.Future[RawResult]
    block: Block | None = None  # the further instances that it runs on; None for those of the split
    lost: int = 0  # how often a worker was lost, or its sandbox failed, while it ran the program
    had_by: set[str] = field(default_factory=set)  # names of all workers that had it
    link: Link | None = None  # to the worker that has it now


@dataclass(frozen=True)
class Terms:
    """What all workers of a run are told and must fulfil."""

    order: Order  # what each will run
    files: TaskFiles  # which it needs for that
    facts: Mapping[str, str]  # the versions and the processor of the machine that runs the search
    allow_others: bool  # whether a worker whose facts differ may serve
    most: int  # the largest frame that a program may send, in bytes


@dataclass(eq=False)
class Link:
    """A connection to a worker that runs programs, `places` at once."""

    name: str
    line: Line
    clock: Heartbeat
    terms: Terms
    # called for each program that ends, with its result, or with the error's text if the worker's sandbox failed
    ended: Callable[[Link, Job, RawResult | str], None]
    isolation: str
    notes: list[str]
    places: int
    differs: list[str] = field(default_factory=list)  # how its facts differ
    held: dict[int, Job] = field(default_factory=dict)  # what was given to it and has no result yet, by number
    _unsent: list[Job] = field(default_factory=list)
    _cancelled: list[int] = field(default_factory=list)
    _woken: asyncio.Event = field(default_factory=asyncio.Event)
    _moved_s: float = 0.0  # time of the clock of the last result, or of the first program after none was held

    def give(self, job: Job) -> None:
        """Send a program with the next message."""
        if not self.held:
            self._moved_s = self.clock()
        job.link = self
        job.had_by.add(self.name)
        self.held[job.number] = job
        self._unsent.append(job)
        self._woken.set()

    def cancel(self, job: Job) -> None:
        """Have the worker kill a program, and ignore its result; does nothing if the program has ended."""
        if self.held.pop(job.number, None):
            self._cancelled.append(job.number)
            self._woken.set()

    async def serve(self) -> None:
        """Send programs and take in results until an error ends it; then close the connection.

        Raises LineLost if the worker is lost, Garbage if it sends what it must not.
        """
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._send())
                group.create_task(self._receive())
        except BaseExceptionGroup as failures:  # the first is the cause
            raise failures.exceptions[0] from None
        finally:
            await self.line.close()

    async def _send(self) -> None:
        """Send the programs and cancellations that have come since the last message; go on until cancelled."""
        while True:
            await self._woken.wait()
            self._woken.clear()
            (jobs, self._unsent), (cancelled, self._cancelled) = (self._unsent, []), (self._cancelled, [])
            run = [[job.number, job.source, job.alone, *(job.block or ())] for job in jobs if job.number in self.held]
            await self.line.send({"run": run, "cancel": cancelled})

    async def _receive(self) -> None:
        """Take in results until cancelled."""
        while True:
            message = await _next_message(self.line, self.clock, SILENT_S)
            # a worker may be in other hands: nothing that it sends is believed
            if not message.keys() <= {"beat", "ran", "failed"}:
                raise Garbage(f"a message came that could not come here: {message!r:.100}")
            for number, ran in results_of(message.get("ran") or [], self.terms.most):
                self._end(number, ran)
            for number, text in failures_of(message.get("failed") or []):
                self._end(number, text)

            share = max((job.block.share for job in self.held.values() if job.block), default=1.0)
            longest_s = self.terms.order.limits.times(max(1.0, share)).wall_kill_s + GRACE_S
            if self.held and self.clock() - self._moved_s > longest_s:
                raise LineLost(f"it has ended no program for {longest_s:g} s, longer than any may take")

    def _end(self, number: int, found: RawResult | str) -> None:
        """Pass on what came of the program with this number, unless it was cancelled."""
        self._moved_s = self.clock()
        if job := self.held.pop(number, None):
            self.ended(self, job, found)


async def open_link(
    address: str,
    name: str,
    context: ssl.SSLContext | None,
    terms: Terms,
    clock: Heartbeat,
    ended: Callable[[Link, Job, RawResult | str], None],
) -> Link:
    """Connect to the worker at an address, start its sandbox for this run, and return the link to it.

    `address` is such as "tcp://10.0.0.1:8786", `name` is the worker's name for messages, and `context` is for TLS; None
    connects without TLS. `ended` is called for each program that ends (see `Link`).

    Raises Refused if the worker does not fulfil the terms. Raises LineLost if it cannot be reached, is lost meanwhile
    or takes too long to start its sandbox. Raises Garbage if it sends what it must not.
    """
    # a worker adds results up to ENOUGH bytes, and then one more frame; the rest is for how the processes ended
    line = await Line.open(address, context, terms.most + 2 * ENOUGH)
    try:
        await _install(line, name, clock)
        await line.send({"op": HANDLER, "reply": False, "order": terms.order.to_json()})
        differs = differing_facts(terms.facts, _facts_in(await _next_message(line, clock, SILENT_S)))
        if differs and not terms.allow_others:
            raise Refused(f"worker {name} differs: {'; '.join(differs)}; results could. Accept it with --set {ALLOWED}")
        for piece in terms.files.pieces():
            await line.send({"file": piece})
        await line.send({"file": None})
        isolation, notes, places = await _when_ready(line, name, clock)
        return Link(name, line, clock, terms, ended, isolation, notes, places, differs)
    except BaseException:  # also cancelled: the worker keeps a sandbox for us as long as the connection is open
        await line.close()
        raise


async def _install(line: Line, name: str, clock: Heartbeat) -> None:
    """Add the operation HANDLER to a Dask worker; raises Refused if that fails, for example without behavesim there."""
    await line.send({"op": "run", "function": INSTALL, "args": b"", "kwargs": b""})
    answer = await _next_message(line, clock, START_S)
    if answer.get("status") != "OK":
        said = str(answer.get("exception_text"))[:500]
        raise Refused(f"worker {name} cannot serve: {said}; install behavesim there, in the version of this machine")


async def _when_ready(line: Line, name: str, clock: Heartbeat) -> tuple[str, list[str], int]:
    """Wait until a worker's sandbox has started; return its isolation, remarks on that, and its places."""
    longest_s = 2 * START_S + GRACE_S  # a worker loads the task twice: to prove that it is ours, and in its sandbox
    try:
        async with clock.timeout(longest_s):
            while (found := _start_in(await _next_message(line, clock, SILENT_S), name)) is None:
                pass
            return found
    except TimeoutError:
        raise LineLost(f"its sandbox was not ready after {longest_s:g} s") from None


def _start_in(message: Mapping[str, Any], name: str) -> tuple[str, list[str], int] | None:
    """Return a started sandbox's isolation, remarks on that, and places from a message; None for a mere sign of life.

    Raises Refused if the worker says why it cannot serve, Garbage for any other message.
    """
    match message.get("ready"):
        case [str(isolation), list(notes), int(places)] if isolation in LEVELS and 0 < places <= 1 << 16:
            return isolation, [str(note)[:500] for note in notes[:MOST_NOTES]], places
        case None if "refused" in message:
            raise Refused(f"worker {name} cannot serve: {str(message['refused'])[:2000]}")
        case None if message.keys() == {"beat"}:
            return None
    raise Garbage(f"a message came that could not come here: {message!r:.100}")


def _facts_in(message: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the facts in a worker's message, texts by name."""
    match message.get("facts"):
        case dict() as found if all(isinstance(text, str) and len(text) < 5000 for text in found.values()):
            return found
    raise Garbage(f"facts were expected, not {message!r:.100}")


async def _next_message(line: Line, clock: Heartbeat, patience_s: float) -> dict[str, Any]:
    """Return a worker's next message."""
    try:
        async with clock.timeout(patience_s):
            message = await line.receive()
    except TimeoutError:
        raise LineLost(f"it gave no sign of life for {patience_s:g} s") from None
    if not isinstance(message, dict):
        raise Garbage(f"a message came that could not come here: {message!r:.100}")
    return message


# The run stops when this many workers were lost or failed with one program running: it may be the cause.
MOST_LOST = 3
# A worker is left out when it was lost or failed with programs this many times, without a result in between.
MOST_STRIKES = 3
# Work queued at each place of a worker (s): covers the round trip.
AHEAD_S = 0.05
# Most programs that wait at each place of a worker.
MOST_AHEAD = 16
# Mean CPU seconds of programs from which none waits at a worker: another worker could be free earlier.
SLOW_S = 1.0


class Dispatcher:
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

    def submit(self, source: str, alone: bool = False, block: Block | None = None) -> Job:
        """Return a new program to be run, `alone` on its worker or not; it has been dealt out if there is room."""
        job = Job(next(self._numbers), source, alone, asyncio.get_running_loop().create_future(), block)
        self._waiting.append(job)
        if len(self._waiting) == 1:  # otherwise nobody has room for the first one
            self._deal()
        return job

    def cancel(self, job: Job) -> None:
        """Forget a program; the worker that has it kills it."""
        if job.link:
            job.link.cancel(job)
            self._deal()
        elif job in self._waiting:
            self._waiting.remove(job)
            self._deal()

    def add_worker(self, link: Link) -> None:
        """Let a worker serve."""
        self.links.add(link)
        self._deal()

    def remove_worker(self, link: Link, why: str) -> None:
        """Take a worker out of service, and put the programs that it has before all that wait for a worker.

        If it had any, that counts against the worker. After MOST_STRIKES times without a result it is left out for the
        reason `why`, a text for people. Otherwise it may be added again. It also counts against the programs that ran
        there, as they may be the cause, but not against those that only waited there.
        """
        self.links.discard(link)
        held, link.held = list(link.held.values()), {}
        if held:
            self._strike(link.name, why)
        for at, job in reversed(list(enumerate(held))):  # each goes to the front, so that they keep their order
            self._again(job, link.name, is_suspect=at < link.places)
        self._deal()

    def finish(self, link: Link, job: Job, found: RawResult | str) -> None:
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
        """Give the programs that wait to workers that have room; `links` are those that may have it, None for all."""
        # Afterwards no worker has room for the first program that waits.
        among = self.links if links is None else links
        while self._waiting and (link := self._room_for(self._waiting[0], among)):
            link.give(self._waiting.popleft())

    def _room_for(self, job: Job, among: Iterable[Link]) -> Link | None:
        """Return the one of the workers `among` with the fewest programs per place; None if all have enough."""
        # The longer programs take, the fewer wait at each place of a worker; one until it is known how long.
        waiting = 0 if self._mean_s >= SLOW_S else min(MOST_AHEAD, math.ceil(AHEAD_S / max(self._mean_s, 1e-3)))
        best, least = None, 1.0 + (waiting if self.done else 1)
        # a worker that had the program before, and was lost or failed, is taken only if there is no other
        is_new = not job.had_by or job.had_by.issuperset(link.name for link in self.links)
        for link in among:
            load = len(link.held) / link.places
            if load < least and (is_new or link.name not in job.had_by):
                best, least = link, load
                if not load:
                    break
        return best

    def _again(self, job: Job, name: str, is_suspect: bool) -> None:
        """Put a program before those that wait, since the worker `name` was lost or failed with it."""
        # `is_suspect` is whether the program may be the cause. At the MOST_LOST-th such time it fails with
        # SandboxError.
        job.link = None
        job.lost += is_suspect
        if job.done.done():
            return
        if job.lost < MOST_LOST:
            self._waiting.appendleft(job)
            return
        said = f"{count_noun(MOST_LOST, 'worker')} were lost or failed while one program ran there, the last was {name}"
        job.done.set_exception(SandboxError(f"{said}; look at the workers' logs, then resume"))

    def _strike(self, name: str, why: str) -> None:
        """Note that a worker was lost or failed; after MOST_STRIKES times, leave it out for the reason `why`."""
        self._strikes[name] += 1
        if self._strikes[name] == MOST_STRIKES:
            self._leave_out(name, why)
