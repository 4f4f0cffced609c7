"""Replies from a command line of the user's own: the prompt on its standard input, the reply on its standard output."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn, Self

from pydantic import Field

from behavesim.base.config import Adjustable
from behavesim.base.errors import ProposerError, UsageError
from behavesim.base.heartbeat import Heartbeat
from behavesim.base.notices import Sparing
from behavesim.base.tokens import Usage
from behavesim.proposers.limiter import backoff_s
from behavesim.proposers.openai import Patience
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


@dataclass
class _Trials:
    """What one prompt has been through so far."""

    number: int
    since: float
    faults: int = 0
    unanswered: int = 0
    empty: list[Usage] = field(default_factory=list)


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
        self._often = Sparing(tell, self._clock)
        self._replied_at: float | None = None
        self._fatal: str | None = None

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
        trials = _Trials(number, self._clock())
        while True:
            result = await self._ask(prompt.text, number)
            if isinstance(result, _Fault):
                trials.faults += 1
                trials.unanswered += not result.is_setup
                if self._is_given_up(result, trials):
                    return Reply("", MODEL, tuple(trials.empty), "given_up", trials.unanswered, result.message)
                pause = self._backoff(trials.faults)
            elif result.strip() or len(trials.empty) == self._patience.empty:
                return Reply(result, MODEL, (*trials.empty, Usage()), unanswered=trials.unanswered)
            else:
                trials.empty.append(Usage().with_estimates(prompt.text, ""))
                pause = self._backoff(len(trials.empty))
            await asyncio.sleep(pause)

    async def _ask(self, text: str, number: int) -> str | _Fault:
        """The command once, in its turn."""
        async with self._places, self._requests.one(self._patience.request_s):
            if self._fatal is not None:
                raise ProposerError(self._fatal)
            try:
                async with self._clock.timeout(self._patience.request_s):
                    ended = await carried_out(self._command, text, self._environment(number))
            except TimeoutError:
                return _Fault(f"the command gave no reply within {self._patience.request_s:g} s")
            except OSError as error:
                return _Fault(f"the command cannot be started: {error.strerror}", is_setup=True)
            if ended.code:
                return self._fault(ended)
            self._replied_at = self._clock()
            return self._secrets.clean(ended.out)

    def _environment(self, number: int) -> Mapping[str, str]:
        return {**os.environ, "BEHAVESIM_NUMBER": str(number), "BEHAVESIM_SEED": str(self._seed)}

    def _fault(self, ended: Ended) -> _Fault:
        how = f"was killed by signal {-ended.code}" if ended.code < 0 else f"ended with exit code {ended.code}"
        words = ended.err.strip().splitlines()[-3:]  # a traceback says last what is wrong
        said = f": {' | '.join(words)}" if words else ""
        return _Fault(self._secrets.scrubbed(f"the command {how}{said}"), ended.code in NOT_RUN)

    def _is_given_up(self, fault: _Fault, trials: _Trials) -> bool:
        """Whether a prompt is asked no more; raises ProposerError where the run has to stop."""
        patience = self._patience
        if fault.is_setup and self._replied_at is None and trials.faults >= patience.setup:
            self._stop(fault.message)
        silence = self._clock() - max(trials.since, self._replied_at or 0.0)
        borne_s = patience.start_s if self._replied_at is None else patience.outage_s
        if silence > borne_s and trials.faults >= patience.setup:
            self._stop(f"no reply for {silence:.0f} s; the last fault: {fault.message}")
        is_well = self._replied_at is not None and self._replied_at > trials.since
        if is_well and trials.faults >= patience.attempts:
            self._often("given up", f"the prompt of candidate {trials.number} is given up: {fault.message}")
            return True
        self._often("fault", f"{fault.message}; running it again")
        return False

    def _stop(self, message: str) -> NoReturn:
        self._fatal = message
        raise ProposerError(message)

    def _backoff(self, attempt: int) -> float:
        return backoff_s(attempt, self._patience.backoff_s, random.random())
