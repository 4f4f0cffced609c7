"""Tasks made of an evaluator and a first program: what their file says, and what it is refused for."""

from __future__ import annotations

import ast
import hashlib
from pathlib import Path
from typing import Any

import pytest

from behavesim.base.errors import TaskError, UsageError
from behavesim.task import Objective, TaskReference, evaluated
from behavesim.task.evaluated import EvaluatorFile, EvaluatorTask, first_program

HEAD = 'convention = "openevolve"\nevaluator = "judge.py"\nprogram = "first.py"\n'
ALL = EvaluatorFile(
    "llm4ad", "/e.py:Judge", "/p.py", "n", "d", "minimise", 0.5, (1.0, 2.0), "diff", "solve", "/f", 7.0, 9
)


def written(folder: Path, text: str = HEAD) -> Path:
    (folder / "judge.py").write_text("def evaluate(path):\n    return {'score': 1.0}\n")
    (folder / "first.py").write_text("def other():\n    pass\n\n\ndef solve():\n    pass\n")
    (folder / "mine.toml").write_text(text)
    return folder / "mine.toml"


def test_paths_in_a_file_start_from_its_folder(tmp_path: Path) -> None:
    file = EvaluatorFile.read(written(tmp_path))
    assert (file.evaluator, file.program) == (str(tmp_path / "judge.py"), str(tmp_path / "first.py"))
    assert (file.runs_in, file.folder, file.suffix) == ("", tmp_path, ".py")


def test_a_class_of_a_file_is_named_behind_its_path(tmp_path: Path) -> None:
    file = EvaluatorFile.read(written(tmp_path, HEAD.replace("judge.py", "judge.py:Judge")))
    assert file.evaluator == f"{tmp_path / 'judge.py'}:Judge"
    assert file.folder == tmp_path


def test_an_evaluator_runs_in_the_folder_of_its_file_wherever_the_program_lies(tmp_path: Path) -> None:
    for evaluator in ("/judges/judge.py", "/judges/judge.py:Judge"):
        assert EvaluatorFile("llm4ad", evaluator, "/programs/first.py").folder == Path("/judges")
    assert EvaluatorFile("command", "judge.py", "/programs/first.py").folder == Path("/programs")


def test_a_file_that_says_no_more_has_five_minutes_of_time_and_a_hundred_programs(tmp_path: Path) -> None:
    made = task(tmp_path)
    assert (made.timeout_s, made.budget, made.objective) == (300.0, 100, Objective("maximise"))


def test_an_installed_module_keeps_its_name_and_runs_beside_the_program(tmp_path: Path) -> None:
    file = EvaluatorFile.read(written(tmp_path, HEAD.replace("judge.py", "package.module:Judge")))
    assert (file.evaluator, file.folder) == ("package.module:Judge", tmp_path)


def test_a_command_keeps_its_words_and_runs_in_a_folder(tmp_path: Path) -> None:
    text = 'convention = "command"\nevaluator = "./judge.py: {program}"\nprogram = "src"\n'
    (tmp_path / "src").mkdir()
    file = EvaluatorFile.read(written(tmp_path, text))
    assert (file.evaluator, file.runs_in, file.suffix) == ("./judge.py: {program}", str(tmp_path), "")
    there = EvaluatorFile.read(written(tmp_path, f'{text}runs_in = "src"\n'))
    assert there.folder == tmp_path / "src"


def test_a_folder_of_programs_is_where_an_installed_evaluator_runs(tmp_path: Path) -> None:
    assert EvaluatorFile("shinka", "package.module", str(tmp_path)).folder == tmp_path


def test_what_is_written_is_read(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(ALL.to_toml())
    read = EvaluatorFile.read(tmp_path / "mine.toml")
    assert EvaluatorFile.from_json(read.to_json()) == read
    assert EvaluatorFile.from_json(ALL.to_json()) == ALL
    assert (read.thresholds, read.best_known, read.timeout_s, read.budget) == ((1.0, 2.0), 0.5, 7.0, 9)


def test_what_has_its_default_is_not_written() -> None:
    assert EvaluatorFile("shinka", "e.py", "p.py").to_toml().splitlines() == [
        'convention = "shinka"',
        'evaluator = "e.py"',
        'program = "p.py"',
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEAD + "budgets = 3\n", r"mine\.toml has an unknown key 'budgets'; did you mean 'budget'\?"),
        (HEAD + "zzz = 3\n", "has an unknown key 'zzz'; convention, evaluator, "),
        (HEAD.replace("program", "name"), r"mine\.toml has no 'program'; write it"),
        (HEAD + "budget = 'many'\n", r"mine\.toml: budget should be a whole number, not 'many'"),
        (HEAD + "thresholds = ['x']\n", r"mine\.toml: thresholds\.0 should be a number, not 'x'"),
        (HEAD + "=\n", r"mine\.toml is no TOML: "),
    ],
)
def test_a_slip_in_a_file_is_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(TaskError, match=said):
        EvaluatorFile.read(written(tmp_path, text))


