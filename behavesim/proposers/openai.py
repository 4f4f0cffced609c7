"""Replies from any endpoint with OpenAI's chat completions; decides after each answer whether to ask again."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

from behavesim.proposers.limiter import Limiter
from behavesim.proposers.open_files import allow
from behavesim.proposers.openai_answers import Completion
from behavesim.proposers.openai_dialect import Dialect
from behavesim.proposers.openai_form import form_fields
from behavesim.proposers.openai_settings import OpenAISettings, base_url, has_endpoint
from behavesim.proposers.patience import Fault, Patience, Perseverance, PromptTries
from behavesim.proposers.proposer import Proposer, ProposerContext
from behavesim.state.events import Prompt, Reply

if TYPE_CHECKING:
    from behavesim.proposers.openai_batches import BatchSender


class OpenAIProposer(Proposer[OpenAISettings]):
    """Asks a model for each candidate, at the endpoint and with the key that the environment names.

    The environment's variables are those of the package openai. An endpoint other than OpenAI's own may need no key.
    No notice and no error holds the key.
    """

    settings_type = OpenAISettings

    def __init__(self, settings: OpenAISettings, context: ProposerContext, patience: Patience | None = None) -> None:
        """Create the proposer of a run without connecting; `patience` None means the limits that the settings ask for.

        Raises UsageError if the environment names no usable endpoint.
        """
        from behavesim.proposers.openai_endpoint import Endpoint  # openai and aiohttp take half a second to load

        self._settings, self._seed, self._requests = settings, context.seed, context.requests
        self._patience = patience or settings.patience()
        self._endpoint = Endpoint(self._patience.request_s, context.clock)
        self._limiter = Limiter(context.connections, self._patience.backoff_s, clock=context.clock.world)
        # OpenAI's reasoning models know no `max_tokens`; most other endpoints know nothing else.
        form = form_fields(settings.response_format, context.task)
        self._dialect = Dialect(settings, self._endpoint.host.endswith("openai.com"), form)
        scrub = self._endpoint.secrets.scrubbed
        self._persevering = Perseverance(self._patience, context.tell, context.clock, scrub)
        self._sender: BatchSender | None = None
        if settings.batch:
            from behavesim.proposers.openai_batch_calls import BatchCalls
            from behavesim.proposers.openai_batches import BatchSender

            calls = BatchCalls(self._endpoint, self._limiter, self._persevering, self._patience.backoff_s)
            clean = self._endpoint.secrets.clean
            self._sender = BatchSender(calls, self._persevering, self._dialect, context.requests.batches, clean)

    @classmethod
    def of(cls, settings: OpenAISettings, context: ProposerContext) -> Self:
        """Return the proposer of a run, after raising this process's limit of open files if the connections need it.

        Raises UsageError if the environment names no usable endpoint, or if the limit of open files is too low.
        """
        allow(context.connections)
        return cls(settings, context)

    @classmethod
    def endpoint(cls) -> str:
        """Return the endpoint's URL: OPENAI_BASE_URL if it is set and not empty, else OpenAI's own."""
        return base_url()

    @classmethod
    def missing(cls) -> str:
        """Return what to set if the environment has neither key nor URL; "" if it has one of them."""
        needed = "asking a model needs OPENAI_API_KEY, or OPENAI_BASE_URL for an endpoint without keys"
        return "" if has_endpoint() else needed

    async def __aexit__(self, *error: object) -> None:
        """Close all connections; the proposer cannot be used afterwards. Batches that were sent go on."""
        if self._sender is not None:
            await self._sender.aclose()
        await self._endpoint.aclose()

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        """Return the reply to a prompt; its `calls` hold the tokens of each answered request, refused ones included.

        If the prompt was given up, the text is empty and `fault` says why. Raises ProposerError if asking again would
        not help any prompt, if no prompt has had a reply for too long, or if the endpoint asks for too long a pause.
        """
        tries, model = self._persevering.begin(number), prompt.model or self._settings.model_of(self._seed, number)
        if self._sender is not None:
            return await self._sender.reply(tries, model, prompt.text)
        with self._requests.accounted(lambda: tries.spent):
            while True:
                result = await self._ask(model, prompt.text, number)
                if result.usage is not None:  # estimated here, since only here the system prompt is known
                    tries.calls.append(result.usage.with_estimates(self._dialect.sent(prompt.text), ""))
                if isinstance(result, Completion):
                    pause = self._after_reply(result, tries)
                    reply = tries.reply(result.text, model, result.finish_reason)
                else:
                    pause = self._after_fault(result, tries, model)
                    reply = tries.reply("", model, "given_up", self._endpoint.secrets.scrubbed(result.message))
                if pause is None:
                    return reply
                await asyncio.sleep(pause)

    async def _ask(self, model: str, prompt: str, number: int) -> Completion | Fault:
        """Send one request when the limiter allows it, and return the reply or the fault; it is not sent again here.

        The limiter's limit rises with a reply and falls if the endpoint asks to slow down. Raises ProposerError if
        another prompt's fault stopped the run.
        """
        async with self._limiter.slot() as cuts, self._requests.one(self._patience.request_s):
            self._persevering.refuse_if_stopped()  # another prompt may have stopped the run while this one waited
            path, body = self._endpoint.path, self._dialect.body(model, prompt, number)
            result, headers = await self._endpoint.exchange(path, body, self._dialect.optional(body))
            if isinstance(result, Completion):
                self._persevering.replied()
                self._limiter.succeeded(headers)
            elif result.meaning == "limited":
                pause = self._limiter.refused(cuts, result.wait_s)
                self._persevering.sparing("pause", f"{result.message}; waiting {pause:.0f} s", pause)
            elif result.meaning == "path" and path != self._endpoint.path:
                return Fault("parameter", result.message)  # another request has added /v1 meanwhile: ask again
            return result

    def _after_reply(self, reply: Completion, tries: PromptTries) -> float | None:
        """Return the seconds to wait before asking again for a reply without content; None if this reply is kept.

        Gives a notice if the endpoint answered in another service tier than asked for.
        """
        tier, asked = reply.usage.tier, self._settings.service_tier
        if tier and asked not in (None, "auto", tier) and (asked, tier) != ("fast", "priority"):
            message = f"asked for service tier {asked}, and answered in {tier}, which is what is billed"
            self._persevering.sparing("tier", message)
        return None if reply.is_final else self._persevering.after_empty(tries)

    def _after_fault(self, fault: Fault, tries: PromptTries, model: str) -> float | None:
        """Leave a refused parameter out of later requests, or add /v1 to their path, if the fault means that.

        Returns the seconds to wait, or None, and raises, as `Perseverance.after_fault`.
        """
        if fault.meaning == "parameter" and fault.parameter and self._dialect.refuse(model, fault.parameter):
            self._persevering.note(f"{model} is asked without {fault.parameter!r} from now on: {fault.message}")
        if fault.meaning == "path" and self._endpoint.add_version():
            host = self._endpoint.host
            self._persevering.note(f"{host} is asked under /v1, since the URL alone answers no chat completions")
            return 0.0
        return self._persevering.after_fault(tries, fault)
