"""What the README and the reference show works as it is shown."""

from __future__ import annotations

import ast
import re
import shutil
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import behavesim as bs
from tests.analysis.journals import feasible, started, stopped, write
from tests.cli.command import Command

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
PYTHON = re.compile(r"```python\n(.*?)```", flags=re.DOTALL)
TEMPLATE, FOUND = PYTHON.findall(README)
TASK = PYTHON.findall((ROOT / "docs/how-to/tasks.md").read_text())[0]
LIBRARY, COMPARISON, SEARCH = PYTHON.findall((ROOT / "docs/reference/python.md").read_text())


def runnable(example: str) -> str:
    """An example without the lines that need pandas, where that is not installed."""
    needing = ("to_pandas", "labelled") if find_spec("pandas") is None else ()
    return "\n".join(line for line in example.splitlines() if not any(each in line for each in needing))


@pytest.mark.parametrize(
    ("row", "options"), [("on the search's five maps", ()), ("on 14 unseen maps", ("--held-out",))]
)
def test_the_programs_of_the_readme_have_the_gaps_that_it_says(
    behavesim: Command, row: str, options: tuple[str, ...]
) -> None:
    for name, program in (("template.py", TEMPLATE), ("found.py", FOUND)):
        Path(name).write_text(f"import numpy as np\n{program}")
    results = behavesim("evaluate", "tsp", "template.py", "found.py", *options, "--json").document
    said = re.search(rf"^\| {row}[^|]*\| ([\d.]+) \| ([\d.]+) \|", README, re.MULTILINE)
    assert said is not None
    assert [f"{100 * result['gap']:.1f}" for result in results] == list(said.groups())


def test_the_search_with_a_model_can_finish_within_its_cap(behavesim: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    (line,) = re.findall(r"^behavesim (run .* --dry-run) .*about \$([\d.]+)$", README, re.MULTILINE)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    command, cost = line
    estimated = behavesim(*command.split(), "--json")
    assert estimated.code == 0, estimated.err
    assert f"{estimated.document['cost']['cost_usd']:.2f}" == cost
    tokens = estimated.document["cost"]["tokens"]
    assert 1900 < tokens["prompt"] / tokens["calls"] < 2400  # a run with a model had 2,150
    assert float(cost) < float(re.search(r"--max-cost (\d+)", command)[1])  # type: ignore[index]


def test_the_library_example_gives_the_values_it_names(behavesim: Command, made: Path) -> None:
    shutil.copytree(made, "runs/tsp-20260101-120000-5f0a")
    shown: dict[str, object] = {}
    exec(runnable(LIBRARY), shown)
    measure, x, archive = shown["m"], shown["x"], shown["archive"]
    assert isinstance(measure, bs.BehaveSim)
    assert isinstance(archive, bs.Archive)
    np.testing.assert_allclose(measure.one_vs_many([x], archive), [1.0, 0.6875])  # type: ignore[list-item]


def test_the_comparison_example_compares(behavesim: Command) -> None:
    for seed, name in enumerate("abcd"):
        of = started(method="niche" if seed % 2 else "funsearch", seed=seed // 2)
        write(Path("runs", name), of, feasible(0, 5.0 + seed), stopped("budget"))
    shown: dict[str, object] = {"bs": bs}
    exec(runnable(COMPARISON).replace(", held_out=True", ""), shown)
    assert len(shown["found"].verdicts) > 0  # type: ignore[attr-defined]


async def test_the_search_example_searches_and_goes_on(behavesim: Command) -> None:
    shown: dict[str, object] = {"bs": bs}
    shorter = SEARCH.replace("budget=300", "budget=8, recommend=False").replace("budget=400", "budget=12")
    await eval(compile(shorter, "python.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), shown)
    assert isinstance(shown["run"], bs.Run)
    assert shown["run"].state.registered == 12


def test_the_task_example_is_in_order(behavesim: Command, tmp_path: Path) -> None:
    (tmp_path / "knapsack.py").write_text(TASK)
    ended = behavesim("task", "check", "knapsack.py", "--json")
    assert {finding["result"] for finding in ended.document} == {"ok"}
    short = ("--budget", 8, "--set", "recommend=false")
    assert behavesim("run", "knapsack.py", *short, "--json").document["asked"] == 8
