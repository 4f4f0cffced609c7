"""Replies from any endpoint with OpenAI's chat completions, and what follows from each answer or fault."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Self

from behavesim.base.heartbeat import Heartbeat
from behavesim.proposers.limiter import Limiter
from behavesim.proposers.open_files import allow
from behavesim.proposers.openai_answers import Completion, Fault
from behavesim.proposers.openai_dialect import Dialect, Sampling
from behavesim.proposers.openai_settings import OpenAISettings, base_url
from behavesim.proposers.patience import Patience, Perseverance, Trials
from behavesim.proposers.proposer import Errand, Proposer
from behavesim.state.events import Prompt, Reply
from behavesim.state.requests import Requests

__all__ = ["OpenAIProposer", "Patience", "Sampling"]


class OpenAIProposer(Proposer[OpenAISettings]):
    """Asks a model for each candidate, at the endpoint and with the key that the environment names.

    The environment's variables are those of the package openai. An endpoint other than OpenAI's own may need no key.
    No notice and no error holds the key.
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
        """Send at most `connections` requests at once; raises UsageError if the environment names no usable endpoint.

        `patience` None means the defaults. `notes` gets one line for each notice: parameters left out, pauses, faults,
        prompts given up. Time limits are measured by `clock`, and `requests` counts requests; None means a new one.
        """
        from behavesim.proposers.openai_endpoint import Endpoint  # openai and aiohttp take half a second to load

        patience, clock = patience or Patience(), clock or Heartbeat()
        self._sampling, self._patience, self._requests = sampling, patience, requests or Requests()
        self._endpoint = Endpoint(patience.request_s, clock)
        self._limiter = Limiter(connections, patience.backoff_s, clock=clock.world)
        self._dialect = Dialect(sampling, prefer_completion_tokens=self._endpoint.host.endswith("openai.com"))
        self._persevering = Perseverance(patience, notes, clock, self._endpoint.secrets.scrubbed)

    @classmethod
    def of(cls, settings: OpenAISettings, errand: Errand) -> Self:
        """Return the proposer of a run, after raising this process's limit of open files if the connections need it.

        Raises UsageError if the environment names no usable endpoint, or if the limit of open files is too low.
        """
        allow(errand.connections)
        sampling = settings.sampling(errand.seed)
        return cls(sampling, errand.connections, settings.patience(), errand.tell, errand.clock, errand.requests)

    @classmethod
    def endpoint(cls) -> str:
        """Return the endpoint's URL: OPENAI_BASE_URL if the environment sets it, else OpenAI's own."""
        return base_url()

    @classmethod
    def missing(cls) -> str:
        """Return what to set if the environment has neither key nor URL; "" if it has one of them."""
        if os.environ.get("OPENAI_API_KEY") or os.environ.get("OPENAI_BASE_URL"):
            return ""
        return "asking a model needs OPENAI_API_KEY, or OPENAI_BASE_URL for an endpoint without keys"

    async def __aexit__(self, *error: object) -> None:
        """Close all connections; the proposer cannot be used afterwards."""
        await self._endpoint.aclose()

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        """Return the reply to a prompt; its `calls` hold the tokens of each answered request, refused ones included.

        If the prompt was given up, the text is empty and `fault` says why. Raises ProposerError if the endpoint refuses
        for good, or if no prompt has had a reply for too long.
        """
        trials, model = self._persevering.begin(number), self._sampling.model_of(number)
        with self._requests.accounted(trials):
            while True:
                result = await self._ask(model, prompt.text)
                if result.usage is not None:
                    sent = f"{self._sampling.system_prompt}{prompt.text}"
                    trials.calls.append(result.usage.with_estimates(sent, ""))
                if isinstance(result, Completion):
                    pause = self._after_reply(result, trials)
                    reply = trials.reply(result.text, model, result.finish_reason)
                else:
                    trials.unanswered += result.may_be_billed
                    pause = self._after(result, trials, model)
                    reply = trials.reply("", model, "given_up", self._endpoint.secrets.scrubbed(result.message))
                if pause is None:
                    return reply
                await asyncio.sleep(pause)

    async def _ask(self, model: str, prompt: str) -> Completion | Fault:
        """Send one request when the limiter allows it, and tell the limiter how it went."""
        async with self._limiter.slot() as cuts, self._requests.one(self._patience.request_s):
            self._persevering.refuse_if_stopped()
            path, body = self._endpoint.path, self._dialect.body(model, prompt)
            result, headers = await self._endpoint.exchange(path, body, self._dialect.optional(body))
            if isinstance(result, Completion):
                self._persevering.replied()
                self._limiter.succeeded(headers)
            elif result.meaning == "limited":
                pause = self._limiter.refused(cuts, result.wait_s)
                message = f"{result.message}; waiting {pause:.0f} s"
                self._persevering.note_sparingly("pause", message, lasts_s=pause)
            elif result.meaning == "path" and path != self._endpoint.path:
                return Fault("parameter", result.message)  # another request has added /v1 meanwhile
            return result

    def _after_reply(self, reply: Completion, trials: Trials) -> float | None:
        """Return the seconds to wait before asking again for a reply without content; None if this reply is kept.

        Gives a notice if the endpoint answered in another service tier than asked for.
        """
        tier, asked = reply.usage.tier, self._sampling.service_tier
        if tier and asked not in (None, "auto", tier) and (asked, tier) != ("fast", "priority"):
            message = f"asked for service tier {asked}, and answered in {tier}, which is what is billed"
            self._persevering.note_sparingly("tier", message)
        return None if reply.is_final else self._persevering.after_empty(trials)

    def _after(self, fault: Fault, trials: Trials, model: str) -> float | None:
        """Return the seconds to wait before a failed request is repeated; None if its prompt is given up.

        Raises ProposerError if the run has to stop.
        """
        persevering, message = self._persevering, fault.message
        if fault.wait_s is not None and fault.wait_s > self._patience.pause_s:
            persevering.stop(f"{message}; resume the run in {fault.wait_s / 3600:,.1f} hours, when it has passed")
        match fault.meaning:
            case "fatal":
                persevering.stop(message)
            case "parameter":
                if fault.parameter and self._dialect.refuse(model, fault.parameter):
                    persevering.note(f"{model} is asked without {fault.parameter!r} from now on: {message}")
                return 0.0
            case "path":
                if not self._endpoint.add_version():
                    persevering.stop(message)
                host = self._endpoint.host
                persevering.note(f"{host} is asked under /v1, since the URL alone answers no chat completions")
                return 0.0
            case "request" if not persevering.has_replied:
                persevering.stop(message)
            case "prompt" | "request":
                persevering.give_up(trials, message)
                return None
            case "limited":
                persevering.after_refusal(trials, message, is_timed=bool(fault.wait_s))
                return 0.0
            case "setup" | "passing":
                is_setup = fault.meaning == "setup"
                return persevering.after_fault(trials, message, is_setup=is_setup, wait_s=fault.wait_s)
