"""The recipes for a report's section and for a metric, carried out."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from tests.analysis.journals import feasible, rejected, started, stopped, write
from tests.recipes.copy import Copy, blocks


def runs(folder: Path) -> list[str]:
    """Two runs of each of two methods: of each run one candidate in two is feasible."""
    names = []
    for method in ("funsearch", "best-of-n"):
        for seed in range(2):
            path = folder / f"{method}-{seed}"
            write(
                path,
                started(method=method, seed=seed),
                feasible(0, 5.0 + seed),
                rejected(1, "timeout"),
                stopped("budget"),
            )
            names.append(str(path))
    return names


COMMANDS = """
import json, sys
from behavesim_cli.app import app
for arguments in json.loads(sys.argv[1]):
    try:
        app(arguments)
    except SystemExit as ended:
        assert not ended.code, ended.code
"""


def reported(copy: Copy, every: list[str], tables: Path) -> tuple[Any, str]:
    """The report of runs as a document and as a terminal shows it; its tables are written there, too."""
    commands = [["report", *every, "--json", "--csv", str(tables)], ["report", *every, "--full"]]
    printed = copy.run("-c", COMMANDS, json.dumps(commands))
    assert printed.returncode == 0, printed.stderr
    document, end = json.JSONDecoder().raw_decode(printed.stdout)
    return document, printed.stdout[end:]


def test_a_section_takes_two_files(tmp_path: Path) -> None:
    module, lines = blocks("A report's section")
    copy = Copy(tmp_path)
    (copy.root / "behavesim/analysis/models.py").write_text(module)
    places = ("from behavesim.analysis.metrics import Metric", '    "metrics": _metrics,')
    for place, line in zip(places, lines.splitlines(keepends=True), strict=True):
        copy.add_after("behavesim/reports/sections.py", place, line)
    assert copy.touched() == {"behavesim/analysis/models.py", "behavesim/reports/sections.py"}

    first, *_ = runs(tmp_path / "runs")
    document, shown = reported(copy, [first], tmp_path / "tables")
    (run,) = document["runs"]
    assert run["models"] == [{"model": "m", "asked": 2, "feasible": 1, "share": 0.5}]
    (row,) = csv.DictReader((tmp_path / "tables/models.csv").open())
    of = {"run": "funsearch-0", "score_source": "trusted"}
    assert row == {**of, "model": "m", "asked": "2", "feasible": "1", "share": "0.5"}
    assert "what models wrote" in shown


def test_a_metric_takes_one_file(tmp_path: Path) -> None:
    (entry,) = blocks("A metric of runs")
    copy = Copy(tmp_path)
    copy.add_after("behavesim/analysis/metrics.py", "    RECOMMENDED_GAIN_ADVANTAGE,", entry)
    assert copy.touched() == {"behavesim/analysis/metrics.py"}

    document, shown = reported(copy, runs(tmp_path / "runs"), tmp_path / "tables")
    (compared,) = document["comparison"]
    assert [group["metrics"]["feasible_share"]["mean"] for group in compared["groups"]] == [0.5, 0.5]
    assert [test["difference"] for test in compared["tests"] if test["metric"] == "feasible_share"] == [0.0]
    rows = list(csv.DictReader((tmp_path / "tables/runs.csv").open()))
    assert [row["feasible_share"] for row in rows] == ["0.5"] * 4
    assert "feasible %" in shown
