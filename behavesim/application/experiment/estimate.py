"""An estimate of requests, tokens and cost, made before any money is spent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from behavesim.application.experiment.plan import Planned
from behavesim.base.config import Settings
from behavesim.base.tokens import Tokens, Usage
from behavesim.proposers.installed import models_asked, proposer_type
from behavesim.proposers.price_list import PriceList
from behavesim.proposers.prices import Prices
from behavesim.store.database import progress
from behavesim.task import TaskReference

COMPLETION = 2500
"""Number of tokens of a reply, reasoning included, that is assumed while no run of the experiment has a reply."""
GROWTH = 3
"""Assumed length of a program in a prompt, as a multiple of the template's length: found programs are longer."""


@dataclass(frozen=True)
class CostEstimate:
    """The expected requests, tokens and cost of runs."""

    models: tuple[str, ...]
    """The models that may be asked."""
    tokens: Tokens
    """The expected number of requests and of tokens, for all runs together."""
    cost_usd: float | None
    """The cost in USD at the most expensive model's price; None if a price is unknown."""
    answered: int
    """The number of earlier requests whose mean tokens were used; 0 means that the tokens are guessed."""

    @property
    def sentence(self) -> str:
        """The estimate as a text, with what it is based on in brackets."""
        tokens, answered = self.tokens, self.answered
        price = "at an unknown price" if self.cost_usd is None else f"about ${self.cost_usd:,.2f}"
        guess = f"guessing {tokens.prompt / tokens.calls:,.0f} tokens a prompt and {COMPLETION:,} a reply"
        source = f"as in the {answered:,} requests so far" if answered else guess
        models = ", ".join(self.models)
        about = f"about {tokens.calls:,} requests to {models}, {tokens.prompt:,} tokens in, {tokens.completion:,} out"
        return f"{about}, {price} ({source})"


def estimate(asking: Sequence[Planned], planned: Sequence[Planned], runs_dir: Path) -> CostEstimate:
    """Estimate what the runs in `asking` will still use, from the requests that the planned runs in `runs_dir` made.

    `asking` must not be empty. The settings of its first run name the models and prices. Raises JournalError if a run's
    journal cannot be read, TaskError if a task cannot be loaded.
    """
    journals = {run.name: runs_dir / run.name / "run.db" for run in planned}
    known = {name: progress(journal) for name, journal in journals.items() if journal.exists()}
    calls = sum(run.settings.budget - (known[run.name].registered if run.name in known else 0) for run in asking)
    answered = sum(found.calls for found in known.values())
    prompt, completion = round(_prompt_tokens(asking)), COMPLETION
    if answered:
        prompt = round(sum(found.prompt_tokens for found in known.values()) / answered)
        completion = round(sum(found.completion_tokens for found in known.values()) / answered)
    settings = asking[0].settings
    models = models_asked(settings)
    costs = [_cost(settings, model, calls, Usage(prompt, completion=completion)) for model in models]
    known_costs = [cost for cost in costs if cost is not None]
    # which model is asked is drawn for each request, so the dearest one's cost is the most that can be expected
    cost = max(known_costs) if len(known_costs) == len(costs) else None
    return CostEstimate(models, Tokens(calls, prompt=calls * prompt, completion=calls * completion), cost, answered)


def _cost(settings: Settings, model: str, calls: int, each: Usage) -> float | None:
    """Return the cost in USD of `calls` requests to a model, each with this usage; None if its price is unknown.

    The settings name the service tier, and prices that replace those of the price list.
    """
    tier = settings.flat().get("service_tier")
    listed = PriceList(proposer_type(settings.proposer).endpoint()).cost(model, replace(each, tier=tier))
    one = Prices.named(settings.prices).cost(model, Tokens.of([replace(each, cost_usd=listed)]))
    return None if one is None else calls * one


def _prompt_tokens(asking: Sequence[Planned]) -> float:
    """Return the mean tokens of the runs' prompts, guessed at four characters a token.

    A prompt is taken to hold the task's description, `examples_per_prompt` programs (one if the method has no such
    setting), and 400 characters of fixed text.
    """
    lengths = []
    for run in asking:
        task = TaskReference(run.settings.task).load()
        programs = int(run.settings.flat().get("examples_per_prompt", 1)) * GROWTH * len(task.template)
        lengths.append((len(task.description) + programs + 400) / 4)
    return sum(lengths) / len(lengths)
