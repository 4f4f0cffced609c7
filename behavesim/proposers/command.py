"""Replies from a user's command line: it gets the prompt on its standard input and writes the reply to its output."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self

from pydantic import Field

from behavesim.base.config import Adjustable
from behavesim.base.errors import UsageError
from behavesim.base.heartbeat import Heartbeat
from behavesim.base.tokens import Usage
from behavesim.proposers.patience import Patience, Perseverance
from behavesim.proposers.proposer import Errand, Proposer, ProposerSettings
from behavesim.proposers.secrets import Secrets
from behavesim.proposers.shell import Ended, carried_out
from behavesim.state.events import Prompt, Reply
from behavesim.state.requests import Requests

MODEL = "command"
"""Model name of a command's replies; users name it in `prices`, since no price list knows what a command costs."""

NOT_RUN = (126, 127)
"""Exit codes of a shell that could not run the command (126) or did not find it (127)."""


class CommandSettings(ProposerSettings):
    """The settings of a proposer that runs a command."""

    request_timeout_s: Adjustable[float] = Field(300.0, gt=0)
    """Time limit of the command for one reply, in seconds."""

    def models_asked(self) -> tuple[str, ...]:
        """Return the one name under which the command's price can be set."""
        return (MODEL,)


@dataclass(frozen=True)
class _Fault:
    """Why the command gave no reply."""

    message: str
    is_setup: bool = False
    """Whether the command could not be run at all, so that it is probably the wrong one."""


class CommandProposer(Proposer[CommandSettings]):
    """Runs a command for each reply, in a shell and a process group of its own.

    The command gets this process's environment, keys included. BEHAVESIM_NUMBER is the candidate's number (-2 and
    below for a note), BEHAVESIM_SEED the run's seed. The environment's secrets are removed from its output. An exit
    code other than 0 is a fault: the command runs again later, as `patience` says.
    """

    settings_type = CommandSettings

    def __init__(
        self,
        command: str,
        connections: int = 8,
        patience: Patience | None = None,
        seed: int = 0,
        tell: Callable[[str], None] = lambda line: None,
        clock: Heartbeat | None = None,
        requests: Requests | None = None,
    ) -> None:
        """Run `command` at most `connections` times at once.

        `patience` None means the defaults. `tell` gets a line for each notice about faults. Time limits are measured
        by `clock`, and `requests` counts the runs of the command; None means a new one.
        """
        self._command, self._patience, self._seed = command, patience or Patience(), seed
        self._clock, self._requests = clock or Heartbeat(), requests or Requests()
        self._places = asyncio.Semaphore(connections)
        self._secrets = Secrets.of(os.environ)
        self._persevering = Perseverance(self._patience, tell, self._clock, self._secrets.scrubbed)

    @classmethod
    def of(cls, settings: CommandSettings, errand: Errand) -> Self:
        """Return the proposer of a run; its command is `errand.argument`.

        Raises UsageError if there is no command, or if it holds a key.
        """
        command = errand.argument.strip()
        if not command:
            raise UsageError("command: needs a command line behind it, such as --proposer command:'python ask.py'")
        if Secrets.of(os.environ).are_in(command):
            raise UsageError("the command holds a key, and is kept with the run; have it read the key from a variable")
        patience = Patience(request_s=settings.request_timeout_s)
        return cls(command, errand.connections, patience, errand.seed, errand.tell, errand.clock, errand.requests)

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        """Return the reply to a prompt; if the prompt was given up, the text is empty and `fault` says why.

        Raises ProposerError if the command cannot be run, or if no prompt has had a reply for too long.
        """
        trials = self._persevering.begin(number)
        with self._requests.accounted(trials):
            while True:
                result = await self._ask(prompt.text, number)
                if isinstance(result, _Fault):
                    trials.unanswered += not result.is_setup
                    pause = self._persevering.after_fault(trials, result.message, is_setup=result.is_setup)
                    reply = trials.reply("", MODEL, "given_up", result.message)
                else:
                    trials.calls.append(Usage().with_estimates(prompt.text, result))
                    pause = None if result.strip() else self._persevering.after_empty(trials)
                    reply = trials.reply(result, MODEL)
                if pause is None:
                    return reply
                await asyncio.sleep(pause)

    async def _ask(self, text: str, number: int) -> str | _Fault:
        """Run the command once, when fewer than `connections` are running; return its reply or its fault."""
        async with self._places, self._requests.one(self._patience.request_s):
            self._persevering.refuse_if_stopped()
            try:
                async with self._clock.timeout(self._patience.request_s):
                    ended = await carried_out(self._command, text, self._environment(number))
            except TimeoutError:
                return _Fault(f"the command gave no reply within {self._patience.request_s:g} s")
            except OSError as error:
                return _Fault(f"the command cannot be started: {error.strerror}", is_setup=True)
            if ended.code:
                return self._fault(ended)
            self._persevering.replied()
            return self._secrets.clean(ended.out)

    def _environment(self, number: int) -> Mapping[str, str]:
        return {**os.environ, "BEHAVESIM_NUMBER": str(number), "BEHAVESIM_SEED": str(self._seed)}

    def _fault(self, ended: Ended) -> _Fault:
        how = f"was killed by signal {-ended.code}" if ended.code < 0 else f"ended with exit code {ended.code}"
        words = ended.err.strip().splitlines()[-3:]  # a traceback names the error in its last line
        said = f": {' | '.join(words)}" if words else ""
        return _Fault(self._secrets.scrubbed(f"the command {how}{said}"), ended.code in NOT_RUN)
