"""Cost of tokens: by the user's own prices if they name the model, else by the list prices of genai-prices."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from ipaddress import ip_address
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from behavesim.base.errors import UsageError
from behavesim.base.tokens import Tokens, Usage

if TYPE_CHECKING:
    from genai_prices.types import PriceCalculation

# What may follow a model's name in the name of one of its versions: a date or number, `latest`, or nothing.
_SNAPSHOT = re.compile(r"(?:-\d.*|-latest)?")


@dataclass(frozen=True)
class Price:
    """Price of a model in USD per million tokens, by kind of token."""

    # Price of the prompt's tokens.
    prompt: float
    # Price of the reply's tokens, reasoning included.
    completion: float
    # Price of the prompt's tokens that were read from a cache; None means the price `prompt`.
    cached: float | None = None
    # Price of the prompt's tokens that were written to a cache; None means the price `prompt`.
    cache_write: float | None = None

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
    """The user's own prices, by model name.

    A name also fits the model's snapshots (`-2026-09-22`, `-latest`). A name ending in * fits every model that begins
    with the text before the *.
    """

    table: Mapping[str, Price]

    @classmethod
    def named(cls, own: Mapping[str, Mapping[str, float]]) -> Self:
        """Return the prices in the setting `prices`, such as `{"my-model": {"prompt": 0.1, "completion": 0.4}}`.

        Raises UsageError if a price is incomplete, negative or of an unknown kind.
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
    """Whether a name in the table is the model's, its snapshot's, or ends in * and begins the model's name."""
    # `gpt-6-luna` fits `gpt-6-luna-2026-09-22`; `gpt-6` does not fit `gpt-6-luna`, which has another price
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


# Names that endpoints use for the standard service tier; None and "" mean that no tier was named.
STANDARD = (None, "", "auto", "default", "standard", "on_demand")
# The service tier that is recorded for requests of a batch, which have a price of their own.
BATCH = "batch"


def name_of_list() -> str:
    """Return the name and version of the price list; a run records it, since prices differ between versions."""
    return f"genai-prices {version('genai-prices')}"


@dataclass(frozen=True)
class PriceList:
    """The list prices of one vendor's models."""

    # URL of the vendor's endpoint; no price is known if it is "", local, or not a known vendor's.
    url: str

    def cost(self, model: str, usage: Usage) -> float | None:
        """Return what a request costs in USD at today's prices, with estimated tokens where none were counted.

        None if the vendor, the model, the price of the service tier, or prompt or completion tokens are unknown.
        """
        counts = _counts(usage)
        found = self._found(model, counts, usage.tier) if counts else None
        return float(found.total_price) if found and _has_tier(found, usage.tier) else None

    def knows(self, model: str) -> bool:
        """Whether the list has a price for a model in the standard service tier."""
        return self.cost(model, Usage(prompt=0, completion=0)) is not None

    def deprecates(self, model: str) -> bool:
        """Whether the list marks a model as deprecated by its vendor; False for an unknown model or vendor."""
        found = self._found(model, {}, None)
        return bool(found and found.model.deprecated)

    def _found(self, model: str, counts: Mapping[str, int], tier: str | None) -> PriceCalculation | None:
        """Return the package's price, the standard one if it has none for the tier; None for an unknown model."""
        if not self.url or _is_local(self.url):
            return None
        # the prices installed with the package: newer ones are never fetched from the network
        import genai_prices  # some tenths of a second to load, and most verbs never need it

        context = _context(tier) if tier else None
        try:
            return genai_prices.calc_price(
                genai_prices.Usage(**counts), model, provider_api_url=self.url, price_context=context
            )
        except LookupError:
            return None


def _is_local(url: str) -> bool:
    """Whether a URL's host is `localhost` or a private address, where no vendor answers."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:  # such as http://[::1, where nobody answers
        return True
    try:
        return ip_address(host).is_private
    except ValueError:
        return host == "localhost"


def _counts(usage: Usage) -> dict[str, int] | None:
    """Return the tokens by the package's names, estimated if not counted; None if neither."""
    prompt = usage.estimated_prompt if usage.prompt is None else usage.prompt
    completion = usage.estimated_completion if usage.completion is None else usage.completion
    if prompt is None or completion is None:
        return None
    read = min(usage.cached or 0, prompt)  # the package refuses more cached tokens than those of the prompt
    written = min(usage.cache_write or 0, prompt - read)
    return {
        "input_tokens": prompt,
        "cache_read_tokens": read,
        "cache_write_tokens": written,
        "output_tokens": completion,
    }


def _context(tier: str | None) -> dict[str, str]:
    return {"processing": BATCH} if tier == BATCH else {"service_tier": tier or ""}


def _has_tier(found: PriceCalculation, tier: str | None) -> bool:
    """Whether a price that was found holds for the service tier; True for the standard one."""
    # the package falls back to the standard price where it has none for the tier, and for another vendor's models
    if tier in STANDARD:
        return True
    is_own = any(found.model is model for model in found.provider.models)
    return is_own and any(
        _context(tier).items() <= variant.when.items() for variant in found.model.price_variants or ()
    )
