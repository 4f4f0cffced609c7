"""List prices from the installed package genai-prices; newer ones are never fetched from the network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from behavesim.base.tokens import Usage

if TYPE_CHECKING:
    from genai_prices.types import PriceCalculation

STANDARD = (None, "", "auto", "default", "standard", "on_demand")
"""Names that endpoints use for the standard service tier; None and "" mean that no tier was named."""
BATCH = "batch"
"""The service tier that is recorded for requests of a batch, which have a price of their own."""


def name_of_list() -> str:
    """Return the name and version of the price list; a run records it, since prices differ between versions."""
    return f"genai-prices {version('genai-prices')}"


@dataclass(frozen=True)
class PriceList:
    """The list prices of one vendor's models."""

    url: str
    """URL of the vendor's endpoint; no price is known if it is "", local, or not a known vendor's."""

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
        """Return the price that the package genai_prices computes; None if it does not know the vendor or the model.

        `counts` are numbers of tokens by the package's names. A `tier` of None or "" is the standard one. If the
        package has no price for the tier, the result is the standard price.
        """
        if not self.url or _is_local(self.url):
            return None
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
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_private
    except ValueError:
        return host == "localhost"


def _counts(usage: Usage) -> dict[str, int] | None:
    """Return the tokens by the names of genai_prices' `Usage`, estimated if not counted.

    None if prompt or completion tokens are neither counted nor estimated.
    """
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
    """Return the condition by which genai_prices finds the price of a service tier, or of batches for BATCH."""
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
