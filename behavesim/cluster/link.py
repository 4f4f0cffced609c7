"""The daemon's side of one worker: programs are sent there in batches, and what came of them is taken in."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from behavesim.base.errors import UsageError
from behavesim.base.heartbeat import Heartbeat
from behavesim.cluster.facts import differing
from behavesim.cluster.messages import ENOUGH, HANDLER, Order, failures_of, results_of
from behavesim.cluster.parcel import Parcel
from behavesim.cluster.wire import Garbage, Line, LineLost
from behavesim.sandbox.connection import GRACE_S, START_S, Ran
from behavesim.sandbox.isolation import LEVELS

SILENT_S = 10.0
"""Seconds of silence after which a worker counts as hanging: it gives five signs of life in that time."""
INSTALL = b"cbehavesim.cluster.worker\ninstall\n."
"""The pickle that names `worker.install`, for Dask's worker to call; written here, so that Dask need not be loaded."""
ALLOWED = "allow_other_workers=true"
"""The setting, as it is written behind --set, that accepts workers whose facts differ."""
MOST_NOTES = 20
"""Most remarks on its isolation that are kept of a worker; the others are dropped."""


class Refused(UsageError):
    """A worker cannot serve this run: it has another version or too weak an isolation, or its sandbox fails."""


@dataclass(eq=False)
class Job:
    """A program to be run; `alone` is whether no other may run on the worker meanwhile.

    `question` holds encoded calls that it answers; b"" if it runs on every instance. `done` gets the result. `lost` is
    how often a worker was lost, or its sandbox failed, while it ran the program. `had_by` are the names of all workers
    that had it; `link` leads to the one that has it now, None if none does.
    """

    number: int
    source: str
    question: bytes
    alone: bool
    done: asyncio.Future[Ran]
    lost: int = 0
    had_by: set[str] = field(default_factory=set)
    link: Link | None = None


@dataclass(frozen=True)
class Terms:
    """What all workers of a run are told and must fulfil.

    Each worker gets `order`, which says what it will run, and `parcel`, the files for that. `facts` are the versions
    and the processor of the machine that runs the search. A worker whose facts differ is refused unless `allow_others`.
    `most` is the largest frame that a program may send, in bytes.
    """

    order: Order
    parcel: Parcel
    facts: Mapping[str, str]
    allow_others: bool
    most: int


@dataclass(eq=False)
class Link:
    """A connection to a worker that runs programs, `places` at once.

    `held` are the programs given to it whose results have not come, by number. `ended` is called for each that ends,
    with what came of it, or with the error's text if the worker's sandbox failed. `differs` says how its facts differ.
    """

    name: str
    line: Line
    clock: Heartbeat
    terms: Terms
    ended: Callable[[Link, Job, Ran | str], None]
    isolation: str
    notes: list[str]
    places: int
    differs: list[str] = field(default_factory=list)
    held: dict[int, Job] = field(default_factory=dict)
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
        """Send the programs and cancellations that have come since the last message; go on until cancelled.

        Raises LineLost if the connection is closed.
        """
        while True:
            await self._woken.wait()
            self._woken.clear()
            (jobs, self._unsent), (cancelled, self._cancelled) = (self._unsent, []), (self._cancelled, [])
            run = [[job.number, job.source, job.question, job.alone] for job in jobs if job.number in self.held]
            await self.line.send({"run": run, "cancel": cancelled})

    async def _receive(self) -> None:
        """Take in results until cancelled.

        Raises LineLost if the worker is silent or ends no program for too long, Garbage if it sends what it must not.
        """
        while True:
            message = await _heard(self.line, self.clock, SILENT_S)
            # a worker may be in other hands: nothing that it sends is believed
            if not message.keys() <= {"beat", "ran", "failed"}:
                raise Garbage(f"a message came that could not come here: {message!r:.100}")
            for number, ran in results_of(message.get("ran") or [], self.terms.most):
                self._end(number, ran)
            for number, text in failures_of(message.get("failed") or []):
                self._end(number, text)

            longest_s = self.terms.order.limits.longest_s + GRACE_S
            if self.held and self.clock() - self._moved_s > longest_s:
                raise LineLost(f"it has ended no program for {longest_s:g} s, longer than any may take")

    def _end(self, number: int, found: Ran | str) -> None:
        """Pass on what came of the program with this number, unless it was cancelled."""
        self._moved_s = self.clock()
        if job := self.held.pop(number, None):
            self.ended(self, job, found)


async def opened(
    address: str,
    name: str,
    context: ssl.SSLContext | None,
    terms: Terms,
    clock: Heartbeat,
    ended: Callable[[Link, Job, Ran | str], None],
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
        differs = differing(terms.facts, _facts(await _heard(line, clock, SILENT_S)))
        if differs and not terms.allow_others:
            raise Refused(f"worker {name} differs: {'; '.join(differs)}; results could. Accept it with --set {ALLOWED}")
        for piece in terms.parcel.pieces():
            await line.send({"file": piece})
        await line.send({"file": None})
        isolation, notes, places = await _ready(line, name, clock)
        return Link(name, line, clock, terms, ended, isolation, notes, places, differs)
    except BaseException:
        await line.close()
        raise


async def _install(line: Line, name: str, clock: Heartbeat) -> None:
    """Add the operation HANDLER to a Dask worker; raises Refused if that fails, for example without behavesim there.

    Raises LineLost if the worker is silent or lost, Garbage if its answer is no mapping.
    """
    await line.send({"op": "run", "function": INSTALL, "args": b"", "kwargs": b""})
    answer = await _heard(line, clock, START_S)
    if answer.get("status") != "OK":
        said = str(answer.get("exception_text"))[:500]
        raise Refused(f"worker {name} cannot serve: {said}; install behavesim there, in the version of this machine")


async def _ready(line: Line, name: str, clock: Heartbeat) -> tuple[str, list[str], int]:
    """Wait until a worker's sandbox has started; return its isolation, remarks on that, and its places.

    Raises Refused if the worker says why it cannot serve. Raises LineLost if the start takes too long or the worker is
    silent, Garbage for any other message.
    """
    longest_s = 2 * START_S + GRACE_S  # a worker loads the task twice: to prove that it is ours, and in its sandbox
    try:
        async with clock.timeout(longest_s):
            while (found := _start(await _heard(line, clock, SILENT_S), name)) is None:
                pass
            return found
    except TimeoutError:
        raise LineLost(f"its sandbox was not ready after {longest_s:g} s") from None


def _start(message: Mapping[str, Any], name: str) -> tuple[str, list[str], int] | None:
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


def _facts(message: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the facts in a worker's message, texts by name.

    Raises Garbage if the message has none, or if one of them is not a text or has 5000 characters or more.
    """
    match message.get("facts"):
        case dict() as found if all(isinstance(text, str) and len(text) < 5000 for text in found.values()):
            return found
    raise Garbage(f"facts were expected, not {message!r:.100}")


async def _heard(line: Line, clock: Heartbeat, patience_s: float) -> dict[str, Any]:
    """Return a worker's next message.

    Raises LineLost after `patience_s` seconds of silence or if the connection is closed, Garbage if it is no mapping.
    """
    try:
        async with clock.timeout(patience_s):
            message = await line.receive()
    except TimeoutError:
        raise LineLost(f"it gave no sign of life for {patience_s:g} s") from None
    if not isinstance(message, dict):
        raise Garbage(f"a message came that could not come here: {message!r:.100}")
    return message
