"""Replies from a user's command line: it gets the prompt on its standard input and writes the reply to its output."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Self

from pydantic import Field

from behavesim.base.config import Adjustable
from behavesim.base.errors import UsageError
from behavesim.base.tokens import Usage
from behavesim.proposers.patience import Completion, Fault, Patience, Perseverance
from behavesim.proposers.proposer import Proposer, ProposerContext, ProposerSettings
from behavesim.proposers.secrets import Secrets
from behavesim.proposers.shell import Ended, carried_out
from behavesim.state.events import Prompt, Reply

MODEL = "command"
"""Model name of a command's replies; users name it in `prices`, since no price list knows what a command costs."""

NOT_RUN = (126, 127)
"""Exit codes of a shell that could not run the command (126) or did not find it (127)."""


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

    def __init__(self, command: str, patience: Patience, context: ProposerContext) -> None:
        """Create the proposer of a run without running anything.

        `command` is a shell's command line. It runs at most `context.connections` times at once, each time for at most
        `patience.request_s` seconds.
        """
        self._command, self._seed, self._clock, self._limit_s = command, context.seed, context.clock, patience.request_s
        self._secrets = Secrets.of(os.environ.items())
        self._persevering = Perseverance(patience, context, self._secrets)

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
        return cls(command, Patience(request_s=settings.request_timeout_s), context)

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        """Return the reply to a prompt; if the prompt was given up, the text is empty and `fault` says why.

        The command gets `number` as BEHAVESIM_NUMBER. If it fails, it is run again after a pause. If it writes nothing,
        it is run again at most `Patience.empty` times; then the reply is empty. Raises ProposerError if no prompt has
        had a reply for too long, or, before the first reply, if the shell cannot run the command.
        """
        tries = self._persevering.begin(number, MODEL, prompt.text)
        return await self._persevering.reply(tries, lambda: self._ask(prompt.text, number))

    async def _ask(self, text: str, number: int) -> Completion | Fault:
        """Run the command once with `text` on its input; return what it wrote, or the fault if it failed."""
        try:
            async with self._clock.timeout(self._limit_s):
                ended = await carried_out(self._command, text, self._environment(number))
        except TimeoutError:
            return _fault(f"gave no reply within {self._limit_s:g} s")
        except OSError as error:
            return _fault(f"cannot be started: {error.strerror}", is_run=False)
        if ended.code:
            return _fault(_words(ended), is_run=ended.code not in NOT_RUN)
        return Completion(self._secrets.clean(ended.out), None, Usage())

    def _environment(self, number: int) -> Mapping[str, str]:
        """Return the variables of the command that answers the prompt of this number."""
        return {**os.environ, "BEHAVESIM_NUMBER": str(number), "BEHAVESIM_SEED": str(self._seed)}


def _fault(what: str, *, is_run: bool = True) -> Fault:
    """Return the fault "the command `what`"; if it was not run, it is probably wrong."""
    return Fault("ask again", f"the command {what}", usage=None, is_setup=not is_run, may_be_billed=is_run)


def _words(ended: Ended) -> str:
    """Return how a command failed, with the last three lines of its standard error: a traceback ends in the error."""
    how = f"was killed by signal {-ended.code}" if ended.code < 0 else f"ended with exit code {ended.code}"
    words = " | ".join(ended.err.strip().splitlines()[-3:])
    return f"{how}: {words}" if words else how
