"""An estimate of requests, tokens and cost, made before any money is spent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from behavesim.application.experiment.plan import Planned
from behavesim.base.config import Settings
from behavesim.base.tokens import Tokens, Usage
from behavesim.proposers.installed import models_asked, proposer_type
from behavesim.proposers.price_list import PriceList
from behavesim.proposers.prices import Prices
from behavesim.store.progress import Progress, progress
from behavesim.task import TaskReference

COMPLETION = 2500
"""Tokens of a reply, including reasoning, assumed while no reply of the model is known."""
GROWTH = 3
"""Assumed length of a program in a prompt, as a multiple of the template's length."""


@dataclass(frozen=True)
class CostEstimate:
    """Expected requests and tokens, and the cost in USD at the most expensive model's price.

    `cost_usd` is None if a price is unknown. `answered` is the number of earlier requests that the estimate is based
    on; at 0 it is a guess.
    """

    models: tuple[str, ...]
    tokens: Tokens
    cost_usd: float | None
    answered: int

    @property
    def sentence(self) -> str:
        """The estimate in words, with what it is based on."""
        tokens, answered = self.tokens, self.answered
        price = "at an unknown price" if self.cost_usd is None else f"about ${self.cost_usd:,.2f}"
        guess = f"guessing {tokens.prompt / tokens.calls:,.0f} tokens a prompt and {COMPLETION:,} a reply"
        source = f"as in the {answered:,} requests so far" if answered else guess
        models = ", ".join(self.models)
        about = f"about {tokens.calls:,} requests to {models}, {tokens.prompt:,} tokens in, {tokens.completion:,} out"
        return f"{about}, {price} ({source})"


def estimate(asking: Sequence[Planned], planned: Sequence[Planned], runs_dir: Path) -> CostEstimate:
    """Estimate what the runs in `asking` will still use, from the planned runs' requests so far.

    `asking` must not be empty; its first run's settings name the models and prices.
    """
    made = {run.name: runs_dir / run.name / "run.db" for run in planned}
    known = {name: progress(journal) for name, journal in made.items() if journal.exists()}
    calls = sum(run.settings.budget - (known[run.name].registered if run.name in known else 0) for run in asking)
    answered = sum(found.calls for found in known.values())
    each_in, each_out = _each(known.values(), answered) if answered else (_prompt_tokens(asking), float(COMPLETION))
    each = Usage(round(each_in), completion=round(each_out))
    settings = asking[0].settings
    models = models_asked(settings)
    costs = [_cost(settings, model, calls, each) for model in models]
    known_costs = [cost for cost in costs if cost is not None]
    cost = max(known_costs) if len(known_costs) == len(costs) else None
    tokens = Tokens(calls, prompt=calls * round(each_in), completion=calls * round(each_out))
    return CostEstimate(models, tokens, cost, answered)


def _cost(settings: Settings, model: str, calls: int, each: Usage) -> float | None:
    """Return the cost in USD of `calls` requests in the run's service tier; None if the price is unknown."""
    tier = settings.flat().get("service_tier")
    listed = PriceList(proposer_type(settings.proposer).endpoint()).cost(model, replace(each, tier=tier))
    one = Prices.named(settings.prices).cost(model, Tokens.of([replace(each, cost_usd=listed)]))
    return None if one is None else calls * one


def _each(known: Iterable[Progress], answered: int) -> tuple[float, float]:
    """Return the mean tokens of a prompt and of a reply over the requests answered so far."""
    found = list(known)
    return sum(each.prompt_tokens for each in found) / answered, sum(e.completion_tokens for e in found) / answered


def _prompt_tokens(asking: Sequence[Planned]) -> float:
    """Estimate the tokens of a prompt, at four characters a token: the description and a few programs."""
    lengths = []
    for run in asking:
        task = TaskReference(run.settings.task).load()
        programs = int(run.settings.flat().get("examples_per_prompt", 1)) * GROWTH * len(task.template)
        lengths.append((len(task.description) + programs + 400) / 4)
    return sum(lengths) / len(lengths)
