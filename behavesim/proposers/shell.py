"""Runs a user's command line once: text on its input, text from its outputs; it is killed if that is cancelled."""

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
"""Bytes kept of each output of a command; the longest replies of models take a quarter of it."""
_PIECE = 1 << 16
"""Most bytes that are read from an output at once."""
_REAPED_S = 1.0
"""Seconds to wait until a killed process has ended."""


@dataclass(frozen=True)
class Ended:
    """How a command ended and what it wrote; each text is cut after LONGEST_OUTPUT bytes."""

    code: int
    """The shell's exit code; -N if signal N killed the shell."""
    out: str
    """The text that the command wrote to its standard output."""
    err: str
    """The text that the command wrote to its standard error."""


async def carried_out(command: str, text: str, environment: Mapping[str, str]) -> Ended:
    """Run a command line in a shell with `text` on its standard input; return its exit code and output.

    The command has the variables of `environment` alone, and no time limit. This returns when the shell has ended and
    no process holds its outputs open. If cancelled, it kills the command's process group. Raises OSError if the shell
    cannot be started.
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
    """Start the command and return its process and transport; if cancelled meanwhile, kill it once it has started.

    Raises OSError if the shell cannot be started.
    """
    starting = asyncio.create_task(_start(command, environment))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with suppress(OSError):
            await _kill(*await starting)
        raise


async def _start(command: str, environment: Mapping[str, str]) -> tuple[Process, SubprocessTransport]:
    """Start the command in a session of its own; return its process, and the transport, which can close its pipes."""
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.subprocess_shell(
        lambda: SubprocessStreamProtocol(limit=_PIECE, loop=loop),
        command,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        env=environment,
        start_new_session=True,  # a process group, so that what the command starts can be killed with it
    )
    return Process(transport, protocol, loop), transport


async def _write(stream: StreamWriter, text: str) -> None:
    """Write a text to a command's standard input, and close it."""
    if stream.is_closing():  # uvloop raises an error if such a stream is written to
        return
    with suppress(ConnectionError):  # a command may answer without reading all of its input
        stream.write(text.encode(errors="replace"))
        await stream.drain()
    stream.close()


async def _read(stream: StreamReader) -> str:
    """Read an output until it is closed; return its first LONGEST_OUTPUT bytes as text, invalid UTF-8 as U+FFFD."""
    content = bytearray()
    while piece := await stream.read(_PIECE):
        content += piece[: LONGEST_OUTPUT - len(content)]
    return content.decode(errors="replace")


async def _kill(process: Process, transport: SubprocessTransport) -> None:
    """Kill a process's group, close its pipes, and wait at most _REAPED_S for its end."""
    # a process that left the group could keep the pipes open for ever
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    transport.close()
    with suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), _REAPED_S)
