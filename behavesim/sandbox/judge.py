"""The judge of programs: the sandbox runs one, a referee scores what it sent. This process looks at neither.

A referee is a trusted process (see `referee`). It may take longer than its limits on solutions that nobody foresaw, or
die of them: then the program is rejected as `costly-score`, and another referee takes its place.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import signal
import socket
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Self

from behavesim.base.errors import TaskError
from behavesim.base.heartbeat import Heartbeat
from behavesim.sandbox.connection import ZygoteConnection, ZygoteDied, ZygoteSupervisor, open_socket_pair
from behavesim.sandbox.limits import Limits
from behavesim.sandbox.messages import (
    SIZE,
    ProcessEnd,
    Ready,
    RefereeAssignment,
    decode_pair,
    encode_pair,
    encode_source,
)
from behavesim.sandbox.processes import seconds_without_a_core
from behavesim.sandbox.referee import COSTLY, IMPROVE, VERDICT, encode_block
from behavesim.state.protocols import Postponed, Sandbox, unnoticed
from behavesim.task import Split, Task, TaskReference
from behavesim.task.verdict import Block, Failure, Sent, Verdict
from behavesim.trajectory import Behaviour

# Bytes of an answer that are read ahead; a referee waits while there are twice as many.
_BUFFERED = 1 << 20
# What a referee says of a program, or the program's failure; and the trajectories as `trajectory.pack` writes them.
RefereeReply = tuple[dict[str, Any] | Failure, bytes | memoryview]


class RefereePool:
    """Keeps referees for the instances of one split, and starts them as they are needed: at most `count` at once.

    An async context manager. Entering raises TaskError if the task cannot be loaded, SandboxError if no process starts.
    `limits` are those of a program. Time limits go by `clock`, a new one if None. `starts` is as in `begin_instances`.
    They also score blocks, which are taken from `further` instances beyond the split's. `instances` is the number of
    the split's instances, known after entering.
    """

    instances = 0

    def __init__(
        self,
        task: TaskReference,
        split: Split,
        limits: Limits,
        count: int = 1,
        clock: Heartbeat | None = None,
        starts: int = 1,
        further: int = 0,
    ) -> None:
        self._limits = limits
        self._clock = clock or Heartbeat()
        assignment = RefereeAssignment(task.absolute().text, split, starts, further, limits=limits, layers=())
        self._server = ZygoteSupervisor(assignment, self._accept, self._clock)
        self._places = asyncio.Semaphore(count)
        self._idle: list[_Referee] = []
        self._lives: set[asyncio.Task[ProcessEnd]] = set()

    def _accept(self, ready: Ready) -> None:
        self.instances = ready.instances

    async def __aenter__(self) -> Self:
        try:
            await self._server.connection()
        except BaseException:  # else a referee's server that started all the same would live on
            await self._server.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        for referee in self._idle:
            referee.end()
        await self._server.close()  # which kills all that are left
        if self._lives:
            await asyncio.wait(self._lives)

    async def ask(self, kind: bytes, frame: bytes, share: float = 1.0) -> RefereeReply:
        """Return the reply to a request (see `referee`); waits for a place, and cancelling kills the referee.

        It may take `share` times the time that the instances of the split may take.
        It is a failure with the reason COSTLY if scoring exceeds its limits or ends two referees. Raises SandboxError
        if none can be started.
        """
        request, limits = encode_pair(kind, frame), self._limits.times(share)
        async with self._places:
            reply, is_its_own = await self._ask_once(request, limits, self._idle_one())
            # The machine may have killed the first, or what it kept of earlier programs have filled its memory.
            if _is_costly(reply) and not is_its_own:
                reply, _ = await self._ask_once(request, limits, None)
        return reply

    async def _ask_once(self, request: bytes, limits: Limits, referee: _Referee | None) -> tuple[RefereeReply, bool]:
        """Return the reply of a referee (None: a new one), and whether a failure is the program's for sure."""
        is_new, is_kept = referee is None, False
        referee = referee or await self._begin()
        try:
            reply = await referee.ask(request, limits)
            if isinstance(reply, ProcessEnd):
                code = os.waitstatus_to_exitcode(reply.status)
                if code == -signal.SIGXCPU:
                    return _costly(f"took more than {limits.score_s:g} s of CPU time"), True
                how = f"by {signal.Signals(-code).name}" if -code in set(signal.Signals) else f"with status {code}"
                return _costly(f"ended the process that does it, twice ({how})"), False
            is_kept = not _is_costly(reply)
            return reply, is_new
        finally:  # also if this is cancelled: one that still works at something is of no use to others
            if is_kept:
                self._idle.append(referee)
            else:
                referee.end()

    def _idle_one(self) -> _Referee | None:
        """Take the referee that was used last from those that are idle and live; None if there is none."""
        while self._idle:
            referee = self._idle.pop()
            if not referee.life.done():
                return referee
            referee.end()
        return None

    async def _begin(self) -> _Referee:
        try:
            return await self._begin_once()
        except ZygoteDied:  # while it forked; then there is another
            return await self._begin_once()

    async def _begin_once(self) -> _Referee:
        referee = _Referee(await self._server.connection(), self._clock)
        self._lives.add(referee.life)
        referee.life.add_done_callback(self._lives.discard)
        try:
            await referee.begin()
        except BaseException:  # also cancelled: nobody knows of this process yet, and so nobody would end it
            referee.end()
            raise
        return referee


