"""Turn reports into one document for machines, which is printed as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from behavesim.analysis.comparison import RunComparison
from behavesim.analysis.groups import Family
from behavesim.analysis.report import RunReport
from behavesim.analysis.verdicts import verdicts


def json_document(comparison: RunComparison) -> dict[str, Any]:
    """Return `{runs: […], comparison: […], repeats: […], untested: […], ranks}`, of plain JSON values.

    `runs` has for each run the values of its summary and the parts of its report, with `held_out` and `shifted` if its
    programs were tried on these instances. `comparison` has an entry per task, with what its tests say as `verdicts`.
    `repeats` names the runs that are left out because they repeat another run of their group, its seed or beginning.
    `untested` names those that tests leave out because they have not spent their budget. `ranks` are mean ranks of the
    groups, None if there are none. Scores are in the task's unit, gaps are fractions. An unknown value is None.
    """
    said: dict[Family, list[dict[str, Any]]] = {task.family: [] for task in comparison.tasks}
    for verdict in verdicts(comparison):
        said[verdict.family].append({name: value for name, value in vars(verdict).items() if name != "family"})
    return {
        "runs": [_run(run) for run in comparison.runs],
        "comparison": [{**asdict(task), "verdicts": said[task.family]} for task in comparison.tasks],
        "repeats": comparison.repeats,
        "untested": comparison.untested,
        "ranks": None if comparison.ranks is None else asdict(comparison.ranks),
    }


def _run(run: RunReport) -> dict[str, Any]:
    """Return a run's report as one flat mapping; its origin is left out, as it names folders."""
    parts = asdict(run)
    summary, unseen = parts.pop("summary"), {name: parts.pop(name) for name in ("held_out", "shifted")}
    del parts["origin"]
    return {**summary, **parts, **{name: found for name, found in unseen.items() if found is not None}}
