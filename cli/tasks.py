"""`behavesim list tasks`, `list evaluators`, and `behavesim task` for a task of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Annotated, Any, Literal, get_args

import typer

from behavesim.analysis.table import FRACTION, SCORE, SECONDS, Column, Table, facts_table
from behavesim.application.launch import task_settings
from behavesim.base.errors import TaskError
from behavesim.checks import check_task
from behavesim.checks.task import examine_evaluator
from behavesim.evaluators.conventions import convention_named
from behavesim.reports.terminal import show
from behavesim.task import Task, TaskReference, installed_tasks
from behavesim.task.evaluated import ConventionName, EvaluatorTask
from behavesim.task.task import TaskKind
from behavesim.task.verdict import Verdict

from .commands import PLAIN
from .evaluator import (
    ConfigurationOption,
    EvaluatorOption,
    MetricOption,
    MinimiseOption,
    ProgramOption,
    open_task,
    write_around,
)
from .options import RUNS, AsJson, Assignments, RunsDir
from .output import hanging, print_json, print_result, report_findings, tell, try_once, write_example

# The table of `behavesim list tasks --sizes`: what a candidate takes on each task.


def show_sizes(names: Sequence[str], as_json: bool) -> None:
    """Run the templates of the tasks `names` on the search's instances; print sizes, CPU seconds and scores."""
    found = [_time_template(name) for name in names]
    print_result(found, as_json, list, lambda found: show([_table(found)]))


def _time_template(name: str) -> dict[str, Any]:
    """Return a row of the table, by column: the size of a task, and its template's score, gap and CPU seconds."""
    # Score and gap are None if the template fails, and all three if the task cannot run here.
    settings, task = task_settings(name, {"allow_weak_isolation": True})
    known = {"task": name, "size": task.search_size, "best_known": task.objective.best_known}
    try:
        (found,) = try_once(settings, task, [(f"the template of {name}", task.template)], "search")
    except TaskError as error:  # a task may need a package that is not installed
        tell(str(error))
        return {**known, "score": None, "gap": None, "seconds": None}
    score = found.verdict.score if isinstance(found.verdict, Verdict) else None
    gap = None if score is None else task.objective.gap(score)
    return {**known, "score": score, "gap": gap, "seconds": found.verdict.cpu_s}


def _table(found: list[dict[str, Any]]) -> Table:
    """Return the table of what `_time_template` returned for each task."""
    columns = (
        *(Column("task"), Column("size", title="search instances"), Column("seconds", SECONDS)),
        *(Column("best_known", SCORE, title="best known"), Column("score", SCORE, title="template")),
        Column("gap", FRACTION),
    )
    rows = tuple(tuple(each[column.name] for column in columns) for each in found)
    return Table("sizes", "CPU seconds of each task's template, on all search instances", columns, rows)


# `behavesim task init` and `behavesim task check`: a task of one's own.


# What a program does in a task: the words of `Task.kind`, but for "other", of which there is no example.
Kind = Literal["constructive", "priority", "improvement", "black-box", "packing", "evaluator"]
# The example file for each kind, which `task init --like` copies: NAME in cli/examples/NAME.py.txt.
EXAMPLES: dict[Kind, str] = {
    **{"constructive": "constructive", "priority": "task", "improvement": "improvement"},
    **{"black-box": "black_box", "packing": "packing", "evaluator": "judged"},
}

task = typer.Typer(help="Write and examine a task of your own.", no_args_is_help=True, **PLAIN)


@task.command("init")
def init(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The task's name; the file is NAME.py here.")],
    evaluator: Annotated[
        str | None, typer.Option("--evaluator", metavar="E", help="An evaluator to write the file around.")
    ] = None,
    program: ProgramOption = None,
    is_minimised: MinimiseOption = False,
    metric: MetricOption = None,
    like: Annotated[
        Kind, typer.Option("--like", help="What a program does in it; each kind is a file that works as written.")
    ] = "priority",
) -> None:
    """Write a commented task file to start from.

    If the file exists, it stays as it is and the command fails. With --evaluator the task is written around an
    evaluator of any kind, which then judges the programs' answers outside the sandbox; so its scores are trusted.
    """
    if evaluator is None:
        write_example("task", name, EXAMPLES[like])
    else:
        write_around(name, evaluator, program, is_minimised, metric or "")


