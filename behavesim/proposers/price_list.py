"""List prices, as the installed package genai-prices has them; it never asks the network for newer ones."""

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
"""What endpoints call the service tier that everybody gets."""


def name_of_list() -> str:
    """The list and its version, which a run records: what a request costs may differ in the next one."""
    return f"genai-prices {version('genai-prices')}"


@dataclass(frozen=True)
class PriceList:
    """The list prices of whoever answers at `url`; where that is empty or no known vendor's, it knows none."""

    url: str

    def cost(self, model: str, usage: Usage) -> float | None:
        """What a request costs in USD if made now, with the estimates for what the endpoint did not count.

        None where that is unknown: the vendor, the model, the price of the tier, or the tokens.
        """
        counts = _counts(usage)
        found = self._found(model, counts, usage.tier) if counts else None
        return float(found.total_price) if found and _has_tier(found, usage.tier) else None

    def knows(self, model: str) -> bool:
        """Whether it has a price for a model, in the standard tier."""
        return self.cost(model, Usage(prompt=0, completion=0)) is not None

    def deprecates(self, model: str) -> bool:
        """Whether it says that the vendor is going to end a model."""
        found = self._found(model, {}, None)
        return bool(found and found.model.deprecated)

    def _found(self, model: str, counts: Mapping[str, int], tier: str | None) -> PriceCalculation | None:
        if not self.url or _is_of_ones_own(self.url):
            return None
        import genai_prices  # some tenths of a second to load, and most verbs never need it

        context = {"service_tier": tier} if tier else None
        try:
            return genai_prices.calc_price(
                genai_prices.Usage(**counts), model, provider_api_url=self.url, price_context=context
            )
        except LookupError:
            return None


def _is_of_ones_own(url: str) -> bool:
    """Whether a URL is on this machine or in one's own network, where no vendor answers."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_private
    except ValueError:
        return host == "localhost"


def _counts(usage: Usage) -> dict[str, int] | None:
    """The tokens under the package's names, which refuses more that are cached than there are; None where unknown."""
    prompt = usage.estimated_prompt if usage.prompt is None else usage.prompt
    completion = usage.estimated_completion if usage.completion is None else usage.completion
    if prompt is None or completion is None:
        return None
    read = min(usage.cached or 0, prompt)
    written = min(usage.cache_write or 0, prompt - read)
    return {
        "input_tokens": prompt,
        "cache_read_tokens": read,
        "cache_write_tokens": written,
        "output_tokens": completion,
    }


def _has_tier(found: PriceCalculation, tier: str | None) -> bool:
    """Whether a price is that of the tier; else it is the standard one, as for models that another vendor made."""
    if tier in STANDARD:
        return True
    is_own = any(found.model is model for model in found.provider.models)
    return is_own and any(variant.when.get("service_tier") == tier for variant in found.model.price_variants or ())
