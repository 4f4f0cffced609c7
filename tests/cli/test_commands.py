"""The commands as a list: all are there, none is loaded before it is named, and none loads what it does not need."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from behavesim_cli.commands import COMMANDS, EXAMPLES, LISTS

from behavesim.application.machine import Findings
from behavesim.base.errors import TaskError
from tests.analysis.journals import started, stopped, write
from tests.cli.command import Command
from tests.packages import install
from tests.shared import shared

HEAVY = {
    "numba",
    "llvmlite",
    "scipy",
    "matplotlib",
    "aiohttp",
    "pandas",
    "openai",
    "genai_prices",
    "httpx2",
    "mcp",
    "uvicorn",
}

REPORT_MODULES = """
import sys
from behavesim_cli.app import main
try:
    main()
finally:
    print(*sys.modules, sep="\\n", file=open("modules", "w"))
"""

REPORT_MODULES_OF_EACH = """
import asyncio, json, os, sys
import numpy, pydantic, rich.console  # which nearly all load
from behavesim.analysis import held_out, report
from behavesim.application import console, evaluator_task, launch, repository, session
from behavesim.reports import comparison_sections, files, next_steps, sections
from behavesim_cli.app import main
for line in sys.argv[1:]:
    if os.fork() == 0:
        sys.argv = ["behavesim", *line.split()]
        try:
            main()
        finally:
            print(json.dumps([line, *sys.modules]), file=open("modules", "a"), flush=True)
        sys.exit()
    _, status = os.wait()
    assert status == 0, line
