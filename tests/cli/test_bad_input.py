"""Bad input gets one clear line and exit code 2, and leaves nothing behind."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.command import Command


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "zzz"], "there are asp, bbob, bin_packing,"),
        (["run", "tsp", "--set", "widow=3"], "did you mean 'window'"),
        (["run", "tsp", "--budget", "0"], "budget"),
        (["run", "tsp", "--method", "foo"], "there are best-of-n, eoh"),
        (["run", "tsp", "--proposer", "openai"], "OPENAI_API_KEY"),
        (["run", "tsp", "--model", "a"], "--proposer genetic"),
        (
            ["run", "tsp", "--proposer", "zzz"],
            "there are aider, claude, codex, command, copilot, folder, genetic",
        ),
        (["run", "tsp", "--proposer", "replay:nothing"], "no run 'nothing'"),
        (["run", "tsp", "--config", "nofile.toml"], "nofile.toml"),
        (["run", "tsp", "--max-time", "2x"], "2h"),
        (["run", "tsp", "--model", "a:0"], "positive weight"),
        (["run", "tsp", "--name", "../away"], "letters, digits"),
        (["run", "tsp", "--name", "a" * 300], "at most 255 letters"),
        (["run", "tsp", "--name=-x"], "of which . + - do not stand first"),
        (
            ["run", "tsp", "--proposer", "genetic", "--set", "model=a"],
            "there is no setting 'model'; did you mean 'models'",
        ),
        (["run", "tsp", "--proposer", ""], "no proposer ''"),
        (["run", "tsp", "--proposer", "command:"], "needs a command line"),
        (["serve", "--port", "99999"], "--port"),
        (["run", "tsp", "--runs-dir", "/proc/nowhere"], "--runs-dir"),
        (["resume", "nope"], "no run 'nope'"),
        (["report", "nope"], "no run 'nope'"),
        (["evaluate", "tsp", "nofile.py"], "nofile.py"),
        (["evaluate", "tsp", "."], "name its files"),
        (["compare", "tsp", "template", "template", "--metric", "mine.py"], "for `behavesim report`"),
        (["compare", "asp", "template", "template", "--shifted"], "has no shifted instances"),
        (["run", "tsp", "--workers", "-1"], "--workers"),
        (["run", "tsp", "--set", "timeout_s=1e300"], "timeout_s"),
        (["run", "tsp", "--set", "budget=true"], "setting budget should be a number, not true"),
        (["method", "init", "a" * 300], "File name too long"),
        (["task", "init", "mine", "--like", "nope"], "'packing', 'evaluator'; how it is used: behavesim task init"),
    ],
)
def test_a_slip_is_one_line_and_exit_code_2(
    behavesim: Command, tmp_path: Path, arguments: list[str], said: str
) -> None:
    ended = behavesim(*arguments)
    assert ended.code == 2
    said_of_all = re.compile("offline proposer|trying the template")
    complaint = [line for line in ended.err.splitlines() if not said_of_all.search(line)]
    assert len(complaint) == 1
    assert said in complaint[0]
    assert ended.out == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\nraise RuntimeError('boom')", "RuntimeError: boom, in line 2"),
        ("def f(:", "SyntaxError"),
        ("x = 1", "names no `task`"),
        ("task = 3", "instance of behavesim.Task"),
    ],
)
def test_a_broken_task_file_is_named_with_what_is_wrong(
    behavesim: Command, tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "mine.py").write_text(text)
    ended = behavesim("run", "mine.py")
    assert ended.code == 2
    assert said in ended.err
    assert ended.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir() if path.name != "__pycache__"] == ["mine.py"]


def test_a_template_that_fails_stops_the_run_before_it_begins(behavesim: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(TASK.replace("return 1", "return 1 / 0"))
    ended = behavesim("run", "mine.py", "--budget", 5)
    assert ended.code == 2
    assert "ZeroDivisionError" in ended.err
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("flag", [("--name", "a" * 300), ("--proposer", "command:"), ("--proposer", "folder:")])
def test_what_needs_no_template_is_refused_before_it_is_tried(behavesim: Command, flag: tuple[str, str]) -> None:
    ended = behavesim("run", "tsp", *flag)
    assert (ended.code, "trying the template" in ended.err) == (2, False)


def test_what_pydantic_says_of_an_option_is_put_into_plain_words(behavesim: Command) -> None:
    said = behavesim("run", "tsp", "--connections", "1e9").err  # an older Typer does without pydantic
    assert "'--connections': should be a whole number, not '1e9'" in said or "'1e9' is not a valid integer" in said


def test_a_folder_in_the_place_of_a_file_is_not_meant_by_its_own_name(behavesim: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.py").mkdir()
    (tmp_path / "pipe.py").touch()  # whose name is not near: the ending does not count
    assert behavesim("run", "mine.py").err == "behavesim: there is no task file mine.py\n"


@pytest.mark.parametrize("group", ["study", "task", "method"])
def test_a_group_without_a_command_prints_its_help_as_it_is(behavesim: Command, group: str) -> None:
    ended = behavesim(group)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"Usage: behavesim {group} ")


def test_arguments_that_do_not_fit_are_named_in_one_line_with_where_to_read_more(behavesim: Command) -> None:
    for arguments in (("evaluate",), ("run", "--budet", 3), ("show", "first", 1, 2, 3), ("task", "foo")):
        ended = behavesim(*arguments)
        assert (ended.code, ended.err.count("\n")) == (2, 1)
        assert ended.err.endswith(f"; how it is used: behavesim {arguments[0]} --help\n")


@pytest.mark.parametrize(
    ("command", "arguments", "kind"),
    [
        ("recommend", ("first", "--portfolio"), ": a whole number"),
        ("run", ("tsp", "--max-cost"), ": a number"),
        ("study known", ("folder", "tsp", "--best"), ": a whole number"),
        ("task init", ("mine", "--like"), ""),
    ],
)
def test_an_option_without_its_value_says_what_it_takes(
    behavesim: Command, command: str, arguments: tuple[str, ...], kind: str
) -> None:
    said = f"option '{arguments[-1]}' requires an argument{kind}; how it is used: behavesim {command} --help"
    assert behavesim(*command.split(), *arguments).err == f"behavesim: {said}\n"


TASK = '''
import behavesim as bs

class Mine(bs.Task):
    """Return a number."""
    template = "def number() -> int:\\n    return 1\\n"
    objective = bs.Objective("maximise")
    def instances(self, split): return [0]
    def solve(self, number, instance): return [number()]
    def score(self, instance, solution): return float(solution[0])
    def trajectory(self, instance, solution): return bs.Trajectory.prefixes(solution)

task = Mine()
'''


def test_what_cannot_be_tried_is_said_and_is_an_empty_list_for_machines(behavesim: Command, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("")
    ended = behavesim("evaluate", "asp", "program.py", "--shifted", "--json")
    assert (ended.code, ended.document) == (0, [])
    assert "task asp has no shifted instances" in ended.err


def test_an_export_without_a_place_is_asked_for_one(finished: Command) -> None:
    ended = finished("export", "first")
    assert (ended.code, ended.out) == (2, "")
    assert "name a folder for the programs, or --mlflow, --wandb or --tensorboard" in ended.err


def test_a_name_that_is_no_utf8_text_is_refused_where_a_run_would_keep_it(behavesim: Command, tmp_path: Path) -> None:
    (tmp_path / "few\udcff.py").write_text((Path(__file__).parents[1] / "few_cities.py").read_text())
    ended = behavesim("run", "few\udcff.py", "--proposer", "genetic")
    assert (ended.code, len(ended.err.splitlines())) == (2, 1)
    assert "setting task cannot be" in ended.err
