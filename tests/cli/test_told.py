"""Metrics, feedback, stages and the source of scores, as the commands tell them of a run of an evaluator."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import behavesim as bs
from behavesim.store.reading import read_events
from tests.cli.command import Command

EVALUATOR = """import importlib.util

from openevolve.evaluation_result import EvaluationResult


def value(path):
    spec = importlib.util.spec_from_file_location("program", path)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    return program.value()


def evaluate_stage1(path):
    return {"combined_score": -9.0 if value(path) > 2.9 else 1.0}


def evaluate_stage2(path):
    x = value(path)
    metrics = {"combined_score": -((x - 2) ** 2), "size": abs(x), "broken": float("nan")}
    return EvaluationResult(metrics, {"note": f"the value was {x:.3f}"})
"""
FIRST = "# EVOLVE-BLOCK-START\ndef value():\n    return 1.0 * 1.5 + 1.0\n# EVOLVE-BLOCK-END\n"
TASK = 'convention = "openevolve"\nevaluator = "judge.py"\nprogram = "first.py"\nthresholds = [0.5]\n'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an evaluator of two stages, and a run of it named `told`."""
    place = tmp_path_factory.mktemp("told")
    (place / "judge.py").write_text(EVALUATOR)
    (place / "first.py").write_text(FIRST)
    (place / "task.toml").write_text(TASK)
    settings: dict[str, Any] = {"seed": 0, "window": 4, "workers": 1, "n_init": 4, "islands": 2}
    bs.search_sync(str(place / "task.toml"), budget=24, runs_dir=place / "runs", name="told", **settings)
    return place


@pytest.fixture
def at(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(folder)
    return folder


def test_every_document_says_that_the_scores_are_self_reported(behavesim: Command, at: Path) -> None:
    (reported,) = behavesim("report", "told", "--json").document["runs"]
    (listed,) = behavesim("list", "--json").document
    shown = behavesim("show", "told", -1, "--json").document
    (evaluated,) = behavesim("evaluate", "task.toml", "first.py", "--json").document
    assert {each["score_source"] for each in (reported, listed, shown, evaluated)} == {"self-reported"}
    assert reported["behaviour"] == "answers"
    for each in (shown, evaluated):
        assert each["metrics"] == {"combined_score": -0.25, "size": 2.5, "broken": "nan"}
        assert each["feedback"] == "note: the value was 2.500"


def test_every_screen_says_it_too(behavesim: Command, at: Path) -> None:
    for command in (("report", "told"), ("list",), ("show", "told", -1), ("evaluate", "task.toml", "first.py")):
        assert "self-reported" in behavesim(*command).out
    assert "self-reported" in Path("runs/told/best.py").read_text().splitlines()[0]
    assert "programs are compared by the numbers that their functions return" in behavesim("report", "told").out


def test_what_stopped_at_the_first_stage_keeps_that_stages_score(behavesim: Command, at: Path) -> None:
    shown = [behavesim("show", "told", number, "--json").document for number in range(24)]
    stopped = [each for each in shown if "stopped_at_stage" in each["metrics"]]
    assert stopped and all(
        (each["status"], each["score"], each["metrics"])
        == ("feasible", -9.0, {"stopped_at_stage": 1.0, "combined_score": -9.0})
        for each in stopped
    )
    assert stopped[0]["feedback"] == "stopped at stage 1 of 2: its score -9 is below 0.5"


def test_a_first_program_that_stops_at_a_stage_starts_a_run(behavesim: Command, at: Path, tmp_path: Path) -> None:
    (at / "high.py").write_text(FIRST.replace("1.0\n", "2.0\n"))
    (at / "high.toml").write_text(TASK.replace("first.py", "high.py"))
    options = ("--budget", 2, "--runs-dir", tmp_path)
    assert behavesim("run", "high.toml", *options, "--json").document["template"]["score"] == -9.0


def test_prompts_show_metrics_feedback_and_recent_failures_and_are_derived_again(behavesim: Command, at: Path) -> None:
    texts = [each.prompt.text for _, _, each in read_events(at / "runs/told/run.db") if hasattr(each, "prompt")]
    assert not any("\0" in text for text in texts)
    assert any("Metrics: size" in text and "    note: the value was" in text for text in texts)
    assert any("stopped at stage 1 of 2: its score -9 is below 0.5" in text for text in texts)
    verified = behavesim("verify", "told", "--json").document
    assert (verified["differences"], verified["damage"]) == ([], [])


def test_copies_keep_what_was_told(at: Path) -> None:
    run = bs.load_run(at / "runs/told")
    copies = [each for each in run.candidates if each.copy_of is not None]
    for each in copies:
        first = run.candidate(each.copy_of)
        assert (each.metrics, each.feedback) == (first.metrics, first.feedback)
    assert json.loads(json.dumps([dict(each.metrics) for each in run.candidates]))
