"""A run's report as tables for a terminal, drawn from the document that machines get."""

from __future__ import annotations

from typing import Any

from rich.table import Table
from rich.text import Text

from behavesim.reports.summary import percent, summary_table


def run_tables(run: dict[str, Any]) -> list[Table]:
    """Summary, top ten, islands, behavioural clusters and failures of one run."""
    tables = [summary_table(run), _top(run), _islands(run), _clusters(run)]
    return [*tables, _failures(run)] if run["failures"] else tables


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", header_style="bold")
    for name in columns:
        table.add_column(name, justify="right")
    return table


def _score(best: dict[str, Any] | None) -> tuple[str, str, str]:
    if best is None:
        return "", "", ""
    return str(best["candidate"]), f"{best['score']:.6g}", percent(best["gap"])


def _top(run: dict[str, Any]) -> Table:
    table = _table("the ten best distinct programs", "rank", "candidate", "score", "gap", "characters")
    for rank, program in enumerate(run["top"], 1):
        table.add_row(str(rank), *_score(program), str(len(program["source"])))
    found = run["distinct"]
    table.caption = (
        f"they behave in {found['top']} different ways; {found['feasible']} feasible candidates are "
        f"{found['programs']} programs with {found['behaviours']} behaviours"
    )
    return table


def _islands(run: dict[str, Any]) -> Table:
    table = _table("islands", "island", "size", "clusters", "best", "score", "gap", "mean distance inside")
    for island, inside in zip(run["islands"], run["diversity"]["intra"], strict=True):
        distance = "" if inside is None else f"{inside:.3f}"
        table.add_row(
            str(island["island"]), str(island["size"]), str(island["clusters"]), *_score(island["best"]), distance
        )
    inter = run["diversity"]["inter"]
    table.caption = "" if inter is None else f"mean distance between islands {inter:.3f}"
    return table


def _clusters(run: dict[str, Any]) -> Table:
    table = _table(
        "behavioural clusters of the best programs", "programs", "best", "score", "gap", "medoid", "cohesion"
    )
    for cluster in run["clusters"]:
        cohesion = "" if cluster["cohesion"] is None else f"{cluster['cohesion']:.3f}"
        table.add_row(str(cluster["size"]), *_score(cluster["best"]), str(cluster["medoid"]), cohesion)
    return table


def _failures(run: dict[str, Any]) -> Table:
    table = _table("why candidates fail", "stage", "reason", "candidates", "share")
    table.add_column("most often", justify="left", overflow="fold")
    for each in run["failures"]:
        share = f"{100 * each['share']:.1f} %"
        table.add_row(each["stage"], each["reason"], str(each["count"]), share, Text(each["example"]))
    return table
