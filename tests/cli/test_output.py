"""Results are on stdout and nothing else is, and what cannot be kept is refused before anything is tried."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from behavesim_cli.output import Counting, busy, tell

from behavesim.application.evaluation import Evaluation
from behavesim.base.text import STILL
from behavesim.task.verdict import Failure
from tests.cli.command import Command


def test_a_document_is_alone_on_stdout_though_a_task_prints(behavesim: Command) -> None:
    assert behavesim("task", "init", "mine").code == 0
    file = Path("mine.py")
    file.write_text(file.read_text().replace("        packed = ", "        print('scored')\n        packed = ", 1))
    file.write_text(f"{file.read_text()}\nprint('loaded')\n")
    for command in (
        ("run", "mine.py", "--proposer", "genetic", "--budget", "3", "--name", "printed", "--set", "recommend=false"),
        ("resume", "printed", "--budget", "4"),
        ("recommend", "printed"),
        ("evaluate", "mine.py", "template"),
        ("task", "check", "mine.py"),
    ):
        ended = behavesim(*command, "--json")
        assert json.loads(ended.out)
        assert "loaded\n" in ended.err or command[0] != "run"


@pytest.mark.parametrize(
    ("where", "said"),
    [
        (("--name", "taken"), "taken exists; resume it, or choose another name"),
        (("--runs-dir", "a-file/runs"), "a-file cannot be written to; choose another --runs-dir"),
    ],
)
def test_a_folder_that_cannot_be_made_is_refused_before_the_template_is_tried(
    behavesim: Command, where: tuple[str, str], said: str
) -> None:
    Path("runs/taken").mkdir(parents=True)
    Path("a-file").touch()
    ended = behavesim("run", "bin_packing", "--proposer", "genetic", *where)
    assert (ended.code, said in ended.err, "trying" in ended.err) == (2, True, False)


def test_a_message_on_a_terminal_is_wrapped_between_words_and_no_command_is_broken(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    message = "what has arrived is kept; go on with: behavesim resume tsp-20261123-075846-73db"
    tell(message)
    assert capsys.readouterr().err == f"behavesim: {message}\n"
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    tell(message)
    assert capsys.readouterr().err.splitlines() == [
        "behavesim: what has arrived is kept; go",
        "on with:",
        "behavesim resume tsp-20261123-075846-73db",
    ]


def test_who_waits_for_many_programs_is_told_how_many_are_done_once_in_ten_seconds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    times = iter([0.0, 9.0, 10.0, 10.0, 11.0, 25.0, 25.0])
    monkeypatch.setattr("behavesim_cli.output.monotonic", lambda: next(times))
    counting = Counting(4)
    for file in ("a.py", "b.py", "c.py", "d.py"):
        counting.ended(Evaluation(file, "evaluation", Failure("exception", "raised"), "strong"))
    assert capsys.readouterr().err.splitlines() == [
        "behavesim: 2 of 4 tried, last b.py",
        "behavesim: 4 of 4 tried, last d.py",
    ]


def test_what_lasts_is_said_again_in_a_file_too_and_what_begins_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    busy("trying the best programs")
    busy(f"{STILL}trying the best programs, for 5 s so far")
    assert capsys.readouterr().err == "behavesim: still trying the best programs, for 5 s so far …\n"
