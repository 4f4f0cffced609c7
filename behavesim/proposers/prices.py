"""Cost of tokens: by the user's own prices if they name the model, else the list prices recorded with each reply."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from behavesim.base.errors import UsageError
from behavesim.base.tokens import Tokens

_SNAPSHOT = re.compile(r"(?:-\d.*|-latest)?")
"""What may follow a model's name in the name of one of its versions: a date or number, `latest`, or nothing."""


@dataclass(frozen=True)
class Price:
    """Price of a model in USD per million tokens, by kind of token."""

    prompt: float
    """Price of the prompt's tokens."""
    completion: float
    """Price of the reply's tokens, reasoning included."""
    cached: float | None = None
    """Price of the prompt's tokens that were read from a cache; None means the price `prompt`."""
    cache_write: float | None = None
    """Price of the prompt's tokens that were written to a cache; None means the price `prompt`."""

    def cost(self, tokens: Tokens) -> float:
        """Return the cost in USD of tokens that endpoints counted; estimated tokens are ignored."""
        # Some endpoints count cached tokens beside those of the prompt; a negative rest would lower the cost.
        read = min(tokens.cached, tokens.prompt)
        written = min(tokens.cache_write, tokens.prompt - read)
        fresh = (tokens.prompt - read - written) * self.prompt
        reading = read * (self.prompt if self.cached is None else self.cached)
        writing = written * (self.prompt if self.cache_write is None else self.cache_write)
        return (fresh + reading + writing + tokens.completion * self.completion) / 1e6


@dataclass(frozen=True)
class Prices:
    """The user's own prices: `table` has them by model name.

    A name also fits the model's snapshots (`-2026-09-22`, `-latest`). A name ending in * fits every model that begins
    with the text before the *.
    """

    table: Mapping[str, Price]

    @classmethod
    def named(cls, own: Mapping[str, Mapping[str, float]]) -> Self:
        """Return the prices in the setting `prices`, such as `{"my-model": {"prompt": 0.1, "completion": 0.4}}`.

        The numbers are USD per million tokens. Raises UsageError if a price is incomplete, negative or of an unknown
        kind.
        """
        return cls({model: _price(model, kinds) for model, kinds in own.items()})

    def of(self, model: str) -> Price | None:
        """Return the user's price for a model, from the longest name that fits; None if no name fits."""
        fitting = [name for name in self.table if _fits(name, model)]
        return self.table[max(fitting, key=len)] if fitting else None

    def cost(self, model: str, tokens: Tokens) -> float | None:
        """Return the cost in USD of requests to a model: by the user's price, else as recorded by list prices.

        Estimates do not count. None if the user named no price and at least one request had no list price.
        """
        own = self.of(model)
        if own is not None:
            return own.cost(tokens)
        return None if tokens.unpriced else tokens.cost_usd


def as_setting(model: str) -> str:
    """Return a hint for a person: the option that sets a model's price, with `USD` in place of each number."""
    return f"""--set 'prices={{"{model}" = {{prompt = USD, completion = USD}}}}' (for a million tokens each)"""


def _fits(name: str, model: str) -> bool:
    """Whether a name in the table fits a model: it is the model's, its snapshot's, or ends in * and begins the name."""
    # `gpt-6-luna` fits `gpt-6-luna-2026-09-22`; `gpt-6` does not fit `gpt-6-luna`, which has another price
    if name.endswith("*"):
        return model.startswith(name[:-1])
    return model.startswith(name) and _SNAPSHOT.fullmatch(model, len(name)) is not None


def _price(model: str, kinds: Mapping[str, float]) -> Price:
    """Return a model's price from the user's numbers by kind of token; raises UsageError if they are no price."""
    known = {"prompt", "completion", "cached", "cache_write"}
    if not {"prompt", "completion"} <= kinds.keys() <= known or any(value < 0 for value in kinds.values()):
        raise UsageError(
            f"the price of {model!r} needs `prompt` and `completion` in USD per million tokens, and may have `cached` "
            f"and `cache_write`; it has {dict(kinds)}"
        )
    return Price(**kinds)
