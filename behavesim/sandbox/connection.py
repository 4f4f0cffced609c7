"""The search's side of a zygote: starts one, sends it programs, receives how they ended; starts another if it dies."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import itertools
import json
import os
import shlex
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from behavesim.base.errors import SandboxError, TaskError
from behavesim.base.heartbeat import Heartbeat
from behavesim.base.plugins import python_path
from behavesim.base.text import last_line
from behavesim.sandbox import isolation
from behavesim.sandbox.frames import frame_limit
from behavesim.sandbox.messages import FORK, KILL, NO_BLOCK, REQUEST, Assignment, ProcessEnd, Ready, encode_source

if TYPE_CHECKING:
    from behavesim.task.verdict import Block

# Environment variables of this process that a zygote gets: without them some interpreters find no libraries.
INHERITED = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONHOME")
# A zygote's other environment variables, besides PYTHONPATH: one thread for each library, equal hashes, no secret.
VARIABLES = {
    **{f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "NUMBA", "VECLIB")},
    "JE_ARROW_MALLOC_CONF": "background_thread:false",  # pandas imports Arrow, whose allocator has a thread of its own
    # Freed memory is kept for the next arrays, as glibc would from the first array of 32 MB on. A program that frees
    # many of 200 kB with each call would give it back each time, and the page faults take a third of its time.
    "MALLOC_MMAP_THRESHOLD_": str(1 << 25),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 26),
    "PYTHONHASHSEED": "0",
    "LD_BIND_NOW": "1",  # resolve C functions once in the zygote and not again in each child
    "PYTHONDONTWRITEBYTECODE": "1",
    "PATH": "/usr/bin:/bin",
    "HOME": "/nonexistent",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
}


def trusted_environment() -> dict[str, str]:
    """Return this process's environment for a trusted process, with one thread for each library and equal hashes."""
    alike = {name: value for name, value in VARIABLES.items() if name.endswith(("_THREADS", "_CONF", "HASHSEED"))}
    return {**os.environ, **alike, "PYTHONPATH": bare_environment()["PYTHONPATH"]}


def bare_environment() -> dict[str, str]:
    """Return the environment of a process that must not get keys: VARIABLES, PYTHONPATH, and INHERITED if set."""
    inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
    return VARIABLES | inherited | {"PYTHONPATH": python_path()}


# Longest time (s) that a zygote may take to load its task and get ready.
START_S = 120.0
# Seconds of silence after a candidate's last deadline until a zygote counts as dead; also the longest wait (s) for a
# zygote or a candidate that was told to end.
GRACE_S = 5.0
# Longest time (s) for reading what an ended candidate sent: its bytes are in the socket already.
REST_S = 1.0
# Most bytes that are read from a socket at once: a solution of the usual size comes in one piece.
_CHUNK = 1 << 18


class ZygoteDied(SandboxError):
    """Raised if the zygote ended, stopped answering or took no request while a candidate was to run."""


@dataclass(frozen=True)
class RawResult:
    """What came of running a program: nothing of it is decoded or believed yet."""

    end: ProcessEnd  # of the process that held the instances
    frame: bytes | None  # what it sent, incomplete, invalid or empty perhaps; None if too much came
    # of the program's own process, if it ran apart from the instances, then of those that repeated calls
    program_ends: tuple[ProcessEnd, ...] = ()

    @property
    def cpu_s(self) -> float:
        """CPU time of its processes together (s)."""
        return sum(each.cpu_s for each in (self.end, *self.program_ends))

    def beside_others(self) -> RawResult:
        """Return the same, with the note in each ending that other processes kept the machine busy meanwhile."""
        end, *program_ends = (replace(each, beside_others=True) for each in (self.end, *self.program_ends))
        return RawResult(end, self.frame, tuple(program_ends))


