"""The daemon's end of a zygote: it starts one, sends it programs and learns how they ended."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from behavesim.base.errors import SandboxError
from behavesim.base.heartbeat import Heartbeat
from behavesim.sandbox.apart import as_sent
from behavesim.sandbox.frames import PREFIX, header_limit
from behavesim.sandbox.limits import MEGABYTE
from behavesim.sandbox.messages import FORK, KILL, REQUEST, Assignment, Ending, Ready

START_S = 120.0
GRACE_S = 5.0
"""How long after a candidate's last deadline a zygote that says nothing is taken for dead."""
REST_S = 1.0
"""How long the reading of what a dead candidate sent may take: it is in the socket by then."""
_CHUNK = 1 << 18
_INHERITED = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONHOME")
_ENVIRONMENT = {
    **{f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "NUMBA", "VECLIB")},
    "PYTHONHASHSEED": "0",
    "LD_BIND_NOW": "1",  # or each child would look up again where the functions that it calls lie
    "PYTHONDONTWRITEBYTECODE": "1",
    "PATH": "/usr/bin:/bin",
    "HOME": "/nonexistent",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
}


class ZygoteDied(SandboxError):
    """The zygote went away, or went silent, with candidates in flight."""


@dataclass(frozen=True)
class ProcessOutput:
    """How a candidate's process ended and the bytes it sent, whole or not; `overflowed` says there were too many."""

    ending: Ending
    frame: bytes
    overflowed: bool


class ZygoteConnection:
    """A zygote, from its start to its end; how long it may be silent is a matter of `clock`."""

    def __init__(
        self, process: subprocess.Popen[bytes], control: socket.socket, assignment: Assignment, clock: Heartbeat
    ) -> None:
        self.alive = True
        self._clock = clock
        self._process = process
        self._control = control
        self._limits = assignment.limits
        self._frame_limit = 0  # unknown until the zygote has counted its instances
        self._jobs = itertools.count()
        self._endings: dict[int, asyncio.Future[Ending]] = {}
        self._ready: asyncio.Future[Ready] = asyncio.get_running_loop().create_future()
        self._listening = asyncio.create_task(self._listen())

    @classmethod
    async def open(cls, assignment: Assignment, clock: Heartbeat) -> tuple[ZygoteConnection, Ready]:
        """Start a zygote and wait until it serves; raises SandboxError, in the zygote's words, if it never does."""
        with _enough_files(), tempfile.TemporaryFile() as errors:
            ours, theirs = socket.socketpair()
            ours.setblocking(False)
            with theirs:
                connection = cls(_start(assignment, theirs, errors.fileno()), ours, assignment, clock)
            try:
                async with clock.timeout(START_S):
                    return connection, await connection._ready
            except TimeoutError as error:
                raise SandboxError(
                    f"the sandbox did not start within {START_S:g} s; does its task load, and its template end?"
                ) from error
            except ZygoteDied as error:
                errors.seek(0)
                said = errors.read().decode(errors="replace").strip().splitlines()
                raise SandboxError(f"the sandbox did not start: {said[-1] if said else error}") from error
            finally:
                if not connection._ready.done() or connection._ready.cancelled() or connection._ready.exception():
                    await connection.close()

    async def run(self, source: str, questions: bytes = b"", link: socket.socket | None = None) -> ProcessOutput:
        """Have one program run; raises ZygoteDied if the zygote did not outlive it.

        With questions the zygote is one without a task, and the program answers these. With a link it is run by the
        zygote that has the other end (`lend`). Cancelling kills the program.
        """
        with _enough_files():
            ours, theirs = socket.socketpair()
        ours.setblocking(False)
        job = self._new_job()
        with ours:
            exchange = asyncio.create_task(self._exchange(ours, as_sent(source) + questions, bool(questions), job))
            try:
                with theirs:
                    self._fork(job, theirs, *([] if link is None else [link]))
                ended = await self._ended(job)
                with contextlib.suppress(TimeoutError):
                    async with self._clock.timeout(REST_S):
                        await asyncio.wait([exchange])
                frame, overflowed = exchange.result() if exchange.done() else (b"", False)
                return ProcessOutput(ended, frame, overflowed)
            finally:
                self._endings.pop(job)
                exchange.cancel()
                await asyncio.wait([exchange])  # before its socket is closed

    async def lend(self, end: socket.socket) -> Ending:
        """Have the program that comes through a socket answer what is asked there; the socket is closed here.

        Raises ZygoteDied; cancelling kills the program.
        """
        job = self._new_job()
        try:
            with end:
                self._fork(job, end)
            return await self._ended(job)
        finally:
            self._endings.pop(job)

    async def close(self) -> None:
        """End the zygote and all its children; on return they are gone, or dying where it did not answer."""
        self.alive = False
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_WR)
        await asyncio.wait([self._listening], timeout=1)
        if self._listening.done():  # it is on its way out; killed now, it might leave later than who waits for it here
            with contextlib.suppress(subprocess.TimeoutExpired):
                await asyncio.to_thread(self._process.wait, GRACE_S)
        self._process.kill()
        await asyncio.to_thread(self._process.wait)
        await asyncio.wait([self._listening])
        self._control.close()

    def _new_job(self) -> int:
        job = next(self._jobs)
        self._endings[job] = asyncio.get_running_loop().create_future()
        return job

    def _fork(self, job: int, *ends: socket.socket) -> None:
        self._request(FORK, job, *(end.fileno() for end in ends))

    async def _ended(self, job: int) -> Ending:
        """How a child ended, which is killed where nobody wants to know any more; raises ZygoteDied."""
        ending = self._endings[job]
        try:
            async with self._clock.timeout(self._limits.longest_s + GRACE_S):
                return await asyncio.shield(ending)
        except TimeoutError:
            self.alive = False
            raise ZygoteDied("the zygote went silent") from None
        except asyncio.CancelledError:
            with contextlib.suppress(ZygoteDied, TimeoutError):
                self._request(KILL, job)
                async with self._clock.timeout(GRACE_S):
                    await asyncio.shield(ending)
            raise

    def _request(self, request: bytes, job: int, *fds: int) -> None:
        try:
            socket.send_fds(self._control, [REQUEST.pack(request, job)], fds)
        except OSError as error:  # it is dead, or so stuck that its queue is full
            self.alive = False
            raise ZygoteDied(f"the zygote takes no more requests: {error}") from error

    async def _exchange(self, ours: socket.socket, sent: bytes, is_all: bool, job: int) -> tuple[bytes, bool]:
        """Send the program and what it is asked, then read one frame, or as much of one as comes."""
        loop = asyncio.get_running_loop()
        frame = bytearray()
        with contextlib.suppress(ConnectionError):  # the child died early; how, its ending tells
            await loop.sock_sendall(ours, sent)
            if is_all:
                ours.shutdown(socket.SHUT_WR)
            while chunk := await loop.sock_recv(ours, _CHUNK):
                frame += chunk
                if len(frame) > self._frame_limit:
                    self._request(KILL, job)
                    return b"", True
        return bytes(frame), False

    async def _listen(self) -> None:
        """Hand on what the zygote says until it says no more."""
        try:
            async for line in _lines(self._control):
                self._hear(json.loads(line))
        finally:
            self._die("the zygote died")

    def _die(self, words: str) -> None:
        self.alive = False
        waiting: list[asyncio.Future[Any]] = [self._ready, *self._endings.values()]
        for future in waiting:
            if not future.done():
                future.set_exception(ZygoteDied(words))
                future.exception()  # whoever waits hears of it; where nobody does, nobody needs to

    def _hear(self, message: dict[str, Any]) -> None:
        if self._ready.cancelled():
            return  # whoever wanted a zygote was interrupted before it was ready, and is closing it
        if "error" in message and self._ready.done():
            self._die(f"the zygote died: {message['error']}")
        elif "error" in message:
            self._ready.set_exception(SandboxError(f"the sandbox did not start: {message['error']}"))
        elif "isolation" in message:
            ready = Ready.heard(message)
            self._frame_limit = PREFIX.size + header_limit(ready.instances) + self._limits.output_mb * MEGABYTE
            self._ready.set_result(ready)
        elif (waiting := self._endings.get(message["job"])) and not waiting.done():
            waiting.set_result(Ending(**message))


