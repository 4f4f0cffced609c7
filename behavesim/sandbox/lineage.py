"""A zygote and its successors: one serves at any time, and the next is started when it has died."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from behavesim.errors import SandboxError
from behavesim.heartbeat import Heartbeat
from behavesim.sandbox.link import Link
from behavesim.sandbox.orders import Assignment, Ready

STARTS = 5
"""How often in a row a successor may fail to start before the sandbox gives up; the first zygote has one attempt."""


class Lineage:
    """The zygotes of one assignment; `accept` may refuse one by raising, before it serves."""

    def __init__(self, assignment: Assignment, accept: Callable[[Ready], None], clock: Heartbeat) -> None:
        self._assignment = assignment
        self._accept = accept
        self._clock = clock
        self._opening = asyncio.Lock()
        self._link: Link | None = None
        self._closed = False

    async def living(self) -> Link:
        """The zygote that serves, started if there is none; raises SandboxError where none can be, or it is closed."""
        async with self._opening:
            if self._closed:
                raise SandboxError("the sandbox was closed with programs in flight")
            if self._link is None or not self._link.alive:
                attempts = STARTS if self._link is not None else 1
                if self._link is not None:
                    await self._link.close()
                self._link, ready = await self._open(attempts)
                self._accept(ready)
            return self._link

    async def close(self) -> None:
        """End it, and be no more; a zygote that is just being started is closed too."""
        self._closed = True
        async with self._opening:
            if self._link is not None:
                await self._link.close()

    async def _open(self, attempts: int) -> tuple[Link, Ready]:
        for failures in range(attempts):
            await asyncio.sleep(0.1 * (2**failures - 1))
            try:
                return await Link.open(self._assignment, self._clock)
            except SandboxError as error:
                failed = error
        raise failed
