"""Evaluators that live in a repository: the folder above that has what they import is found, read-only."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from behavesim.evaluators.needs import root_of, what_it_lacks
from tests.cli.command import Command
from tests.evaluators.judging import file_of, results

EVALUATOR = """from shared_of_mine.loading import load, goal

def evaluate(path):
    return {"combined_score": -abs(load(path)["point"]() - goal())}
"""
LOADING = """from pathlib import Path

def load(path):
    names = {}
    exec(open(path).read(), names)
    return names

def goal():
    return float((Path(__file__).parents[1] / "data/goal.txt").read_text())
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with an evaluator two folders down, a package and a data file."""
    files = {
        "repo/pyproject.toml": "",
        "repo/shared_of_mine/__init__.py": "",
        "repo/shared_of_mine/loading.py": LOADING,
        "repo/data/goal.txt": "1.5\n",
        "repo/problems/near/evaluator.py": EVALUATOR,
        "repo/problems/near/first.py": "def point():\n    return 1.0\n",
        "beyond_of_mine/__init__.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path / "repo"


def test_the_folder_above_that_has_the_imported_package_is_the_root(repository: Path) -> None:
    script = repository / "problems/near/evaluator.py"
    assert root_of(script.parent, [script]) == repository
    (script.parent / "shared_of_mine.py").touch()
    assert root_of(script.parent, [script]) is None, "what lies beside the evaluator needs no other folder"


def test_what_a_module_beside_or_above_it_imports_in_turn_is_found_too(repository: Path) -> None:
    script = repository / "problems/near/other.py"
    script.write_text("import sys\nsys.path.append('..')\nfrom common_of_mine import evaluate\n")
    (repository / "problems/common_of_mine.py").write_text("def evaluate(path):\n    return 1.0\n")
    assert root_of(script.parent, [script]) == repository / "problems"
    (repository / "problems/common_of_mine.py").write_text("import common_of_mine\nimport shared_of_mine.loading\n")
    assert root_of(script.parent, [script]) == repository


@pytest.mark.parametrize("imported", ["json", "numpy.linalg", "shinka.core", "openevolve", "beyond_of_mine", "nowhere"])
def test_what_is_installed_offered_or_above_the_repository_makes_no_root(repository: Path, imported: str) -> None:
    for name in ("json", "numpy", "shinka", "openevolve"):
        (repository / name).mkdir()
        (repository / name / "__init__.py").touch()
    script = repository / "problems/near/other.py"
    script.write_text(f"def evaluate(path):\n    import {imported}\n")
    assert root_of(script.parent, [script]) is None


def test_a_repository_cloned_into_this_one_is_found_where_the_evaluator_looks_for_it(repository: Path) -> None:
    script = repository / "problems/near/other.py"
    script.write_text("try:\n    from tasks_of_others.base import REGISTRY\nexcept ImportError:\n    REGISTRY = {}\n")
    (repository / "Others/tasks_of_others").mkdir(parents=True)
    (repository / "Others/tasks_of_others/__init__.py").touch()
    assert root_of(script.parent, [script]) is None, "a folder that is no repository may hold anything"
    (repository / "Others/.git").mkdir()
    assert root_of(script.parent, [script]) == repository


def test_such_an_evaluator_runs_and_cannot_write_into_its_repository(repository: Path) -> None:
    place = repository / "problems/near"
    file = file_of("openevolve", str(place / "evaluator.py"), str(place / "first.py"), root=str(repository))
    writing = f"def point():\n    open({str(repository / 'data/goal.txt')!r}, 'w')\n"
    good, bad = results(file, "def point():\n    return 1.25\n", writing)
    assert good.score == -0.25 and "Read-only file system" in bad.failure
    script = "command:python evaluate.py {program}"
    text = "import sys\nfrom shared_of_mine.loading import load, goal\n"
    text += "print(-abs(load(sys.argv[1])['point']() - goal()))\n"
    (place / "evaluate.py").write_text(text)
    command = file_of(
        "command", script.removeprefix("command:"), str(place / "first.py"), root=str(repository), runs_in=str(place)
    )
    assert results(command, "def point():\n    return 1.25\n")[0].score == -0.25


def test_a_run_says_where_it_looks_and_keeps_it_with_the_task(
    behavesim: Command, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository / "problems/near")
    ended = behavesim("run", "--evaluator", "evaluator.py", "--program", "first.py", "--budget", 2, "--json")
    assert ended.code == 0, ended.err
    assert f"imports are looked up in {repository}, too, which programs can read" in ended.err
    (made,) = Path("runs/.evaluators").glob("*.toml")
    assert tomllib.loads(made.read_text())["root"] == str(repository)


def test_a_file_that_the_sandbox_does_not_show_is_to_be_copied_where_it_does(repository: Path) -> None:
    place, far = repository / "problems/near", repository / "data/goal.txt"
    file = file_of("openevolve", str(place / "evaluator.py"), str(place / "first.py"))
    said = what_it_lacks(file, f"FileNotFoundError: [Errno 2] No such file or directory: '{far}'")
    assert said == f"the sandbox shows {place} alone: copy {far} there"
    assert 'pip install "numpy<2"' in what_it_lacks(file, "`np.float_` was removed in the NumPy 2.0 release.")
