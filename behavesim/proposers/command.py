"""Replies from a user's command line: it gets the prompt on its standard input and writes the reply to its output."""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio import StreamReader, StreamWriter, SubprocessTransport
from asyncio.subprocess import PIPE, Process, SubprocessStreamProtocol
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Self

from pydantic import Field

from behavesim.base.config import Adjustable
from behavesim.base.errors import UsageError
from behavesim.base.tokens import Usage
from behavesim.proposers.proposer import Proposer, ProposerContext, ProposerSettings
from behavesim.proposers.retry import Completion, Fault, RetryLimits, RetryPolicy
from behavesim.proposers.secrets import Secrets
from behavesim.state.events import Prompt, Reply

# Model name of a command's replies; users name it in `prices`, since no price list knows what a command costs.
MODEL = "command"

# Exit codes of a shell that could not run the command (126) or did not find it (127).
NOT_RUN = (126, 127)


class CommandSettings(ProposerSettings):
    """The settings of a proposer that runs a command."""

    counted_as = MODEL
    request_timeout_s: Adjustable[float] = Field(300.0, gt=0)
    """Time limit by the clock of one run of the command, in seconds; after it, the command is killed and run again."""


class CommandProposer(Proposer[CommandSettings]):
    """Runs a command for each reply, in a shell and a process group of its own.

    The command reads the prompt from its standard input and writes the reply to its standard output. It gets this
    process's environment, keys included. BEHAVESIM_NUMBER is the candidate's number (-2 and below for a note),
    BEHAVESIM_SEED the run's seed. The environment's secrets are removed from its output. An exit code other than 0 is a
    fault: the command runs again after a pause.
    """

    settings_type = CommandSettings

    def __init__(self, command: str, limits: RetryLimits, context: ProposerContext) -> None:
        """`command` is a shell's command line; each run of it may take `limits.request_s` seconds."""
        self._command, self._seed, self._clock, self._limit_s = command, context.seed, context.clock, limits.request_s
        self._secrets = Secrets.of(os.environ.items())
        self._policy = RetryPolicy(limits, context, self._secrets)

    @classmethod
    def of(cls, settings: CommandSettings, context: ProposerContext) -> Self:
        """Return the proposer of a run; its command is `context.argument`.

        Raises UsageError if that is blank, or if it holds a key: the command is stored with the run.
        """
        command = context.argument.strip()
        if not command:
            raise UsageError("command: needs a command line behind it, such as --proposer command:'python ask.py'")
        if Secrets.of(os.environ.items()).are_in(command):
            raise UsageError("the command holds a key, and is kept with the run; have it read the key from a variable")
        return cls(command, RetryLimits(request_s=settings.request_timeout_s), context)

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        """Return the reply to a prompt; if the prompt was given up, the text is empty and `fault` says why.

        Raises ProposerError if no prompt has had a reply for too long, or, before the first reply, if the shell cannot
        run the command.
        """
        tries = self._policy.begin(number, MODEL, prompt.text)
        return await self._policy.reply(tries, lambda: self._ask(prompt.text, number))

    async def _ask(self, text: str, number: int) -> Completion | Fault:
        try:
            async with self._clock.timeout(self._limit_s):
                ended = await run_shell(self._command, text, self._environment(number))
        except TimeoutError:
            return _fault(f"gave no reply within {self._limit_s:g} s")
        except OSError as error:
            return _fault(f"cannot be started: {error.strerror}", is_run=False)
        if ended.code:
            return _fault(how_it_ended(ended), is_run=ended.code not in NOT_RUN)
        return Completion(self._secrets.clean(ended.out), None, Usage())

    def _environment(self, number: int) -> Mapping[str, str]:
        return {**os.environ, "BEHAVESIM_NUMBER": str(number), "BEHAVESIM_SEED": str(self._seed)}


def _fault(what: str, *, is_run: bool = True) -> Fault:
    """Return the fault "the command `what`"; if it was not run, it is probably wrong."""
    return Fault("ask again", f"the command {what}", usage=None, is_setup=not is_run, may_be_billed=is_run)


