"""Replies from any endpoint with OpenAI's chat completions, one request a prompt or in batches."""

from __future__ import annotations

import resource
from typing import TYPE_CHECKING, Self

from behavesim.base.errors import UsageError
from behavesim.proposers.openai_settings import RESPONSES, OpenAISettings, RequestBuilder, base_url, has_endpoint
from behavesim.proposers.proposer import Proposer, ProposerContext
from behavesim.proposers.retry import VERSION, Completion, Fault, RetryLimits, RetryPolicy
from behavesim.state.events import Prompt, Reply

if TYPE_CHECKING:
    from behavesim.proposers.openai_batches import BatchSender


# Open files allowed for a run's journal, log and sandbox, besides its connections: they take about twenty.
BESIDE = 64


class OpenAIProposer(Proposer[OpenAISettings]):
    """Asks a model for each candidate, at the endpoint and with the key that the environment names.

    The variables are those of the package openai. An endpoint other than OpenAI's own may need no key. No notice and no
    error holds the key.
    """

    settings_type = OpenAISettings

    def __init__(self, settings: OpenAISettings, context: ProposerContext, limits: RetryLimits | None = None) -> None:
        """Create the proposer of a run without connecting; `limits` None means the limits that the settings ask for.

        Raises UsageError if the environment names no usable endpoint or proxy, if `response_format` does not suit the
        task, or if the settings hold a key: they are stored with the run.
        """
        from behavesim.proposers.openai_endpoint import Endpoint  # openai and aiohttp take half a second to load

        limits = limits or settings.retry_limits()
        self._settings, self._seed = settings, context.seed
        self._endpoint = Endpoint(limits.request_s, context.clock)
        if self._endpoint.secrets.are_in(str(settings.model_dump())):  # JSON knows no half characters
            advice = "and are kept with the run; send it as OPENAI_API_KEY, or as a header in OPENAI_CUSTOM_HEADERS"
            raise UsageError(f"the settings of the model hold a key, {advice}")
        self._builder = RequestBuilder(settings, context.task, self._endpoint.host)
        self._policy = RetryPolicy(limits, context, self._endpoint.secrets)
        self._sender: BatchSender | None = None
        if settings.batch:
            from behavesim.proposers.openai_batches import BatchSender

            batches, poll_s = context.requests.batches, limits.backoff_s
            self._sender = BatchSender(self._endpoint, self._policy, self._builder, batches, poll_s)

    @classmethod
    def of(cls, settings: OpenAISettings, context: ProposerContext) -> Self:
        """Return the proposer of a run, after `allow`, which raises UsageError if too few files may be open."""
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
        """Close all connections. Batches that were sent go on."""
        if self._sender is not None:
            await self._sender.aclose()
        await self._endpoint.aclose()

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        """Return the reply to a prompt; its `calls` hold the tokens of each answered request, refused ones included.

        If the prompt names no model, `number` decides which is asked. If the prompt was given up, the text is empty and
        `fault` says why. Raises ProposerError if asking again would not help any prompt, if no prompt has had a reply
        for too long, or if the endpoint asks for too long a pause.
        """
        model = prompt.model or self._settings.model_of(self._seed, number)
        # tokens are estimated here, since only here the system prompt is known
        tries = self._policy.begin(number, model, self._builder.sent(prompt.text))
        if self._sender is not None:
            return await self._sender.reply(tries, prompt.text)
        return await self._policy.reply(tries, lambda: self._ask(model, prompt.text, number))

    async def _ask(self, model: str, prompt: str, number: int) -> Completion | Fault:
        """Send one request; return its reply or fault."""
        # What an endpoint turns out not to know changes all later requests: a parameter that the model refuses is left
        # out, one that only the Responses API serves is asked there, /v1 is put before a path that nothing answers.
        url, body = self._endpoint.url, self._builder.body(model, prompt, number)
        result = await self._endpoint.completion(body, self._builder.terms(body))
        if isinstance(result, Completion):
            tier, asked = result.usage.tier, self._settings.service_tier
            if tier and asked not in (None, "auto", tier) and (asked, tier) != ("fast", "priority"):
                message = f"asked for service tier {asked}, and answered in {tier}, which is what is billed"
                self._policy.note_once_a_minute("tier notice", message)
        elif result.remedy == VERSION:
            if self._endpoint.add_version():
                host = self._endpoint.host
                self._policy.note(f"{host} is asked under /v1, since the URL alone answers no chat completions")
            if self._endpoint.url != url:  # perhaps another request has added /v1 meanwhile
                return result.mended()
        elif result.remedy:
            if self._builder.refuse(model, result.remedy):
                how = "by the Responses API" if result.remedy == RESPONSES else f"without {result.remedy!r}"
                self._policy.note(f"{model} is asked {how} from now on: {result.message}")
            return result.mended()
        return result


def allow(connections: int) -> None:
    """Raise this process's limit of open files for so many connections; UsageError if the hard limit is lower."""
    # each connection takes a file, and at the limit no module can be imported
    needed = connections + BESIDE
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise UsageError(
            f"{connections} connections take {needed} open files with what else a run needs, and the limit is {hard}; "
            f"raise it (ulimit -n {needed}), or set fewer --connections"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
