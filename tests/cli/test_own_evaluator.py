"""`behavesim task init NAME --evaluator E`: what it writes around each kind of evaluator works as written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.command import Command
from tests.cli.people import FOLDERS, Folder

CALLED = """import runpy, sys

print(-abs(runpy.run_path(sys.argv[1])["point"]() - 1.5))
"""
MANY = FOLDERS["shinka"].files["evaluate.py"].replace("num_runs=1", "num_runs=3").replace("lambda run: {}", "start_of")
GIVEN = "START = 2\n\n\ndef start_of(run):\n    return {'start': START + run}\n\n\ndef main("
KINDS: dict[str, Folder] = {
    **FOLDERS,
    "command": Folder(
        {"judge.py": CALLED, "initial.py": FOLDERS["shinka"].files["initial.py"]},
        ("--evaluator", "command:python3 judge.py {program}", "--program", "initial.py"),
        FOLDERS["shinka"].reply,
    ),
    "shinka, several runs": Folder(
        {
            "evaluate.py": MANY.replace("def main(", GIVEN).replace("abs(found[0] - 1.5)", "abs(sum(found) - 7)"),
            "initial.py": "def point(start):\n    return start\n",
        },
        FOLDERS["shinka"].options,
        "def point(start):\n    return DRAWN",
    ),
    "stages": replace(
        FOLDERS["openevolve"],
        files={
            **FOLDERS["openevolve"].files,
            "evaluator.py": FOLDERS["openevolve"]
            .files["evaluator.py"]
            .replace("def evaluate(", "def evaluate_stage1("),
        },
    ),
}
SCORES = {"openevolve": 0.8, "shinka": -0.5, "llm4ad": None, "eoh": None, "command": -0.5, "shinka, several runs": -2.0}
"""The score of the first program by each evaluator; None where it is that of a run beside the evaluator."""


@pytest.mark.parametrize("kind", KINDS)
def test_a_task_file_around_an_evaluator_works_as_written(behavesim: Command, tmp_path: Path, kind: str) -> None:
    options = KINDS[kind].made(tmp_path)
    made = behavesim("task", "init", "mine", *options[: options.index("--proposer")])
    assert made.code == 0, made.err
    assert max(map(len, (tmp_path / "mine.py").read_text().splitlines())) <= 120
    if kind == "llm4ad":  # a check starts it 28 times; tests/checks/test_evaluator.py has one of a function
        checked = behavesim("task", "check", "mine.py", "--json")
        assert [each["name"] for each in checked.document if each["result"] == "fail"] == []
    (trusted,) = behavesim("evaluate", "mine.py", "template", "--json").document
    assert trusted["status"] == "ok"
    if (expected := SCORES.get(kind, 0.8)) is None:
        beside = behavesim("run", *options, "--budget", 1, "--json").document
        expected = beside["template"]["score"]
    assert trusted["score"] == pytest.approx(expected)


def test_a_run_of_such_a_task_is_trusted_and_can_be_verified(behavesim: Command, tmp_path: Path) -> None:
    options = KINDS["command"].made(tmp_path)
    at = options.index("--proposer")
    behavesim("task", "init", "mine", *options[:at])
    run = behavesim("run", "mine.py", *options[at:], "--budget", 3, "--name", "first", "--json").document
    assert run["score_source"] == "trusted" and run["feasible"] >= 2
    assert behavesim("verify", "first").code == 0


@pytest.mark.parametrize(("inner", "warned"), [("point", False), ("helper", True)])
def test_a_function_that_a_search_could_not_change_before_is_named(
    behavesim: Command, tmp_path: Path, inner: str, warned: bool
) -> None:
    options = KINDS["shinka"].made(tmp_path)
    block = f"# EVOLVE-BLOCK-START\ndef {inner}():\n    return 2.0\n# EVOLVE-BLOCK-END\n"
    (tmp_path / "initial.py").write_text(block if not warned else f"{block}\n\ndef point():\n    return helper()\n")
    made = behavesim("task", "init", "mine", *options[: options.index("--proposer")])
    assert made.code == 0
    assert ("`point` stands outside the EVOLVE-BLOCK of initial.py" in made.err) is warned


def test_what_could_not_be_read_is_left_to_be_filled_in(behavesim: Command, tmp_path: Path) -> None:
    KINDS["command"].made(tmp_path)
    (tmp_path / "judge.py").write_text("import sys\n")
    made = behavesim("task", "init", "mine", *KINDS["command"].options)
    assert made.code == 0
    assert "could not be read; edit line " in made.err
    text = (tmp_path / "mine.py").read_text()
    assert "CHANGE: the arguments of each call, in order: they could not be read" in text and "calls = [()]" in text


def test_calls_that_could_not_be_read_are_said_at_once_and_must_be_mended(behavesim: Command, tmp_path: Path) -> None:
    options = FOLDERS["openevolve"].made(tmp_path)
    judge = tmp_path / "evaluator.py"
    judge.write_text(judge.read_text().replace("program.point()", "sum(program.point(i, 4) for i in range(19))"))
    (tmp_path / options[options.index("--program") + 1]).write_text("def point(i, n):\n    return 1.0\n")
    made = behavesim("task", "init", "mine", *options[: options.index("--proposer")])
    text = (tmp_path / "mine.py").read_text()
    number = 1 + text.splitlines().index("        calls = [('CHANGE', 4)]")
    assert f"could not be read; edit line {number} of mine.py" in made.err

    def wrong() -> list[str]:
        found = behavesim("task", "check", "mine.py", "--json").document
        return [each["name"] for each in found if each["result"] == "fail"]

    assert wrong() == ["description", "calls"]
    text = text.replace("[('CHANGE', 4)]", "[(i, 4) for i in range(19)]").replace(
        "CHANGE: say what is sought.", "A knot."
    )
    (tmp_path / "mine.py").write_text(text)
    assert wrong() == []


def test_a_first_program_without_the_function_that_a_class_calls_is_refused(behavesim: Command, tmp_path: Path) -> None:
    options = FOLDERS["llm4ad"].made(tmp_path)
    (tmp_path / "other.py").write_text("def other():\n    return 1\n")
    place = options[options.index("--evaluator") + 1]
    made = behavesim("task", "init", "mine", "--evaluator", place, "--program", "other.py")
    assert made.code == 2 and len(made.err.splitlines()) == 1
    assert "other.py has no function `" in made.err and not (tmp_path / "mine.py").exists()


@pytest.mark.parametrize("kind", ["openevolve", "llm4ad"])
def test_a_first_program_that_is_no_python_is_refused(behavesim: Command, tmp_path: Path, kind: str) -> None:
    options = FOLDERS[kind].made(tmp_path)
    (tmp_path / "other.py").write_text("def (:\n")
    place = options[options.index("--evaluator") + 1]
    made = behavesim("task", "init", "mine", "--evaluator", place, "--program", "other.py")
    assert made.code == 2 and len(made.err.splitlines()) == 1
    assert "the first program other.py is no Python: invalid syntax" in made.err and not (tmp_path / "mine.py").exists()


@pytest.mark.parametrize("parameters", ["program_path", "program_path, results_path"])
def test_a_metric_is_the_score_of_the_task_that_is_written(behavesim: Command, tmp_path: Path, parameters: str) -> None:
    options = FOLDERS["openevolve"].made(tmp_path)
    text = FOLDERS["openevolve"].files["evaluator.py"].replace("(program_path):", f"({parameters}):")
    if "results" in parameters:
        text = text.replace("    return {", "    __import__('json').dump({").replace(
            ": x}", ': x}, open(results_path, "w"))'
        )
    (tmp_path / "evaluator.py").write_text(text)
    made = behavesim("task", "init", "mine", *options[:4], "--metric", "x")
    assert made.code == 0, made.err
    (found,) = behavesim("evaluate", "mine.py", "template", "--json").document
    assert (found["status"], found["score"]) == ("ok", 1.0), found
    (tmp_path / "problem.py").write_text(FOLDERS["eoh"].files["problem.py"])
    ended = behavesim("task", "init", "other", "--evaluator", "problem.py:Near", "--metric", "x")
    assert ended.code == 2 and "a class gives one" in ended.err
