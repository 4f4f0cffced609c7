"""A run keeps a copy of its task's file, which takes the file's place where that is gone or changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from behavesim.store import folder as task_copy
from behavesim.store.folder import at_hand, keep_copy
from behavesim.task.evaluated import EvaluatorFile


def test_the_copy_is_taken_where_the_file_is_gone_or_changed(tmp_path: Path) -> None:
    file, folder = tmp_path / "mine.py", tmp_path / "task"
    file.write_text("task = 1\n")
    assert at_hand(str(file), folder) == str(file)
    keep_copy(str(file), folder)
    copy = folder / "mine.py"
    assert copy.read_text() == "task = 1\n"
    assert at_hand(str(file), folder) == str(file)
    file.write_text("task = 2\n")
    assert at_hand(str(file), folder) == str(copy)
    file.unlink()
    assert at_hand(str(file), folder) == str(copy)


def test_a_copy_is_made_once(tmp_path: Path) -> None:
    file, folder = tmp_path / "mine.py", tmp_path / "task"
    for text in ("first", "second"):
        file.write_text(text)
        keep_copy(str(file), folder)
    assert (folder / "mine.py").read_text() == "first"


@pytest.mark.parametrize("suffix", [".py", ".toml"])
def test_a_copy_that_a_kill_cut_off_is_never_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    file, first, folder = tmp_path / f"mine{suffix}", tmp_path / "first.txt", tmp_path / "task"
    first.write_text("1\n")
    file.write_text("task = 1\n" if suffix == ".py" else EvaluatorFile("command", "judge", str(first)).to_toml())

    def cut_off(source: str | Path, target: Path) -> None:
        target.write_text(Path(source).read_text()[:1])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(task_copy.shutil, "copyfile", cut_off)
        with pytest.raises(KeyboardInterrupt):
            keep_copy(str(file), folder)
    assert at_hand(str(file), folder) == str(file)
    keep_copy(str(file), folder)
    assert at_hand(str(file), folder) == str(file)
    file.unlink()
    assert at_hand(str(file), folder) == str(folder / file.name)
    assert suffix == ".toml" or (folder / file.name).read_text() == "task = 1\n"


def test_nothing_is_kept_of_an_installed_task(tmp_path: Path) -> None:
    keep_copy("tsp", tmp_path / "task")
    assert not (tmp_path / "task").exists()


def test_the_first_program_of_an_evaluator_is_part_of_its_file(tmp_path: Path) -> None:
    file, first, folder = tmp_path / "mine.toml", tmp_path / "first.txt", tmp_path / "task"
    first.write_text("1\n")
    file.write_text(EvaluatorFile("command", "judge {program}", str(first)).to_toml())
    keep_copy(str(file), folder)
    copy = str(folder / "mine.toml")
    assert at_hand(str(file), folder) == str(file)
    first.write_text("2\n")
    assert at_hand(str(file), folder) == copy
    first.unlink()
    assert at_hand(str(file), folder) == copy
    first.write_text("1\n")
    file.write_text("no table")
    assert at_hand(str(file), folder) == copy
