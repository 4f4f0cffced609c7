"""Evaluators that take an instance's number: they have fresh instances, and so a certificate for the best program."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from behavesim.application.evaluator_task import Wanted, task_file
from behavesim.evaluators.conventions import convention_named, shinka
from behavesim.evaluators.detection import convention_of
from behavesim.task.evaluated import EvaluatorFile, EvaluatorTask
from tests.cli.command import Command

BY_VARIABLE = """import importlib.util, os

def evaluate(program_path):
    spec = importlib.util.spec_from_file_location("program", program_path)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    number = int(os.environ.get("BEHAVESIM_INSTANCE", 0))
    return {"combined_score": 10.0 + number / 1e6 - abs(program.point() - 1.5 - number % 7 / 100), "number": number}
"""
BY_PARAMETER = BY_VARIABLE.replace("(program_path)", "(program_path, seed=0)", 1).replace(
    'int(os.environ.get("BEHAVESIM_INSTANCE", 0))', "seed"
)
FIRST = "def point():\n    return 1.0\n"
SHINKA = """import sys
from shinka.core import run_shinka_eval

if "--program_path" in sys.argv:
    run_shinka_eval(
        program_path=sys.argv[2],
        results_dir=sys.argv[sys.argv.index("--results_dir") + 1],
        experiment_fn_name="point",
        num_runs=2,
        aggregate_metrics_fn=lambda found: {"combined_score": float(sum(found))},
    )
"""


def takes_number(convention: Any, evaluator: str, runs_in: str = "") -> bool:
    return convention_named(convention).takes_number(EvaluatorFile(convention, evaluator, "", runs_in=runs_in))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (BY_VARIABLE, True),
        (BY_PARAMETER, True),
        (SHINKA, True),
        (BY_VARIABLE.replace("BEHAVESIM_INSTANCE", "OTHER"), False),
        ("def evaluate(path):\n    return {}\ndef helper(path, seed):\n    pass\n", False),
    ],
)
def test_an_evaluator_that_takes_a_number_is_found_by_its_text(tmp_path: Path, text: str, expected: bool) -> None:
    (tmp_path / "evaluator.py").write_text(text)
    assert takes_number(*convention_of(str(tmp_path / "evaluator.py"))) is expected
    assert takes_number("command", "python evaluator.py {program}", str(tmp_path)) is (text == BY_VARIABLE)


def test_a_stand_in_of_a_package_does_not_count_as_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    shinka.install_stand_ins()
    (tmp_path / "evaluator.py").write_text(SHINKA)
    assert takes_number("shinka", str(tmp_path / "evaluator.py"))


def test_its_search_is_the_evaluation_as_it_stands_and_the_other_splits_have_numbers(tmp_path: Path) -> None:
    (tmp_path / "evaluator.py").write_text(BY_VARIABLE)
    (tmp_path / "first.py").write_text(FIRST)
    wanted = Wanted(str(tmp_path / "evaluator.py"), tmp_path / "first.py")
    with task_file(wanted, tmp_path / "runs", lambda _: None) as made:
        task = EvaluatorTask(EvaluatorFile.read(made.path), "task")
    assert task.endless and [len(task.instances(split)) for split in task.splits] == [1, 3, 3]
    numbers = [task.instance(split, 5)["instance"] for split in ("validation", "held-out")]  # type: ignore[arg-type]
    assert numbers == [1010, 1011]
    with pytest.raises(IndexError):
        task.instance("search", 1)


@pytest.mark.parametrize("text", [BY_VARIABLE, BY_PARAMETER])
def test_its_best_programs_race_on_fresh_instances_for_a_certificate(
    behavesim: Command, tmp_path: Path, text: str
) -> None:
    (tmp_path / "evaluator.py").write_text(text)
    (tmp_path / "first.py").write_text(FIRST)
    answer = "#!/bin/sh\ndrawn=$(cksum)\ndrawn=$((${drawn%% *} % 90))\n"
    answer += "printf '```\\ndef point():\\n    return 1.%02d\\n```\\n' $((10 + drawn))\n"
    (tmp_path / "answer.sh").write_text(answer)
    options = ("--evaluator", "evaluator.py", "--program", "first.py", "--proposer", "command:sh answer.sh")
    ended = behavesim("run", *options, "--budget", 6, "--name", "first", "--set", "fresh_evaluations=40", "--json")
    assert ended.code == 0, ended.err
    assert "the evaluator takes an instance's number" in ended.err
    recommended = ended.document["recommended"]
    assert recommended["fresh"] >= 6 and recommended["gain"] > 0, recommended
    low, high = recommended["interval"]
    assert low <= recommended["gain"] <= high
    if text == BY_PARAMETER:
        return
    verified = behavesim("verify", "first")
    assert verified.code == 0, verified.out + verified.err
    report = behavesim("report", "first", "--held-out", "--json")
    assert report.code == 0, report.err


def test_a_number_is_the_only_run_of_a_shinka_script(behavesim: Command, tmp_path: Path) -> None:
    (tmp_path / "evaluate.py").write_text(SHINKA)
    (tmp_path / "initial.py").write_text("def point(seed):\n    return float(seed)\n")
    answer = "cat > /dev/null; printf '```\\ndef point(seed):\\n    return 2.0 * seed\\n```\\n'\n"
    (tmp_path / "answer.sh").write_text(answer)
    options = ("--evaluator", "evaluate.py", "--proposer", "command:sh answer.sh", "--budget", 2, "--name", "first")
    ended = behavesim("run", *options, "--json")
    assert ended.code == 0, ended.err
    assert ended.document["best"]["score"] == 2.0 * (1 + 2)
    assert ended.document["recommended"]["validation_score"] == 2.0 * (1001 + 1003 + 1005) / 3
