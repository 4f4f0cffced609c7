"""Sums of tokens and costs: what was counted, what was estimated, and what is unknown."""

from __future__ import annotations

import pytest

from behavesim.base.tokens import NO_TOKENS, Spending, Tokens, Usage

COUNTED = Usage(prompt=100, cached=40, completion=20, reasoning=5, cache_write=30, cost_usd=0.5)
SILENT = Usage(estimated_prompt=7, estimated_completion=3, cost_usd=0.125)
HALF = Usage(prompt=10, estimated_completion=3)


def test_what_is_missing_is_estimated_and_nothing_else() -> None:
    assert Usage().with_estimates("abcd", "ab") == Usage(estimated_prompt=2, estimated_completion=1)
    assert COUNTED.with_estimates("abcd", "ab") == COUNTED
    assert SILENT.with_estimates("abcd", "ab") == SILENT
    assert Usage(prompt=9).with_estimates("abcd", "ab") == Usage(prompt=9, estimated_completion=1)
    assert Usage(completion=9).with_estimates("abcd", "ab") == Usage(completion=9, estimated_prompt=2)


def test_requests_add_up_counted_and_estimated_ones_apart() -> None:
    assert Tokens.of([]) == NO_TOKENS == Tokens(0)
    assert Tokens.of([COUNTED, SILENT, HALF]) == Tokens(
        calls=3,
        prompt=110,
        cached=40,
        completion=20,
        reasoning=5,
        cache_write=30,
        cost_usd=0.5,
        unpriced=1,
        unreported=2,
        estimated_prompt=7,
        estimated_completion=6,
        estimated_cost_usd=0.125,
    )
    assert Tokens.of([COUNTED]) + Tokens.of([SILENT, HALF]) == Tokens.of([COUNTED, SILENT, HALF])


def test_the_most_of_two_is_the_most_of_each_count() -> None:
    assert Tokens(1, prompt=5, completion=2).or_more(Tokens(2, prompt=3, completion=4)) == Tokens(2, 5, completion=4)


def test_estimates_can_be_counted_with_the_rest() -> None:
    assert Tokens.of([COUNTED, SILENT]).with_estimates() == Tokens(
        2, 107, 40, 23, 5, 30, cost_usd=0.625, unpriced=0, unreported=1
    )


def price(model: str, tokens: Tokens) -> float | None:
    return None if model == "unknown" else tokens.prompt + 2.0 * tokens.completion


@pytest.mark.parametrize(("models", "cost_usd"), [(("a", "b"), 120 + 2 * 46.0), (("a", "unknown"), None), ((), 0)])
def test_all_models_are_spent_on_together(models: tuple[str, ...], cost_usd: float | None) -> None:
    spent = Spending.of(
        {model: Tokens(2, 60, completion=20, unreported=1, estimated_completion=3) for model in models}, price
    )
    count = len(models)
    assert spent == Spending(2 * count, 60 * count, 23 * count, count, cost_usd)


def test_a_model_that_was_never_asked_costs_nothing() -> None:
    assert Spending.of({"unknown": NO_TOKENS}, price) == Spending(0, 0, 0, 0, 0)
