"""`behavesim task init` and `behavesim task check`: a task of one's own."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from behavesim.application.launch import task_settings
from behavesim.checkup import checkup
from behavesim.checkup.evaluator import examine_evaluator
from behavesim.task.evaluated import EvaluatorTask

from .commands import PLAIN
from .evaluator import ConfigurationOption, EvaluatorOption, MinimiseOption, ProgramOption, named_task
from .findings import report_findings
from .options import RUNS, AsJson, Assignments, RunsDir
from .own_evaluator import write_around
from .own_file import write_example

Kind = Literal["constructive", "priority", "improvement", "black-box", "packing", "evaluator"]
"""What a program does in a task: the words of `Task.kind`, but for "other", of which there is no example."""
EXAMPLES: dict[Kind, str] = {
    **{"constructive": "constructive", "priority": "task", "improvement": "improvement"},
    **{"black-box": "black_box", "packing": "packing", "evaluator": "judged"},
}
"""The example file for each kind, which `task init --like` copies: NAME in cli/examples/NAME.py.txt."""

task = typer.Typer(help="Write and examine a task of your own.", no_args_is_help=True, **PLAIN)


@task.command("init")
def init(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The task's name; the file is NAME.py here.")],
    evaluator: Annotated[
        str | None, typer.Option("--evaluator", metavar="E", help="An evaluator to write the file around.")
    ] = None,
    program: ProgramOption = None,
    minimise: MinimiseOption = False,
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
        write_around(name, evaluator, program, minimise)


@task.command("check")
def check(
    ctx: typer.Context,
    path: Annotated[
        str | None, typer.Argument(metavar="PATH", help="A task file, or an installed task's name.")
    ] = None,
    evaluator: EvaluatorOption = None,
    program: ProgramOption = None,
    evaluator_config: ConfigurationOption = None,
    minimise: MinimiseOption = False,
    assignments: Assignments = None,
    runs_dir: RunsDir = RUNS,
    as_json: AsJson = False,
) -> None:
    """Examine a task without asking a model, so at no cost.

    With an evaluator, or a task file that names one, try which forged programs the evaluator would believe. Exit code 1
    if something must be fixed.
    """
    with named_task(path, {"allow_weak_isolation": True, **ctx.params}, runs_dir) as made:
        settings, loaded = task_settings(str(made.path), {}, assignments)
        examine = examine_evaluator if isinstance(loaded, EvaluatorTask) else checkup
        width = 34 if examine is examine_evaluator else 20  # of the findings' names: those of forgeries are long
        report_findings(examine(settings, loaded), width, as_json)
