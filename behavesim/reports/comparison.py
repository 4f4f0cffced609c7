"""The comparison of runs as tables for a terminal and as CSV files, drawn from the report's document."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from behavesim.errors import UsageError
from behavesim.reports.summary import percent

RESULTS: dict[str, str] = {
    "best_gap": "best gap %",
    "top10_gap": "top-10 gap %",
    "recommended_gap": "recommended gap %",
}
"""On the instances of the search."""

BEYOND: dict[str, str] = {
    "held_out_best_gap": "held-out gap of best %",
    "held_out_recommended_gap": "held-out gap of recommended %",
    "held_out_best": "held-out gain of best %",
    "held_out_recommended": "held-out gain of recommended %",
}
"""On held-out instances."""

BEHAVIOUR: dict[str, str] = {
    "intra_distance": "distance inside islands",
    "separation": "between / inside",
    "repeated_programs": "repeated programs %",
    "repeated_behaviours": "programs that repeat a behaviour %",
    "top10_behaviours": "behaviours of the top 10",
}
"""How much of what was found is different. Machines get more."""

TESTED = RESULTS | BEYOND


def comparison_tables(comparison: Sequence[Mapping[str, Any]]) -> list[Table]:
    """For each task the groups with mean ± standard deviation and a 95 % interval, and the tests between them."""
    tables: list[Table] = []
    for entry in comparison:
        tables += [table for columns in (RESULTS, BEYOND, BEHAVIOUR) if (table := _groups(entry, columns))]
        if any(test["p"] is not None for test in entry["tests"]):
            tables.append(_tests(entry))
        if table := _over_time(entry):
            tables.append(table)
        if entry["choice"]:
            tables.append(_choices(entry))
    return tables


def held_out_table(run: Mapping[str, Any]) -> Table:
    """A run's best programs and the recommended one on held-out instances, beside the template."""
    table = Table(title=f"run {run['run']} on held-out instances", title_justify="left", header_style="bold")
    for name in ("program", "search score", "held-out score", "gap", "gain on the template"):
        table.add_column(name, justify="right")
    found, recommended = run["held_out"], (run["recommended"] or {}).get("candidate")
    table.add_row("template", "", f"{found['template']['score']:.6g}", percent(found["template"]["gap"]), "")
    for program in found["programs"]:
        name = f"{program['candidate']}{' (recommended)' if program['candidate'] == recommended else ''}"
        score, gap, gain = program["reason"], "", ""
        if score is None:
            score, gap, gain = f"{program['score']:.6g}", percent(program["gap"]), percent(program["improvement"])
        table.add_row(name, f"{program['search_score']:.6g}", score, gap, gain)
    return table


