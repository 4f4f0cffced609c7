"""Prices of one's own: whom they are for, what they are of, and that they win."""

from __future__ import annotations

import pytest

from behavesim.base.errors import UsageError
from behavesim.base.tokens import Tokens, Usage
from behavesim.proposers.prices import Prices

MILLION = Tokens(7, prompt=1_000_000, cached=1_000_000, completion=0, cost_usd=9.0)


def test_the_cost_counts_what_is_read_from_a_cache_and_written_to_it_at_their_own_prices() -> None:
    prices = Prices.named({"m": {"prompt": 1.0, "completion": 10.0, "cached": 0.1, "cache_write": 1.25}})
    tokens = Tokens(3, prompt=1_000_000, cached=400_000, completion=100_000, reasoning=50_000, cache_write=200_000)
    assert prices.cost("m", tokens) == pytest.approx(0.4 * 1.0 + 0.4 * 0.1 + 0.2 * 1.25 + 0.1 * 10.0)


def test_what_is_cached_and_has_no_price_of_its_own_costs_what_the_rest_of_the_prompt_does() -> None:
    prices = Prices.named({"m": {"prompt": 1.0, "completion": 10.0}})
    assert prices.cost("m", Tokens(3, prompt=1_000_000, cached=400_000, cache_write=600_000)) == 1.0
    assert prices.cost("m", Tokens(3, prompt=10, cached=400_000, cache_write=600_000)) == pytest.approx(1e-5)


@pytest.mark.parametrize("model", ["gpt-6-luna", "gpt-6-luna-2026-09-22", "gpt-6-luna-latest"])
def test_a_snapshot_costs_what_its_model_costs(model: str) -> None:
    assert Prices.named({"gpt-6-luna": {"prompt": 1.0, "completion": 2.0}}).cost(model, MILLION) == 1.0


@pytest.mark.parametrize("model", ["gpt-6", "gpt-6-luna-pro", "openai/gpt-6-luna", "gpt-6-luna:free", "llama3", ""])
def test_another_model_has_not_its_price(model: str) -> None:
    assert Prices.named({"gpt-6-luna": {"prompt": 1.0, "completion": 2.0}}).of(model) is None


def test_own_prices_win_and_the_longest_name_decides() -> None:
    prices = Prices.named(
        {
            "gpt-6-luna": {"prompt": 1.0, "completion": 2.0},
            "local/*": {"prompt": 0.0, "completion": 0.0},
            "local/big*": {"prompt": 3.0, "completion": 3.0, "cached": 1.0},
        }
    )
    assert prices.cost("gpt-6-luna", MILLION) == 1.0
    assert prices.cost("local/llama", MILLION) == 0.0
    assert prices.cost("local/big-llama", MILLION) == 1.0
    assert prices.cost("other", MILLION) == 9.0


def test_without_an_own_price_requests_cost_what_was_said_when_they_were_made() -> None:
    counted = Usage(prompt=10, completion=5, cost_usd=0.25)
    estimated = Usage(prompt=10, estimated_completion=5, cost_usd=0.5)
    unknown = Usage(prompt=10, completion=5)
    prices = Prices.named({})
    tokens = Tokens.of((counted, counted, estimated))
    assert prices.cost("m", tokens) == 0.5
    assert prices.cost("m", tokens.with_estimates()) == 1.0
    assert prices.cost("m", tokens + Tokens.of((unknown,))) is None
    assert prices.cost("m", tokens.or_more(Tokens.of((counted,)))) == 0.5


@pytest.mark.parametrize(
    "price", [{"prompt": 1.0}, {"prompt": 1.0, "completion": -1.0}, {"prompt": 1.0, "completion": 1.0, "output": 2.0}]
)
def test_a_price_that_cannot_be_meant_is_refused_by_name(price: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="'mine'"):
        Prices.named({"mine": price})
