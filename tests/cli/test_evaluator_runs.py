"""What all commands do with a run of an evaluator: it is killed, resumed, moved, verified, replayed, forked, shown."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import forks
from tests.cli.command import Command
from tests.cli.people import FOLDERS


def test_a_killed_run_is_resumed_verified_and_replayed(behavesim: Command, tmp_path: Path) -> None:
    options = FOLDERS["openevolve"].made(tmp_path)
    killed_at_work(tmp_path, *options, "--budget", "5", "--name", "first")
    resumed = behavesim("resume", "first", "--json")
    assert resumed.code == 0, resumed.err
    assert resumed.document["asked"] == 5
    verified = behavesim("verify", "first", "--json")
    assert (verified.code, verified.document["differences"]) == (0, [])
    assert verified.document["unchecked"].keys() <= {
        "noisy: the score is equal, metrics, feedback or behaviour differ each time"
    }
    replayed = behavesim("run", *options[:-2], "--proposer", "replay:first", "--budget", 5, "--json")
    assert replayed.document["best"] == resumed.document["best"]


def killed_at_work(folder: Path, *options: str) -> None:
    """Begin a run in a process of its own and kill it with SIGKILL after some candidates."""
    process = (forks if forks.ARE_POSSIBLE else subprocess).Popen(
        [sys.executable, "-m", "behavesim", "run", *options],
        cwd=str(folder),
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        env=os.environ,
    )
    try:
        while process.poll() is None and answers(folder) < 3:
            time.sleep(0.02)
    finally:
        process.kill()
        process.wait()


def answers(folder: Path) -> int:
    """How many candidates the run `first` has in its journal."""
    import sqlite3

    journal = folder / "runs/first/run.db"
    if not journal.is_file():
        return 0
    try:
        with sqlite3.connect(f"file:{journal}?mode=ro", uri=True) as database:
            return int(database.execute("SELECT count(*) FROM events WHERE type = 'Responded'").fetchone()[0])
    except sqlite3.OperationalError:  # its tables are being made
        return 0


@pytest.fixture
def first(behavesim: Command, tmp_path: Path) -> str:
    """The task file of a run `first` of a command on a Lua program."""
    return made(behavesim, tmp_path)


@pytest.fixture
def shown(behavesim: Command, monkeypatch: pytest.MonkeyPatch, shelf: Path) -> str:
    """The task file of such a run, which is made once and only looked at."""
    monkeypatch.chdir(shelf)
    if not (shelf / "runs").exists():
        made(behavesim, shelf)
    (file,) = (shelf / "runs/.evaluators").glob("*.toml")
    return str(file)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shelf")


def made(behavesim: Command, folder: Path) -> str:
    """Make a run `first` of a command on a Lua program in a folder, which is the current one; return its task file."""
    ended = behavesim("run", *FOLDERS["command"].made(folder), "--budget", 4, "--name", "first", "--json")
    assert ended.code == 0, ended.err
    return str(ended.document["task"])


def test_the_best_program_is_written_with_its_own_suffix_below_a_comment_of_its_language(
    behavesim: Command, shown: str
) -> None:
    best = Path("runs/first/best.lua").read_text()
    assert best.startswith("-- run first, ")
    assert "-- EVOLVE-BLOCK-START" in best
    assert not Path("runs/first/best.py").exists()
    (score,) = behavesim("evaluate", shown, "runs/first/best.lua", "--json").document
    assert score["status"] == "ok"


def test_a_program_of_several_files_has_a_folder_for_the_best(behavesim: Command, tmp_path: Path) -> None:
    (tmp_path / "judge.py").write_text("import sys\nprint(float(open(sys.argv[1] + '/x.txt').read()))\n")
    (tmp_path / "first").mkdir()
    (tmp_path / "first/x.txt").write_text("1.0\n")
    (tmp_path / "first/note.lua").write_text("y = 1\n")
    (tmp_path / "answer.sh").write_text("#!/bin/sh\ncat > /dev/null\nprintf '```\\n=== file: x.txt ===\\n7\\n```\\n'\n")
    (tmp_path / "answer.sh").chmod(0o755)
    options = ("--evaluator", "command:python3 judge.py {program}", "--program", "first")
    ended = behavesim("run", *options, "--proposer", "command:./answer.sh", "--budget", 2, "--name", "a", "--json")
    assert (ended.code, ended.document["best"]["score"]) == (0, 7.0), ended.err
    assert (tmp_path / "runs/a/best/x.txt").read_text() == "7\n"
    assert (tmp_path / "runs/a/best/note.lua").read_text().startswith("-- run a, candidate 0")


def test_an_evaluator_that_is_gone_is_told_in_one_line(behavesim: Command, tmp_path: Path) -> None:
    ended = behavesim("run", *FOLDERS["openevolve"].made(tmp_path), "--budget", 1, "--name", "first", "--json")
    (tmp_path / "evaluator.py").rename(tmp_path / "other.py")
    for command in (
        ["resume", "first"],
        ["verify", "first"],
        ["evaluate", ended.document["task"], "initial_program.py"],
    ):
        refused = behavesim(*command)
        assert refused.code == 2
        assert refused.err.splitlines()[-1].startswith(f"behavesim: the evaluator {tmp_path}/evaluator.py is gone; ")
    # the run's own copy of the first program lies where no sandbox can read it
    (kept,) = (tmp_path / "runs/first/task").glob("*.toml")
    kept.write_text(kept.read_text().replace("evaluator.py", "other.py"))
    (tmp_path / "initial_program.py").unlink()
    found = behavesim("verify", "first")
    assert found.code == 0, found.out


def test_a_run_keeps_its_task_and_first_program_and_goes_on_without_them(
    behavesim: Command, tmp_path: Path, first: str
) -> None:
    shutil.rmtree(tmp_path / "runs/.evaluators")
    (tmp_path / "initial.lua").write_text("-- another\n")
    assert behavesim("resume", "first", "--budget", 5).code == 0
    assert behavesim("verify", "first").code == 0
    assert behavesim("report", "first", "--json").document["runs"][0]["asked"] == 5


def test_a_run_whose_evaluator_is_gone_or_changed_is_not_resumed_but_reported(
    behavesim: Command, tmp_path: Path
) -> None:
    assert behavesim("run", *FOLDERS["openevolve"].made(tmp_path), "--budget", 1, "--name", "first").code == 0
    (tmp_path / "evaluator.py").rename(tmp_path / "away.py")
    ended = behavesim("resume", "first", "--budget", 2)
    assert ended.code == 2
    assert "is gone; put it back" in ended.err
    assert behavesim("report", "first").code == 0
    (tmp_path / "evaluator.py").write_text("def evaluate(path):\n    return {'score': 1.0}\n")
    ended = behavesim("resume", "first", "--budget", 2)
    assert ended.code == 2
    assert "its task changed" in ended.err


def test_a_fork_takes_programs_put_in_and_a_new_run_begins_with_a_folder(
    behavesim: Command, tmp_path: Path, first: str
) -> None:
    text = (tmp_path / "initial.lua").read_text().replace("x = 1;", "x = 1.5;")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/exact.lua").write_text(text)
    assert behavesim("inject", "first", "mine/exact.lua").code == 0
    assert behavesim("resume", "first", "--fork", "second", "--budget", 6, "--json").document["asked"] == 6
    assert behavesim("resume", "first", "--budget", 6, "--json").document["best"]["score"] == 0.0
    ended = behavesim(
        "run", first, "--proposer", "command:./answer.sh", "--start-with", "mine", "--budget", 2, "--json"
    )
    assert ended.document["best"]["score"] == 0.0


@pytest.mark.usefixtures("shown")
def test_programs_are_exported_with_their_own_suffix(behavesim: Command, tmp_path: Path) -> None:
    assert behavesim("export", "first", tmp_path / "out").code == 0
    assert {path.suffix for path in (tmp_path / "out").iterdir()} == {".lua", ".jsonl"}


@pytest.mark.parametrize(
    "arguments",
    [
        ("list",),
        ("show", "first", "0"),
        ("show", "first", "-1"),
        ("diff", "first", "-1", "0"),
        ("report", "first", "--html", "page.html"),
        ("compare", "TASK", "template", "runs/first/best.lua"),
        ("verify", "first"),
    ],
)
def test_commands_that_show_a_run_show_this_one(behavesim: Command, shown: str, arguments: tuple[str, ...]) -> None:
    ended = behavesim(*(shown if each == "TASK" else each for each in arguments))
    assert ended.code == 0, ended.err
    assert ended.out or Path("page.html").exists()


@pytest.mark.parametrize(
    ("arguments", "split"),
    [
        (("recommend", "first"), "validation"),
        (("recommend", "first", "--portfolio", "2"), "validation"),
        (("report", "first", "--held-out"), "held-out"),
        (("evaluate", "TASK", "template", "--held-out"), "held-out"),
    ],
)
def test_splits_that_an_evaluator_does_not_have_are_named_in_a_line(
    behavesim: Command, shown: str, arguments: tuple[str, ...], split: str
) -> None:
    ended = behavesim(*(shown if each == "TASK" else each for each in arguments))
    assert ended.code == 0
    (line,) = [line for line in ended.err.splitlines() if "instances" in line]
    assert f"task {Path(shown).stem} has no {split} instances: its evaluator has its own data" in line
    assert ("report first --only portfolio has" in ended.err) == ("--portfolio" in arguments)
    if arguments[0] == "recommend":
        assert behavesim(*arguments, "--json").document is None


def test_a_report_advises_held_out_instances_only_where_the_task_has_some(behavesim: Command, shown: str) -> None:
    assert "--held-out" not in behavesim("report", "first").out
    assert behavesim("report", "first", "--html", "first.html").code == 0
    assert "--held-out" not in Path("first.html").read_text()


def test_an_experiment_takes_an_evaluators_task_file(behavesim: Command, tmp_path: Path, first: str) -> None:
    said = f'name = "study"\ntasks = [{json.dumps(first)}]\nmethods = ["best-of-n"]\nseeds = [0]\n'
    (tmp_path / "study.toml").write_text(f'{said}[settings]\nbudget = 2\nproposer = "command:{tmp_path}/answer.sh"\n')
    ended = behavesim("experiment", "study.toml", "--yes", "--json")
    assert ended.code == 0, ended.err
    assert [run["asked"] for run in ended.document["runs"]] == [2]


def test_a_noisy_evaluator_is_told_from_a_changed_journal(behavesim: Command, tmp_path: Path) -> None:
    options = FOLDERS["openevolve"].made(tmp_path)
    judge = tmp_path / "evaluator.py"
    noisy = "import os\n" + judge.read_text().replace('"x": x', '"x": int.from_bytes(os.urandom(4), "big")')
    judge.write_text(noisy)
    assert behavesim("run", *options, "--budget", 2, "--name", "rest").code == 0
    ended = behavesim("verify", "rest", "--json")
    assert (ended.code, set(ended.document["unchecked"])) == (
        0,
        {"noisy: the score is equal, metrics, feedback or behaviour differ each time"},
    )
    judge.write_text(noisy.replace('"combined_score": ', '"combined_score": int.from_bytes(os.urandom(4), "big") + '))
    assert behavesim("run", *options, "--budget", 2, "--name", "score").code == 0
    ended = behavesim("verify", "score", "--json")
    assert (ended.code, set(ended.document["unchecked"])) == (
        0,
        {"noisy: the score differs each time the program is run"},
    )
