"""Replies from a command line of the user's own: the prompt on its standard input, the reply on its standard output."""

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
"""What the model is called whose replies these are: a name for `prices`, which nobody else can know."""

NOT_RUN = (126, 127)
"""Exit codes of a shell that found no such command, or could not run it."""


class CommandSettings(ProposerSettings):
    """The settings of a proposer that runs a command."""

    request_timeout_s: Adjustable[float] = Field(300.0, gt=0)
    """Seconds the command may take for a reply."""

    def models_asked(self) -> tuple[str, ...]:
        """The command, whose price is unknown unless it is named."""
        return (MODEL,)


@dataclass(frozen=True)
class _Fault:
    """A command that gave no reply; `is_setup` where it seems not to be one that could."""

    message: str
    is_setup: bool = False


class CommandProposer(Proposer[CommandSettings]):
    """Runs a command for each reply, at most `connections` at a time, in a shell and a process group of its own.

    It has the environment of this process, keys included, and beside it BEHAVESIM_NUMBER, the number of the candidate
    (-2 and below for a text that a method asks for), and BEHAVESIM_SEED, the run's. What it writes is kept without the
    environment's secrets. An exit code other than 0 is a fault and ridden out like those of an endpoint, whose
    `patience` says how. Time limits are by `clock`.
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
        """`tell` is told of faults, in a line each."""
        self._command, self._patience, self._seed = command, patience or Patience(), seed
        self._clock, self._requests = clock or Heartbeat(), requests or Requests()
        self._places = asyncio.Semaphore(connections)
        self._secrets = Secrets.of(os.environ)
        self._persevering = Perseverance(self._patience, tell, self._clock, self._secrets.scrubbed)

    @classmethod
    def of(cls, settings: CommandSettings, errand: Errand) -> Self:
        """The proposer of a run; raises UsageError where no command is named, or one that holds a key."""
        command = errand.argument.strip()
        if not command:
            raise UsageError("command: needs a command line behind it, such as --proposer command:'python ask.py'")
        if Secrets.of(os.environ).are_in(command):
            raise UsageError("the command holds a key, and is kept with the run; have it read the key from a variable")
        patience = Patience(request_s=settings.request_timeout_s)
        return cls(command, errand.connections, patience, errand.seed, errand.tell, errand.clock, errand.requests)

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        """The reply to a prompt; one with a `fault` stands for a prompt that was given up.

        Raises ProposerError where the command cannot be run, or has given nobody a reply for too long.
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
        """The command once, in its turn."""
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
        words = ended.err.strip().splitlines()[-3:]  # a traceback says last what is wrong
        said = f": {' | '.join(words)}" if words else ""
        return _Fault(self._secrets.scrubbed(f"the command {how}{said}"), ended.code in NOT_RUN)
