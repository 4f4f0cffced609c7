"""Settings: what beats what, and how a slip is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import Field

from behavesim.base.config import Options, Settings, describe_settings, differences
from behavesim.base.errors import UsageError
from behavesim.engine.admission import settings_from_person
from behavesim.state.settings import owners
from behavesim.task import TaskReference

TSP = TaskReference("tsp").load()


def options(settings: Settings) -> Any:
    """What the method brings."""
    return settings.of_method


def test_a_flag_beats_set_beats_the_file_beats_the_task(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("seed = 1\nbudget = 100\nwindow = 3\n")
    task = TaskReference("asp").load()
    settings = settings_from_person({"task": "asp", "seed": 3}, ["seed=2", "window=2"], file, task)
    assert (settings.seed, settings.window, settings.budget) == (3, 2, 100)
    assert options(settings).score_scale == task.score_scale == 100


def test_the_methods_differ_in_their_settings_alone() -> None:
    plain = settings_from_person({"task": "tsp", "method": "funsearch"}, task=TSP)
    ours = settings_from_person({"task": "tsp", "method": "funsearch+behavesim"}, task=TSP)
    assert set(differences(plain, ours)) == {"method", "placement", "p_s1", "clustered_start", "n_init"}


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [("budget", -3, "should be at least 1, not -3"), ("race", 10**9, "should be at most 10000, not 1000000000")],
)
def test_a_value_that_is_none_is_refused_by_its_setting(name: str, value: int, said: str) -> None:
    with pytest.raises(UsageError, match=f"setting {name} {said}"):
        settings_from_person({"task": "tsp", name: value}, task=TSP)


@pytest.mark.parametrize(("budget", "n_init"), [(2000, 100), (300, 75), (10, 2), (1, 0)])
def test_the_first_programs_are_at_most_a_quarter_of_the_budget(budget: int, n_init: int) -> None:
    assert options(settings_from_person({"task": "tsp", "budget": budget}, task=TSP)).n_init == n_init


def test_initial_programs_that_are_named_are_as_many_as_named() -> None:
    assert options(settings_from_person({"task": "tsp", "budget": 10, "n_init": 8}, task=TSP)).n_init == 8


def test_a_setting_of_another_method_is_refused_with_whose_it_is() -> None:
    with pytest.raises(UsageError, match=r"'population' belongs to method eoh and method eoh\+behavesim") as caught:
        settings_from_person({"task": "tsp", "method": "funsearch"}, ["population=8"], task=TSP)
    assert "method funsearch, proposer genetic" in str(caught.value)
    with pytest.raises(UsageError, match="'temperature' belongs to proposer openai"):
        settings_from_person({"task": "tsp"}, ["temperature=1"], task=TSP)
    assert options(settings_from_person({"task": "tsp", "method": "eoh"}, ["population=8"], task=TSP)).population == 8


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("widnow=3", "did you mean 'window'"),
        ("window=0", "window"),
        ("window", "key=value"),
        ("measure=dwt", "measure"),
        ("timeout_s=never", "timeout_s"),
    ],
)
def test_a_slip_is_named_in_one_line(assignment: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        settings_from_person({"task": "tsp"}, [assignment])
    assert "\n" not in str(caught.value)


def test_an_unknown_key_of_a_file_is_named_with_its_nearest(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("bugdet = 3\n")
    with pytest.raises(UsageError, match="did you mean 'budget'"):
        settings_from_person({"task": "tsp"}, file=file)


def test_a_file_that_is_not_toml_is_named(tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text("\ufeffseed = 3", encoding="utf-8")  # as some editors write it
    assert settings_from_person({"task": "tsp"}, file=tmp_path / "settings.toml").seed == 3
    (tmp_path / "settings.toml").write_text("seed: 3")
    with pytest.raises(UsageError, match="is not TOML"):
        settings_from_person({"task": "tsp"}, file=tmp_path / "settings.toml")


def test_every_setting_says_what_it_does() -> None:
    for owner in owners():
        assert owner.options is not None
        for name, _, text in describe_settings(owner.options):
            assert text, f"setting {name} of {owner.name} says nothing of itself"


class Inherited(Options):
    """Settings of a part that another part builds on."""

    number: int = 3
    """How many."""
    silent: float = 0.5


class Own(Inherited):
    """Settings with defaults of every kind."""

    required: str
    """What has to be given."""
    none: float | None = None
    """What need not
    be given."""
    switch: bool = False
    names: tuple[str, ...] = ("a", "b")
    text: str = "a b"
    hidden: int = Field(7, exclude=True)
    """What no person sets."""
    number: int = 4
    """How many more."""


def test_settings_are_described_in_order_with_defaults_as_one_would_write_them() -> None:
    assert describe_settings(Own) == [
        ("number", "4", "How many more."),
        ("silent", "0.5", ""),
        ("required", "", "What has to be given."),
        ("none", "", "What need not be given."),
        ("switch", "false", ""),
        ("names", '["a", "b"]', ""),
        ("text", "a b", ""),
    ]


def test_settings_that_cannot_change_what_a_run_finds_are_those_that_may_differ_on_resume() -> None:
    settings = settings_from_person({"task": "tsp", "proposer": "openai"})
    assert settings.flat().keys() - settings.decisive().keys() == {
        *("label", "workers", "connections", "max_cost_usd", "max_tokens", "max_calls", "max_time_s"),
        *("until_stuck", "until_gap"),
        *("max_rejected_share", "request_timeout_s", "service_tier", "batch", "prices", "recommend", "wall"),
        "fresh_evaluations",
    }


def test_the_example_of_a_settings_file_can_be_read(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "settings.md").read_text()
    (tmp_path / "settings.toml").write_text(page.partition("```toml\n")[2].partition("```")[0])
    assert settings_from_person({"task": "tsp"}, file=tmp_path / "settings.toml").timeout_s == 10


@pytest.mark.parametrize(
    ("name", "default", "least", "refused"),
    [
        ("seed", 0, 0, -1),
        ("budget", 2000, 1, 0),
        ("window", 64, 1, 0),
        ("repair", 0, 0, -1),
        ("workers", 1, 1, 0),
        ("connections", 8, 1, 0),
        ("max_cost_usd", None, 1e-9, 0),
        ("max_tokens", None, 1, 0),
        ("max_calls", None, 1, 0),
        ("max_time_s", None, 1e-9, 0),
        ("max_rejected_share", 0.95, 0, -0.01),
        ("until_stuck", None, 1, 0),
        ("until_gap", None, 0, -0.01),
        ("max_rejected_share", 0.95, 1, 1.01),
        ("timeout_s", 50.0, 1e-9, 0),
        ("memory_mb", 2048, 64, 63),
        ("output_mb", 8, 1, 0),
        ("shortlist", 10, 1, 0),
        ("shortlist_radius", 0.3, 0, -0.01),
        ("truncate", 0.0, 0, -0.01),
        ("truncate", 0.0, 0.99, 1),
        ("skip", 0, 0, -1),
    ],
)
def test_a_setting_has_its_default_and_its_limits(name: str, default: Any, least: Any, refused: Any) -> None:
    assert getattr(settings_from_person({"task": "tsp"}), name) == default
    assert getattr(settings_from_person({"task": "tsp", name: least}), name) == least
    with pytest.raises(UsageError, match=f"setting {name} should be"):
        settings_from_person({"task": "tsp", name: refused})


def test_what_may_be_switched_on_is_off_but_for_the_recommendation_and_questions_that_differ() -> None:
    settings = settings_from_person({"task": "tsp"})
    switches = {name: value for name, value in settings if isinstance(value, bool)}
    assert {name for name, is_on in switches.items() if is_on} == {
        "recommend",
        "prompt_times",
        "prompt_angles",
        "ask_once",
        "ask_each_once",
    }
    assert len(switches) == 7
