"""Tokens and costs of requests: counted by the endpoint, or estimated from the text if it does not say."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

from behavesim.base.text import one_line, storable

# Token counts of this or more are treated as unknown: no request has so large a one.
MOST_TOKENS = 10**9
# Costs of one request from this on are treated as unknown, as are negative ones and nan.
MOST_USD = 1e6
# Bytes a token is estimated to hold. Prompts and programs have 2.6 to 4.5, so 2 estimates too many rather than few.
BYTES_PER_TOKEN = 2


def estimate_tokens(text: str) -> int:
    """Return a text's UTF-8 bytes / BYTES_PER_TOKEN, rounded up: mostly more tokens than a model counts."""
    return math.ceil(len(text.encode(errors="replace")) / BYTES_PER_TOKEN)


def token_count(found: object) -> int | None:
    """Return a number of tokens from 0 to below MOST_TOKENS as an int; None for anything else, such as "10" or nan."""
    # a whole number may be written as 7.0; true and false are no counts
    if not isinstance(found, Real) or isinstance(found, bool):
        return None
    number: Any = found
    return int(number) if 0 <= number < MOST_TOKENS and number == int(number) else None


@dataclass(frozen=True)
class Usage:
    """Tokens of one request as the endpoint counted them, None where it did not say; also estimates, and the cost."""

    # counts are None where the endpoint did not say
    prompt: int | None = None  # with those in `cached` and `cache_write`
    cached: int | None = None  # of the prompt, read from the endpoint's cache
    completion: int | None = None  # with those in `reasoning`
    reasoning: int | None = None
    cache_write: int | None = None  # of the prompt, written to the endpoint's cache
    tier: str | None = None  # the service tier that the reply names
    cost_usd: float | None = None  # at list prices when the reply came, estimates included; None if unknown
    estimated_prompt: int | None = None  # None unless `prompt` is None
    estimated_completion: int | None = None  # None unless `completion` is None

    def checked(self) -> Usage:
        """Return a copy in which counts, a tier and a cost that make no sense are None, which means unknown."""
        # a cost that is negative or nan would keep a cap on cost from ever being reached
        cost, tier = self.cost_usd, self.tier
        has_cost = isinstance(cost, Real) and not isinstance(cost, bool) and 0 <= cost < MOST_USD
        return Usage(
            **{name: token_count(getattr(self, name)) for name in _COUNTS},
            tier=one_line(storable(tier), 50) if isinstance(tier, str) else None,
            cost_usd=float(cost) if has_cost and cost is not None else None,
        )

    def with_estimates(self, prompt: str, completion: str) -> Usage:
        """Return a copy with estimates from these texts where a count and an estimate are lacking."""
        estimates: dict[str, Any] = {}
        if self.prompt is None and self.estimated_prompt is None:
            estimates["estimated_prompt"] = estimate_tokens(prompt)
        if self.completion is None and self.estimated_completion is None:
            estimates["estimated_completion"] = estimate_tokens(completion)
        return replace(self, **estimates)


# The fields of `Tokens` that add up the field of the same name of each `Usage`.
_COUNTS = ("prompt", "cached", "completion", "reasoning", "cache_write", "estimated_prompt", "estimated_completion")


@dataclass(frozen=True)
class Tokens:
    """Sums of the tokens and costs of some requests; a count that an endpoint left out adds 0."""

    calls: int = 0
    prompt: int = 0
    cached: int = 0
    completion: int = 0
    reasoning: int = 0
    cache_write: int = 0
    cost_usd: float = 0.0  # of requests with counted tokens, at list prices; unknown prices add 0 (see `unpriced`)
    unpriced: int = 0  # requests without a cost, as their list price is unknown
    unreported: int = 0  # requests whose prompt or completion the endpoint did not count
    # estimates are no part of the counts and the cost above
    estimated_prompt: int = 0
    estimated_completion: int = 0
    estimated_cost_usd: float = 0.0  # of the `unreported` requests

    @classmethod
    def of(cls, calls: Sequence[Usage]) -> Tokens:
        """Return the sums over some requests; all are 0 if there is none."""
        costs = {True: 0.0, False: 0.0}  # by whether the endpoint counted the request in full
        for call in calls:
            costs[None not in (call.prompt, call.completion)] += call.cost_usd or 0.0
        return cls(
            calls=len(calls),
            cost_usd=costs[True],
            unpriced=sum(call.cost_usd is None for call in calls),
            unreported=sum(None in (call.prompt, call.completion) for call in calls),
            estimated_cost_usd=costs[False],
            **{name: sum(getattr(call, name) or 0 for call in calls) for name in _COUNTS},
        )

    def __add__(self, other: Tokens) -> Tokens:
        # `vars`, here and below, as `astuple` would copy deeply, and slowly
        return Tokens(*map(operator.add, vars(self).values(), vars(other).values()))

    def or_more(self, other: Tokens) -> Tokens:
        """Return the larger number of the two, field by field."""
        return Tokens(*map(max, vars(self).values(), vars(other).values()))

    def with_estimates(self) -> Tokens:
        """Return a copy whose prompt, completion and cost include the estimates; the estimates become 0."""
        return replace(
            self,
            prompt=self.prompt + self.estimated_prompt,
            completion=self.completion + self.estimated_completion,
            cost_usd=self.cost_usd + self.estimated_cost_usd,
            estimated_prompt=0,
            estimated_completion=0,
            estimated_cost_usd=0.0,
        )


# The sums over no requests: all are 0.
NO_TOKENS = Tokens()

# Takes a model's name and tokens; returns their cost in USD, or None if the model's price is unknown.
Price = Callable[[str, Tokens], float | None]


@dataclass(frozen=True)
class Spending:
    """Requests, tokens and cost of all models together; where an endpoint did not count, estimates stand in."""

    calls: int
    prompt: int
    completion: int
    estimated: int  # requests whose prompt or completion tokens are estimated
    cost_usd: float | None  # None if the price of a model with at least one request is unknown

    @classmethod
    def of(cls, tokens: Mapping[str, Tokens], price: Price) -> Spending:
        """Return the sum over all models with a request, estimates included; `tokens` are by model."""
        used = {model: each.with_estimates() for model, each in tokens.items() if each.calls}
        costs = [price(model, each) for model, each in used.items()]
        return cls(
            sum(each.calls for each in used.values()),
            sum(each.prompt for each in used.values()),
            sum(each.completion for each in used.values()),
            sum(each.unreported for each in used.values()),
            None if None in costs else sum(cost for cost in costs if cost is not None),
        )