"""


def loaded(folder: Path, *arguments: str) -> set[str]:
    """The modules that a command has loaded by its end, in a process of its own."""
    command = [sys.executable, "-c", REPORT_MODULES, *arguments]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return set((folder / "modules").read_text().split())


def test_the_help_lists_every_command_with_its_uncut_line_on_80_columns(
    behavesim: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERMINAL_WIDTH", "80")
    listed = behavesim("--help").out.splitlines()
    for command in COMMANDS.values():
        shown = [line.split(maxsplit=1)[1] for line in listed if line.startswith(f"  {command.name} ")]
        assert shown == ([command.help] if command.section else [])
        assert not command.section or f"{command.section}:" in listed


def test_an_old_name_says_in_its_help_what_is_the_same(behavesim: Command) -> None:
    for name in ("diff", "watch", "inject", "advise", "recover", "compare", "tasks", "settings"):
        assert not COMMANDS[name].section
        shown = " ".join(behavesim(name, "--help").out.split())
        assert f"The same as: {COMMANDS[name].help}" in shown


@pytest.mark.parametrize("name", LISTS)
def test_a_list_is_the_command_of_its_name(behavesim: Command, name: str) -> None:
    assert f"  {name} " in behavesim("list", "--help").out
    assert behavesim("list", name, "--json").document == behavesim(name, "--json").document


def test_an_error_of_a_list_names_the_list(behavesim: Command) -> None:
    Path("my runs").mkdir()
    assert behavesim("list", "my runs").err.endswith("is a folder; list its runs with --runs-dir 'my runs'\n")
    assert behavesim("list", "taks").err == "behavesim: there is no command 'taks'; did you mean 'tasks'?\n"
    assert behavesim("list", "qqq").err.endswith("; `behavesim list --help` lists them all\n")
    assert behavesim("list", "--runs-dir").err.endswith("how it is used: behavesim list --help\n")


def test_the_help_loads_no_command_and_nothing_that_commands_need(tmp_path: Path) -> None:
    modules = loaded(tmp_path, "--help")
    ours = {name for name in modules if name.startswith("behavesim")}
    assert ours == {
        *("behavesim", "behavesim.base", "behavesim.base.errors", "behavesim.base.text"),
        *("behavesim_cli", "behavesim_cli.app", "behavesim_cli.commands", "behavesim_cli.output"),
        "behavesim_cli.output",
    }
    assert not modules & {"rich", "numpy", "pydantic", "asyncio", *HEAVY}


LIGHT = (
    *("run tsp --budget 2 --method best-of-n --set recommend=false", "evaluate tsp template"),
    *("list", "list tasks", "list methods", "list proposers", "task init mine", "list settings", "doctor"),
)
"""Commands that compare nothing, ask nobody and draw nothing."""
COMPARISON = "similarity tsp template template"


@pytest.fixture(scope="module")
def loaded_by(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """The modules that commands have loaded by their end, each in a fork of a process that has what most need."""

    def make(folder: Path) -> None:
        lines = [*(f"{name} --help" for name in COMMANDS), *LIGHT, COMPARISON]
        command = [sys.executable, "-c", REPORT_MODULES_OF_EACH, *lines]
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # threads would not outlive a fork
        subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)

    folder = shared(tmp_path_factory, "modules of commands", make)
    ended = map(json.loads, (folder / "modules").read_text().splitlines())
    return {line: set(modules) for line, *modules in ended}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_loads_that_command_and_nothing_heavy(loaded_by: dict[str, set[str]], name: str) -> None:
    modules = loaded_by[f"{name} --help"]
    files = {command.target.partition(":")[0] for command in COMMANDS.values()}
    theirs = {file for file in files if f"behavesim_cli.{file}" in modules}
    assert theirs == {COMMANDS[name].target.partition(":")[0]}
    assert not modules & HEAVY


@pytest.mark.parametrize("line", LIGHT)
def test_a_command_that_compares_asks_and_draws_nothing_loads_nothing_heavy(
    loaded_by: dict[str, set[str]], line: str
) -> None:
    assert not loaded_by[line] & HEAVY


def test_a_list_of_runs_that_are_summed_up_loads_nothing_that_only_their_events_need(tmp_path: Path) -> None:
    write(tmp_path / "runs/first", started(), stopped("interrupted"))
    assert "numpy" in loaded(tmp_path, "list")
    assert not loaded(tmp_path, "list") & {"numpy", "asyncio", "behavesim.state.events", "behavesim.base.config"}


def test_a_command_that_compares_and_draws_nothing_loads_no_figures_and_no_client(
    loaded_by: dict[str, set[str]],
) -> None:
    heavy = loaded_by[COMPARISON] & HEAVY
    assert "numba" in heavy
    assert not heavy & {"matplotlib", "aiohttp", "pandas"}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_answers_to_both_names_of_help(behavesim: Command, name: str) -> None:
    short, long = behavesim(name, "-h"), behavesim(name, "--help")
    assert (short.code, short.err) == (0, "")
    assert f"behavesim {name} [OPTIONS]" in short.out
    assert short == long


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["repot"], "behavesim: there is no command 'repot'; did you mean 'report'?\n"),
        (["qqq"], "behavesim: there is no command 'qqq'; `behavesim --help` lists them all\n"),
        (["run", "mien.py"], "behavesim: there is no task file mien.py; did you mean 'mine.py'?\n"),
        (["run", "tps"], "behavesim: no task 'tps'; did you mean 'tsp'?\n"),
    ],
)
def test_a_mistyped_name_is_answered_with_the_nearest(behavesim: Command, arguments: list[str], said: str) -> None:
    Path("mine.py").touch()
    ended = behavesim(*arguments)
    assert (ended.code, ended.out, ended.err) == (2, "", said)


def test_examples_stand_below_a_commands_help_and_name_what_there_is(behavesim: Command) -> None:
    for name, examples in EXAMPLES.items():
        shown = behavesim(name, "--help").out
        for example in examples:
            assert f"\n  behavesim {name} {example}".rstrip() in shown
            assert all(f" {option} " in shown for option in example.split() if option.startswith("--"))


def test_a_run_need_not_be_named_where_the_newest_is_meant(behavesim: Command, tmp_path: Path) -> None:
    none = behavesim("report")
    assert (none.code, "there are no runs in runs yet" in none.err) == (2, True)
    assert "no runs in runs/; make one with" in behavesim("list").err
    write(tmp_path / "runs/many/nested", started())
    write(tmp_path / "runs/first", started(), stopped("interrupted"))
    watched = behavesim("report", "--follow")
    assert watched == behavesim("watch")
    assert "the newest run is first" in watched.err
    assert watched.out.splitlines() == ["run first: stopped", "next: behavesim resume first"]
    assert [run["run"] for run in behavesim("list", "--json").document] == ["many/nested", "first"]
    assert "many is no run, but holds 1 run; name one, such as many/nested" in behavesim("show", "many", "0").err
    assert "runs/many is no run, but holds 1 run" in behavesim("show", "runs/many", "0").err


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("rep", ["report"]),
        ("run ts", ["tsp", "tsp_hard"]),
        ("run knapsack.p", []),
        ("report f", ["first-b", "first-a"]),
        ("report first-a fi", ["first-b", "first-a"]),
        ("resume --runs-dir elsewhere t", ["third"]),
        ("show s", ["second"]),
        ("run tsp --method ni", ["niche"]),
        ("run tsp --proposer g", ["genetic"]),
        ("run tsp --proposer fo", ["folder:"]),
        ("run tsp --set budg", ["budget="]),
        ("run tsp --method eoh --set popul", ["population="]),
        ("run tsp --method funsearch --set popul", []),
        ("run tsp --method nobody --set popul", []),
    ],
)
def test_shells_complete_commands_tasks_and_runs(
    behavesim: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str, offered: list[str]
) -> None:
    assert "--install-completion" in behavesim("--help").out
    for run in ("runs/first-a", "runs/first-b", "runs/second", "elsewhere/third"):
        write(tmp_path / run, started())
    monkeypatch.setenv("_BEHAVESIM_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", f"behavesim {typed}")
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split())))
    assert behavesim().out.split() == offered


def test_the_package_runs_as_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "behavesim", "tasks", "--json"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert '"tsp"' in done.stdout


def test_tasks_are_listed_by_kind_with_what_a_person_chooses_by(behavesim: Command) -> None:
    listed = {each["task"]: each for each in behavesim("tasks", "--json").document}
    assert listed["tsp"]["kind"] == "constructive"
    assert all(each["size"] and (each["source"] or each["best_known"] is None) for each in listed.values())
    words = behavesim("tasks").out
    assert words.splitlines()[0] == "constructive"
    assert all(f"  {name} " in words for name in listed)


def test_the_sizes_of_tasks_say_what_their_templates_take_and_reach(
    behavesim: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("behavesim_cli.tasks.installed_tasks", lambda: ("cap_set", "tsp"))
    listed = {each["task"]: each for each in behavesim("tasks", "--sizes", "--json").document}
    assert list(listed) == ["cap_set", "tsp", "tsp:large"]
    assert (listed["cap_set"]["score"], listed["cap_set"]["best_known"], listed["cap_set"]["gap"]) == (256, 512, 0.5)
    assert all(0 < each["seconds"] < 60 for each in listed.values())
    monkeypatch.delenv("COLUMNS", raising=False)  # a narrow table has cells of two lines
    monkeypatch.setattr("behavesim_cli.tasks.installed_tasks", lambda: ("cap_set",))
    assert behavesim("tasks", "--sizes").out.splitlines()[-1].split()[0] == "cap_set"


def test_a_task_that_cannot_run_here_is_listed_without_a_score(
    behavesim: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tried(*_: object) -> None:
        raise TaskError("task cpp needs a package")

    monkeypatch.setattr("behavesim_cli.tasks.installed_tasks", lambda: ("cpp",))
    monkeypatch.setattr("behavesim_cli.tasks.try_once", tried)
    ended = behavesim("tasks", "--sizes", "--json")
    (found,) = ended.document
    assert (found["task"], found["score"], found["gap"], found["seconds"]) == ("cpp", None, None, None)
    assert (ended.code, "task cpp needs a package" in ended.err) == (0, True)


def test_the_doctor_of_a_machine_on_which_something_is_broken_ends_with_1(
    behavesim: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def findings(models: object) -> Findings:
        return Findings({"cores": 2, "endpoint": "nobody there"}, ("endpoint",))

    monkeypatch.setattr("behavesim_cli.setup.findings", findings)
    ended = behavesim("doctor")
    assert (ended.code, ended.out.splitlines()[-1]) == (1, "endpoint  nobody there")


def test_the_command_alone_says_where_to_begin_with_commands_that_there_are(behavesim: Command) -> None:
    ended = behavesim()
    assert (ended.code, ended.err) == (0, "")
    lines = [line.split("  ")[1] for line in ended.out.splitlines() if line.startswith("  behavesim ")]
    assert {line.split()[1] for line in lines} < set(COMMANDS)
    assert "behavesim --help" in ended.out
    assert max(map(len, ended.out.splitlines())) <= 80


def test_methods_and_proposers_are_listed_with_what_they_do(
    behavesim: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = {each["method"]: each["description"] for each in behavesim("methods", "--json").document}
    assert {"funsearch", "niche", "best-of-n"} <= set(listed) and all(listed.values())
    assert behavesim("methods").out.splitlines()[0] == f"best-of-n            {listed['best-of-n']}"
    names = [each["proposer"] for each in behavesim("proposers", "--json").document]
    assert names == sorted(names) and "genetic" in names
    install(monkeypatch, tmp_path / "site", "1 / 0", "behavesim.proposers", mine="proposer")
    (broken,) = [line for line in behavesim("proposers").out.splitlines() if line.startswith("mine ")]
    assert "raised ZeroDivisionError" in broken


def test_an_interrupted_command_says_so_in_one_line(behavesim: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("behavesim_cli.recommend.run_folders", interrupt)
    ended = behavesim("recommend", "any")
    assert (ended.code, ended.out, ended.err) == (130, "", "behavesim: interrupted\n")