@contextlib.contextmanager
def connected() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Both ends of a socket, closed at the end; raises SandboxError where none can be had."""
    with _enough_files():
        ends = socket.socketpair()
    with ends[0], ends[1]:
        yield ends


@contextlib.contextmanager
def _enough_files() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SandboxError(
            f"the sandbox has too little to work with: {error.strerror}; raise the limits on open files and processes "
            "(ulimit -n, -u), or set fewer workers"
        ) from error


def _start(assignment: Assignment, control: socket.socket, errors: int) -> subprocess.Popen[bytes]:
    """An interpreter of its own (nothing of this process's memory), in its own session (no Ctrl-C from a terminal),
    with an environment that is listed here (no keys)."""
    fd = control.fileno()
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    found = os.pathsep.join(path for path in sys.path if Path(path).is_absolute())  # import what this process imports
    return subprocess.Popen(
        [sys.executable, "-sP", "-m", "behavesim.sandbox.zygote", assignment.to_json(), str(fd)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=errors,
        env=_ENVIRONMENT | inherited | {"PYTHONPATH": found},
        pass_fds=[fd],
        cwd="/",
        start_new_session=True,
    )


async def _lines(control: socket.socket) -> AsyncIterator[bytes]:
    """The lines that arrive at a socket until its other end closes."""
    loop = asyncio.get_running_loop()
    rest = b""
    with contextlib.suppress(ConnectionError):
        while chunk := await loop.sock_recv(control, _CHUNK):
            *whole, rest = (rest + chunk).split(b"\n")
            for line in whole:
                yield line
