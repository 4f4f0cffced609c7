"""Settings: what beats what, and how a slip is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from behavesim.base.config import Settings, described, differences
from behavesim.base.errors import UsageError
from behavesim.engine.settings import owners, resolve
from behavesim.task import TaskReference

TSP = TaskReference("tsp").load()


def options(settings: Settings) -> Any:
    """What the method brings."""
    return settings.of_method


def test_a_flag_beats_set_beats_the_file_beats_the_task(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("seed = 1\nbudget = 100\nwindow = 3\n")
    task = TaskReference("asp").load()
    settings = resolve({"task": "asp", "seed": 3}, ["seed=2", "window=2"], file, task)
    assert (settings.seed, settings.window, settings.budget) == (3, 2, 100)
    assert options(settings).score_scale == task.score_scale == 100


def test_the_methods_differ_in_their_settings_alone() -> None:
    plain = resolve({"task": "tsp", "method": "funsearch"}, task=TSP)
    ours = resolve({"task": "tsp", "method": "funsearch+behavesim"}, task=TSP)
    assert set(differences(plain, ours)) == {"method", "placement", "p_s1", "clustered_start", "n_init"}


def test_a_budget_that_is_none_is_refused_by_its_own_name() -> None:
    with pytest.raises(UsageError, match="setting budget should be greater than or equal to 1, not -3"):
        resolve({"task": "tsp", "budget": -3}, task=TSP)


@pytest.mark.parametrize(("budget", "n_init"), [(2000, 100), (300, 75), (10, 2)])
def test_the_first_programs_are_at_most_a_quarter_of_the_budget(budget: int, n_init: int) -> None:
    assert options(resolve({"task": "tsp", "budget": budget}, task=TSP)).n_init == n_init


def test_initial_programs_that_are_named_are_as_many_as_named() -> None:
    assert options(resolve({"task": "tsp", "budget": 10, "n_init": 8}, task=TSP)).n_init == 8


def test_a_setting_of_another_method_is_refused_with_whose_it_is() -> None:
    with pytest.raises(UsageError, match=r"'population' belongs to method eoh and method eoh\+behavesim") as caught:
        resolve({"task": "tsp", "method": "funsearch"}, ["population=8"], task=TSP)
    assert "method funsearch, proposer genetic" in str(caught.value)
    with pytest.raises(UsageError, match="'temperature' belongs to proposer openai"):
        resolve({"task": "tsp"}, ["temperature=1"], task=TSP)
    assert options(resolve({"task": "tsp", "method": "eoh"}, ["population=8"], task=TSP)).population == 8


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
        resolve({"task": "tsp"}, [assignment])
    assert "\n" not in str(caught.value)


def test_an_unknown_key_of_a_file_is_named_with_its_nearest(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("bugdet = 3\n")
    with pytest.raises(UsageError, match="did you mean 'budget'"):
        resolve({"task": "tsp"}, file=file)


def test_a_file_that_is_not_toml_is_named(tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text("seed: 3")
    with pytest.raises(UsageError, match="is not TOML"):
        resolve({"task": "tsp"}, file=tmp_path / "settings.toml")


def test_every_setting_says_what_it_does() -> None:
    for owner in owners():
        assert owner.options is not None
        for name, _, text in described(owner.options):
            assert text, f"setting {name} of {owner.name} says nothing of itself"


def test_settings_that_cannot_change_what_a_run_finds_are_those_that_may_differ_on_resume() -> None:
    settings = resolve({"task": "tsp", "proposer": "openai"})
    assert settings.flat().keys() - settings.decisive().keys() == {
        *("label", "workers", "connections", "max_cost_usd", "max_tokens", "max_calls", "max_time_s"),
        *("max_rejected_share", "request_timeout_s", "service_tier", "prices", "recommend"),
    }


def test_the_example_of_a_settings_file_can_be_read(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "settings.md").read_text()
    (tmp_path / "settings.toml").write_text(page.partition("```toml\n")[2].partition("```")[0])
    assert resolve({"task": "tsp"}, file=tmp_path / "settings.toml").timeout_s == 10
