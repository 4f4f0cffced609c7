"""Tokens of requests: counted by the endpoint, or estimated from the text if it does not say."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

BYTES_PER_TOKEN = 2
"""Bytes a token is estimated to hold. Prompts and programs have 2.6 to 4.5, so 2 estimates too many rather than few."""


def estimated_tokens(text: str) -> int:
    """Return an estimate of a text's tokens that is rather more than a model's own count."""
    return math.ceil(len(text.encode(errors="replace")) / BYTES_PER_TOKEN)


@dataclass(frozen=True)
class Usage:
    """Tokens of one request as the endpoint counted them; None where the endpoint did not say."""

    prompt: int | None = None
    """Tokens of the prompt, with those in `cached` and `cache_write`."""
    cached: int | None = None
    """Tokens of the prompt that were read from the endpoint's cache."""
    completion: int | None = None
    """Tokens of the reply, with those in `reasoning`."""
    reasoning: int | None = None
    """Tokens of the reply's reasoning."""
    cache_write: int | None = None
    """Tokens of the prompt that were written to the endpoint's cache."""
    tier: str | None = None
    """The service tier that the reply names; None if it names none."""
    cost_usd: float | None = None
    """Cost in USD by the list prices of its time, estimated tokens included; None if the price is unknown."""
    estimated_prompt: int | None = None
    """Estimated tokens of the prompt; None unless `prompt` is None."""
    estimated_completion: int | None = None
    """Estimated tokens of the reply; None unless `completion` is None."""

    def with_estimates(self, prompt: str, completion: str) -> Usage:
        """Return a copy with tokens estimated from the texts of prompt and reply if no count or estimate is known."""
        estimates: dict[str, Any] = {}
        if self.prompt is None and self.estimated_prompt is None:
            estimates["estimated_prompt"] = estimated_tokens(prompt)
        if self.completion is None and self.estimated_completion is None:
            estimates["estimated_completion"] = estimated_tokens(completion)
        return replace(self, **estimates)


@dataclass(frozen=True)
class Tokens:
    """The sums of some requests' tokens and costs."""

    calls: int = 0
    """Number of requests."""
    prompt: int = 0
    """Tokens of the prompts, as counted by the endpoint."""
    cached: int = 0
    """Tokens of the prompts that were read from a cache."""
    completion: int = 0
    """Tokens of the replies, as counted by the endpoint."""
    reasoning: int = 0
    """Tokens of the replies' reasoning."""
    cache_write: int = 0
    """Tokens of the prompts that were written to a cache."""
    cost_usd: float = 0.0
    """Cost in USD by list prices, of the requests that the endpoint counted in full."""
    unpriced: int = 0
    """Requests whose price is unknown."""
    unreported: int = 0
    """Requests whose prompt or completion the endpoint did not count."""
    estimated_prompt: int = 0
    """Estimated tokens of prompts without a count; not part of `prompt`."""
    estimated_completion: int = 0
    """Estimated tokens of replies without a count; not part of `completion`."""
    estimated_cost_usd: float = 0.0
    """Cost in USD of the `unreported` requests; not part of `cost_usd`."""

    @classmethod
    def of(cls, calls: Sequence[Usage]) -> Tokens:
        """Return the sums over some requests; raises TypeError if there is none."""
        return reduce(operator.add, map(cls._of_one, calls))

    @classmethod
    def _of_one(cls, call: Usage) -> Tokens:
        is_silent = call.prompt is None or call.completion is None
        cost_usd = call.cost_usd or 0.0
        return cls(
            calls=1,
            prompt=call.prompt or 0,
            cached=call.cached or 0,
            completion=call.completion or 0,
            reasoning=call.reasoning or 0,
            cache_write=call.cache_write or 0,
            cost_usd=0.0 if is_silent else cost_usd,
            unpriced=int(call.cost_usd is None),
            unreported=int(is_silent),
            estimated_prompt=call.estimated_prompt or 0,
            estimated_completion=call.estimated_completion or 0,
            estimated_cost_usd=cost_usd if is_silent else 0.0,
        )

    def __add__(self, other: Tokens) -> Tokens:
        return self._with(other, operator.add)

    def or_more(self, other: Tokens) -> Tokens:
        """Return the larger of both values, field by field."""
        return self._with(other, max)

    def with_estimates(self) -> Tokens:
        """Return a copy whose prompt, completion and cost include the estimates; the estimates become 0."""
        if not self.unreported:
            return self
        return replace(
            self,
            prompt=self.prompt + self.estimated_prompt,
            completion=self.completion + self.estimated_completion,
            cost_usd=self.cost_usd + self.estimated_cost_usd,
            estimated_prompt=0,
            estimated_completion=0,
            estimated_cost_usd=0.0,
        )

    def _with(self, other: Tokens, combine: Callable[[Any, Any], Any]) -> Tokens:
        return Tokens(
            *map(combine, vars(self).values(), vars(other).values())
        )  # `astuple` would copy deeply, and slowly


NO_TOKENS = Tokens()
"""The sums over no requests: all are 0."""

Price = Callable[[str, Tokens], float | None]
"""Takes a model's name and tokens; returns their cost in USD, or None if the model's price is unknown."""


@dataclass(frozen=True)
class Spending:
    """The requests of all models together, estimates included."""

    calls: int
    """Number of requests."""
    prompt: int
    """Tokens of the prompts."""
    completion: int
    """Tokens of the replies."""
    estimated: int
    """Requests whose tokens are estimated, at least in part."""
    cost_usd: float | None
    """Cost in USD; None if the price of a model that was used is unknown."""

    @classmethod
    def of(cls, tokens: Mapping[str, Tokens], price: Price) -> Spending:
        """Return the spending on all models together; `tokens` are by model."""
        used = {model: each.with_estimates() for model, each in tokens.items() if each.calls}
        costs = [price(model, each) for model, each in used.items()]
        return cls(
            sum(each.calls for each in used.values()),
            sum(each.prompt for each in used.values()),
            sum(each.completion for each in used.values()),
            sum(each.unreported for each in used.values()),
            None if None in costs else sum(cost for cost in costs if cost is not None),
        )
