"""Chooses the model of each question by what models have brought for their price: a bandit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from behavesim.proposers.prices import Prices
from behavesim.state.model_record import ModelRecord
from behavesim.state.state import RunState


def best_for_its_price(state: RunState, models: Sequence[str], rng: np.random.Generator) -> str:
    """Return a model drawn by Thompson sampling of gains per dollar, or per token while a tried one's cost is unknown.

    A candidate gains if it scores better than the best program that its prompt showed. For each of `models`, the share
    of candidates that gain, g of n, is drawn from Beta(1 + g, 1 + n - g). It is divided by the model's mean cost, and
    the greatest wins. A model without a candidate counts with the mean cost of the others. Only registered candidates
    count, so that the choice depends on the run's state and `rng` alone.
    """
    records = [state.models.get(model, ModelRecord()) for model in models]
    chances = np.array([rng.beta(1 + each.gains, 1 + each.candidates - each.gains) for each in records])
    costs = _mean_costs(state, models, records)
    tried = [cost for cost in costs if cost is not None]
    usual = sum(tried) / len(tried) if tried else 1.0
    return models[int(np.argmax(chances / np.array([usual if cost is None else cost for cost in costs])))]


def _mean_costs(state: RunState, models: Sequence[str], records: Sequence[ModelRecord]) -> list[float | None]:
    """Return what a candidate of each model costs on average; None for a model without a candidate.

    `records` has what each model has done, in the order of `models`. The unit is USD if the costs of all models with a
    candidate are known and above 0, else tokens. A person's prices are those of the run's start or last fork: others,
    as given on resume, would change what an audit decides again.
    """
    prices = Prices.named(state.started.settings.get("prices", {})) if state.started else Prices({})
    tried = [each.candidates > 0 for each in records]
    sums = [each.tokens.with_estimates() for each in records]
    dollars = [prices.cost(model, each) for model, each in zip(models, sums, strict=True)]
    in_dollars = all(cost for cost, is_tried in zip(dollars, tried, strict=True) if is_tried)
    # at least 1 token: the chances are divided by the means
    totals = dollars if in_dollars else [float(each.prompt + each.completion) or 1.0 for each in sums]
    return [
        None if total is None or not each.candidates else total / each.candidates
        for total, each in zip(totals, records, strict=True)
    ]
