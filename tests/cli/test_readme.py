"""What the README shows works as it is shown."""

from __future__ import annotations

import ast
import re
import shutil
from pathlib import Path

import numpy as np
from behavesim_cli.commands import COMMANDS

import behavesim as bs
from tests.cli.command import Command

README = (Path(__file__).parents[2] / "README.md").read_text()
LIBRARY, SEARCH, TASK = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


def test_the_library_example_gives_the_values_it_names(behavesim: Command, made: Path) -> None:
    shutil.copytree(made, "runs/tsp-20260101-120000-5f0a")
    shown: dict[str, object] = {}
    exec(LIBRARY, shown)
    measure, x, archive = shown["m"], shown["x"], shown["archive"]
    assert isinstance(measure, bs.BehaveSim)
    assert isinstance(archive, bs.Archive)
    np.testing.assert_allclose(measure.one_vs_many([x], archive), [1.0, 0.6875])  # type: ignore[list-item]


async def test_the_search_example_searches_and_goes_on(behavesim: Command) -> None:
    shown: dict[str, object] = {"bs": bs}
    shorter = SEARCH.replace("budget=300", "budget=8, recommend=False").replace("budget=400", "budget=12")
    await eval(compile(shorter, "README.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), shown)
    assert isinstance(shown["run"], bs.Run)
    assert shown["run"].state.registered == 12


def test_the_task_example_is_in_order(behavesim: Command, tmp_path: Path) -> None:
    (tmp_path / "knapsack.py").write_text(TASK)
    ended = behavesim("task", "check", "knapsack.py", "--json")
    assert {finding["result"] for finding in ended.document} == {"ok"}
    short = ("--budget", 8, "--set", "recommend=false")
    assert behavesim("run", "knapsack.py", *short, "--json").document["asked"] == 8


def test_the_readme_names_every_command_and_no_other(behavesim: Command) -> None:
    table = README[README.index("| command | does |") : README.index("Results go to stdout")]
    first = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    verbs = {verb for cell in first for verb in re.findall(r"`(?:behavesim )?([a-z]+(?: init| check)?)\b", cell)}
    assert {verb.split()[0] for verb in verbs} == set(COMMANDS)
    for verb in verbs:
        assert behavesim(*verb.split(), "--help").code == 0, verb