@task.command("check")
def check(
    ctx: typer.Context,
    path: Annotated[
        str | None, typer.Argument(metavar="PATH", help="A task file, or an installed task's name.")
    ] = None,
    evaluator: EvaluatorOption = None,
    program: ProgramOption = None,
    configuration: ConfigurationOption = None,
    is_minimised: MinimiseOption = False,
    metric: MetricOption = None,
    assignments: Assignments = None,
    runs_dir: RunsDir = RUNS,
    as_json: AsJson = False,
) -> None:
    """Examine a task without asking a model, so at no cost.

    With an evaluator, or a task file that names one, try which forged programs the evaluator would believe. Exit code 1
    if something must be fixed.
    """
    with open_task(path, {"allow_weak_isolation": True, **ctx.params}, runs_dir) as made:
        settings, loaded = task_settings(str(made.path), {}, assignments)
        examine = examine_evaluator if isinstance(loaded, EvaluatorTask) else check_task
        width = 34 if examine is examine_evaluator else 20  # of the findings' names: those of forgeries are long
        report_findings(examine(settings, loaded), width, as_json)


Timed = Annotated[
    bool, typer.Option("--sizes", help="Run every template on the search's instances, and show its seconds in a table.")
]


def tasks(sizes: Timed = False, as_json: AsJson = False) -> None:
    """List the installed tasks by kind: what is designed, on which instances, and the best score known with its source.

    The kind says what a program does. Constructive: it chooses each next step. Priority: it ranks the choices.
    Improvement: it changes a whole solution. Black-box: it minimises a function. Packing: it returns the whole
    solution. Evaluator: code of yours runs it.
    """
    rows = [(name, TaskReference(name).load()) for name in installed_tasks()]
    if sizes:
        show_sizes(
            [full for name, task in rows for full in (name, *(f"{name}:{size}" for size in task.sizes))], as_json
        )
        return
    if as_json:
        print_json([_as_json(name, task) for name, task in rows])
        return
    kinds, width = get_args(TaskKind), max(len(name) for name, _ in rows)
    for kind, of_kind in groupby(sorted(rows, key=lambda row: kinds.index(row[1].kind)), lambda row: row[1].kind):
        typer.echo(typer.style(kind, bold=True))
        for name, task in of_kind:
            typer.echo(hanging(f"  {name:{width}}  ", _in_words(task)))


def _in_words(task: Task) -> str:
    """Return what a person chooses a task by, in sentences."""
    known, source = task.objective.best_known, task.objective.source
    said = [f"{task.description.splitlines()[0]} {task.entry_point}(), {task.objective.direction}."]
    if task.search_size:
        said.append(f"{task.search_size}.")
    if known is not None:
        said.append(f"Best known: {known:.6g}{source and f' ({source})'}.")
    if task.used_by:
        said.append(f"Used by {task.used_by}.")
    if task.shifted:
        said.append(f"Shifted instances: {task.shifted}.")
    if others := [*task.sizes, *(["24 (so many instances)"] if task.endless else [])]:
        said.append(f"Also {', '.join(f'{task.name}:{size}' for size in others)}.")
    if task.online:
        said.append("Online: a portfolio of programs does not apply.")
    return " ".join(said)


def _as_json(name: str, task: Task) -> dict[str, Any]:
    """Return what is known of a task of this name, as a JSON document."""
    return {
        "task": name,
        "kind": task.kind,
        "direction": task.objective.direction,
        "best_known": task.objective.best_known,
        "source": task.objective.source,
        "size": task.search_size,
        "sizes": task.sizes,
        "shifted": task.shifted,
        "used_by": task.used_by,
        "online": task.online,
        "budget": task.budget,
        "entry_point": task.entry_point,
    }


# `behavesim list evaluators`.


# A row of the table for karpathy/autoresearch, which is called by a command: how, by which shape, and an example.
AUTORESEARCH = (
    "a command",
    "a command whose output has lines `name: number`, one of which --metric names",
    "--evaluator command:'PYTHONPATH=. python {program}' --program train.py --metric val_bpb --minimise",
)


def evaluators(as_json: AsJson = False) -> None:
    """List the kinds of evaluators that --evaluator takes: what is called, and an example for each."""
    listed = sorted(get_args(ConventionName), key="command".__eq__)
    rows = [(name, each.called_as, each.shape, each.example) for name in listed for each in (convention_named(name),)]
    rows.append(("autoresearch", *AUTORESEARCH))
    names = ("convention", "called as", "found by", "example")
    if as_json:
        print_json([dict(zip(("convention", "called_as", "shape", "example"), row, strict=True)) for row in rows])
        return
    for name, called, shape, example in rows:
        show([facts_table(name, name, {names[1]: called, names[2]: shape, names[3]: example})])