def how_it_ended(ended: Ended) -> str:
    """Return how a command failed, with the last three lines of its standard error: a traceback ends in the error."""
    how = f"was killed by signal {-ended.code}" if ended.code < 0 else f"ended with exit code {ended.code}"
    words = " | ".join(ended.err.strip().splitlines()[-3:])
    return f"{how}: {words}" if words else how


# Bytes kept of the end of each output of a command; the longest replies of models take a quarter of it.
LONGEST_OUTPUT = 4 * 2**20
# Seconds between two looks whether a command has ended whose outputs are still open.
_LOOK_S = 0.1
# Seconds in which the outputs of an ended command are read to their end; a pipe holds 64 KB.
DRAINED_S = 5.0
# Most bytes that are read from an output at once.
_PIECE = 1 << 16
# Seconds to wait until a killed process has ended.
_REAPED_S = 1.0


@dataclass(frozen=True)
class Ended:
    """How a command ended and what it wrote; of a longer text the last LONGEST_OUTPUT bytes."""

    # The shell's exit code; -N if signal N killed the shell.
    code: int
    # The text that the command wrote to its standard output.
    out: str
    # The text that the command wrote to its standard error.
    err: str


async def run_shell(
    command: str, text: str, environment: Mapping[str, str], clear: Callable[[], object] | None = None
) -> Ended:
    """Run a command line in a shell with `text` on its standard input; return its exit code and output.

    It returns when the shell has ended and no process holds its outputs open; there is no time limit. If `clear` is
    given, what the shell leaves running does not keep it: once the shell has ended, its process group is killed and
    `clear` is called, to end those that left the group, and after DRAINED_S outputs that are open yet are closed. If
    cancelled, it kills the command's process group. Raises OSError if the shell cannot be started.
    """
    process, transport = await _start_or_kill(command, environment)
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    out, err = bytearray(), bytearray()
    exchange = (_write(process.stdin, text), _read(process.stdout, out), _read(process.stderr, err))
    parts = [asyncio.create_task(part) for part in exchange]
    try:
        if clear is None:
            await asyncio.gather(*parts)
        else:
            while transport.get_returncode() is None and not all(part.done() for part in parts):
                await asyncio.wait(parts, timeout=_LOOK_S)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            clear()
            await asyncio.wait(parts, timeout=DRAINED_S)
        code = transport.get_returncode()
        return Ended(await process.wait() if code is None else code, _last_text(out), _last_text(err))
    finally:
        for part in parts:
            part.cancel()
        await _kill(process, transport)


async def _start_or_kill(command: str, environment: Mapping[str, str]) -> tuple[Process, SubprocessTransport]:
    """Start the command; if cancelled meanwhile, kill it once it has started."""
    # shielded: cancelled half-way, the process would go on without anybody who knows it
    starting = asyncio.create_task(_start(command, environment))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with suppress(OSError):
            await _kill(*await starting)
        raise


async def _start(command: str, environment: Mapping[str, str]) -> tuple[Process, SubprocessTransport]:
    """Start the command in a session of its own; the transport can close its pipes."""
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
    if stream.is_closing():  # uvloop raises an error if such a stream is written to
        return
    with suppress(ConnectionError):  # a command may answer without reading all of its input
        stream.write(text.encode(errors="replace"))
        await stream.drain()
    stream.close()


async def _read(stream: StreamReader, content: bytearray) -> None:
    """Add an output to `content`, which keeps its last LONGEST_OUTPUT bytes: counts of tokens stand at its end."""
    # to the end: a command whose full pipe nobody reads would never end
    while piece := await stream.read(_PIECE):
        content += piece
        if len(content) > 2 * LONGEST_OUTPUT:
            del content[:-LONGEST_OUTPUT]


def _last_text(content: bytearray) -> str:
    return content[-LONGEST_OUTPUT:].decode(errors="replace")


async def _kill(process: Process, transport: SubprocessTransport) -> None:
    """Kill a process's group, close its pipes, and wait at most _REAPED_S for its end."""
    # a process that left the group could keep the pipes open for ever
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    transport.close()
    with suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), _REAPED_S)
