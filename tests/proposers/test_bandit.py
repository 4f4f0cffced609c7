"""The bandit chooses models by gains per cost, from the run's state and the seed alone."""

from __future__ import annotations

from collections import Counter
from typing import Any

from behavesim.base.tokens import Tokens
from behavesim.engine.due import Allowed, Rules, next_decision
from behavesim.proposers.openai_settings import OpenAISettings
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import Asked, RunStarted
from behavesim.state.state import RunState
from behavesim.state.views import ModelRecord
from tests.engine.toys import Toy, fitting
from tests.methods.test_best_of_n import METHOD

CHOOSING = OpenAISettings(models={"dear": 1, "cheap": 1, "never": 0}, choose_models="bandit")


def record(candidates: int, gains: int, tokens: int, cost_usd: float, unpriced: int = 0) -> ModelRecord:
    return ModelRecord(candidates, gains, Tokens(candidates, tokens, cost_usd=cost_usd, unpriced=unpriced))


def chosen(settings: dict[str, Any] | None = None, **models: ModelRecord) -> Counter[str]:
    """How often each model is chosen for 200 candidates."""
    state = RunState(Toy().objective)
    state.started = RunStarted(settings or {}, {}, "strong")
    state.models.update(models)
    choose = CHOOSING.chooser(3)
    assert choose is not None
    found = [choose(state, number) for number in range(200)]
    assert found == [choose(state, number) for number in range(200)], "equal states give equal choices"
    return Counter(found)


def test_all_models_are_tried_before_any_is_known() -> None:
    assert min(chosen()[model] for model in ("dear", "cheap")) > 50
    assert chosen()["never"] == 0


def test_the_model_with_more_gains_for_a_dollar_is_asked_more() -> None:
    found = chosen(dear=record(40, 20, 100, 4.0), cheap=record(40, 10, 100, 0.4))
    assert found["cheap"] > 190
    assert chosen(dear=record(40, 20, 100, 0.4), cheap=record(40, 1, 100, 0.4))["dear"] > 190


def test_tokens_count_where_a_price_is_unknown_and_a_persons_price_is_known() -> None:
    models = {"dear": record(40, 20, 1000, 4.0), "cheap": record(40, 20, 100_000, 0.0, unpriced=40)}
    assert chosen(**models)["dear"] > 190
    prices = {"cheap": {"prompt": 0.001, "completion": 0.001}}
    assert chosen({"prices": prices}, **models)["cheap"] > 190


def test_the_choice_is_part_of_the_question_so_that_an_audit_finds_it_again() -> None:
    state = RunState(Toy().objective)
    state.started = RunStarted({}, {}, "strong")
    rules = Rules(4, 0, CHOOSING.chooser(3))
    (asked,) = next_decision(state, Behaviours(), METHOD, rules, Allowed(True, True, True))
    assert isinstance(asked, Asked) and asked.prompt.model in ("dear", "cheap")
    assert next_decision(state, Behaviours(), METHOD, rules, Allowed(True, True, True)) == (asked,)
    assert Rules.of(fitting({}), Toy()).choose is None
