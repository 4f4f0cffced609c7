"""Replies from any endpoint that speaks OpenAI's chat completions: what to do about each answer it gives."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import NoReturn, Self

from behavesim.base.errors import ProposerError
from behavesim.base.heartbeat import Heartbeat
from behavesim.base.notices import Sparing
from behavesim.base.tokens import Usage
from behavesim.proposers.limiter import Limiter, backoff_s
from behavesim.proposers.open_files import allow
from behavesim.proposers.openai_answers import Completion, Fault
from behavesim.proposers.openai_dialect import Dialect, Sampling
from behavesim.proposers.openai_settings import OpenAISettings, base_url
from behavesim.proposers.proposer import Errand, Proposer
from behavesim.state.events import Prompt, Reply
from behavesim.state.requests import Requests

__all__ = ["OpenAIProposer", "Patience", "Sampling"]


@dataclass(frozen=True)
class Patience:
    """How long faults are ridden out, in seconds and attempts.

    A request that fails is repeated until the endpoint has answered nothing at all for `outage_s` (`start_s` before
    its first reply); then the run stops. Before its first reply it stops after `setup` tries where the endpoint does
    not seem to be what it was said to be: no such host, a wrong certificate, a web page. While others are answered, a
    prompt is given up after `attempts` faults of its own. A reply without content is asked for again `empty` times.
    Pauses begin at `backoff_s`, and double; one of more than `pause_s` that the endpoint asks for stops the run.
    """

    request_s: float = 300.0
    outage_s: float = 600.0
    start_s: float = 60.0
    attempts: int = 12
    setup: int = 3
    empty: int = 3
    backoff_s: float = 1.0
    pause_s: float = 3600.0

    @classmethod
    def of(cls, settings: OpenAISettings) -> Self:
        """As a run wants it; longer for flex, which is slow and now and then unavailable (OpenAI advises 900 s)."""
        patience = cls(request_s=900.0, outage_s=3600.0, start_s=900.0) if settings.service_tier == "flex" else cls()
        return replace(patience, request_s=settings.request_timeout_s or patience.request_s)


@dataclass
class _Trials:
    """What one request has been through so far."""

    number: int
    model: str
    since: float
    calls: list[Usage] = field(default_factory=list)
    unanswered: int = 0
    faults: int = 0
    refusals: int = 0
    empty: int = 0


class OpenAIProposer(Proposer[OpenAISettings]):
    """Asks a model for each candidate, at most `connections` at a time; URL and key come from the environment.

    The environment is read as the openai package reads it; an endpoint other than OpenAI's own
    may do without a key. `notes` is told, in a line each, what a run should know: parameters that were dropped,
    pauses, faults, prompts that were given up. Neither notes nor errors ever hold the key. Time limits are by `clock`.
    """

    settings_type = OpenAISettings

    def __init__(
        self,
        sampling: Sampling,
        connections: int = 8,
        patience: Patience | None = None,
        notes: Callable[[str], None] = lambda line: None,
        clock: Heartbeat | None = None,
        requests: Requests | None = None,
    ) -> None:
        """Raises UsageError where the environment names no usable endpoint."""
        from behavesim.proposers.openai_endpoint import Endpoint  # aiohttp takes a while to load

        self._sampling, self._patience = sampling, patience or Patience()
        self._clock, self._requests = clock or Heartbeat(), requests or Requests()
        self._endpoint = Endpoint(self._patience.request_s, self._clock)
        self._limiter = Limiter(connections, self._patience.backoff_s, clock=self._clock.world)
        self._dialect = Dialect(sampling, prefer_completion_tokens=self._endpoint.host.endswith("openai.com"))
        self._tell = notes
        self._often = Sparing(self._note, self._clock)
        self._fatal: str | None = None
        self._replied_at: float | None = None

    @classmethod
    def of(cls, settings: OpenAISettings, errand: Errand) -> Self:
        """The proposer of a run; raises UsageError where the environment names no usable endpoint, or files are few."""
        allow(errand.connections)
        patience = Patience.of(settings)
        sampling = settings.sampling(errand.seed)
        return cls(sampling, errand.connections, patience, errand.tell, errand.clock, errand.requests)

    @classmethod
    def endpoint(cls) -> str:
        """As the environment has it."""
        return base_url()

    @classmethod
    def missing(cls) -> str:
        """A key or a URL in the environment."""
        if os.environ.get("OPENAI_API_KEY") or os.environ.get("OPENAI_BASE_URL"):
            return ""
        return "asking a model needs OPENAI_API_KEY, or OPENAI_BASE_URL for an endpoint without keys"

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections; the proposer cannot be used afterwards."""
        await self._endpoint.aclose()

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        """The reply to a prompt; its `calls` hold the usage of every request that was answered on the way to it.

        A reply with a `fault` stands for a prompt that the endpoint takes from nobody.
        Raises ProposerError where the endpoint refuses for good, or has been out of reach for too long.
        """
        trials = _Trials(number, self._sampling.model_of(number), self._clock())
        while True:
            result = await self._ask(trials.model, prompt.text)
            if result.usage is not None:
                sent = f"{self._sampling.system_prompt}{prompt.text}"
                trials.calls.append(result.usage.with_estimates(sent, ""))
            if isinstance(result, Completion):
                pause = self._after_reply(result, trials)
                reply = Reply(result.text, trials.model, finish_reason=result.finish_reason)
            else:
                trials.unanswered += result.may_be_billed
                pause = self._after(result, trials)
                reply = Reply("", trials.model, finish_reason="given_up", fault=self._endpoint.scrubbed(result.message))
            if pause is None:
                return replace(reply, calls=tuple(trials.calls), unanswered=trials.unanswered)
            await asyncio.sleep(pause)

    async def _ask(self, model: str, prompt: str) -> Completion | Fault:
        """One request, in its turn; the limiter learns from what comes back."""
        async with self._limiter.slot() as cuts, self._requests.one(self._patience.request_s):
            if self._fatal is not None:
                raise ProposerError(self._fatal)
            path, body = self._endpoint.path, self._dialect.body(model, prompt)
            result, headers = await self._endpoint.exchange(path, body, self._dialect.optional(body))
            if isinstance(result, Completion):
                self._replied_at = self._clock()
                self._limiter.succeeded(headers)
            elif result.meaning == "limited":
                pause = self._limiter.refused(cuts, result.wait_s)
                self._often("pause", f"{result.message}; waiting {pause:.0f} s", lasts_s=pause)
            elif result.meaning == "path" and path != self._endpoint.path:
                return Fault("parameter", result.message)  # another request found the path in the meantime
            return result

    def _after_reply(self, reply: Completion, trials: _Trials) -> float | None:
        """The pause before a reply without content is asked for again; None where this one has to do."""
        tier, asked = reply.usage.tier, self._sampling.service_tier
        if tier and asked not in (None, "auto", tier) and (asked, tier) != ("fast", "priority"):
            self._often("tier", f"asked for service tier {asked}, and answered in {tier}, which is what is billed")
        trials.empty += 1
        if reply.is_final or trials.empty > self._patience.empty:
            return None
        return self._backoff(trials.empty)

    def _after(self, fault: Fault, trials: _Trials) -> float | None:
        """The pause before a request that failed is repeated; None where its prompt is given up.

        Raises ProposerError where the run has to stop.
        """
        if fault.wait_s is not None and fault.wait_s > self._patience.pause_s:
            self._stop(f"{fault.message}; resume the run in {fault.wait_s / 3600:,.1f} hours, when it has passed")
        match fault.meaning:
            case "fatal":
                self._stop(fault.message)
            case "parameter":
                self._drop(fault, trials.model)
                return 0.0
            case "path":
                if not self._endpoint.add_version():
                    self._stop(fault.message)
                self._note(f"{self._endpoint.host} is asked under /v1, since the URL alone answers no chat completions")
                return 0.0
            case "prompt":
                return self._give_up(fault, trials)
            case "request":
                if self._replied_at is None:
                    self._stop(fault.message)
                return self._give_up(fault, trials)
            case "limited":
                trials.refusals += 1
                if not fault.wait_s:
                    self._refuse_outage(fault, trials)
                return 0.0
            case "setup" | "passing":
                return self._after_passing(fault, trials)

    def _after_passing(self, fault: Fault, trials: _Trials) -> float | None:
        trials.faults += 1
        if fault.meaning == "setup" and self._replied_at is None and trials.faults >= self._patience.setup:
            self._stop(fault.message)
        left_s = self._refuse_outage(fault, trials)
        healthy = self._replied_at is not None and self._replied_at > trials.since
        if healthy and trials.faults >= self._patience.attempts:
            return self._give_up(fault, trials)
        until = "" if fault.meaning == "setup" else f" until nobody has had a reply for {self._silence_s:g} s"
        self._often("fault", f"{fault.message}; asking again{until}")
        # A pause that began within what is borne could end long after it.
        pause = min(self._backoff(trials.faults), left_s + self._patience.backoff_s)
        return max(pause, fault.wait_s or 0.0)

    def _refuse_outage(self, fault: Fault, trials: _Trials) -> float:
        """The seconds of silence that are still borne.

        Stops the run where nobody has had a reply for as long as patience lasts, and not for one fault alone.
        """
        silence = self._clock() - max(trials.since, self._replied_at or 0.0)
        if silence > self._silence_s and trials.faults + trials.refusals >= 3:
            self._stop(f"no reply for {silence:.0f} s; the last fault: {fault.message}")
        return max(0.0, self._silence_s - silence)

    @property
    def _silence_s(self) -> float:
        """How long nobody may get a reply before the run stops."""
        return self._patience.start_s if self._replied_at is None else self._patience.outage_s

    def _drop(self, fault: Fault, model: str) -> None:
        if fault.parameter and self._dialect.refuse(model, fault.parameter):
            self._note(f"{model} is asked without {fault.parameter!r} from now on: {fault.message}")

    def _give_up(self, fault: Fault, trials: _Trials) -> float | None:
        self._often("given up", f"the prompt of candidate {trials.number} is given up: {fault.message}")
        return None

    def _stop(self, message: str) -> NoReturn:
        self._fatal = self._endpoint.scrubbed(message)
        raise ProposerError(self._fatal)

    def _note(self, line: str) -> None:
        self._tell(self._endpoint.scrubbed(line))

    def _backoff(self, attempt: int) -> float:
        return backoff_s(attempt, self._patience.backoff_s, random.random())
