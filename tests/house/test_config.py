"""Settings: what beats what, and how a slip is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from behavesim.config import described, differences, resolve
from behavesim.errors import UsageError


def test_a_flag_beats_set_beats_the_file_beats_the_task(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("seed = 1\nbudget = 100\nwindow = 3\n")
    settings = resolve({"task": "tsp", "seed": 3}, ["seed=2", "window=2"], file, {"budget": 10_000, "score_scale": 5.0})
    assert (settings.seed, settings.window, settings.budget, settings.score_scale) == (3, 2, 100, 5.0)


def test_the_methods_differ_in_their_settings_alone() -> None:
    plain = resolve({"task": "tsp", "method": "funsearch"})
    ours = resolve({"task": "tsp", "method": "funsearch+behavesim"})
    assert set(differences(plain, ours)) == {"method", "placement", "p_s1", "clustered_start", "n_init"}


@pytest.mark.parametrize(("budget", "n_init"), [(2000, 100), (300, 75), (10, 2)])
def test_the_first_programs_are_at_most_a_quarter_of_the_budget(budget: int, n_init: int) -> None:
    assert resolve({"task": "tsp", "budget": budget}).n_init == n_init


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


def test_every_setting_is_described_and_documented_with_its_default() -> None:
    page = (Path(__file__).parents[2] / "docs" / "settings.md").read_text()
    for row in described():
        assert row[2], f"setting {row[0]} says nothing of itself"
        assert f"| {' | '.join(row)} |" in page, f"docs/settings.md is behind on {row[0]}"
