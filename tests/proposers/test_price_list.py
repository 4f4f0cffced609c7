"""List prices: by vendor, model and service tier, as they are installed; unknown where one of these is."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

from behavesim.base.tokens import Usage
from behavesim.proposers.openai_settings import MODEL, OPENAI
from behavesim.proposers.prices import PriceList

LUNA = {"prompt": 0.10, "cached": 0.01, "cache_write": 0.125, "completion": 0.50}
"""USD per million tokens, on OpenAI's page of the model in November 2026."""
USAGE = Usage(prompt=1000, cached=200, completion=2000, reasoning=1500, cache_write=300)
COST = (500 * LUNA["prompt"] + 200 * LUNA["cached"] + 300 * LUNA["cache_write"] + 2000 * LUNA["completion"]) / 1e6


def in_tier(tier: str | None) -> Usage:
    return Usage(prompt=1000, cached=200, completion=2000, reasoning=1500, cache_write=300, tier=tier)


def test_the_vendor_s_own_prices_hold_and_the_network_is_not_asked_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(*where: object) -> None:
        raise AssertionError(f"the network is asked: {where}")

    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr(socket, "getaddrinfo", connect)
    assert PriceList(OPENAI).cost("gpt-6-luna", USAGE) == pytest.approx(COST)


@pytest.mark.parametrize(
    ("tier", "times"),
    [("default", 1.0), ("batch", 0.5), ("flex", 0.5), ("priority", 2.0), ("scale", None), ("no-such-tier", None)],
)
def test_a_tier_has_its_own_price_and_one_that_is_not_on_the_list_has_none(tier: str, times: float | None) -> None:
    cost = PriceList(OPENAI).cost("gpt-6-luna", in_tier(tier))
    assert cost == (None if times is None else pytest.approx(times * COST))


def test_the_tier_of_a_model_that_another_vendor_made_has_no_price() -> None:
    azure = PriceList("https://mine.openai.azure.com/openai/v1")
    assert azure.cost("gpt-6-luna", in_tier(None)) == pytest.approx(COST)
    assert azure.cost("gpt-6-luna", in_tier("flex")) is None


@pytest.mark.parametrize(
    "url", ["", "http://127.0.0.1:8000/v1", "http://localhost:11434/v1", "https://api.example.com", "http://[::1"]
)
def test_what_a_model_costs_elsewhere_is_not_what_it_costs_here(url: str) -> None:
    assert PriceList(url).cost("gpt-6-luna", USAGE) is None
    assert not PriceList(url).knows("gpt-6-luna")


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8000/v1", "http://localhost:1/v1", "http://[::1]:1", "http://10.0.0.7/v1"]
)
def test_nothing_is_loaded_for_an_endpoint_of_one_s_own(url: str) -> None:
    ask = f"from behavesim.proposers.prices import PriceList; PriceList({url!r}).knows('gpt-6-luna')"
    code = f"import sys; {ask}; sys.exit('genai_prices' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_vendor_that_passes_on_has_prices_of_its_own_under_its_own_names() -> None:
    gateway = PriceList("https://openrouter.ai/api/v1")
    assert gateway.knows("openai/gpt-6-luna")
    assert not PriceList(OPENAI).knows("openai/gpt-6-luna")


@pytest.mark.parametrize("model", ["gpt-99", "llama3", "m", ""])
def test_a_model_that_is_not_listed_has_no_price(model: str) -> None:
    assert PriceList(OPENAI).cost(model, USAGE) is None


def test_what_was_not_counted_is_estimated_or_the_cost_is_unknown() -> None:
    prices = PriceList(OPENAI)
    assert prices.cost("gpt-6-luna", Usage()) is None
    assert prices.cost("gpt-6-luna", Usage(prompt=1_000_000)) is None
    estimated = Usage(prompt=100_000, estimated_completion=100_000)
    assert prices.cost("gpt-6-luna", estimated) == pytest.approx(0.1 * LUNA["prompt"] + 0.1 * LUNA["completion"])


def test_a_request_with_a_very_long_prompt_costs_more_and_many_short_ones_do_not() -> None:
    prices = PriceList(OPENAI)
    short, long = (prices.cost("gpt-6-luna", Usage(prompt=n, completion=0)) for n in (200_000, 400_000))
    assert short == pytest.approx(0.02)
    assert long == pytest.approx(4 * 0.02)


def test_counts_that_contradict_one_another_do_not_fail() -> None:
    assert PriceList(OPENAI).cost("gpt-6-luna", Usage(prompt=10, cached=50, completion=0, cache_write=50)) == (
        pytest.approx(10 * LUNA["cached"] / 1e6)
    )


@pytest.mark.parametrize("model", [MODEL, "gpt-5-nano"])
def test_the_price_of_the_default_model_and_of_the_paper_s_is_known(model: str) -> None:
    assert PriceList(OPENAI).knows(model)


def test_the_list_is_loaded_only_where_something_has_a_price() -> None:
    code = """
import sys
from behavesim.base.tokens import Usage
from behavesim.proposers.openai import OpenAIProposer
from behavesim.proposers.prices import PriceList
import behavesim.engine.build
PriceList("").cost("gpt-6-luna", Usage(1, 0, 1))
print("genai_prices" in sys.modules, "openai" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
