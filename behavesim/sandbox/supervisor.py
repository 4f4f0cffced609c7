"""A supervisor of zygotes: one serves at any time, and the next is started when it has died."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from behavesim.base.errors import SandboxError
from behavesim.base.heartbeat import Heartbeat
from behavesim.sandbox.connection import ZygoteConnection
from behavesim.sandbox.messages import Assignment, Ready

STARTS = 5
"""How often in a row a successor may fail to start before the sandbox gives up; the first zygote has one attempt."""


class ZygoteSupervisor:
    """The zygotes of one assignment; `accept` may refuse one by raising, before it serves."""

    def __init__(self, assignment: Assignment, accept: Callable[[Ready], None], clock: Heartbeat) -> None:
        self._assignment = assignment
        self._accept = accept
        self._clock = clock
        self._opening = asyncio.Lock()
        self._connection: ZygoteConnection | None = None
        self._closed = False

    async def connection(self) -> ZygoteConnection:
        """The zygote that serves, started if there is none; raises SandboxError where none can be, or it is closed."""
        async with self._opening:
            if self._closed:
                raise SandboxError("the sandbox was closed with programs in flight")
            if self._connection is None or not self._connection.alive:
                attempts = STARTS if self._connection is not None else 1
                if self._connection is not None:
                    await self._connection.close()
                self._connection, ready = await self._open(attempts)
                self._accept(ready)
            return self._connection

    async def close(self) -> None:
        """End the zygote for good; one that is just being started is closed too."""
        self._closed = True
        async with self._opening:
            if self._connection is not None:
                await self._connection.close()

    async def _open(self, attempts: int) -> tuple[ZygoteConnection, Ready]:
        for failures in range(attempts):
            await asyncio.sleep(0.1 * (2**failures - 1))
            try:
                return await ZygoteConnection.open(self._assignment, self._clock)
            except SandboxError as error:
                failed = error
        raise failed