class ZygoteConnection:
    """A zygote (a process that forks one child for each program) from its start to its end; made by `open`.

    `clock` measures its silence. `alive` is False once it ended, went silent, took no request or was closed.
    """

    def __init__(
        self, process: subprocess.Popen[bytes], control: socket.socket, assignment: Assignment, clock: Heartbeat
    ) -> None:
        self.alive = True
        self._clock = clock
        self._process = process
        self._control = control
        self._limits = assignment.limits
        self._wall_kill_s = assignment.wall_kill_s
        self._frame_limit = 0  # bytes; unknown until the zygote has counted its instances
        self._jobs = itertools.count()
        self._endings: dict[int, asyncio.Future[ProcessEnd]] = {}
        self._ready: asyncio.Future[Ready] = asyncio.get_running_loop().create_future()
        self._listening = asyncio.create_task(self._listen())

    @classmethod
    async def open(cls, assignment: Assignment, clock: Heartbeat) -> tuple[ZygoteConnection, Ready]:
        """Start a zygote and return its connection and its first message.

        Raises SandboxError, with the zygote's own error if it sent one, if it does not start within START_S, and
        TaskError if an evaluator is at fault.
        """
        with _shortage_named(), tempfile.TemporaryFile() as errors, contextlib.ExitStack() as held:
            if assignment.wall:  # it must keep from programs what is opened here
                assignment = replace(assignment, outside=held.enter_context(isolation.outside_of_wall()))
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
                said = last_line(errors.read().decode(errors="replace")) or error
                raise SandboxError(f"the sandbox did not start: {said}") from error
            finally:
                if not connection._ready.done() or connection._ready.cancelled() or connection._ready.exception():
                    await connection.close()

    async def run(
        self, source: str, program_sockets: Sequence[socket.socket] = (), block: Block | None = None
    ) -> RawResult:
        """Run one program in a new child of the zygote, and return how it ended and what it sent.

        It runs on the instances of the split, or on those of a block. With `program_sockets` the child only solves the
        instances, and calls the program through them (see `fork_answerer`). Cancelling kills the child. Raises
        ZygoteDied if the zygote ends, goes silent or takes no request, SandboxError if no more files may be opened.
        """
        with open_socket_pair() as (own_socket, child_socket), self._job() as job:
            own_socket.setblocking(False)
            most = self._frame_limit
            if block is not None:
                most = frame_limit(block.size, self._limits.times(block.share).output)
            exchange = asyncio.create_task(self._exchange(own_socket, encode_source(source), job, most))
            try:
                self._request(FORK, job, child_socket, *program_sockets, block=block)
                child_socket.close()  # while it is open here, the child's end does not end the exchange
                ended = await self._ended(job, block)
                with contextlib.suppress(TimeoutError):
                    async with self._clock.timeout(REST_S):
                        await asyncio.wait([exchange])
                return RawResult(ended, exchange.result() if exchange.done() else b"")
            finally:
                exchange.cancel()
                await asyncio.wait([exchange])  # before its socket is closed

    async def fork_answerer(self, child_socket: socket.socket, block: Block | None = None) -> ProcessEnd:
        """Fork a child that receives a program and its calls through a socket; return how the child ended.

        The socket is closed in this process. Its limits are those for a block, if one is given. Cancelling kills the
        child. Raises ZygoteDied as `run` does.
        """
        with self._job() as job:
            with child_socket:
                self._request(FORK, job, child_socket, block=block)
            return await self._ended(job, block)

    async def fork_when_asked(self, child_socket: socket.socket, block: Block | None = None) -> ProcessEnd | None:
        """Do the same once a program comes through the socket; None if it is closed before."""
        # not before: a process without a program would use up its time
        loop, came = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(child_socket, came.set)
        try:
            await came.wait()
        finally:
            loop.remove_reader(child_socket)
        # uvloop makes what it watches non-blocking, also for the child that gets it, which would not wait for questions
        child_socket.setblocking(True)
        return await self.fork_answerer(child_socket, block) if child_socket.recv(1, socket.MSG_PEEK) else None

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

    @contextlib.contextmanager
    def _job(self) -> Iterator[int]:
        job = next(self._jobs)
        self._endings[job] = asyncio.get_running_loop().create_future()
        try:
            yield job
        finally:
            del self._endings[job]

    async def _ended(self, job: int, block: Block | None) -> ProcessEnd:
        """Wait until a child ends, and return how it ended; cancelling kills the child."""
        ending = self._endings[job]
        wall_kill_s = self._wall_kill_s if block is None else self._limits.times(block.share).wall_kill_s
        try:
            async with self._clock.timeout(wall_kill_s + GRACE_S):
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

    def _request(self, request: bytes, job: int, *ends: socket.socket, block: Block | None = None) -> None:
        """Send the zygote a request, FORK or KILL, with the sockets `ends`; raises ZygoteDied if that fails."""
        try:
            packed = REQUEST.pack(request, job, *(block or NO_BLOCK))
            socket.send_fds(self._control, [packed], [end.fileno() for end in ends])
        except OSError as error:  # it is dead, or stuck with a full queue
            self.alive = False
            raise ZygoteDied(f"the zygote takes no more requests: {error}") from error

    async def _exchange(self, own_socket: socket.socket, sent: bytes, job: int, most: int) -> bytes | None:
        """Return what the child sends until it closes its end; None, and kill it, if that is above `most` bytes."""
        loop = asyncio.get_running_loop()
        frame = bytearray()
        with contextlib.suppress(ConnectionError):  # the child died early; its ending says how
            await loop.sock_sendall(own_socket, sent)
            while chunk := await loop.sock_recv(own_socket, _CHUNK):
                frame += chunk
                if len(frame) > most:
                    self._request(KILL, job)
                    return None
        return bytes(frame)

    async def _listen(self) -> None:
        """Receive the zygote's messages and act on them, until its socket closes or a line is no message."""
        loop, rest = asyncio.get_running_loop(), b""
        try:
            with contextlib.suppress(ConnectionError):
                while chunk := await loop.sock_recv(self._control, _CHUNK):
                    *lines, rest = (rest + chunk).split(b"\n")
                    for line in lines:
                        self._hear(json.loads(line))
        finally:
            self._die("the zygote died")

    def _die(self, words: str) -> None:
        # what awaits its start or an ending gets the error
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
            kind, start = (TaskError, "") if message.get("is_usage") else (SandboxError, "the sandbox did not start: ")
            self._ready.set_exception(kind(f"{start}{message['error']}"))
        elif "isolation" in message:
            ready = Ready(**message)
            self._frame_limit = frame_limit(ready.instances, self._limits.output)
            self._ready.set_result(ready)
        elif (waiting := self._endings.get(message["job"])) and not waiting.done():
            waiting.set_result(ProcessEnd(**message))


