"""Starts a zygote when it is needed, and another after it has died."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from behavesim.base.errors import SandboxError
from behavesim.base.heartbeat import Heartbeat
from behavesim.sandbox.connection import ZygoteConnection
from behavesim.sandbox.messages import Assignment, Ready

STARTS = 5
"""Number of attempts to start a zygote after one has died; the first zygote has one attempt."""


class ZygoteSupervisor:
    """Starts a zygote, which forks programs' processes, when `connection` is called and none lives.

    `accept` is called with the first message of each new zygote. If it raises, that zygote is ended and never used.
    `clock` measures how long a zygote is silent.
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
