"""Writes the requests to each model, and leaves out parameters that the model has refused before."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from behavesim.proposers.openai_settings import OpenAISettings

TOKEN_LIMITS = ("max_tokens", "max_completion_tokens")
"""Names of the parameter that limits tokens: most endpoints know the first, OpenAI's reasoning models the second."""


class Dialect:
    """Builds the body of each request, without the parameters that `refuse` recorded for the model."""

    def __init__(
        self, settings: OpenAISettings, prefer_completion_tokens: bool, form: Mapping[str, Any] = MappingProxyType({})
    ) -> None:
        """`prefer_completion_tokens`: limit tokens by `max_completion_tokens` first, else by `max_tokens` first.

        `form` has the fields of requests for programs that hold their replies to a form.
        """
        self._settings, self._form = settings, form
        self._limits = TOKEN_LIMITS[::-1] if prefer_completion_tokens else TOKEN_LIMITS
        self._refused: defaultdict[str, set[str]] = defaultdict(set)

    def body(self, model: str, prompt: str, number: int) -> dict[str, Any]:
        """Return the JSON body of a request for one completion of `prompt`, without parameters that are unset.

        The reply to the prompt of a candidate is held to the form; `number` is below 0 for a note, which is prose.
        If the model refused the system role, the system prompt is put before the prompt in the user's message.
        """
        settings, refused = self._settings, self._refused[model]
        system, messages = settings.system_prompt, [{"role": "user", "content": prompt}]
        if system and "system" in refused:
            messages[0]["content"] = f"{system}\n\n{prompt}"
        elif system:
            messages.insert(0, {"role": "system", "content": system})
        limit = next((name for name in self._limits if name not in refused), self._limits[0])
        wanted = {
            "temperature": settings.temperature,
            "reasoning_effort": settings.reasoning_effort,
            "service_tier": settings.service_tier,
            limit: settings.max_completion_tokens,
            **(self._form if number >= 0 else {}),
            **settings.extra_body,
        }
        chosen = {name: value for name, value in wanted.items() if value is not None and name not in refused}
        return {"model": model, "messages": messages, **chosen}

    def sent(self, prompt: str) -> str:
        """Return all text that a request for `prompt` sends, by which its tokens are estimated."""
        return f"{self._settings.system_prompt}{prompt}"

    def optional(self, body: Mapping[str, Any]) -> Collection[str]:
        """Return the names of parameters in `body` that could be left out; `system` stands for the system role.

        The service tier is not among them: in another tier the request may cost twice as much.
        """
        roles = {"system"} if body["messages"][0]["role"] == "system" else set()
        return (body.keys() - {"model", "messages", "service_tier"}) | roles

    def refuse(self, model: str, parameter: str) -> bool:
        """Leave a parameter out of all later requests to a model; return whether it was not left out before."""
        # All requests under way may be refused at once; the person is told of the first.
        news = parameter not in self._refused[model]
        self._refused[model].add(parameter)
        return news