@contextlib.contextmanager
def open_socket_pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Yield two connected sockets, which are closed on leaving; raises SandboxError if none can be opened."""
    with _shortage_named():
        ends = socket.socketpair()
    with ends[0], ends[1]:
        yield ends


@contextlib.contextmanager
def _shortage_named() -> Iterator[None]:
    """Raise SandboxError in place of any OSError inside, with what this machine has too little of."""
    try:
        yield
    except OSError as error:
        raise SandboxError(_shortage(error)) from error


def _shortage(error: OSError) -> str:
    """Return what is too little where a zygote, its sockets and its file of errors were to be made, and what to do."""
    match error.errno:
        case errno.EMFILE | errno.ENFILE | errno.EAGAIN:
            return (
                f"the sandbox has too little to work with: {error.strerror}; raise the limits on open files and "
                "processes (ulimit -n, -u), or set fewer workers"
            )
        case errno.ENOMEM:
            return "no memory for another process: free some, or set fewer workers"
        case errno.E2BIG:
            return "the task's description is longer than 128 kB: shorten it"
    # Python's own error if no folder for temporary files can be written to has no file name
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS) or (error.errno == errno.ENOENT and not error.filename):
        folder = os.environ.get("TMPDIR", "/tmp")
        return f"no room for a temporary file in {folder} ({error.strerror}): free some, or set TMPDIR"
    return f"the sandbox cannot be started: {error}"


def _start(assignment: Assignment, control: socket.socket, errors: int) -> subprocess.Popen[bytes]:
    """Start a zygote, which gets the socket `control`; its errors go to `errors`."""
    # It has no keys in its environment unless it is trusted.
    fd = control.fileno()
    return subprocess.Popen(
        [*shlex.split(assignment.wall), sys.executable, "-sP", "-m", assignment.module, assignment.to_json(), str(fd)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=errors,
        env=trusted_environment() if assignment.is_trusted else bare_environment(),
        pass_fds=[fd],
        cwd=os.curdir if assignment.is_trusted else "/",
        start_new_session=True,  # no Ctrl-C of a terminal reaches it
    )


# Number of attempts to start a zygote after one has died; the first zygote has one attempt.
STARTS = 5


class ZygoteSupervisor:
    """Starts a zygote when `connection` is called and none lives.

    `accept` is called with each new zygote's first message. If it raises, that zygote is ended and never used.
    """

    def __init__(self, assignment: Assignment, accept: Callable[[Ready], None], clock: Heartbeat) -> None:
        self._assignment = assignment
        self._accept = accept
        self._clock = clock
        self._opening = asyncio.Lock()
        self._connection: ZygoteConnection | None = None
        self._closed = False

    async def connection(self) -> ZygoteConnection:
        """Return the connection to a living zygote; starts one if there is none.

        Raises SandboxError if none can be started or the supervisor is closed, TaskError if an evaluator is at fault,
        and what `accept` raises.
        """
        async with self._opening:
            if self._closed:
                raise SandboxError("the sandbox was closed with programs in flight")
            if self._connection is None or not self._connection.alive:
                attempts = STARTS if self._connection is not None else 1
                if self._connection is not None:
                    await self._connection.close()
                self._connection, ready = await self._open(attempts)
                try:
                    self._accept(ready)
                except BaseException:
                    await self._connection.close()  # else the next caller would get the refused zygote
                    raise
            return self._connection

    async def close(self) -> None:
        """End the zygote, also one that is being started; after this, `connection` raises SandboxError."""
        self._closed = True
        async with self._opening:
            if self._connection is not None:
                await self._connection.close()

    async def _open(self, attempts: int) -> tuple[ZygoteConnection, Ready]:
        """Start a zygote, waiting longer before each attempt; raises the last SandboxError, any other error at once."""
        for failures in range(attempts):
            await asyncio.sleep(0.1 * (2**failures - 1))
            try:
                return await ZygoteConnection.open(self._assignment, self._clock)
            except SandboxError as error:
                failed = error
        raise failed
