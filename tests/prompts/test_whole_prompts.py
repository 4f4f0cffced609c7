"""Prompts for whole programs, edits and several files ask for what is read from the answers."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from behavesim.engine.admission import settings_from_person
from behavesim.programs.answer import fenced_blocks
from behavesim.programs.edits import edits_in
from behavesim.programs.extract import extract, form_of
from behavesim.programs.reading import Program, Request
from behavesim.prompts.prompts import Prompts
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import Asked, Prompt, Rejected
from behavesim.state.members import Member
from behavesim.state.state import RunState
from behavesim.task.evaluated import CALLS_METRIC, LIBRARY_METRIC, EvaluatorFile, EvaluatorTask

PYTHON = "import math\n# EVOLVE-BLOCK-START\ndef f():\n    return 1\n# EVOLVE-BLOCK-END\n"
KINDS = ["full", "paper"]
OF_TWO = ("improve", "e1", "e2", "s1", "cs", "complement", "crossover", "short-term-reflection")


def task_of(folder: Path, text: str = PYTHON, name: str = "program.py", **values: Any) -> EvaluatorTask:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    (folder / "evaluator.py").write_text("def evaluate(path): return {}\n")
    file = {"convention": "openevolve", "evaluator": str(folder / "evaluator.py"), "program": str(folder / name)}
    return EvaluatorTask(EvaluatorFile(**{**file, **values}), "toy")


def asking(task: EvaluatorTask, wording: str) -> Prompts:
    return Prompts.of_run(settings_from_person({"task": "toy", "prompts": wording, "timeout_s": 7.0}, task=task), task)


def texts(task: EvaluatorTask, wording: str) -> dict[str, str]:
    """Return a prompt of each kind."""
    prompts = asking(task, wording)
    one = Member(1, task.template, 0.5, 0.5, "An idea.", scores=(0.5,))
    two = [one, replace(one, candidate=2, score=0.75, utility=0.75, scores=(0.75,))]
    rejected = Rejected(3, "extraction", "edit", "the SEARCH of edit 1 does not occur in the program")
    found = {name: prompts.showing_template(name, 0, one).text for name in ("template", "i1", "initial")}
    found |= {name: prompts.showing_programs(name, two).text for name in OF_TWO}
    found |= {name: prompts.showing_programs(name, [one]).text for name in ("m1", "m2", "m3", "ls", "mutation")}
    found["repair"] = prompts.repair(
        Asked(3, (1,), None, Prompt("(asked)", "improve")), "(reply)", rejected
    ).prompt.text
    return found


@pytest.mark.parametrize("wording", KINDS)
@pytest.mark.parametrize("edits", ["full", "diff"])
def test_no_prompt_speaks_of_a_function_or_leaves_anything_to_fill_in(tmp_path, wording, edits):
    for name, text in texts(task_of(tmp_path, "x\n", "program.cpp", edits=edits), wording).items():
        text = text.replace("\0failures\0", "").replace("\0surroundings\0", "").replace("\0goal\0", "better")
        assert not re.search(r"\$\w|Python|``(?!`)|\bfunction\b", text.replace("```", "")), (name, text)
        assert "  " not in text.replace("    ", ""), name


@pytest.mark.parametrize("wording", KINDS)
def test_edits_are_shown_in_the_form_in_which_they_are_read(tmp_path, wording):
    found = texts(task_of(tmp_path, edits="diff"), wording)
    for name in ("template", "improve", "m1", "e2", "crossover", "mutation"):
        edits = edits_in(found[name])
        assert isinstance(edits, list) and len(edits) == 1, name
    assert "edits of the last program above" in found["improve"] and "edits of the last program above" in found["m1"]
    assert "edits of the program above" in found["template"]
    assert "not to this answer" in found["repair"]


@pytest.mark.parametrize("wording", KINDS)
def test_programs_are_shown_as_they_may_be_answered(tmp_path, wording):
    task = task_of(tmp_path)
    for name in ("template", "improve", "m1", "e2", "crossover", "mutation"):
        *_, shown = fenced_blocks(texts(task, wording)[name])
        found = extract(form_of(task), Request(f"```python\n{shown}\n```", task.template))
        assert isinstance(found, Program) and found.source == PYTHON


def test_fences_name_the_language(tmp_path):
    assert "```cpp\nx\n```" in texts(task_of(tmp_path, "x\n", "a.cpp"), "full")["improve"]
    assert "in one fenced C++ block" in texts(task_of(tmp_path, "x\n", "a.cpp"), "full")["improve"]
    assert "in one fenced block" in texts(task_of(tmp_path, "x\n", "a.qqq"), "full")["improve"]


def test_several_files_are_shown_and_asked_for_by_name(tmp_path):
    task_of(tmp_path, "x = 1\n", "folder/a.py")
    task = task_of(tmp_path, "y = 1\n", "folder/b.py", program=str(tmp_path / "folder"))
    text = texts(task, "full")["improve"]
    assert "=== file: a.py ===\nx = 1\n=== file: b.py ===\ny = 1\n```" in text
    assert "whose first line is `=== file: PATH ===`. Files that you do not name stay" in text


def test_the_contract_says_limits_evaluator_stages_and_direction(tmp_path):
    task = task_of(tmp_path, thresholds=(0.5, 0.75), direction="minimise")
    text = texts(task, "full")["improve"]
    for needed in (
        "7 s of CPU time",
        "imports the program",
        "at most 0.5 in stage 1 and at most 0.75 in stage 2. Above that",
        "it keeps the score of the stage where it stopped",
        "the lower it is",
    ):
        assert needed in text
    assert "EVOLVE-BLOCK-START" in text.split("```")[0]


def test_a_function_that_an_evaluator_calls_is_described_as_in_other_tasks(tmp_path):
    source = 'def weigh(x: float) -> float:\n    """The weight of x."""\n    return x\n'
    task = task_of(
        tmp_path, source, convention="llm4ad", entry_point="weigh", evaluator=f"{tmp_path}/evaluator.py:Class"
    )
    text = texts(task, "full")["improve"]
    assert "    def weigh(x" in text and "The weight of x." in text and "`weigh` with its helper functions" in text


def test_what_the_evaluation_of_the_first_program_taught_is_said(tmp_path):
    task = task_of(tmp_path)
    prompts, state = asking(task, "full"), RunState(task.objective)
    known = {"speed": 1.0, CALLS_METRIC: 3113.0, f"{LIBRARY_METRIC}numpy": 1.0, f"{LIBRARY_METRIC}scipy": 1.0}
    for metrics, said in ((known, True), ({}, False)):
        state.template = Member(-1, task.template, 0.5, 0.5, metrics=metrics)
        asked = Asked(0, (-1,), None, prompts.showing_template("template", 0, state.template))
        text = prompts.complete(asked, state, Behaviours()).prompt.text
        assert ("the functions of the first program are called 3113 times" in text) == said
        assert ("the standard library of Python 3.11, and numpy, scipy." in text) == said
        assert text.count("may import") == 1
        assert "private" not in text and "\0" not in text and "\n\n\n" not in text


def test_a_docstring_that_all_programs_repeat_stands_once_and_answers_get_it_back(tmp_path):
    long = "Return the weight of x." + " It has many words." * 20
    source = f'def weigh(x):\n    """{long}"""\n    return x\n'
    task = task_of(tmp_path, source)
    for name, text in texts(task, "full").items():
        if name != "repair":
            assert text.count(long) == 1, name
    assert texts(task, "paper")["improve"].count(long) == 2
    *_, shown = fenced_blocks(texts(task, "full")["improve"])
    assert '"""weigh: as described above."""' in shown
    found = extract(form_of(task), Request(f"```python\n{shown}\n```", task.template))
    assert isinstance(found, Program) and found.source == source


def test_a_text_of_ones_own_takes_the_place_of_either(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "answer_with_idea.md").write_text("Only code, please: $form.")
    text = texts(task_of(tmp_path), str(tmp_path / "mine"))["improve"]
    assert text.endswith(
        "Only code, please: the complete program, lines with EVOLVE-BLOCK included, in one fenced Python block."
    )
