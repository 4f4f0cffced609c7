"""Reports as CSV and JSON, and exported programs: numbers are not rounded, unknown values are empty."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import Any

from behavesim.analysis.candidates import Candidate
from behavesim.analysis.comparison import RunComparison, TaskComparison, verdicts
from behavesim.analysis.groups import Family
from behavesim.analysis.report import RunReport
from behavesim.analysis.run import Run
from behavesim.analysis.table import Table
from behavesim.base.errors import UsageError
from behavesim.base.text import mark, one_line, printable, with_header
from behavesim.reports.sections import ASKED_FOR, RUN, run_sections
from behavesim.reports.words import percent, program_name
from behavesim.task.evaluated import separate_files

# The first parts of a report in its JSON document, behind the summary; the other fields of RunReport follow.
FIRST_PARTS = ("convergence", "islands", "clusters", "joins", "failures", "distinct", "diversity")
# Fields of RunReport that are no key there, or are one only if they have a value.
OTHER_FIELDS = ("origin", "summary", "held_out", "shifted", "run")

# A row of a file: its values by the names of their columns.
Row = Mapping[str, Any]


def write_csv(comparison: RunComparison, folder: Path) -> list[str]:
    """Write each table that has rows as NAME.csv into the folder, made if missing; return the names of these files.

    Files of an earlier report stay, unless their table can be empty and is now. Raises UsageError if the folder cannot
    be written, or if a metric has the name of a column of runs.csv.
    """
    labels = {run.summary.run: group.label for group in comparison.groups for run in group.runs}
    return _write_all(_of_runs(comparison.runs, labels) | _of_tasks(comparison.tasks), folder)


def write_tables(tables: Sequence[Table], folder: Path) -> list[str]:
    """Write each table that has rows as NAME.csv into the folder, made if missing; return the names of these files.

    The file of a table without rows is deleted.
    """
    return _write_all({table.name: _rows(table) for table in tables}, folder)


def _rows(table: Table) -> list[Row]:
    names = [column.name for column in table.columns]
    return [dict(zip(names, row, strict=True)) for row in table.rows]


def _of_runs(runs: Sequence[RunReport], labels: Mapping[str, str]) -> dict[str, list[Row]]:
    # A run that is in no group has no label. Rows of other tables begin with the run's name and say who computed its
    # scores.
    found: dict[str, list[Row]] = {"runs": [{**_run_row(run), "group": labels.get(run.summary.run)} for run in runs]}
    for run in runs:
        of = {"run": run.summary.run, "score_source": run.summary.score_source}
        found.setdefault("convergence", []).extend({**of, **asdict(then)} for then in run.convergence)
        for table in tables_of(run):
            if table.name != "convergence":
                found.setdefault(table.name, []).extend({**of, **row} for row in _rows(table))
    return found


def tables_of(run: RunReport) -> list[Table]:
    """Return the tables of a run's sections that files hold: all with a row for each thing, as facts are for people."""
    sections = run_sections(run, {}, RUN.keys() - {*ASKED_FOR, "summary", "next"})
    return [table for section in sections for table in section.every_table]


def _run_row(run: RunReport) -> Row:
    summary = asdict(run.summary)
    best, recommended = summary.pop("best") or {}, summary.pop("recommended") or {}
    del summary["best_program"]  # it is the best candidate or the template, which have columns
    template, used, estimated = summary.pop("template") or {}, summary.pop("tokens"), summary.pop("estimated") or {}
    row = {
        **summary,
        # texts and sums in place of the values of the same names, which are lists and mappings
        "advice": "; ".join(advice.words for advice in run.summary.advice),
        "notes": "; ".join(run.summary.notes),
        "rejected": run.summary.rejections,
        "doubted": " ".join(map(str, run.summary.doubted)),
        "noise": run.summary.noise and run.summary.noise.difference,
        "template_score": template.get("score"),
        "best_candidate": best.get("candidate"),
        **{f"recommended_{name}": recommended.get(name) for name in ("candidate", "score", "validation_score")},
        **{f"distinct_{name}": count for name, count in asdict(run.distinct).items()},
        **{f"{kind}_tokens": count for kind, count in used.items()},
        **{f"estimated_{kind}_tokens": estimated.get(kind) for kind in ("prompt", "completion")},
        "estimated_replies": estimated.get("estimated"),
        "estimated_cost_usd": estimated.get("cost_usd"),
    }
    # `top10_gap` is a value of the summary and a metric, which are the same.
    if taken := run.metrics.keys() & row.keys() - {"top10_gap"}:
        raise UsageError(f"runs.csv has a column {min(taken)!r} already; give the metric another name")
    return {**row, **run.metrics}