def write_csv(document: Mapping[str, Any], folder: Path) -> None:
    """Write every table as a .csv file; raises UsageError where it cannot."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, rows in _csv_tables(document).items():
            _write(folder / f"{name}.csv", list(rows))
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error.strerror}; choose another --csv folder") from None


def _groups(entry: Mapping[str, Any], columns: Mapping[str, str]) -> Table | None:
    present = {name for group in entry["groups"] for name in group["metrics"]}
    # a gain on the template stands in for a gap that is not known, as a score does
    shown = {name: title for name, title in columns.items() if name in present and f"{name}_gap" not in present}
    if columns is RESULTS and "best_gap" not in present:
        shown["best_score"] = "best score"
    if not shown:
        return None
    table = Table(title=f"comparison on {entry['task']}", title_justify="left", header_style="bold", show_lines=True)
    table.add_column("group")
    table.add_column("runs", justify="right")
    for title in shown.values():
        table.add_column(title, justify="right")
    for group in entry["groups"]:
        cells = [_cell(group["metrics"].get(name), title, len(group["runs"])) for name, title in shown.items()]
        table.add_row(group["label"], str(len(group["runs"])), *cells)
    table.caption = "mean ± standard deviation [95 % bootstrap interval of the mean]"
    return table


def _cell(sample: Mapping[str, Any] | None, title: str, runs: int) -> str:
    """A sample; where some runs have no value, with how many it is of."""
    if sample is None:
        return ""
    factor, digits = (100, 2) if title.endswith("%") else (1, 4)
    known = len(sample["values"])
    mean = f"{'' if known == runs else f'of {known}: '}{factor * sample['mean']:.{digits}f}"
    if sample["sd"] is None:
        return mean
    low, high, sd = (f"{factor * sample[name]:.{digits}f}" for name in ("low", "high", "sd"))
    return f"{mean} ± {sd}\n[{low}, {high}]"


def _tests(entry: Mapping[str, Any]) -> Table:
    title = f"differences on {entry['task']} (Mann–Whitney, two-sided; Holm over all tests of a metric)"
    table = Table(title=title, title_justify="left", header_style="bold")
    for name in ("metric", "a", "b", "mean a − mean b", "P(a > b)", "p", "p, Holm"):
        table.add_column(name, justify="left" if name in ("metric", "a", "b") else "right", overflow="fold")
    tested = {test["metric"] for test in entry["tests"]}
    titles = TESTED if "best_gap" in tested else {**TESTED, "best_score": "best score"}
    for test in entry["tests"]:
        if test["metric"] not in titles or test["p"] is None or f"{test['metric']}_gap" in tested:
            continue
        name = titles[test["metric"]]
        factor = 100 if name.endswith("%") else 1
        low, high = factor * test["low"], factor * test["high"]
        between = f"{factor * test['difference']:.2f} [{low:.2f}, {high:.2f}]"
        table.add_row(
            name,
            test["a"],
            test["b"],
            between,
            f"{test['superiority']:.2f}",
            f"{test['p']:.4f}",
            f"{test['p_holm']:.4f}",
            style="bold" if test["p_holm"] < 0.05 else "",
        )
    return table


def _over_time(entry: Mapping[str, Any]) -> Table | None:
    """Rows are groups with islands, columns every other tenth of the budget: more would fit no terminal."""
    rows = {group["label"]: group["diversity_over_time"][1::2] for group in entry["groups"]}
    rows = {label: points for label, points in rows.items() if any(point["separation"] for point in points)}
    if not rows:
        return None
    title = f"distance between islands / inside them on {entry['task']}, as candidates were told"
    table = Table(title=title, title_justify="left", header_style="bold")
    table.add_column("group")
    for point in max(rows.values(), key=len):
        table.add_column(str(point["told"]), justify="right")
    for label, points in rows.items():
        table.add_row(label, *("" if each["separation"] is None else f"{each['separation']:.2f}" for each in points))
    return table


def _choices(entry: Mapping[str, Any]) -> Table:
    title = f"the recommended program beside the best of the search, on held-out instances of {entry['task']}"
    table = Table(title=title, title_justify="left", header_style="bold")
    for name in (
        "by",
        "runs",
        "better",
        "equal",
        "worse",
        "unknown",
        "seeds",
        "mean advantage, points",
        "p",
        "p, Holm",
    ):
        table.add_column(name, justify="left" if name == "by" else "right", overflow="fold")
    for choice in entry["choice"]:
        interval = "" if choice["low"] is None else f" [{100 * choice['low']:.2f}, {100 * choice['high']:.2f}]"
        table.add_row(
            "gap" if choice["metric"].endswith("_gap") else "gain on the template",
            *(str(choice[name]) for name in ("runs", "better", "equal", "worse", "unknown", "seeds")),
            f"{100 * choice['mean']:.2f}{interval}",
            *("" if choice[name] is None else f"{choice[name]:.4f}" for name in ("p", "p_holm")),
        )
    table.caption = "Wilcoxon's signed ranks over the seeds' means, for runs of one seed begin alike"
    return table


def _csv_tables(document: Mapping[str, Any]) -> dict[str, Iterable[dict[str, Any]]]:
    runs, comparison = document["runs"], document["comparison"]
    return {
        "runs": (_flat(run) for run in runs),
        "convergence": ({"run": run["run"], **point} for run in runs for point in run["convergence"]),
        "diversity": (
            {"run": run["run"], "told": point["told"], "intra": _mean(point["intra"]), "inter": point["inter"]}
            for run in runs
            for point in run["diversity_over_time"]
        ),
        "groups_over_time": (
            {"task": entry["task"], "group": group["label"], **point}
            for entry in comparison
            for group in entry["groups"]
            for point in group["diversity_over_time"]
        ),
        "groups": (
            {"task": entry["task"], "group": group["label"], "metric": metric, "runs": len(sample["values"])}
            | {name: sample[name] for name in ("mean", "sd", "low", "high")}
            for entry in comparison
            for group in entry["groups"]
            for metric, sample in group["metrics"].items()
        ),
        "tests": ({"task": entry["task"], **test} for entry in comparison for test in entry["tests"]),
        "choice": ({"task": entry["task"], **choice} for entry in comparison for choice in entry["choice"]),
    }


def _flat(run: Mapping[str, Any]) -> dict[str, Any]:
    nested = {"best", "recommended"}
    plain = {key: value for key, value in run.items() if key not in nested and not isinstance(value, dict | list)}
    best, recommended, held_out = run["best"] or {}, run["recommended"] or {}, run.get("held_out", {})
    return {
        **plain,
        **{f"best_{key}": best.get(key) for key in ("candidate", "score", "gap")},
        **{f"recommended_{key}": recommended.get(key) for key in ("candidate", "score", "gap", "validation_score")},
        **{
            f"held_out_{which}_{key}": held_out.get(which, {}).get(key)
            for which in ("best", "top10", "recommended")
            for key in ("gap", "improvement")
        },
        **{f"distinct_{name}": count for name, count in run["distinct"].items()},
        "rejected": sum(run["rejected"].values()),
        **{f"{name}_tokens": count for name, count in run["tokens"].items()},
    }


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        if rows:
            writer = csv.DictWriter(file, fieldnames=list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