def task(folder: Path, more: str = "") -> EvaluatorTask:
    loaded = TaskReference(str(written(folder, HEAD + more))).load()
    assert isinstance(loaded, EvaluatorTask)
    return loaded


def test_a_task_is_what_its_file_says(tmp_path: Path) -> None:
    made = task(tmp_path, 'direction = "minimise"\nbest_known = 2.0\ntimeout_s = 3.0\nbudget = 5\nname = "own"\n')
    assert (made.name, made.timeout_s, made.budget) == ("own", 3.0, 5)
    assert made.objective == Objective("minimise", 2.0)
    assert made.template == (tmp_path / "first.py").read_text()
    assert made.score_source == "self-reported"


@pytest.mark.parametrize(("direction", "better"), [("minimise", "lower"), ("maximise", "higher")])
def test_a_task_that_says_no_more_is_named_after_its_file(tmp_path: Path, direction: str, better: str) -> None:
    made = task(tmp_path, f'direction = "{direction}"\n')
    assert made.name == "mine"
    assert f"A {better} score is better" in made.description
    assert task(tmp_path, 'description = "words"\n').description == "words"


def test_programs_are_functions_where_the_entry_point_is_one(tmp_path: Path) -> None:
    assert task(tmp_path, 'entry_point = "solve"\n').calls_a_function
    assert not task(tmp_path, 'entry_point = "absent"\n').calls_a_function
    none = task(tmp_path)
    assert (none.entry_point, none.calls_a_function) == ("", False)
    broken = task(tmp_path, 'entry_point = "solve"\n')
    broken.template = "def solve(:"
    with pytest.raises(TaskError, match=r"the first program .*first\.py is no Python: "):
        _ = broken.calls_a_function


def test_a_program_that_is_no_python_is_not_parsed_where_no_function_is_called(tmp_path: Path) -> None:
    made = task(tmp_path)
    made.template = "int main() {}"
    with pytest.raises(SyntaxError):
        ast.parse(made.template)
    assert not made.calls_a_function


def test_the_evaluator_is_known_by_its_content(tmp_path: Path) -> None:
    made = task(tmp_path, 'thresholds = [0.5]\nentry_point = "solve"\n')
    known = hashlib.sha256((tmp_path / "judge.py").read_bytes()).hexdigest()
    kept = {"evaluator": known, "convention": "openevolve", "thresholds": (0.5,), "entry_point": "solve"}
    assert made.instances("search") == [kept]
    assert made.instances("validation") == made.instances("held-out") == []
    (tmp_path / "judge.py").unlink()
    with pytest.raises(TaskError, match=r"the evaluator .*judge\.py is gone"):
        made.instances("search")
    command = EvaluatorTask(EvaluatorFile("command", "judge {program}", str(tmp_path / "first.py")), "c")
    assert command.evaluator_hash == hashlib.sha256(b"judge {program}").hexdigest()


def test_nothing_of_a_program_runs_in_this_process(tmp_path: Path) -> None:
    made = task(tmp_path)
    calls: list[Any] = [lambda: made.solve(print, {}), lambda: made.score({}, {}), lambda: made.trajectory({}, {})]
    for call in calls:
        with pytest.raises(NotImplementedError):
            call()


def test_a_step_is_a_number_or_the_name_of_a_hashed_value(tmp_path: Path) -> None:
    made = task(tmp_path)
    assert (made.in_words({}, 3), made.in_words({}, 0x1234ABCD)) == ("3", "a value of its own")


def test_a_folder_of_files_is_one_text_in_the_order_of_their_paths(tmp_path: Path) -> None:
    for name in ("b.txt", "a/c.txt", "a/__pycache__/x.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"text of {name}")
    assert first_program(tmp_path) == "=== file: a/c.txt ===\ntext of a/c.txt\n=== file: b.txt ===\ntext of b.txt\n"


def test_a_folder_without_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__/a.pyc").write_text("")
    with pytest.raises(TaskError, match="holds no file of a program"):
        first_program(tmp_path)


@pytest.mark.parametrize(("text", "count"), [("", 0), (" \n", 2), ("x" * 11, 11)])
def test_a_program_that_is_empty_or_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, count: int
) -> None:
    monkeypatch.setattr(evaluated, "LARGEST", 10)
    (tmp_path / "first.py").write_text(text)
    with pytest.raises(TaskError, match=f"must hold between 1 and 10 characters, not {count}"):
        first_program(tmp_path / "first.py")
    (tmp_path / "first.py").write_text("x" * 10)
    assert first_program(tmp_path / "first.py") == "x" * 10
    with pytest.raises(UsageError, match="cannot read the program"):
        first_program(tmp_path / "absent.py")
