"""Tokens of requests: as the endpoint counted them, and estimated from the text where it did not."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

BYTES_PER_TOKEN = 2
"""What a token is taken to hold where nobody counts: prompts and programs have 2.6 to 4.5 bytes a token, mostly 3.5."""


def estimated_tokens(text: str) -> int:
    """The tokens of a text, at the cautious end: rather more than a model's own count."""
    return math.ceil(len(text.encode(errors="replace")) / BYTES_PER_TOKEN)


@dataclass(frozen=True)
class Usage:
    """Tokens of one request as the endpoint counted them; None where it did not say.

    Those read from a cache and written to one are among those of the prompt, reasoning is among the completion's. The
    estimates stand in for prompt and completion where it did not say, and nowhere else. `tier` is the service tier that
    the answer names. `cost_usd` is what the request cost when it was made, by list prices and with the estimates; None
    where that is unknown.
    """

    prompt: int | None = None
    cached: int | None = None
    completion: int | None = None
    reasoning: int | None = None
    cache_write: int | None = None
    tier: str | None = None
    cost_usd: float | None = None
    estimated_prompt: int | None = None
    estimated_completion: int | None = None

    def with_estimates(self, prompt: str, completion: str) -> Usage:
        """The same with estimates from what was sent and what came back, for what has neither count nor estimate."""
        estimates: dict[str, Any] = {}
        if self.prompt is None and self.estimated_prompt is None:
            estimates["estimated_prompt"] = estimated_tokens(prompt)
        if self.completion is None and self.estimated_completion is None:
            estimates["estimated_completion"] = estimated_tokens(completion)
        return replace(self, **estimates)


@dataclass(frozen=True)
class Tokens:
    """What some requests took; `unreported` counts the calls of which the endpoint did not say all.

    `cost_usd` is by list prices, of the calls of which it said all; of `unpriced` calls no price was known. The
    estimates are for what it did not say, and no part of the counts and the cost beside them.
    """

    calls: int = 0
    prompt: int = 0
    cached: int = 0
    completion: int = 0
    reasoning: int = 0
    cache_write: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    unreported: int = 0
    estimated_prompt: int = 0
    estimated_completion: int = 0
    estimated_cost_usd: float = 0.0

    @classmethod
    def of(cls, calls: Sequence[Usage]) -> Tokens:
        """What some requests took together, one at least."""
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
        """The greater of both counts, each by itself."""
        return self._with(other, max)

    def with_estimates(self) -> Tokens:
        """The same with the estimates among prompt, completion and cost."""
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
"""What no request takes."""

Price = Callable[[str, Tokens], float | None]
"""The cost of some tokens of a model in USD; None where its price is unknown."""


@dataclass(frozen=True)
class Spending:
    """What requests have taken, estimates included where an endpoint did not count: so many of the calls.

    The cost, in USD, is None where a price is unknown.
    """

    calls: int
    prompt: int
    completion: int
    estimated: int
    cost_usd: float | None

    @classmethod
    def of(cls, tokens: Mapping[str, Tokens], price: Price) -> Spending:
        """The spending of all models together."""
        used = {model: each.with_estimates() for model, each in tokens.items() if each.calls}
        costs = [price(model, each) for model, each in used.items()]
        return cls(
            sum(each.calls for each in used.values()),
            sum(each.prompt for each in used.values()),
            sum(each.completion for each in used.values()),
            sum(each.unreported for each in used.values()),
            None if None in costs else sum(cost for cost in costs if cost is not None),
        )
