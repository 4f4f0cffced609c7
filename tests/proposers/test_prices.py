"""Prices: documented, extended, unknown."""

from __future__ import annotations

import pytest

from behavesim.errors import UsageError
from behavesim.events import Usage
from behavesim.proposers.prices import DOCUMENTED, Prices
from behavesim.tokens import Tokens


def test_the_cost_counts_cached_tokens_at_their_own_price() -> None:
    cost = Prices().cost("gpt-5-nano", Usage(prompt=1_000_000, cached=400_000, completion=100_000, reasoning=50_000))
    assert cost == pytest.approx(0.6 * 0.05 + 0.4 * 0.005 + 0.1 * 0.40)


def test_the_sum_of_many_requests_costs_what_they_cost_together() -> None:
    assert Prices().cost("gpt-5-nano", Tokens(7, 2_000_000, 0, 1_000_000, 0)) == pytest.approx(0.50)


@pytest.mark.parametrize("model", ["gpt-5-nano", "gpt-5-nano-2025-08-07", "gpt-5-nano-latest"])
def test_a_snapshot_costs_what_its_model_costs(model: str) -> None:
    assert Prices().of(model) == DOCUMENTED["gpt-5-nano"]


@pytest.mark.parametrize("model", ["gpt-5", "gpt-5-nano-pro", "openai/gpt-5-nano", "gpt-5-nano:free", "llama3", ""])
def test_a_model_without_a_price_of_its_own_has_none(model: str) -> None:
    assert Prices().of(model) is None
    assert Prices().cost(model, Usage(10, 0, 10, 0)) is None


def test_tokens_that_were_not_counted_make_the_cost_unknown() -> None:
    assert Prices().cost("gpt-5-nano", Usage()) is None
    assert Prices().cost("gpt-5-nano", Usage(prompt=10, completion=0)) == pytest.approx(5e-7)


def test_own_prices_win_and_the_longest_name_decides() -> None:
    prices = Prices.extended(
        {
            "gpt-5-nano": {"prompt": 1.0, "completion": 2.0},
            "local/*": {"prompt": 0.0, "completion": 0.0},
            "local/big*": {"prompt": 3.0, "completion": 3.0, "cached": 1.0},
        }
    )
    million = Usage(prompt=1_000_000, cached=1_000_000, completion=0)
    assert prices.cost("gpt-5-nano", million) == 1.0
    assert prices.cost("local/llama", million) == 0.0
    assert prices.cost("local/big-llama", million) == 1.0


@pytest.mark.parametrize(
    "price", [{"prompt": 1.0}, {"prompt": 1.0, "completion": -1.0}, {"prompt": 1.0, "completion": 1.0, "output": 2.0}]
)
def test_a_price_that_cannot_be_meant_is_refused_by_name(price: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="'mine'"):
        Prices.extended({"mine": price})
