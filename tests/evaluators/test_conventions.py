"""Conventions that are found by their shape: what is called, which program is the first, and what the score is."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest

from behavesim.application.evaluator_task import Wanted, task_file
from behavesim.base.errors import TaskError, UsageError
from behavesim.evaluators.conventions import ORDER, Convention, convention_named
from behavesim.evaluators.tracing import Result
from behavesim.task.evaluated import (
    JUDGED_APART,
    ConventionName,
    EvaluatorFile,
    EvaluatorTask,
    without_surroundings,
)
from tests.evaluators.judging import results

RISE = "def rise(x: int) -> int:\n    return {}\n"
SPECIFICATION = '''"""Numbers that rise."""
import math

@funsearch.run
def evaluate(n: int) -> float:
    """The sum of a function's values."""
    return float(sum(offset() + rise(k) for k in range(n)))

def offset():
    return math.floor(1.5)

@funsearch.evolve
def rise(x: int) -> int:
    """Return a number."""
    return x  # as it is

inputs = [2, 4]
'''
LEVI = '''KIND = "number"
PROBLEM_DESCRIPTION = f"Return a {KIND}."
FUNCTION_SIGNATURE = "def rise(x):"
SEED_PROGRAM = """
def rise(x):
    return x
"""
NUMBERS = [3, 4]


def score_fn(rise, inputs):
    found = [rise(x) for x in inputs]
    return {"error": "negative"} if min(found) < 0 else {"score": sum(found), "largest": max(found)}
