"""How a run was made."""

from __future__ import annotations

import shlex
import tomllib
from pathlib import Path

import pytest

from behavesim.analysis.provenance import SERVING, Setting, provenance_of, without_folders, workers
from behavesim.state.events import RunResumed
from behavesim.task.evaluated import EvaluatorFile
from tests.analysis.journals import PROVENANCE, feasible, journalled, recommended, started, stopped


def test_the_command_names_what_decides_and_the_table_all_that_differs(tmp_path: Path) -> None:
    provenance = PROVENANCE | {"behavesim": "1.2", "python": "3.11"}
    settings = {"proposer": "genetic", "islands": 2, "workers": 3, "prompt_times": False}
    events = [started(provenance, **settings), feasible(0, 3.0)]
    made = provenance_of(journalled(tmp_path / "a", *events))
    later = provenance_of(journalled(tmp_path / "b", *events, recommended(0, c0=1.0)))
    assert (later.began_at, later.last_at) == (made.began_at, made.last_at), "a choice is no part of the search"
    assert made.commands == (
        "behavesim run tsp --method funsearch --proposer genetic --budget 20 --seed 7 "
        "--set prompt_times=false --set islands=2",
    )
    assert {each.name for each in made.settings} == {"prompt_times", "workers", "islands"}
    assert Setting("workers", "3", "1") in made.settings
    assert made.versions == {"behavesim": "1.2", "python": "3.11"}
    assert made.began_at < made.last_at


def test_the_command_can_be_given_as_it_is_for_a_setting_that_is_a_table(tmp_path: Path) -> None:
    models = {"a/b": 1.0, "ü": 2.0}
    run = journalled(tmp_path / "a", started(proposer="openai", models=models), feasible(0, 3.0))
    words = shlex.split(provenance_of(run).commands[0])
    [said] = [word.removeprefix("models=") for word in words if word.startswith("models=")]
    assert tomllib.loads(f"value = {said}")["value"] == models


def test_a_run_with_an_evaluator_names_it_and_its_program(tmp_path: Path) -> None:
    (tmp_path / ".evaluators").mkdir()
    file = EvaluatorFile("command", "python score.py {program}", "first.py", direction="minimise")
    task = tmp_path / ".evaluators" / "score-12.toml"
    task.write_text(file.to_toml())
    run = journalled(tmp_path / "a", started(task=str(task))[:1], feasible(0, 3.0))
    words = "--evaluator 'command:python score.py {program}' --program first.py --minimise"
    assert provenance_of(run).commands[0].startswith(f"behavesim run {words} --method funsearch ")
    task.unlink()
    assert provenance_of(run).commands[0].startswith("behavesim run score-12.toml --method funsearch ")


def test_a_budget_that_was_spent_and_raised_is_a_second_command(tmp_path: Path) -> None:
    first = [started(budget=1), feasible(0, 3.0), stopped("budget")]
    assert len(provenance_of(journalled(tmp_path / "a", *first)).commands) == 1
    run, resume = provenance_of(
        journalled(tmp_path / "b", *first, [RunResumed((), "strong")], feasible(1, 2.0), stopped("budget"))
    ).commands
    assert ("--budget 1 " in run, resume) == (True, "behavesim resume --budget 2")


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("cannot load /home/me/tasks/mine.py: no", "cannot load mine.py: no"),
        ("folder:/tmp/a b", "folder:a b"),
        ("see https://host/a/b", "see https://host/a/b"),
        ("own/mine.py and/or ./x/y", "own/mine.py and/or ./x/y"),
    ],
)
def test_folders_are_cut_from_absolute_paths_alone(text: str, short: str) -> None:
    assert without_folders(text) == short


def test_the_workers_of_a_cluster_are_those_that_the_log_names(tmp_path: Path) -> None:
    run = journalled(tmp_path / "a", started(), feasible(0, 3.0))
    assert provenance_of(run).workers is None
    lost, other = "worker two is left out, its sandbox fails: No space left", "rate limit: waiting 20 s"
    for line in ("the cluster: 2 workers (one, two)", lost, other, "the cluster: 1 worker (one)"):
        run.folder.note(line)
    found = provenance_of(run).workers
    assert found is not None and found.serving == "1 worker (one)" and found.per_minute
    assert [change.text for change in found.changes][1:] == [lost, "the cluster: 1 worker (one)"]
    assert found.since == found.changes[-1].at.timestamp() >= run.events_at[0] // 1


def test_a_log_that_cannot_be_read_says_nothing_of_workers(tmp_path: Path) -> None:
    run = journalled(tmp_path / "a", started(), feasible(0, 3.0))
    run.folder.note(f"{SERVING}2 workers, 4 places")
    assert (now := workers(run)) is not None and "2 workers, 4 places" in str(now)
    run.folder.log.unlink()
    run.folder.log.mkdir()
    assert workers(run) is None
