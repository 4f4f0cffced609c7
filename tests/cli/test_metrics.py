"""Metrics of one's own, by way of the command line, as docs/how-to/metrics.md shows them."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from behavesim.analysis.metrics import METRICS
from tests.analysis.journals import feasible, rejected, started, stopped, write
from tests.cli.command import Command
from tests.packages import install

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "metrics.md").read_text()
(EXAMPLE,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
NAME = "candidates_to_best"


@pytest.fixture
def runs(tmp_path: Path) -> list[str]:
    """Two runs of each of two methods, whose best is their second candidate, and one that found nothing."""
    for method in ("funsearch", "best-of-n"):
        for seed in range(2):
            begun = started(method=method, seed=seed)
            write(
                tmp_path / "runs" / f"{method}-{seed}",
                begun,
                feasible(0, 5.0),
                feasible(1, 4.0 + seed),
                stopped("budget"),
            )
    write(tmp_path / "runs" / "nothing", started(method="eoh"), rejected(0, "timeout"))
    return [f"{method}-{seed}" for method in ("funsearch", "best-of-n") for seed in range(2)]


def rows(table: str) -> list[dict[str, str]]:
    return list(csv.DictReader(Path(f"tables/{table}.csv").read_text().splitlines()))


def test_the_example_of_the_documentation_is_a_metric_like_ours(behavesim: Command, runs: list[str]) -> None:
    Path(f"{NAME}.py").write_text(EXAMPLE)
    chosen: tuple[str, ...] = ("--metric", f"{NAME}.py", "--csv", "tables")
    reported = behavesim("report", *runs, "nothing", *chosen, "--json").document
    assert [run["metrics"][NAME] for run in reported["runs"]] == [2, 1, 2, 1, None]
    groups = reported["comparison"][0]["groups"]
    assert [group["metrics"][NAME]["mean"] for group in groups[:2]] == [1.5, 1.5]
    assert NAME not in groups[2]["metrics"]  # unknown is no 0
    assert [test["difference"] for test in reported["comparison"][0]["tests"] if test["metric"] == NAME] == [0.0]
    assert [row[NAME] for row in rows("runs")] == ["2", "1", "2", "1", ""]
    assert NAME in {row["metric"] for row in rows("groups")}
    assert behavesim("report", *runs, *chosen).out == ""  # as files were asked for
    chosen = ("--metric", f"{NAME}.py")
    shown = behavesim("report", *runs, *chosen).out
    assert "1.5 ±" in shown
    assert re.search(r"candidates to the best\s+2.0\s", behavesim("report", runs[0], *chosen).out)
    assert re.search(r"candidates to the best\s+unknown", behavesim("report", "nothing", *chosen).out)


def test_it_can_be_asked_after_how_many_candidates_a_gap_was_reached(behavesim: Command, runs: list[str]) -> None:
    document = behavesim(
        "report", *runs, "--metric", "candidates_to_gap_100", "--metric", "candidates_to_gap_99_5", "--json"
    ).document
    assert [run["metrics"]["candidates_to_gap_100"] for run in document["runs"]] == [2, None, 2, None]
    assert [run["metrics"]["candidates_to_gap_99_5"] for run in document["runs"]] == [None] * 4
    shown = behavesim("report", *runs, "--metric", "candidates_to_gap_100").out
    assert "of 1: 2.0" in shown
    assert behavesim("report", *runs, "--metric", "candidates_to_gap_x").code == 2


def test_a_package_has_its_metric_in_every_report(
    behavesim: Command, runs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, tmp_path / "site", EXAMPLE, "behavesim.metrics", whatever="metric")
    assert behavesim("report", runs[0], "--json").document["runs"][0]["metrics"][NAME] == 2
    assert re.search(r"candidates to the best\s+2.0\s", behavesim("report", runs[0]).out)


def test_a_metric_of_ours_that_is_named_is_shown_of_each_run(behavesim: Command, runs: list[str]) -> None:
    assert re.search(r"repeated programs\s+0.00 %", behavesim("report", runs[0], "--metric", "repeated_programs").out)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("metric = 3", "must be a behavesim.Metric, not 3"),
        (EXAMPLE.replace("run.summary.best.candidate", "1 / 0"), "raised ZeroDivisionError: division by zero for run"),
        (EXAMPLE.replace("run.summary.best.candidate", 'float("nan")'), "returned nan for run funsearch-0"),
        (EXAMPLE.replace('"lower"', '"down"'), "its direction is to be lower, higher, task or None, not 'down'"),
        (EXAMPLE.replace(f'"{NAME}"', '"seed"'), "runs.csv has a column 'seed' already"),
    ],
)
def test_a_broken_metric_is_one_line_and_exit_code_2(behavesim: Command, runs: list[str], text: str, said: str) -> None:
    Path("mine.py").write_text(text)
    ended = behavesim("report", runs[0], "--metric", "mine.py", "--csv", "tables")
    assert (ended.code, ended.out, len(ended.err.splitlines())) == (2, "", 1)
    assert said in ended.err


def test_an_experiment_names_files_of_metrics_and_is_refused_before_a_run_where_one_is_broken(
    behavesim: Command,
) -> None:
    described = 'name = "e"\ntasks = ["tsp"]\nmethods = ["best-of-n"]\nseeds = 1\nheld_out = false\n'
    Path("e.toml").write_text(f'{described}metrics = ["mine.py"]\n[settings]\nbudget = 4\nrecommend = false\n')
    Path("mine.py").write_text("metric = 3")
    assert behavesim("experiment", "e.toml").code == 2
    assert not Path("runs").exists()
    Path("mine.py").write_text(EXAMPLE)
    assert behavesim("experiment", "e.toml", "--json").document["runs"][0]["metrics"][NAME] >= 1


def test_the_documentation_lists_every_metric() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) \| (.*?) \| (.*?) \|$", PAGE, re.MULTILINE)
    assert rows == [(m.name, m.title, m.unit.symbol, m.direction or "", m.about or "") for m in METRICS]