'''
LEVI_RUN = (
    "import levi\nfrom problem import *\nlevi.evolve_code(PROBLEM_DESCRIPTION, score_fn=score_fn, inputs=NUMBERS)\n"
)
ALGODISCO = """import numpy as np
from algodisco.methods.funsearch_behavesim.evaluator import FunSearchBehaveSimEvaluator
from algodisco.toolkit.sandbox import sandbox_run
from algodisco.absent import never


class Evaluator(FunSearchBehaveSimEvaluator):
    @sandbox_run(timeout=60)
    def evaluate_program(self, program_str: str):
        names = {}
        exec(program_str, names)
        chosen = [names["rise"](x) for x in range(4)]
        if min(chosen) < 0:
            return dict(score=-np.inf, behavior=[])
        return dict(score=-sum(chosen), behavior=[[chosen[:1], chosen[:2], chosen[:3], chosen], [[7], [7, 8]]])
""".replace("from algodisco.absent import never\n", "")
PROBLEM = f"template_program = '''\n{RISE.format('x')}'''\ntask_description = 'Return ' 'numbers.'\n"
LLAMEA = """def evaluate(solution, explogger=None):
    names = {}
    exec(solution.code, names)
    try:
        found = names[solution.name](budget=5)()
    except ValueError as error:
        solution.set_scores(float("-inf"), "it raised", error)
        return solution
    solution.add_metadata("spent", 5)
    solution.set_scores(found, f"The algorithm {solution.name} got {found}.")
    return solution
"""
CODEEVOLVE = """import importlib, json, os, sys


def evaluate(program_path: str, results_path: str = None) -> None:
    sys.path.insert(0, os.path.dirname(program_path))
    found = importlib.import_module("program").rise(2)
    assert found >= 0, "negative"
    with open(results_path, "w") as file:
        json.dump({"total": found, "ratio": found / 8, "eval_time": 0.5}, file)
"""
REEVO = """import sys, os
from gpt import rise_v2 as rise

if __name__ == "__main__":
    size, root, mood = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    folder = os.path.join(os.path.dirname(__file__), "dataset")
    if not os.path.isdir(folder):
        from gen_inst import generate
        generate(folder)
    assert mood == "train" and os.path.isdir(os.path.join(root, "cfg"))
    print("[*] Average:")
    print(sum(rise(x) for x in range(size)) + int(open(os.path.join(folder, "offset")).read()))
"""
GENERATE = "import os\ndef generate(folder):\n    os.mkdir(folder)\n    open(f'{folder}/offset', 'w').write('100')\n"
SETTINGS = (
    "problem_name: up\nobj_type: max\nproblem_size: 4 # for training\nfunc_name: rise\ndescription: Return numbers.\n"
)


def made(folder: Path, evaluator: str, files: dict[str, str], program: str = "", **others: Any) -> EvaluatorFile:
    """Write files into a folder; return the task's file that a command would make of the evaluator there."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    first = folder / program if program else None
    with task_file(Wanted(str(folder / evaluator), first, **others), folder / "runs", lambda _: None) as task:
        file = EvaluatorFile.read(task.path)
        (folder / "template.py").write_text(EvaluatorTask(file, "task").template)
    return EvaluatorFile(**{**vars(file), "program": str(folder / "template.py")})


def test_each_convention_has_words_for_people_and_those_judged_apart_a_judge() -> None:
    names = get_args(ConventionName)
    assert sorted(names) == sorted([*ORDER, "command"])
    for name in names:
        found = convention_named(name)
        assert found.called_as and found.shape and found.example.startswith("--evaluator ")
        assert (type(found).load_judge is not Convention.load_judge) == (name in JUDGED_APART), name
        assert (type(found).describe is not Convention.describe) == found.has_program, name


def outcome(found: Result) -> tuple[float | None, str]:
    return found.score, found.failure


def test_a_specification_of_funsearch_runs_with_the_marked_function_replaced(tmp_path: Path) -> None:
    file = made(tmp_path, "specification.py", {"specification.py": SPECIFICATION})
    assert (file.convention, file.entry_point, file.direction) == ("funsearch", "rise", "maximise")
    assert file.description == "Numbers that rise.\n\nThe sum of a function's values."
    template = Path(file.program).read_text()
    assert template.startswith("import math\n") and template.endswith("    return x  # as it is\n")
    first, higher, raises = results(file, template, RISE.format("offset() + x"), RISE.format("1 / 0"))
    assert first.score == (3 + 10) / 2 and without_surroundings(first.metrics) == {"example 1": 3.0, "example 2": 10.0}
    assert (higher.score, higher.traced) == ((5 + 14) / 2, "calls") and higher.steps[:2] == (1, 2)
    assert raises.failure == "ZeroDivisionError: division by zero"


def test_a_specification_may_have_its_inputs_beside_it_or_is_refused(tmp_path: Path) -> None:
    bare = {"specification.txt": SPECIFICATION.replace("inputs = [2, 4]", "")}
    file = made(tmp_path, "specification.txt", bare)
    with pytest.raises(TaskError, match="add a line such as `inputs = "):
        results(file, RISE.format("x"))
    (tmp_path / "inputs.json").write_text("[3]")
    assert results(file, RISE.format("x"))[0].score == 6.0
    twice = SPECIFICATION.replace("def offset", "@funsearch.evolve\ndef offset")
    with pytest.raises(UsageError, match=r"one function with @funsearch\.evolve, and this marks 2"):
        made(tmp_path, "twice.py", {"twice.py": twice})


def test_levis_score_function_gets_the_function_and_the_inputs_that_its_script_names(tmp_path: Path) -> None:
    file = made(tmp_path, "problem.py", {"problem.py": LEVI, "run.py": LEVI_RUN})
    assert (file.convention, file.entry_point, file.description) == ("levi", "rise", "Return a number.")
    template = Path(file.program).read_text()
    first, bad = results(file, template, RISE.format("-x"))
    assert (first.score, first.metrics["largest"], first.traced) == (7.0, 4.0, "calls")
    assert (outcome(bad), bad.is_stated) == ((None, "negative"), True)
    (broken,) = results(file, "def rise(x):\n    return (\n")
    assert broken.failure.startswith("SyntaxError: '(' was never closed (program.py, line 2)")
    (tmp_path / "run.py").unlink()
    with pytest.raises(TaskError, match="has no inputs to score on"):
        results(file, template)


def test_the_evaluator_of_behavesims_authors_gives_score_and_behaviour(tmp_path: Path) -> None:
    # the framework itself stands in the repository, and needs packages that are not installed
    framework = {"algodisco/__init__.py": "import nosuchpackage\n", "pyproject.toml": ""}
    files = {"tasks/up/evaluator.py": ALGODISCO, "tasks/up/problem.py": PROBLEM, "tasks/__init__.py": "", **framework}
    file = made(tmp_path, "tasks/up/evaluator.py", files)
    assert (file.convention, file.entry_point, file.name) == ("algodisco", "rise", "up")
    assert file.description == "Return numbers."
    first, bad = results(file, Path(file.program).read_text(), RISE.format("-x"))
    assert (first.score, first.steps, first.traced) == (-6.0, (0, 1, 2, 3, 7, 8), "`behavior`")
    assert bad.score is None and "no finite score" in bad.failure


def test_llameas_evaluator_sets_scores_on_the_solution(tmp_path: Path) -> None:
    text = "class Walk:\n def __init__(self, budget):\n  self.budget = budget\n def __call__(self):\n  {}\n"
    first = text.format("return self.budget / 4")
    file = made(tmp_path, "evaluate.py", {"evaluate.py": LLAMEA, "first.py": first}, "first.py")
    assert file.convention == "llamea"
    good, bad = results(file, first, text.format("raise ValueError('lost')"))
    assert (good.score, without_surroundings(good.metrics)) == (1.25, {"spent": 5.0})
    assert good.feedback == "feedback: The algorithm Walk got 1.25."
    assert (outcome(bad), bad.is_stated) == ((None, "lost"), True)


def test_codeevolves_evaluator_writes_its_numbers_and_needs_the_name_of_one(tmp_path: Path) -> None:
    files = {"evaluate.py": CODEEVOLVE, "first.py": RISE.format("x")}
    file = made(tmp_path, "evaluate.py", files, "first.py", metric="ratio")
    assert file.convention == "codeevolve"
    good, bad = results(file, RISE.format("x"), RISE.format("-x"))
    assert (good.score, good.metrics["total"], good.traced) == (0.25, 2.0, "calls")
    assert bad.failure == "AssertionError: negative"
    unnamed = EvaluatorFile(**{**vars(file), "metric": ""})
    (tmp_path / "input").mkdir()
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs/config.yaml").write_text("EVOLVE_CONFIG: {fitness_key: 'total',\n  num_epochs: 3}\n")
    moved = {f"input/{name}": text for name, text in files.items()}
    assert made(tmp_path, "input/evaluate.py", moved, "input/first.py").metric == "total"
    assert "choose one with --metric NAME" in results(unnamed, RISE.format("x"))[0].failure


def test_reevos_script_runs_with_its_settings_first_program_and_a_folder_to_write_to(tmp_path: Path) -> None:
    files = {
        "problems/up/eval.py": REEVO,
        "problems/up/gen_inst.py": GENERATE,
        "cfg/problem/up.yaml": SETTINGS,
        "prompts/up/seed_func.txt": "def rise_v1(x):\n    return int(np.abs(x))\n",
        "prompts/up/func_desc.txt": "A function.",
    }
    file = made(tmp_path, "problems/up/eval.py", files)
    assert (file.convention, file.entry_point, file.direction) == ("reevo", "rise_v2", "maximise")
    assert file.description == "Return numbers.\nA function." and file.root == str(tmp_path)
    first, bad = results(file, Path(file.program).read_text(), "def rise_v2(x):\n    return 1 / 0\n")
    assert (first.score, first.steps, first.traced) == (106.0, (0, 1, 2, 3), "calls")
    assert bad.failure == "ZeroDivisionError: division by zero"
    assert not (tmp_path / "problems/up/dataset").exists()


def test_a_commands_summary_in_lines_gives_the_metric_that_is_named(tmp_path: Path) -> None:
    said = "print('---')\nprint('val_bpb:          0.997900')\nprint('num_steps:        953')\nprint('done')\n"
    file = EvaluatorFile("command", "python {program}", "first.py", runs_in=str(tmp_path), metric="val_bpb")
    (found,) = results(file, said)
    assert (found.score, found.metrics["num_steps"]) == (0.9979, 953.0)
    assert results(EvaluatorFile(**{**vars(file), "metric": "loss"}), said)[0].score is None
