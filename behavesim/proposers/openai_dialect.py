"""How requests are worded for each model: the parameters it was found to refuse are left out from then on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

MODEL_PURPOSE = 101
"""The part of the seed that keeps the choice of a model apart from every other decision about a candidate."""

TOKEN_LIMITS = ("max_tokens", "max_completion_tokens")
"""Most endpoints know the first name, OpenAI's own models with reasoning only the second."""


@dataclass(frozen=True)
class Sampling:
    """What is asked of the model: None leaves a parameter to the endpoint; `max_tokens` counts reasoning as well."""

    models: Mapping[str, float]
    seed: int = 0
    temperature: float | None = None
    max_tokens: int | None = None
    reasoning_effort: str | None = None
    system_prompt: str = ""
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    service_tier: str | None = None

    def model_of(self, number: int) -> str:
        """The model that is asked for a candidate or note: drawn by weight, a function of seed and number alone."""
        names = list(self.models)
        if len(names) == 1:
            return names[0]
        weights = np.array([self.models[name] for name in names], dtype=np.float64)
        rng = np.random.default_rng([self.seed, number % 2**32, MODEL_PURPOSE])
        return names[rng.choice(len(names), p=weights / weights.sum())]


class Dialect:
    """Words requests as each model wants them; `refuse` is how it learns."""

    def __init__(self, sampling: Sampling, prefer_completion_tokens: bool) -> None:
        """`prefer_completion_tokens`: try OpenAI's newer name of the token limit first."""
        self._sampling = sampling
        self._limits = TOKEN_LIMITS[::-1] if prefer_completion_tokens else TOKEN_LIMITS
        self._refused: defaultdict[str, set[str]] = defaultdict(set)

    def body(self, model: str, prompt: str) -> dict[str, Any]:
        """The request for one completion."""
        refused, system = self._refused[model], self._sampling.system_prompt
        messages = [{"role": "user", "content": prompt}]
        if system and "system" in refused:
            messages = [{"role": "user", "content": f"{system}\n\n{prompt}"}]
        elif system:
            messages = [{"role": "system", "content": system}, *messages]
        return {"model": model, "messages": messages, **self._parameters(refused)}

    def optional(self, body: Mapping[str, Any]) -> Collection[str]:
        """What a request could do without; `system` stands for the role of the system prompt.

        Not the service tier: in another one it may cost twice as much.
        """
        roles = {"system"} if body["messages"][0]["role"] == "system" else set()
        return (body.keys() - {"model", "messages", "service_tier"}) | roles

    def refuse(self, model: str, parameter: str) -> bool:
        """Remember what a model refuses; True where that is news."""
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
