"""A command line of the user's own, carried out once: text in, text out, and nothing of it left behind."""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio import StreamReader, StreamWriter, SubprocessTransport
from asyncio.subprocess import PIPE, Process, SubprocessStreamProtocol
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

LONGEST_OUTPUT = 4 * 2**20
"""Bytes of what a command writes that are kept; the longest replies of models take a quarter."""
_PIECE = 1 << 16
_REAPED_S = 1.0


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code, negative for the signal that killed it, and what it had written."""

    code: int
    out: str
    err: str


async def carried_out(command: str, text: str, environment: Mapping[str, str]) -> Ended:
    """Give a command line the text on its standard input, and wait until it has ended and closed its output.

    Cancelled, it kills the command and all of its process group. Raises OSError where it cannot be started.
    """
    process, transport = await _started(command, environment)
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    try:
        written = asyncio.gather(_write(process.stdin, text), _read(process.stdout), _read(process.stderr))
        _, out, err = await written
        return Ended(await process.wait(), out, err)
    except BaseException:
        await _kill(process, transport)
        raise


async def _started(command: str, environment: Mapping[str, str]) -> tuple[Process, SubprocessTransport]:
    """The command, in a session of its own; one that is cancelled while it starts is not left to itself either."""
    starting = asyncio.create_task(_start(command, environment))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with suppress(OSError):
            await _kill(*await starting)
        raise


async def _start(command: str, environment: Mapping[str, str]) -> tuple[Process, SubprocessTransport]:
    """As asyncio.create_subprocess_shell, and with the transport, which alone can close the pipes."""
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.subprocess_shell(
        lambda: SubprocessStreamProtocol(limit=_PIECE, loop=loop),
        command,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        env=environment,
        start_new_session=True,
    )
    return Process(transport, protocol, loop), transport


async def _write(stream: StreamWriter, text: str) -> None:
    if stream.is_closing():  # uvloop would not have it written to
        return
    with suppress(ConnectionError):  # who knows what to answer need not read on
        stream.write(text.encode(errors="replace"))
        await stream.drain()
    stream.close()


async def _read(stream: StreamReader) -> str:
    """All of it, or its beginning where it is longer than anything a reply can be."""
    content = bytearray()
    while piece := await stream.read(_PIECE):
        content += piece[: LONGEST_OUTPUT - len(content)]
    return content.decode(errors="replace")


async def _kill(process: Process, transport: SubprocessTransport) -> None:
    """Kill a process group and close its pipes, which a process that left the group might hold for ever."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    transport.close()
    with suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), _REAPED_S)