class _Referee:
    """One referee: a process that answers one request after another through a socket.

    `life` ends with the process and says how that ended; cancelling it kills the process.
    """

    def __init__(self, server: ZygoteConnection, clock: Heartbeat) -> None:
        with open_socket_pair() as pair:  # which closes only sockets that are not detached
            self._socket, child_socket = (socket.socket(fileno=each.detach()) for each in pair)
        self._clock = clock
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._pid = 0
        self._without_s = 0.0  # for which it had no core until its last long request, or its start
        self.life = asyncio.create_task(server.fork_answerer(child_socket))

    async def begin(self) -> None:
        """Wait until the process is there; raises SandboxError if it is not."""
        self._socket.setblocking(False)
        self._streams = await asyncio.open_unix_connection(sock=self._socket, limit=_BUFFERED)
        answer = await self._answer_to(encode_source(""), math.inf)
        if not isinstance(answer, bytes):
            raise ZygoteDied(f"the process that scores does not start: {answer}")
        self._pid = int(answer)

    async def ask(self, request: bytes, limits: Limits) -> RefereeReply | ProcessEnd:
        """Return the reply, which is a failure if its time by the clock is over, or how the process ended before."""
        try:
            answer = await self._answer_to(request, limits.score_wall_s)
        except ZygoteDied:  # the server of all referees, and this one with it
            return ProcessEnd(0, signal.SIGKILL, "", 0.0, 0)
        if answer is None:
            return _costly(f"is not done after {limits.score_wall_s:g} s by the clock")
        return answer if isinstance(answer, ProcessEnd) else read_reply(answer)

    def end(self) -> None:
        """Kill the process, if it lives."""
        self.life.cancel()
        if self._streams is None:
            self._socket.close()
        else:
            self._streams[1].transport.abort()  # which closes it in the loop's own time

    async def _answer_to(self, message: bytes, limit_s: float) -> bytes | ProcessEnd | None:
        """Send a message, and return the answer's body, or how the process ended before; None if the time is over."""
        assert self._streams is not None, "it has begun"
        reader, writer = self._streams
        writer.write(message)
        answer = asyncio.create_task(_read_body(reader))
        try:
            if not await self._in_time(answer, limit_s):
                return None
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                if answer.done():
                    return answer.result()
            return await self.life
        finally:
            answer.cancel()

    async def _in_time(self, answer: asyncio.Task[bytes], limit_s: float) -> bool:
        """Wait until the answer is there or the process has ended; False if its time by the clock is over before."""
        # Time without a core does not count, up to nine times the limit. The end of the process is not left to the
        # socket: a process that `score` started may hold the other end open.
        began, granted_s = self._clock(), 0.0
        wait_s = limit_s
        while wait_s > 0:
            with suppress(TimeoutError):
                async with self._clock.timeout(wait_s):
                    await asyncio.wait([answer, self.life], return_when=asyncio.FIRST_COMPLETED)
                    return True
            before_s, self._without_s = self._without_s, seconds_without_a_core(self._pid)
            granted_s += self._without_s - before_s
            wait_s = min(limit_s + granted_s, 10 * limit_s) - (self._clock() - began)
        return False


