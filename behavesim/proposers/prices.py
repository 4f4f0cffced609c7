"""What tokens cost: by prices of the user's own, which win, or else by what the journal says of each request."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from behavesim.base.errors import UsageError
from behavesim.base.tokens import Tokens

_SNAPSHOT = re.compile(r"(?:-\d.*|-latest)?")


@dataclass(frozen=True)
class Price:
    """USD per million tokens; without a price of their own, cached tokens cost what the others of the prompt do."""

    prompt: float
    completion: float
    cached: float | None = None
    cache_write: float | None = None

    def cost(self, tokens: Tokens) -> float:
        """The cost in USD."""
        read = min(tokens.cached, tokens.prompt)
        written = min(tokens.cache_write, tokens.prompt - read)
        fresh = (tokens.prompt - read - written) * self.prompt
        reading = read * (self.prompt if self.cached is None else self.cached)
        writing = written * (self.prompt if self.cache_write is None else self.cache_write)
        return (fresh + reading + writing + tokens.completion * self.completion) / 1e6


@dataclass(frozen=True)
class Prices:
    """Own prices by a model's name, which stands for its snapshots too; one that ends in * for all that begin so."""

    table: Mapping[str, Price]

    @classmethod
    def named(cls, own: Mapping[str, Mapping[str, float]]) -> Self:
        """The prices of a setting, as `{"my-model": {"prompt": 0.1, "completion": 0.4}}`.

        Raises UsageError for a price that is incomplete, negative or of an unknown kind.
        """
        return cls({model: _price(model, kinds) for model, kinds in own.items()})

    def of(self, model: str) -> Price | None:
        """The own price of a model: that of the longest name that fits; None where none does."""
        fitting = [name for name in self.table if _fits(name, model)]
        return self.table[max(fitting, key=len)] if fitting else None

    def cost(self, model: str, tokens: Tokens) -> float | None:
        """The cost of requests in USD; None without an own price where one of them had no list price when made."""
        own = self.of(model)
        if own is not None:
            return own.cost(tokens)
        return None if tokens.unpriced else tokens.cost_usd


def as_setting(model: str) -> str:
    """What a person adds to a command to name the price of a model, for them to put the numbers in."""
    return f"""--set 'prices={{"{model}" = {{prompt = USD, completion = USD}}}}' (for a million tokens each)"""


def _fits(name: str, model: str) -> bool:
    """`gpt-6-luna` fits `gpt-6-luna-2026-09-22`; `gpt-6` does not fit `gpt-6-luna`, which has a price of its own."""
    if name.endswith("*"):
        return model.startswith(name[:-1])
    return model.startswith(name) and _SNAPSHOT.fullmatch(model, len(name)) is not None


def _price(model: str, kinds: Mapping[str, float]) -> Price:
    known = {"prompt", "completion", "cached", "cache_write"}
    if not {"prompt", "completion"} <= kinds.keys() <= known or any(value < 0 for value in kinds.values()):
        raise UsageError(
            f"the price of {model!r} needs `prompt` and `completion` in USD per million tokens, and may have `cached` "
            f"and `cache_write`; it has {dict(kinds)}"
        )
    return Price(**kinds)
