"""Parts by name: ours, and those that other packages bring."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from behavesim.base.errors import UsageError
from behavesim.base.plugins import READING_S, Kind, docstring, file_of
from behavesim.task import TaskReference
from tests.packages import install

METHODS = Kind("method", UsageError)


def test_a_part_of_an_installed_package_is_loaded_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, tmp_path, "part = 'theirs'", METHODS.group, mine="part")
    assert METHODS.load("mine") == "theirs"
    assert {"mine", "eoh"} <= set(METHODS.installed())


def test_a_part_is_loaded_from_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, tmp_path, "part = 'theirs'", METHODS.group, mine="part")
    (tmp_path / "own.py").write_text("method = 'own'\n")
    assert METHODS.load_from(METHODS.place("mine")) == "theirs"
    assert METHODS.load_from(METHODS.place(str(tmp_path / "own.py"))) == "own"
    with pytest.raises(UsageError, match="did you mean 'eoh'"):
        METHODS.place("eho")


def test_no_package_takes_a_name_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, tmp_path, "part = 'theirs'", METHODS.group, eoh="part")
    assert METHODS.load("eoh").__name__ == "EoH"


def test_a_name_that_nobody_has_is_refused_with_the_one_that_was_meant() -> None:
    with pytest.raises(UsageError, match="no method 'eho'; did you mean 'eoh'"):
        METHODS.load("eho")


def test_a_file_that_loops_at_its_top_level_is_given_up_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("behavesim.base.plugins.READING_S", 0.05)
    (tmp_path / "endless.py").write_text("while True:\n    pass\n")
    with pytest.raises(UsageError, match=r"endless\.py is not read after .* loop at its top level"):
        METHODS.load(str(tmp_path / "endless.py"))
    assert signal.getitimer(signal.ITIMER_VIRTUAL)[0] == 0.0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\nraise ValueError('no\\ndata')", "raised ValueError: no data, in line 2$"),
        ("\n\nimport json; json.loads('{')", "raised JSONDecodeError: .*, in line 3$"),
        ("import sys; sys.exit(3)", "raised SystemExit: 3, in line 1$"),
        ("def f(:", r"raised SyntaxError: invalid syntax \(mine\.py, line 1\)$"),
        ("other = 3", "names no `method`; end it with `method = …`$"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_the_line_where_it_went_wrong(
    tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "mine.py").write_text(text)
    with pytest.raises(UsageError, match=rf"^the method file .*mine\.py {said}"):
        METHODS.load(str(tmp_path / "mine.py"))


def test_an_installed_part_that_cannot_be_imported_is_named_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, tmp_path, "raise ValueError('too old')", METHODS.group, mine="part")
    with pytest.raises(
        UsageError, match=r"^the method mine \(\w+:part\) raised ValueError: too old; mend or uninstall"
    ):
        METHODS.load("mine")


class Part:
    """A base class whose parts have settings."""

    settings_type: type = OSError


def test_settings_of_another_kind_are_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import tests.base.test_plugins as t\nclass M(t.Part): settings_type = dict\nmethod = M"
    )
    with pytest.raises(UsageError, match=r"^`settings_type` of the method .*mine\.py must be a subclass of .*OSError"):
        METHODS.load_type(str(tmp_path / "mine.py"), Part)


def test_a_file_may_take_as_long_as_the_guide_says() -> None:
    guide = Path(__file__).parents[2] / "docs/how-to/tasks.md"
    assert f"Reading it may take {READING_S:g} s of CPU time" in guide.read_text()


def test_a_file_is_read_as_it_is_however_soon_it_was_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    file = tmp_path / "mine.py"
    for number in (1, 2):
        file.write_text(f"method = {number}\n")
        os.utime(file, (1, 1))
        assert METHODS.load(str(file)) == number
    assert list(tmp_path.iterdir()) == [file]


OPTIMISED = """
import sys
from behavesim.sandbox.program import function_of
from behavesim.task import TaskReference

assert False  # this very check is left out
print(TaskReference("tsp").load().description == sys.argv[2])
task = TaskReference(sys.argv[1]).load()
print(task.description)
for checked in (lambda: task.score(None, None), function_of("def f(): assert False", "f")):
    try:
        checked()
    except AssertionError:
        print("checked")
"""
OWN_TASK = '''
import behavesim as bs

class Mine(bs.Task):
    """What a prompt says."""

    template = "def f():\\n    return 0\\n"
    objective = bs.Objective("minimise")
    instances = solve = trajectory = lambda *given: None

    def score(self, instance, solution):
        assert solution is not None

task = Mine()
'''


def test_tasks_and_programs_are_the_same_whatever_python_leaves_out(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(OWN_TASK)
    description = TaskReference("tsp").load().description
    command = [sys.executable, "-OO", "-c", OPTIMISED, str(tmp_path / "mine.py"), description]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert said == ["True", "What a prompt says.", "checked", "checked"]


def test_files_of_one_name_are_modules_of_their_own(tmp_path: Path) -> None:
    parts = []
    for number in (1, 2):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "mine.py").write_text("class Mine: pass\nmethod = Mine\n")
        parts.append(METHODS.load(str(folder / "mine.py")))
    assert [file_of(part) for part in parts] == [tmp_path / "1" / "mine.py", tmp_path / "2" / "mine.py"]


def test_a_class_whose_source_cannot_be_read_has_no_docstring() -> None:
    assert docstring(type("Made", (), {})) == ""
