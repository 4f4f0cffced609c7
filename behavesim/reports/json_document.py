"""Turn reports into one document for machines, which is printed as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from behavesim.analysis.comparison import RunComparison
from behavesim.analysis.report import RunReport


def json_document(comparison: RunComparison) -> dict[str, Any]:
    """Return `{runs: […], comparison: […], repeats: […], untested: […], ranks}`, of plain JSON values.

    `runs` has for each run the values of its summary and the parts of its report; `held_out` only if it was tried.
    `comparison` has an entry per task; `repeats` and `untested` are names of runs. Scores are in the task's unit, gaps
    are fractions. An unknown value is None; `ranks` is None if there are none.
    """
    return {
        "runs": [_run(run) for run in comparison.runs],
        "comparison": [asdict(each) for each in comparison.tasks],
        "repeats": comparison.repeats,
        "untested": comparison.untested,
        "ranks": None if comparison.ranks is None else asdict(comparison.ranks),
    }


def _run(run: RunReport) -> dict[str, Any]:
    parts = asdict(run)
    summary, held_out = parts.pop("summary"), parts.pop("held_out")
    del parts["origin"]
    return {**summary, **parts, **({} if held_out is None else {"held_out": held_out})}
