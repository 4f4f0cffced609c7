"""The daemon's side of a zygote: starts one, sends it programs and receives how their processes ended."""

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
from behavesim.sandbox.apart import encode_source
from behavesim.sandbox.frames import PREFIX, header_limit
from behavesim.sandbox.limits import MEGABYTE
from behavesim.sandbox.messages import FORK, KILL, REQUEST, Assignment, Ending, Ready

START_S = 120.0
"""Longest time a zygote may take to load its task and start serving (s)."""
GRACE_S = 5.0
"""How long after a candidate's last deadline a silent zygote counts as dead (s)."""
REST_S = 1.0
"""Longest time for reading what an ended candidate sent (s): its bytes are in the socket already."""
_CHUNK = 1 << 18
_INHERITED = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONHOME")
_ENVIRONMENT = {
    **{f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "NUMBA", "VECLIB")},
    "PYTHONHASHSEED": "0",
    "LD_BIND_NOW": "1",  # resolve C functions once in the zygote and not again in each child
    "PYTHONDONTWRITEBYTECODE": "1",
    "PATH": "/usr/bin:/bin",
    "HOME": "/nonexistent",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
}


class ZygoteDied(SandboxError):
    """Raised if the zygote ended, or stopped answering, while candidates were running."""


@dataclass(frozen=True)
class ProcessOutput:
    """How a candidate's process ended, and the bytes it sent.

    `frame` may be incomplete. It is empty if `overflowed`: then more bytes came than a frame may have.
    """

    ending: Ending
    frame: bytes
    overflowed: bool


class ZygoteConnection:
    """A zygote from its start to its end; time limits on its silence go by `clock`."""

    def __init__(
        self, process: subprocess.Popen[bytes], control: socket.socket, assignment: Assignment, clock: Heartbeat
    ) -> None:
        self.alive = True
        self._clock = clock
        self._process = process
        self._control = control
        self._limits = assignment.limits
        self._frame_limit = 0  # bytes; unknown until the zygote has counted its instances
        self._jobs = itertools.count()
        self._endings: dict[int, asyncio.Future[Ending]] = {}
        self._ready: asyncio.Future[Ready] = asyncio.get_running_loop().create_future()
        self._listening = asyncio.create_task(self._listen())

    @classmethod
    async def open(cls, assignment: Assignment, clock: Heartbeat) -> tuple[ZygoteConnection, Ready]:
        """Start a zygote and return its connection and its first message.

        Raises SandboxError with the zygote's own error if it does not start or takes longer than START_S.
        """
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
        """Run one program in a new child of the zygote, and return how it ended and what it sent.

        `questions` are encoded calls that the program answers, for a zygote without a task. With a `link` the child
        only solves the instances: the program runs in the zygote that got the link's other end (`lend`).
        Cancelling kills the child. Raises ZygoteDied if the zygote ends first, SandboxError without free files.
        """
        with _enough_files():
            ours, theirs = socket.socketpair()
        ours.setblocking(False)
        job = self._new_job()
        with ours:
            sent = encode_source(source) + questions
            exchange = asyncio.create_task(self._exchange(ours, sent, bool(questions), job))
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
        """Fork a child that receives a program and its calls through the socket `end`; return how the child ended.

        The socket is closed in this process. Cancelling kills the child. Raises ZygoteDied if the zygote ends first.
        """
        job = self._new_job()
        try:
            with end:
                self._fork(job, end)
            return await self._ended(job)
        finally:
            self._endings.pop(job)

    async def close(self) -> None:
        """End the zygote and all its children, and wait for it; one that does not answer is killed."""
        self.alive = False
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_WR)
        await asyncio.wait([self._listening], timeout=1)
        if self._listening.done():  # it is ending, and kills its children first
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
        """Wait until a child ends, and return how; cancelling kills the child.

        Raises ZygoteDied if the zygote ends, or is silent for GRACE_S after the child's last deadline.
        """
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
        except OSError as error:  # it is dead, or stuck with a full queue
            self.alive = False
            raise ZygoteDied(f"the zygote takes no more requests: {error}") from error

    async def _exchange(self, ours: socket.socket, sent: bytes, is_all: bool, job: int) -> tuple[bytes, bool]:
        """Send a program, then return the bytes that come back and whether they were too many.

        If there are too many, the child is killed and no bytes are returned. `is_all`: nothing more is sent after this.
        """
        loop = asyncio.get_running_loop()
        frame = bytearray()
        with contextlib.suppress(ConnectionError):  # the child died early; its ending says how
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
        """Take in the zygote's messages until its socket closes."""
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
                future.exception()  # marks it as seen: asyncio would log an error if nobody waits for it

    def _hear(self, message: dict[str, Any]) -> None:
        if self._ready.cancelled():
            return  # `open` was cancelled, and is closing this connection
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
    """Yield two connected sockets, closed on leaving; raises SandboxError if no files are free."""
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
    """Start a zygote in a new interpreter, which shares no memory with this process.

    It has a session of its own, so that no Ctrl-C of a terminal reaches it, and only the environment listed above, so
    that no keys reach it.
    """
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
    """Yield the lines that arrive at a socket, without line ends, until its other end closes."""
    loop = asyncio.get_running_loop()
    rest = b""
    with contextlib.suppress(ConnectionError):
        while chunk := await loop.sock_recv(control, _CHUNK):
            *whole, rest = (rest + chunk).split(b"\n")
            for line in whole:
                yield line