async def _read_body(reader: asyncio.StreamReader) -> bytes:
    (size,) = SIZE.unpack(await reader.readexactly(SIZE.size))
    return await reader.readexactly(size)


def read_reply(body: bytes) -> RefereeReply:
    """Return what a referee's reply says."""
    said, trajectories = decode_pair(body)
    told: dict[str, Any] = json.loads(said)
    return (Failure(*told["failure"]) if "failure" in told else told), trajectories


def _is_costly(reply: RefereeReply) -> bool:
    return isinstance(reply[0], Failure) and reply[0].reason == COSTLY


def _costly(what: str) -> RefereeReply:
    return Failure(COSTLY, f"scoring its solutions {what}"), b""


@dataclass(frozen=True)
class Improved:
    """The score of a program on each instance, and after `Task.improve`."""

    cpu_s: float  # the program's own CPU time
    scores: tuple[float, ...]
    improved: tuple[float, ...]  # empty if the task improves not all of the solutions
    improving_s: float  # CPU time of `Task.improve`


class SandboxJudge:
    """Evaluates programs on the instances of one split: `sandbox` runs them, `referees` score what they send.

    An async context manager, which enters and leaves both.
    """

    def __init__(self, task: Task, sandbox: Sandbox, referees: RefereePool) -> None:
        self._task = task
        self.sandbox = sandbox
        self._referees = referees

    async def __aenter__(self) -> Self:
        entering = [asyncio.ensure_future(each.__aenter__()) for each in (self.sandbox, self._referees)]
        try:
            await asyncio.gather(*entering)  # side by side: each loads libraries and the task
        except BaseException:  # else what the other one started would live on
            for each in entering:
                each.cancel()
            await asyncio.wait(entering)
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.gather(self.sandbox.__aexit__(), self._referees.__aexit__())

    @property
    def isolation(self) -> str:
        """The sandbox's level, one of `isolation.LEVELS`; raises SandboxError if the judge was not entered."""
        return self.sandbox.isolation

    async def evaluate(
        self, source: str, postponed: Postponed = unnoticed, block: Block | None = None, /
    ) -> Verdict | Failure:
        """Return a program's scores and trajectories, or its failure; `postponed` is called before each retry alone.

        On a block of further instances there are no trajectories.
        It fails as `invalid-solution` if the task's code raises while it scores: the same code scored the template's
        solutions. Raises SandboxError if the sandbox fails or the last try leaves an end in doubt, TaskError if the
        sandbox has another number of instances than the referee.
        """
        sent = await self.sandbox.send(source, postponed, block)
        if isinstance(sent, Failure):
            return sent
        told, trajectories = await self._ask_referee(sent, VERDICT, block)
        if isinstance(told, Failure):
            return replace(told, cpu_s=sent.cpu_s)
        # as they came: the journal keeps these bytes, and only a method that compares decodes them, in its own thread
        told |= {"scores": tuple(told["scores"]), "trajectories": Behaviour(bytes(trajectories))}
        return Verdict(**told, cpu_s=sent.cpu_s, counted_s=sent.counted_s)

    async def improved(self, source: str) -> Improved | Failure:
        """Return what a program scores, and what its solutions score after `Task.improve`, or its failure.

        Raises as `evaluate`, and TaskError if `improve` raises or makes a solution invalid.
        """
        sent = await self.sandbox.send(source)
        if isinstance(sent, Failure):
            return sent
        told, _ = await self._ask_referee(sent, IMPROVE)
        if isinstance(told, Failure):
            return replace(told, cpu_s=sent.cpu_s)
        return Improved(sent.cpu_s, tuple(told["scores"]), tuple(told["improved"]), told["improving_s"])

    async def _ask_referee(self, sent: Sent, kind: bytes, block: Block | None = None) -> RefereeReply:
        if sent.instances != (self._referees.instances if block is None else block.size):
            raise TaskError(f"`instances` of task {self._task.name!r} must give the same on every call")
        request, share = (kind, 1.0) if block is None else (encode_block(block), block.share)
        reply = await self._referees.ask(request, sent.data, share)
        if not isinstance(reply[0], Failure) and "task_error" in reply[0]:
            raise TaskError(reply[0]["task_error"])
        return reply