def _of_tasks(tasks: Sequence[TaskComparison]) -> dict[str, list[Row]]:
    rows: dict[str, list[Row]] = {"groups": [], "groups_over_time": [], "tests": [], "recommended_vs_best": []}
    for entry in tasks:
        on = {"task": entry.task, "instances": entry.instances, "score_source": entry.score_source}
        rows["tests"] += (
            {**on, "metric": test.metric, "a": test.a, "b": test.b, **asdict(test)} for test in entry.tests
        )
        rows["recommended_vs_best"] += (
            {**on, "metric": test.metric, **asdict(test)} for test in entry.recommended_vs_best
        )
        for group in entry.groups:
            of = {**on, "group": group.label}
            rows["groups_over_time"] += ({**of, **asdict(then)} for then in group.diversity_over_time)
            for metric, sample in group.metrics.items():
                values = asdict(sample)
                rows["groups"].append({**of, "metric": metric, "runs": len(values.pop("values")), **values})
    return rows


def _write_all(tables: Mapping[str, list[Row]], folder: Path) -> list[str]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, rows in tables.items():
            _write_rows(folder / f"{name}.csv", rows)
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error.strerror}; choose another --csv folder") from None
    return [f"{name}.csv" for name, rows in tables.items() if rows]


def _write_rows(path: Path, rows: list[Row]) -> None:
    if not rows:
        path.unlink(missing_ok=True)
        return
    with path.open("w", newline="", encoding="utf-8") as file:  # the csv module writes line ends itself
        # runs of several tasks have several metrics: a row's other columns are empty
        writer = csv.DictWriter(file, fieldnames=list(dict.fromkeys(name for row in rows for name in row)))
        writer.writeheader()
        writer.writerows(rows)


# Turn reports into one document for machines, which is printed as JSON.


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
    unseen = {"held_out": run.held_out, "shifted": run.shifted}
    names = [*FIRST_PARTS, *(each.name for each in fields(run) if each.name not in OTHER_FIELDS)]
    parts = {name: getattr(run, name) for name in names} | {"notes": run.all_notes}
    parts |= {name: found for name, found in unseen.items() if found is not None}
    known = asdict(run.summary) | {name: _plain(part) for name, part in parts.items()}
    # tables of sections that are no field of the report
    return {table.name: _rows(table) for table in tables_of(run)} | known


def _plain(part: Any) -> Any:
    """Return a part of a report with its dataclasses as mappings."""
    if isinstance(part, tuple):
        return [_plain(each) for each in part]
    return asdict(part) if is_dataclass(part) and not isinstance(part, type) else part


# Export a run: its programs as files, and its candidates as JSON lines.


# Name of the file with all candidates, a JSON object a line.
LINES = "candidates.jsonl"


def write_export(run: Run, folder: Path, every: bool = False) -> int:
    """Write each distinct feasible program as NNNNN.py (its candidate's number), and all candidates as JSON lines.

    Programs in another language have its suffix, and a program of several files is a folder NNNNN. With `every`,
    repeated and rejected programs are written too. A comment at the top of a program's file has its run, number, and
    score or reason of rejection; there is none if the language's comments are unknown. Returns the number of programs
    written. The folder is made if missing; raises UsageError if it is not empty or cannot be written, JournalError if
    the run's journal cannot be read.
    """
    programs = [each for each in run.candidates if each.source] if every else run.ranked()
    try:
        suffix = run.task().suffix
    except UsageError:  # programs can be read without their task
        suffix = ".py"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise UsageError(f"{folder} is not empty; name a new folder to export to")
        for program in programs:
            _write(folder / f"{program.candidate:05d}", program.source or "", _headline(run, program), suffix)
        with (folder / LINES).open("w", encoding="utf-8") as file:
            for each in run.records():  # the escapes of `printable` are those of JSON
                file.write(f"{printable(json.dumps(asdict(each), ensure_ascii=False))}\n")
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error.strerror}; name another folder") from None
    return len(programs)


def _write(path: Path, source: str, headline: str, suffix: str) -> None:
    for name, text in separate_files(source).items():
        place = path / name if name else path.with_suffix(suffix)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(with_header(text, headline, place.suffix), encoding="utf-8")


def _headline(run: Run, program: Candidate) -> str:
    if program.score is None:
        worth = f"{program.status} in {program.stage}, {program.reason}"
    else:
        worth = f"score {program.score!r}{mark(run.score_source)}, gap {percent(run.gap(program.score))}"
    return one_line(f"run {run.folder.run}, {program_name(program.candidate)}: {worth}")
