"""The referee: generic forgeries, and which of them an evaluator of ours believes, before and after the split."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import Command
from tests.cli.people import FOLDERS

ALWAYS = {"a profiler in the evaluator", "the evaluator's answer in its place", "the evaluator's source"}
"""What comes through where a program runs beside an evaluator in one process."""

TELLS = """import importlib.util


def evaluate(program_path):
    spec = importlib.util.spec_from_file_location("program", program_path)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    x = program.point()
    return {"combined_score": 1 / (1 + (x - 1.75) ** 2), "x": x, "said": "too far left"}
"""
"""An evaluator with a metric and a text beside the score."""


def believed(behavesim: Command, *arguments: object) -> set[str]:
    """The forgeries that came through."""
    ended = behavesim("task", "check", *arguments, "--json")
    assert ended.code == 0, ended.err
    return {each["name"] for each in ended.document if "came through:" in each["message"]}


def test_an_evaluator_beside_the_program_believes_some_forgeries(behavesim: Command, tmp_path: Path) -> None:
    options = FOLDERS["openevolve"].made(tmp_path)[:4]
    assert believed(behavesim, *options) >= ALWAYS
    assert not (tmp_path / "runs").exists()


def test_a_command_that_reads_the_program_as_text_believes_none(behavesim: Command, tmp_path: Path) -> None:
    options = FOLDERS["command"].made(tmp_path)[:4]
    ended = behavesim("task", "check", *options, "--json")
    assert [each["name"] for each in ended.document][:2] == ["first program", "forgeries"]
    assert "first program is not" in ended.document[1]["message"]
    found = {each["name"]: each for each in ended.document}
    assert "x = " in found["where they part"]["text"]  # lines of a program in another language
    assert "A command runs the program" in found["first prompt"]["text"]


def test_what_an_evaluator_tells_prompts_is_said(behavesim: Command, tmp_path: Path) -> None:
    (tmp_path / "evaluator.py").write_text(TELLS)
    (tmp_path / "program.py").write_text("def point():\n    return 1.25\n")
    ended = behavesim("task", "check", "--evaluator", "evaluator.py", "--program", "program.py", "--json")
    found = {each["name"]: each for each in ended.document if each["section"]}
    assert "Metrics: x 1.25." in found["metrics"]["message"]
    assert "first 800" in found["feedback"]["message"]
    assert "by the numbers that their functions return" in found["behaviour"]["message"]
    assert "differ by 0.25" not in found["noise"]["message"] and "score the same" in found["noise"]["message"]
    assert found["where they part"]["text"].startswith("-     return 1.25\n+     return ")
    assert "a value of its own" not in found["where they part"]["message"]
    assert "Score 0.8. Metrics: x 1.25." in found["first prompt"]["text"]


def test_nothing_is_forged_where_the_first_program_fails(behavesim: Command, tmp_path: Path) -> None:
    (tmp_path / "evaluator.py").write_text(TELLS)
    (tmp_path / "program.py").write_text("def point():\n    return 1 / 0\n")
    ended = behavesim("task", "check", "--evaluator", "evaluator.py", "--program", "program.py", "--json")
    (found,) = ended.document
    assert (ended.code, found["name"], found["result"]) == (1, "first program", "fail")
    assert found["message"].startswith("it fails (evaluator): ZeroDivisionError: division by zero")


def test_an_evaluator_that_scores_by_chance_is_called_noisy(behavesim: Command, tmp_path: Path) -> None:
    drawn = "import random\n\ndef evaluate(path):\n    return {'a': random.SystemRandom().random()}\n"
    (tmp_path / "evaluator.py").write_text(drawn)  # other random numbers come out the same each time
    (tmp_path / "program.py").write_text("def point():\n    return 1.25\n")
    ended = behavesim("task", "check", "--evaluator", "evaluator.py", "--program", "program.py", "--json")
    found = {each["name"]: each for each in ended.document if each["section"]}
    assert found["noise"]["result"] == "warning" and "may be chance" in found["noise"]["message"]
    assert found["behaviour"]["result"] == "warning"  # it calls no function of the program
    assert "none that prompts show" in found["metrics"]["message"]


@pytest.fixture
def grown(behavesim: Command, tmp_path: Path) -> str:
    """The task file that `task init` writes around an evaluator."""
    FOLDERS["openevolve"].made(tmp_path)
    made = behavesim("task", "init", "mine", "--evaluator", "evaluator.py", "--program", "initial_program.py")
    assert made.code == 0, made.err
    return "mine.py"


def test_a_task_grown_around_an_evaluator_works_as_written(behavesim: Command, grown: str, tmp_path: Path) -> None:
    checked = behavesim("task", "check", grown, "--json")
    # what is sought is left to a person
    assert [each["name"] for each in checked.document if each["result"] == "fail"] == ["description"]
    (alone,) = behavesim("evaluate", grown, "template", "--json").document
    assert (alone["status"], alone["score"]) == ("ok", 0.8)
    answer = f"command:{tmp_path / 'answer.sh'}"
    run = behavesim("run", grown, "--proposer", answer, "--budget", 3, "--name", "first", "--json").document
    assert run["feasible"] == 3
    assert behavesim("verify", "first").code == 0


def test_no_forgery_comes_through_to_a_task_grown_around_an_evaluator(behavesim: Command, grown: str) -> None:
    import asyncio

    from behavesim.application.launch import task_settings
    from behavesim.checks.task import examine_evaluator

    async def through() -> list[str]:
        found = [each async for each in examine_evaluator(*task_settings(grown, {}))]
        return [each.name for each in found if "came through:" in each.message]

    assert asyncio.run(through()) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--evaluator", "evaluator.py"), "add --program FILE"),
        (
            ("--evaluator", "command:x {program}", "--program", "config.txt"),
            "programs are Python, and config.txt is not",
        ),
        (("--evaluator", "classes.py:Asks"), "asks for a class"),
        (("--evaluator", "evaluator.py", "--program", "answer.py"), "calls no function of answer.py"),
    ],
)
def test_what_cannot_be_grown_is_said_in_a_line(
    behavesim: Command, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    FOLDERS["openevolve"].made(tmp_path)
    (tmp_path / "config.txt").write_text("x")
    (tmp_path / "answer.py").write_text("print(1)\n")
    (tmp_path / "classes.py").write_text("class Asks:\n template_program='class A: pass'\n evaluate_program=print\n")
    ended = behavesim("task", "init", "mine", *arguments)
    assert ended.code == 2
    assert said in ended.err
    assert not (tmp_path / "mine.py").exists()
