"""Defaults that follow from the budget."""

from __future__ import annotations

import pytest

from behavesim.base.config import BUDGET_DEFAULTS, FULL_BUDGET, suited_to_budget
from behavesim.engine.admission import changed_settings, chosen_by_budget, settings_from_person
from behavesim.methods.eoh import EoHSettings
from behavesim.methods.eoh_s import EoHSSettings
from behavesim.methods.funsearch import FunSearchBehaveSimSettings, FunSearchSettings
from behavesim.methods.set_search import SetSearchSettings
from tests.engine.toys import Toy


@pytest.mark.parametrize(("budget", "window"), [(1, 2), (10, 2), (30, 3), (100, 10), (300, 30), (1000, 64), (2000, 64)])
def test_the_window_follows_from_the_budget_alone(budget: int, window: int) -> None:
    for speed in ({}, {"workers": 7, "connections": 40}):
        assert settings_from_person({"task": "tsp", "budget": budget, **speed}, task=Toy()).window == window


@pytest.mark.parametrize("budget", [FULL_BUDGET, 10_000])
def test_a_full_budget_has_the_declared_defaults(budget: int) -> None:
    for settings in (FunSearchBehaveSimSettings, FunSearchSettings, EoHSettings, EoHSSettings, SetSearchSettings):
        suited = suited_to_budget(settings.model_fields, budget)
        assert suited == {name: settings.model_fields[name].default for name in suited}


def test_defaults_never_fall_as_the_budget_grows() -> None:
    for each in BUDGET_DEFAULTS:
        values = [each.value(budget, 50) for budget in range(1, FULL_BUDGET + 1)]
        assert values == sorted(values)
        assert each.least <= values[0] <= values[-1] <= 50


def test_a_person_has_the_last_word_on_each_of_them() -> None:
    given = {"task": "tsp", "budget": 100, "window": 64, "n_init": 5, "islands": 10}
    settings = settings_from_person(given, task=Toy())
    assert [settings.named()[name] for name in ("window", "n_init", "islands")] == [64, 5, 10]
    assert not {"window", "n_init", "islands"} & set(chosen_by_budget(settings, Toy()))


def test_what_the_budget_chose_stays_when_it_grows() -> None:
    first = settings_from_person({"task": "tsp", "budget": 100}, task=Toy())
    later = changed_settings(first, {"budget": 2000})
    assert {**later.flat(), "budget": 100} == first.flat()


def test_a_set_is_as_large_as_ever_however_small_the_budget() -> None:
    for settings in (EoHSSettings, SetSearchSettings):
        assert "population" not in settings.suited(Toy(), 30)
    assert EoHSettings.suited(Toy(), 30)["population"] == 3
