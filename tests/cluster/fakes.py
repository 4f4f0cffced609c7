"""Schedulers and workers that are none: they say what a test wants, in the protocol of Dask."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from behavesim.cluster.protocol import HANDSHAKE, SMALL, Line, LineLost
from behavesim.cluster.task_files import platform_facts

Script = Callable[["Fake"], Awaitable[None]]
"""What the other end of a connection does; a worker's begins when it has said that its sandbox is ready."""


class Fake(Line):
    """The other end of a connection, which can also send bytes that are no message; `pieces` are those of files."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.pieces: list[tuple[str, bytes]] = []

    async def raw(self, data: bytes) -> None:
        """Send bytes as they are."""
        self._writer.write(data)
        await self._writer.drain()

    async def jobs(self) -> list[int]:
        """Wait for programs, and return their numbers."""
        while True:
            if run := (await self.receive()).get("run"):
                return [job for job, *_ in run]


@asynccontextmanager
async def served(conversation: Script) -> AsyncIterator[str]:
    """Yield the address of a server that greets and then converses."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        fake = Fake(reader, writer, SMALL)
        try:
            await fake.send(HANDSHAKE)
            await fake.receive()
            await conversation(fake)
        except LineLost:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield f"tcp://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


@asynccontextmanager
async def scheduler_of(*workers: Script) -> AsyncIterator[str]:
    """Yield the address of a scheduler that lists workers named 0, 1, …, which converse as told (see `ready`)."""
    listed: dict[str, Any] = {}

    async def list_workers(fake: Fake) -> None:
        while await fake.receive():
            await fake.send({"workers": listed})

    async with served(list_workers) as scheduler, _all(workers) as addresses:
        listed.update({address: {"name": at, "status": "running"} for at, address in enumerate(addresses)})
        yield scheduler


@asynccontextmanager
async def _all(workers: tuple[Script, ...]) -> AsyncIterator[list[str]]:
    if not workers:
        yield []
        return
    async with served(workers[0]) as first, _all(workers[1:]) as others:
        yield [first, *others]


def ready(script: Script, isolation: str = "strong+") -> Script:
    """Return the conversation of a worker that becomes ready, and then does as the script says."""

    async def conversation(fake: Fake) -> None:
        await fake.receive()  # the wish to be installed
        await fake.send({"status": "OK"})
        await fake.receive()  # the order
        await fake.send({"facts": platform_facts()})
        while piece := (await fake.receive())["file"]:
            fake.pieces.append(piece)
        await fake.send({"beat": 1, "ready": [isolation, [], 1]})
        await script(fake)
        while True:
            await fake.receive()

    return conversation
