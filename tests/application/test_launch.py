"""From plain arguments to a launch, without a command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from behavesim.application.launch import new_launch, next_launch
from behavesim.base.errors import TaskError, UsageError
from behavesim.engine.admission import settings_from_person
from behavesim.store.folder import RunFolder
from tests.analysis.journals import feasible, started, write


@pytest.fixture(autouse=True)
def _no_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def test_a_run_is_launched_with_its_tasks_defaults_under_a_name_of_its_own(tmp_path: Path) -> None:
    launch = new_launch("asp", tmp_path, {"seed": 3, "budget": None})
    assert (launch.task.name, launch.settings.seed, launch.settings.budget) == ("asp", 3, 10_000)
    assert launch.folder.path.parent == tmp_path
    assert launch.folder.run.startswith("asp-")
    assert list(tmp_path.iterdir()) == [], "nothing is made before the run begins"


def test_what_is_given_beats_an_assignment_which_beats_the_file(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("seed = 1\nwindow = 1\nbudget = 1\n")
    launch = new_launch("tsp", tmp_path, {"seed": 3}, ["seed=2", "window=2"], file, "first")
    assert (launch.settings.seed, launch.settings.window, launch.settings.budget) == (3, 2, 1)
    assert launch.folder.path == tmp_path / "first"


@pytest.mark.parametrize(
    ("given", "endpoint", "proposer"),
    [
        ({}, None, "genetic"),
        ({"proposer": "auto"}, None, "genetic"),
        ({"proposer": "auto"}, "http://127.0.0.1:9/v1", "openai"),
        ({"models": {"a": 1.0}}, "http://127.0.0.1:9/v1", "openai"),
        ({"proposer": "genetic"}, "http://127.0.0.1:9/v1", "genetic"),
    ],
)
def test_a_model_is_asked_where_there_is_one_to_ask(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    given: dict[str, object],
    endpoint: str | None,
    proposer: str,
) -> None:
    if endpoint is not None:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint)
    assert new_launch("tsp", tmp_path, given).settings.proposer == proposer


def test_a_model_that_nobody_can_ask_is_refused(tmp_path: Path) -> None:
    for given in ({"proposer": "openai"}, {"models": {"a": 1.0}}):
        with pytest.raises(UsageError, match="OPENAI_API_KEY"):
            new_launch("tsp", tmp_path, given)


def test_a_mistyped_task_is_answered_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="no task 'bin-packing'; did you mean 'bin_packing'"):
        new_launch("bin-packing", tmp_path, {})


def test_a_run_goes_on_under_its_own_settings_but_for_what_is_changed(tmp_path: Path) -> None:
    first = new_launch("tsp", tmp_path, {"budget": 10, "seed": 4}, name="first")
    with first.folder.created():
        first.folder.write_settings(first.settings.flat())
    again = next_launch(first.folder, {"budget": 20, "workers": None}, ["max_calls=7"])
    assert again.folder.path == first.folder.path
    assert again.settings == first.settings.model_copy(update={"budget": 20, "max_calls": 7})
    fork = RunFolder.named(tmp_path, "second")
    assert next_launch(first.folder, {}, fork=fork).folder.path == tmp_path / "second"


def test_a_replay_takes_notes_where_its_originals_proposer_is_gone(tmp_path: Path) -> None:
    write(tmp_path / "first", started(), feasible(0, 3.0))
    folder = RunFolder(tmp_path / "first")
    for proposer, notes in (("genetic", False), (str(tmp_path / "gone.py"), True)):
        folder.write_settings({**settings_from_person({"task": "tsp"}).flat(), "proposer": proposer})
        assert new_launch("tsp", tmp_path, {"proposer": "replay:first"}, name="again").settings.flat()["notes"] is notes
