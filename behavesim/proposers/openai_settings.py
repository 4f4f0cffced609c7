"""Settings of runs that ask a language model."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import Field

from behavesim.base.config import Adjustable
from behavesim.proposers.openai_dialect import Sampling
from behavesim.proposers.patience import Patience
from behavesim.proposers.proposer import ProposerSettings

OPENAI = "https://api.openai.com/v1"
"""URL of OpenAI's own endpoint."""

MODEL = "gpt-6-luna"
"""Default model: OpenAI's cheapest in November 2026 without an announced shutdown."""


def base_url() -> str:
    """Return the endpoint's URL: OPENAI_BASE_URL if the environment sets it, else OpenAI's own."""
    return os.environ.get("OPENAI_BASE_URL") or OPENAI


class OpenAISettings(ProposerSettings):
    """The settings of a proposer that asks models."""

    models: Mapping[str, float] = {MODEL: 1.0}
    """Models by name, each with a weight: how often it is asked, relative to the others."""
    temperature: float | None = Field(None, ge=0)
    """The model's sampling temperature; if unset, the endpoint's default."""
    max_completion_tokens: int | None = Field(None, ge=1)
    """Most tokens of a reply, reasoning included; if unset, the endpoint's limit."""
    reasoning_effort: str | None = None
    """How much a reasoning model should think, in the endpoint's own words, such as low; if unset, its default."""
    system_prompt: str = ""
    """A system message before every prompt; empty for none."""
    service_tier: Adjustable[str | None] = None
    """How the endpoint should process and bill requests, such as flex; if unset, its default."""
    request_timeout_s: Adjustable[float | None] = Field(None, gt=0)
    """Time limit of a request in seconds; if unset, 300, or 900 in the service tier flex."""
    extra_body: Mapping[str, Any] = {}
    """Further fields of every request, by the endpoint's own names."""

    def models_asked(self) -> tuple[str, ...]:
        """Return the names of the models that may be asked."""
        return tuple(self.models)

    def patience(self) -> Patience:
        """Return the limits for failed and slow requests.

        They are longer in the service tier flex, which is slow and sometimes unavailable: OpenAI advises 900 s.
        """
        is_flex = self.service_tier == "flex"
        patience = Patience(request_s=900.0, outage_s=3600.0, start_s=900.0) if is_flex else Patience()
        return replace(patience, request_s=self.request_timeout_s or patience.request_s)

    def sampling(self, seed: int) -> Sampling:
        """Return the models and the parameters of requests; `seed` is the run's, for drawing a model each time."""
        return Sampling(
            self.models,
            seed,
            self.temperature,
            self.max_completion_tokens,
            self.reasoning_effort,
            self.system_prompt,
            self.extra_body,
            self.service_tier,
        )
