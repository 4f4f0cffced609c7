"""The settings of methods: their defaults, and what they may be."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from behavesim.methods.eoh import EoHBehaveSimSettings, EoHSettings
from behavesim.methods.eoh_s import EoHSSettings
from behavesim.methods.funsearch import FunSearchBehaveSimSettings, FunSearchSettings
from behavesim.methods.map_elites import MapElitesSettings
from behavesim.methods.mcts_ahd import MctsAhdSettings
from behavesim.methods.method import MethodSettings
from behavesim.methods.niche import NicheSettings
from behavesim.methods.reevo import ReEvoSettings
from behavesim.methods.set_search import SetSearchSettings

PAPERS = {
    FunSearchSettings: {
        **{"islands": 10, "examples_per_prompt": 2, "samples_per_prompt": 2, "n_init": 0, "clustered_start": False},
        **{"placement": "parent", "p_s1": 0.0, "island_choice": "uniform", "keep_worse_than_template": True},
        **{"cluster_temperature": 0.1, "cluster_temperature_period": 30_000, "score_scale": 1.0, "restart_every": 500},
    },
    FunSearchBehaveSimSettings: {"n_init": 100, "clustered_start": True, "placement": "behaviour", "p_s1": 0.5},
    EoHSettings: {"population": 20, "operators": ("e1", "e2", "m1", "m2"), "selection": "rank"},
    EoHBehaveSimSettings: {"population": 20, "examples_per_prompt": 2, "selection": "dissimilarity"},
    MctsAhdSettings: {"initial": 4, "exploration": 0.1, "widening": 0.5, "elites": 10},
    ReEvoSettings: {"initial_population": 30, "population": 10, "mutation_rate": 0.5, "reflection": True},
    NicheSettings: {"n_init": 100, "elites": 30, "niche_radius": 0.3, "renew_every": 10, "samples_per_prompt": 2},
    MapElitesSettings: {"n_init": 100, "cells": 30, "examples_per_prompt": 2},
    EoHSSettings: {"population": 10, "operators": ("cs", "ls")},
    SetSearchSettings: {"set_size": 10, "population": 30, "worth": "both", "set_radius": 0.3, "n_init": 100},
}
"""What the papers say, and what our own methods were measured with."""


@pytest.mark.parametrize("settings", PAPERS, ids=lambda settings: settings.__name__)
def test_the_defaults_are_those_of_the_paper(settings: type[MethodSettings]) -> None:
    defaults = settings().model_dump()
    assert {name: defaults[name] for name in PAPERS[settings]} == PAPERS[settings]


LEAST = [
    *((FunSearchSettings, name, 1) for name in ("islands", "examples_per_prompt", "samples_per_prompt")),
    *((FunSearchSettings, name, 0) for name in ("n_init", "restart_every", "p_s1")),
    (FunSearchSettings, "cluster_temperature_period", 1),
    (FunSearchBehaveSimSettings, "n_init", 0),
    (FunSearchBehaveSimSettings, "p_s1", 0),
    (EoHSettings, "population", 2),
    (EoHSettings, "examples_per_prompt", 1),
    (MctsAhdSettings, "initial", 1),
    (MctsAhdSettings, "exploration", 0),
    (MctsAhdSettings, "elites", 1),
    (ReEvoSettings, "initial_population", 2),
    (ReEvoSettings, "population", 2),
    (ReEvoSettings, "mutation_rate", 0),
    *((NicheSettings, name, 1) for name in ("examples_per_prompt", "samples_per_prompt", "renew_every")),
    (NicheSettings, "n_init", 0),
    (NicheSettings, "elites", 2),
    (NicheSettings, "niche_radius", 0),
    (EoHSSettings, "population", 2),
    *((SetSearchSettings, name, 2) for name in ("set_size", "population")),
    *((SetSearchSettings, name, 0) for name in ("set_radius", "n_init")),
    (SetSearchSettings, "samples_per_prompt", 1),
    (MapElitesSettings, "n_init", 0),
    (MapElitesSettings, "cells", 1),
    (MapElitesSettings, "examples_per_prompt", 1),
]


@pytest.mark.parametrize(("settings", "name", "least"), LEAST)
def test_a_setting_is_no_less_than_makes_sense(settings: type[MethodSettings], name: str, least: int) -> None:
    assert getattr(settings(**{name: least}), name) == least
    refused(settings, name, least - 1)
    if isinstance(settings.model_fields[name].default, float):
        refused(settings, name, least - 0.001)


@pytest.mark.parametrize(
    ("settings", "name"),
    [(FunSearchSettings, "cluster_temperature"), (MctsAhdSettings, "widening")],
)
def test_what_is_divided_by_is_more_than_zero(settings: type[MethodSettings], name: str) -> None:
    assert getattr(settings(**{name: 0.001}), name) == 0.001
    refused(settings, name, 0)


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        (FunSearchSettings, "p_s1"),
        (FunSearchBehaveSimSettings, "p_s1"),
        (MctsAhdSettings, "widening"),
        (ReEvoSettings, "mutation_rate"),
    ],
)
def test_a_share_is_no_more_than_one(settings: type[MethodSettings], name: str) -> None:
    assert getattr(settings(**{name: 1}), name) == 1
    refused(settings, name, 1.001)


def refused(settings: type[MethodSettings], name: str, value: Any) -> None:
    with pytest.raises(ValidationError):
        settings(**{name: value})


def test_there_is_an_operator_at_least() -> None:
    assert EoHSettings(operators=("m1",)).operators == ("m1",)
    refused(EoHSettings, "operators", ())
