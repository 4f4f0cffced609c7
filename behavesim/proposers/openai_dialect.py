"""Writes the requests to each model, and leaves out parameters that the model has refused before."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

MODEL_PURPOSE = 101
"""Part of the random seed for choosing a model; any number that no other choice about a candidate uses."""

TOKEN_LIMITS = ("max_tokens", "max_completion_tokens")
"""Names of the parameter that limits tokens: most endpoints know the first, OpenAI's reasoning models the second."""


@dataclass(frozen=True)
class Sampling:
    """The models to ask and the parameters of requests; None leaves a parameter out, so that the endpoint decides."""

    models: Mapping[str, float]
    """Relative weight of each model by name: how often it is asked."""
    seed: int = 0
    """The run's seed, from which the model for each candidate is drawn."""
    temperature: float | None = None
    max_tokens: int | None = None
    """Most tokens of a reply, reasoning included."""
    reasoning_effort: str | None = None
    """How much a reasoning model should think, in the endpoint's own words, such as low."""
    system_prompt: str = ""
    """System message before every prompt; "" for none."""
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of every request by name; they replace those above."""
    service_tier: str | None = None
    """The endpoint's name for how it processes and bills a request, such as flex."""

    def model_of(self, number: int) -> str:
        """Return the name of the model to ask for a candidate or note: drawn by weight, from seed and number alone."""
        names = list(self.models)
        if len(names) == 1:
            return names[0]
        weights = np.array([self.models[name] for name in names], dtype=np.float64)
        rng = np.random.default_rng([self.seed, number % 2**32, MODEL_PURPOSE])
        return names[rng.choice(len(names), p=weights / weights.sum())]


class Dialect:
    """Builds the body of each request, without the parameters that `refuse` recorded for the model."""

    def __init__(self, sampling: Sampling, prefer_completion_tokens: bool) -> None:
        """`prefer_completion_tokens`: limit tokens by `max_completion_tokens` first, else by `max_tokens` first."""
        self._sampling = sampling
        self._limits = TOKEN_LIMITS[::-1] if prefer_completion_tokens else TOKEN_LIMITS
        self._refused: defaultdict[str, set[str]] = defaultdict(set)

    def body(self, model: str, prompt: str) -> dict[str, Any]:
        """Return the JSON body of a request for one completion of `prompt`.

        If the model refused the system role, the system prompt is put before the prompt.
        """
        refused, system = self._refused[model], self._sampling.system_prompt
        messages = [{"role": "user", "content": prompt}]
        if system and "system" in refused:
            messages = [{"role": "user", "content": f"{system}\n\n{prompt}"}]
        elif system:
            messages = [{"role": "system", "content": system}, *messages]
        return {"model": model, "messages": messages, **self._parameters(refused)}

    def optional(self, body: Mapping[str, Any]) -> Collection[str]:
        """Return the parameters that a request could leave out; `system` means the role of the system prompt.

        The service tier is not among them: in another tier the request may cost twice as much.
        """
        roles = {"system"} if body["messages"][0]["role"] == "system" else set()
        return (body.keys() - {"model", "messages", "service_tier"}) | roles

    def refuse(self, model: str, parameter: str) -> bool:
        """Leave a parameter out of all later requests to a model; return whether this is the first such call."""
        news = parameter not in self._refused[model]
        self._refused[model].add(parameter)
        return news

    def _parameters(self, refused: Collection[str]) -> dict[str, Any]:
        sampling = self._sampling
        limit = next((name for name in self._limits if name not in refused), None)
        wanted = {
            "temperature": sampling.temperature,
            "reasoning_effort": sampling.reasoning_effort,
            "service_tier": sampling.service_tier,
            **({limit: sampling.max_tokens} if limit else {}),
            **sampling.extra_body,
        }
        return {name: value for name, value in wanted.items() if value is not None and name not in refused}
