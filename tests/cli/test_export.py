"""A run's programs as files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.analysis.journals import asked, feasible, rejected, started, write
from tests.cli.command import Command


@pytest.fixture
def made(behavesim: Command, tmp_path: Path) -> Command:
    write(
        tmp_path / "runs/first",
        started(),
        feasible(0, 3.0, source="x = 'é'\n"),
        feasible(1, 2.5, source="y = '\x1b[2J\u202e'\n"),
        feasible(2, 3.0, source="x = 'é'  # again\n", program="program 0"),
        rejected(3, "timeout"),
        asked(4),
    )
    return behavesim


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_each_distinct_program_is_a_file_to_the_letter_below_what_it_is(made: Command, tmp_path: Path) -> None:
    ended = made("export", "first", "out/programs")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == "wrote 2 programs to out/programs, and all 5 candidates to out/programs/candidates.jsonl\n"
    folder = tmp_path / "out/programs"
    assert names(folder) == ["00000.py", "00001.py", "candidates.jsonl"]
    first, second = ((folder / name).read_text(encoding="utf-8") for name in ("00000.py", "00001.py"))
    assert first == "# run first, candidate 0: score 3.0, gap 50.00 %\n\nx = 'é'\n"
    assert second == "# run first, candidate 1: score 2.5, gap 25.00 %\n\ny = '\x1b[2J\u202e'\n"


def test_all_writes_repeated_and_rejected_programs_too(made: Command, tmp_path: Path) -> None:
    assert made("export", "first", "out", "--all").code == 0
    assert names(tmp_path / "out") == ["00000.py", "00001.py", "00002.py", "00003.py", "candidates.jsonl"]
    failed = (tmp_path / "out/00003.py").read_text()
    assert failed == "# run first, candidate 3: rejected in evaluation, timeout\n\nits source\n"


def test_every_candidate_is_a_line_of_json_that_does_nothing_to_a_terminal(made: Command, tmp_path: Path) -> None:
    made("export", "first", "out")
    text = (tmp_path / "out/candidates.jsonl").read_text(encoding="utf-8")
    assert "\u202e" not in text and "\x1b" not in text
    lines = [json.loads(line) for line in text.splitlines()]
    assert [line["candidate"] for line in lines] == [0, 1, 2, 3, 4]
    assert [line["status"] for line in lines] == ["feasible", "feasible", "feasible", "rejected", "open"]
    assert lines[1]["source"] == "y = '\x1b[2J\u202e'\n"
    assert (lines[3]["reason"], lines[3]["score"], lines[4]["source"]) == ("timeout", None, None)


def test_an_empty_folder_will_do_and_any_other_is_refused_and_left_as_it_is(made: Command, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert made("export", "first", "out").code == 0
    (tmp_path / "out/00001.py").write_text("mine")
    ended = made("export", "first", "out", "--all")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "behavesim: out is not empty; name a new folder to export to\n"
    assert (tmp_path / "out/00001.py").read_text() == "mine"
    assert not (tmp_path / "out/00003.py").exists()


def test_a_place_that_is_no_folder_is_refused(made: Command, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ended = made("export", "first", "file")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("behavesim: cannot write to file: ")


def test_the_programs_of_a_run_whose_task_is_gone_are_written_as_python(behavesim: Command, tmp_path: Path) -> None:
    write(tmp_path / "runs/first", started(task=str(tmp_path / "gone.py")), feasible(0, 3.0))
    assert behavesim("export", "first", "out").code == 0
    assert names(tmp_path / "out") == ["00000.py", "candidates.jsonl"]
