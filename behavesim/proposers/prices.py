"""What tokens cost: a small table of documented prices, which settings extend; anything else is unknown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Self

from behavesim.errors import UsageError
from behavesim.events import Usage
from behavesim.tokens import Tokens

_SNAPSHOT = re.compile(r"(?:-\d.*|-latest)?")


@dataclass(frozen=True)
class Price:
    """USD per million tokens; without a price of their own, cached tokens cost what the others of the prompt do."""

    prompt: float
    completion: float
    cached: float | None = None


DOCUMENTED: Mapping[str, Price] = MappingProxyType(
    {
        "gpt-5-nano": Price(prompt=0.05, cached=0.005, completion=0.40),
        "gpt-4.1-nano": Price(prompt=0.10, cached=0.025, completion=0.40),
    }
)
"""From the models' own pages in OpenAI's documentation, standard tier, looked up in stored copies in November 2026.

Models that also bill for writing to the cache are left out, since their cost cannot be told from these three counts.
"""


@dataclass(frozen=True)
class Prices:
    """Prices by the name of a model; a name stands for its snapshots too, one that ends in * for all that begin so."""

    table: Mapping[str, Price] = field(default_factory=lambda: DOCUMENTED)

    @classmethod
    def extended(cls, own: Mapping[str, Mapping[str, float]]) -> Self:
        """The documented prices and the user's own, as `{"my-model": {"prompt": 0.1, "completion": 0.4}}`, which win.

        Raises UsageError for a price that is incomplete, negative or of an unknown kind.
        """
        return cls({**DOCUMENTED, **{model: _price(model, kinds) for model, kinds in own.items()}})

    def of(self, model: str) -> Price | None:
        """The price of a model: that of the longest name that fits; None where none does."""
        fitting = [name for name in self.table if _fits(name, model)]
        return self.table[max(fitting, key=len)] if fitting else None

    def cost(self, model: str, tokens: Usage | Tokens) -> float | None:
        """The cost of one request's tokens, or of many's, in USD; None where the price or the numbers are unknown.

        Cached tokens are among those of the prompt, and reasoning tokens among those of the completion.
        """
        price = self.of(model)
        if price is None or tokens.prompt is None or tokens.completion is None:
            return None
        cached = min(tokens.cached or 0, tokens.prompt)
        cached_price = price.prompt if price.cached is None else price.cached
        fresh = (tokens.prompt - cached) * price.prompt
        return (fresh + cached * cached_price + tokens.completion * price.completion) / 1e6


def _fits(name: str, model: str) -> bool:
    """`gpt-5-nano` fits `gpt-5-nano-2025-08-07`, but `gpt-5` does not fit `gpt-5-pro`, which has a price of its own."""
    if name.endswith("*"):
        return model.startswith(name[:-1])
    return model.startswith(name) and _SNAPSHOT.fullmatch(model, len(name)) is not None


def _price(model: str, kinds: Mapping[str, float]) -> Price:
    known = {"prompt", "completion", "cached"}
    if not {"prompt", "completion"} <= kinds.keys() <= known or any(value < 0 for value in kinds.values()):
        raise UsageError(
            f"the price of {model!r} needs `prompt` and `completion` in USD per million tokens, and may have `cached`; "
            f"it has {dict(kinds)}"
        )
    return Price(**kinds)
