"""Settings of runs that ask a language model."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from pydantic import Field, field_validator, model_validator

from behavesim.base.config import Adjustable
from behavesim.proposers.bandit import best_for_its_price
from behavesim.proposers.draw import pick
from behavesim.proposers.patience import Patience
from behavesim.proposers.proposer import Chooser, ProposerSettings
from behavesim.state.state import RunState

OPENAI = "https://api.openai.com/v1"
"""URL of OpenAI's own endpoint."""

MODEL = "gpt-6-luna"
"""Default model: OpenAI's cheapest in November 2026 without an announced shutdown."""

MODEL_PURPOSE = 101
"""Third part of the random seed for choosing a model; a number that no other choice about a candidate uses."""

ResponseFormat = Literal["text", "json_schema", "json_object", "grammar"]
"""What a reply is held to: nothing, a JSON schema in OpenAI's or in llama.cpp's form, or a grammar (llama.cpp)."""


def base_url() -> str:
    """Return the endpoint's URL: OPENAI_BASE_URL if it is set and not empty, else OpenAI's own."""
    return os.environ.get("OPENAI_BASE_URL") or OPENAI


def has_endpoint() -> bool:
    """Whether the environment names an endpoint (OPENAI_BASE_URL), or a key for OpenAI's own (OPENAI_API_KEY)."""
    return bool(os.environ.get("OPENAI_API_KEY") or os.environ.get("OPENAI_BASE_URL"))


class OpenAISettings(ProposerSettings):
    """The settings of a proposer that asks language models through an OpenAI-compatible endpoint.

    Raises ValueError if `batch` and `service_tier` are both set, or if the weights in `models` are not valid.
    """

    models: Mapping[str, float] = {MODEL: 1.0}
    """Models by name, each with a weight of 0 or more: how often it is asked, relative to the others."""
    choose_models: Literal["weights", "bandit"] = "weights"
    """How `models` are chosen: by their weights, or by what they brought so far for each dollar (bandit)."""
    strong_model: str = ""
    """A model for every `strong_every`-th candidate, such as a better and dearer one; empty for none."""
    strong_every: int = Field(10, ge=1)
    """Which candidates `strong_model` writes: with 10, the tenth, the twentieth, and so on."""
    temperature: float | None = Field(None, ge=0)
    """The model's sampling temperature: the higher, the more its replies vary. If unset, the endpoint's default."""
    max_completion_tokens: int | None = Field(None, ge=1)
    """Maximum number of tokens of a reply, reasoning included; if unset, the endpoint's limit."""
    reasoning_effort: str | None = None
    """How much a reasoning model reasons, in the endpoint's words, such as low; if unset, the endpoint's default."""
    system_prompt: str = ""
    """Text of a system message that is sent before every prompt; empty for none."""
    service_tier: Adjustable[str | None] = None
    """The endpoint's service tier, which decides speed and price, such as flex; if unset, the endpoint's default."""
    batch: Adjustable[bool] = False
    """Whether prompts are asked in batches, at half the price with some vendors; replies may take up to 24 hours."""
    request_timeout_s: Adjustable[float | None] = Field(None, gt=0)
    """Time limit of a request in seconds; a slower one is sent again. If unset, 300, or 900 in service tier flex."""
    response_format: ResponseFormat = "text"
    """What replies are held to: text (nothing), json_schema, json_object (with llama.cpp's schema) or grammar
    (llama.cpp's). An endpoint that refuses it is asked without it."""
    extra_body: Mapping[str, Any] = {}
    """Further fields of every request, by the endpoint's own names; they replace fields of the same names."""

    @field_validator("models")
    @classmethod
    def _has_weights(cls, models: Mapping[str, float]) -> Mapping[str, float]:
        """Return the weights; raise ValueError unless each is 0 or more and their sum is above 0 and finite."""
        if not (all(weight >= 0 for weight in models.values()) and 0 < sum(models.values()) < float("inf")):
            raise ValueError("should give each model a weight of 0 or more, and at least one a weight above 0")
        return models

    @model_validator(mode="after")
    def _has_one_price(self) -> Self:
        """Return these settings; raise ValueError if `batch` and `service_tier` are both set, as each sets a price."""
        if self.batch and self.service_tier:
            raise ValueError("batch has its own price; use it without service_tier")
        return self

    def leaves_requests(self) -> bool:
        """Whether open requests outlive the process: True if prompts are asked in batches."""
        return self.batch

    def models_asked(self) -> tuple[str, ...]:
        """Return the names in `models`, also those with weight 0, and `strong_model`."""
        return tuple(dict.fromkeys((*self.models, *filter(None, [self.strong_model]))))

    def model_of(self, seed: int, number: int, state: RunState | None = None) -> str:
        """Return the model to ask for a candidate or note with this `number`: `strong_model`, or one drawn by weight.

        The run's `seed` and the number decide which is drawn. If a `state` is given, the model is drawn by what the
        models with a weight above 0 have brought so far; None draws by weight.
        """
        if self.strong_model and number >= 0 and (number + 1) % self.strong_every == 0:
            return self.strong_model
        if len(self.models) == 1:
            return next(iter(self.models))
        # A note's number is negative, and a seed must not be.
        rng = np.random.default_rng([seed, number % 2**32, MODEL_PURPOSE])
        if state is None:
            return pick(self.models, rng)
        return best_for_its_price(state, sorted(model for model, weight in self.models.items() if weight), rng)

    def chooser(self, seed: int) -> Chooser | None:
        """Return what chooses the model of a question by the run's state, for the bandit; None for weights."""
        if self.choose_models == "weights":
            return None
        return lambda state, number: self.model_of(seed, number, state)

    def patience(self) -> Patience:
        """Return the limits for failed and slow requests.

        A request may take `request_timeout_s`; if that is not set, 300 s, or 900 s in the service tier flex, as OpenAI
        advises. Flex is slow and sometimes unavailable, so that outages may take longer there, too.
        """
        is_flex = self.service_tier == "flex"
        patience = Patience(request_s=900.0, outage_s=3600.0, start_s=900.0) if is_flex else Patience()
        return replace(patience, request_s=self.request_timeout_s or patience.request_s)
