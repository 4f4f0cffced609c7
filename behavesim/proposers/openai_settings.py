"""What a run can tell the models it asks."""

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

MODEL = "gpt-6-luna"
"""Who is asked unless somebody else is named: OpenAI's cheapest of which no end is announced, in November 2026."""


def base_url() -> str:
    """Where models are asked: OpenAI's own endpoint, unless the environment names another."""
    return os.environ.get("OPENAI_BASE_URL") or OPENAI


class OpenAISettings(ProposerSettings):
    """The settings of a proposer that asks models."""

    models: Mapping[str, float] = {MODEL: 1.0}
    """Models and their weights."""
    temperature: float | None = Field(None, ge=0)
    """The model's sampling temperature; its own default where unset."""
    max_completion_tokens: int | None = Field(None, ge=1)
    """Tokens a reply may take, reasoning included."""
    reasoning_effort: str | None = None
    """How much a reasoning model should think, in its own words."""
    system_prompt: str = ""
    """A system message before every prompt."""
    service_tier: Adjustable[str | None] = None
    """How the endpoint should process and bill requests, such as flex; as it likes where unset."""
    request_timeout_s: Adjustable[float | None] = Field(None, gt=0)
    """Seconds a request may take: 300 where unset, and 900 in the service tier flex."""
    extra_body: Mapping[str, Any] = {}
    """Further fields of every request, as the endpoint knows them."""

    def models_asked(self) -> tuple[str, ...]:
        """The names of the models that may be asked."""
        return tuple(self.models)

    def patience(self) -> Patience:
        """As a run wants it; longer for flex, which is slow and now and then unavailable (OpenAI advises 900 s)."""
        is_flex = self.service_tier == "flex"
        patience = Patience(request_s=900.0, outage_s=3600.0, start_s=900.0) if is_flex else Patience()
        return replace(patience, request_s=self.request_timeout_s or patience.request_s)

    def sampling(self, seed: int) -> Sampling:
        """The fields of a request that settings decide; the model is drawn by `seed` and the candidate's number."""
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
