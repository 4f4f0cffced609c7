"""What an evaluator lacks is told with what to do about it, and what it reads of the environment is passed on."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from behavesim.evaluators.needs import environment_for, how_to_get, what_it_lacks
from behavesim.task.evaluated import EvaluatorFile
from tests.cli.command import Command
from tests.evaluators.judging import file_of, results

PROGRAM = "def point():\n    return 1.0\n"
READING = """import os
from settings_of_mine import LIMIT

def evaluate(path):
    if "WANTED_CASE" not in os.environ:
        raise ValueError("set WANTED_CASE first")
    if os.getenv("OWN_API_KEY") or os.getenv("HOME") != "/tmp":
        raise ValueError("what programs may not read was passed on")
    return {"combined_score": float(os.environ["WANTED_CASE"]) + LIMIT}
"""
SETTINGS = "import os\n\nNAME = 'WANTED_LIMIT'\nLIMIT = float(os.environ.get(NAME, 0))\n"


@pytest.fixture
def reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EvaluatorFile:
    """The file of an evaluator that reads the environment, also in a module beside it; the folder is the current."""
    (tmp_path / "evaluator.py").write_text(READING)
    (tmp_path / "settings_of_mine.py").write_text(SETTINGS)
    (tmp_path / "initial_program.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    return file_of("openevolve", str(tmp_path / "evaluator.py"), str(tmp_path / "initial_program.py"))


def test_variables_that_it_reads_are_kept_with_the_task_and_passed_on_but_no_keys(
    behavesim: Command, reading: EvaluatorFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"WANTED_CASE": "2", "WANTED_LIMIT": "5", "OWN_API_KEY": "hidden", "UNREAD": "x"}.items():
        monkeypatch.setenv(name, value)
    ended = behavesim("run", "--evaluator", "evaluator.py", "--budget", 2, "--proposer", "genetic", "--json")
    assert ended.code == 0, ended.err
    assert "reads WANTED_CASE, WANTED_LIMIT from the environment: kept with the task" in ended.err
    assert "reads OWN_API_KEY from the environment: not passed on" in ended.err
    assert ended.document["template"]["score"] == 7.0
    (made,) = Path("runs/.evaluators").glob("*.toml")
    assert tomllib.loads(made.read_text())["environment"] == {"WANTED_CASE": "2", "WANTED_LIMIT": "5"}
    assert "hidden" not in made.read_text()


def test_a_variable_that_it_names_and_nobody_set_is_to_be_set(behavesim: Command, reading: EvaluatorFile) -> None:
    ended = behavesim("run", "--evaluator", "evaluator.py", "--budget", 2, "--proposer", "genetic")
    assert ended.code == 2
    assert "set WANTED_CASE first; write WANTED_CASE=... before the command" in ended.err
    assert "the sandbox gets no OWN_API_KEY" in what_it_lacks(reading, "KeyError: 'OWN_API_KEY'")
    assert what_it_lacks(reading, "no DATA_ROOT") == "", "nobody reads that"
    missing = what_it_lacks(reading, "FileNotFoundError: [Errno 2] No such file or directory: '/data/of_mine.json'")
    assert missing.endswith("it reads OWN_API_KEY, WANTED_CASE, WANTED_LIMIT from the environment")


def test_an_address_with_a_password_is_not_passed_on(reading: EvaluatorFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANTED_CASE", "postgres://me:hidden@host/data")
    assert environment_for([reading.folder / "evaluator.py"], [reading.folder]) == ({}, ["WANTED_CASE"])


def test_python_and_the_tools_of_the_machine_are_found(tmp_path: Path) -> None:
    text = """import subprocess

def evaluate(path):
    done = subprocess.run(["python", "-c", "import numpy; print(numpy.float64(2.5))"], capture_output=True)
    return {"combined_score": float(done.stdout)}
"""
    (tmp_path / "evaluator.py").write_text(text)
    (tmp_path / "first.py").write_text(PROGRAM)
    (found,) = results(file_of("openevolve", str(tmp_path / "evaluator.py"), str(tmp_path / "first.py")), PROGRAM)
    assert found.score == 2.5, found.failure


@pytest.mark.parametrize(
    ("text", "message", "said"),
    [
        ("", "Fortran: nowhere-fc executable not found. Install it.", "install that tool in /usr/bin"),
        ("", "RuntimeError: Required tool not found: nowhere-opt", "install that tool in /usr/bin"),
        ("subprocess.run(['nowhere-fc', path])", "it failed", "for lack of nowhere-fc, which it runs"),
        ("shutil.which('nowhere-fc')", "it failed", "for lack of nowhere-fc, which it runs"),
        ("subprocess.run(['sh', path])", "it failed", ""),
        ("", "AttributeError: module 'numpy' has no attribute 'bool8'", 'pip install "numpy<2"'),
        ("import nowhere", "it failed", "for lack of nowhere, which it imports: python -m pip install nowhere"),
    ],
)
def test_tools_and_packages_that_are_missing_are_named(tmp_path: Path, text: str, message: str, said: str) -> None:
    script = tmp_path / "evaluator.py"
    script.write_text(f"import shutil, subprocess\n\ndef evaluate(path):\n    {text or 'pass'}\n")
    (tmp_path / "first.py").write_text(PROGRAM)
    found = what_it_lacks(file_of("openevolve", str(script), str(tmp_path / "first.py")), message)
    assert said in found if said else not found


def test_packages_come_from_a_list_that_names_them_or_else_by_their_name(tmp_path: Path) -> None:
    script = tmp_path / "deep/evaluator.py"
    script.parent.mkdir()
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "requirements.txt").write_text("Scikit_Learn>=1\nnowhere @ git+https://example.org/nowhere\n")
    assert how_to_get("sklearn", "nowhere", near=script) == f"python -m pip install -r {tmp_path}/requirements.txt"
    assert how_to_get("sklearn", "other", near=script) == "python -m pip install scikit-learn other"
    (tmp_path / "README.md").touch()
    assert how_to_get("other", near=script).endswith(f"other, unless {tmp_path}/README.md says otherwise")


def test_a_first_program_of_its_own_that_fails_can_be_replaced(
    behavesim: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = """from eoh import BaseProblem

class Search(BaseProblem):
    template_program = "def step(x):\\n    return to_be_filled_in\\n"
    def evaluate_program(self, program_str, callable_func):
        return callable_func(2)
"""
    (tmp_path / "prob.py").write_text(text)
    (tmp_path / "first.py").write_text("def step(x):\n    return x + 1\n")
    monkeypatch.chdir(tmp_path)
    command = ("run", "--evaluator", "prob.py", "--budget", 2, "--proposer", "genetic", "--json")
    failed = behavesim(*command)
    assert failed.code == 2 and "add --program FILE with one that works" in failed.err
    ended = behavesim(*command, "--program", "first.py")
    assert ended.code == 0 and ended.document["template"]["score"] == 3.0, ended.err


def test_what_a_first_program_with_nothing_but_zeros_printed_is_told(
    behavesim: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = """import subprocess

def evaluate(path):
    try:
        subprocess.run(["nowhere-fc", path])
    except OSError as error:
        print(f"giving up: {error}")
    return {"combined_score": 0.0}
"""
    (tmp_path / "evaluator.py").write_text(text)
    (tmp_path / "initial_program.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    ended = behavesim("run", "--evaluator", "evaluator.py", "--budget", 2, "--proposer", "genetic")
    assert 'got 0 for everything, as if it had failed; its last words: "giving up:' in ended.err
    assert "it runs nowhere-fc: install that in /usr/bin" in ended.err
