"""What a run can tell the models it asks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from behavesim.config import Adjustable
from behavesim.proposers.openai_dialect import Sampling
from behavesim.proposers.proposer import ProposerSettings


class OpenAISettings(ProposerSettings):
    """The settings of a proposer that asks models."""

    models: Mapping[str, float] = {"gpt-5-nano": 1.0}
    """Models and their weights."""
    temperature: float | None = Field(None, ge=0)
    """The model's sampling temperature; its own default where unset."""
    max_completion_tokens: int | None = Field(None, ge=1)
    """Tokens a reply may take, reasoning included."""
    reasoning_effort: str | None = None
    """How much a reasoning model should think, in its own words."""
    system_prompt: str = ""
    """A system message before every prompt."""
    request_timeout_s: Adjustable[float] = Field(300.0, gt=0)
    """Seconds a request may take."""
    extra_body: Mapping[str, Any] = {}
    """Further fields of every request, as the endpoint knows them."""

    def models_asked(self) -> tuple[str, ...]:
        """The models."""
        return tuple(self.models)

    def sampling(self, seed: int) -> Sampling:
        """How they are asked."""
        return Sampling(
            self.models,
            seed,
            self.temperature,
            self.max_completion_tokens,
            self.reasoning_effort,
            self.system_prompt,
            self.extra_body,
        )
