"""The options of `behavesim run` and `behavesim task` that name an evaluator in place of a task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from behavesim.application.evaluator_task import Made, Wanted, task_file
from behavesim.base.errors import UsageError

from .options import complete_tasks
from .output import tell

TaskOrNone = Annotated[
    str | None,
    typer.Argument(
        metavar="TASK",
        help="A task's name, or the path of a task file; none with --evaluator.",
        autocompletion=complete_tasks,
    ),
]
EvaluatorOption = Annotated[
    str | None,
    typer.Option(
        "--evaluator",
        metavar="E",
        help='An evaluator instead of a task: FILE.py, FILE.py:Class, module:Class, or command:"CMD {program}".',
    ),
]
ProgramOption = Annotated[
    Path | None, typer.Option("--program", metavar="FILE|DIR", help="The program that the search starts from.")
]
ConfigurationOption = Annotated[
    Path | None,
    typer.Option(
        "--evaluator-config",
        metavar="FILE.yaml",
        help="The evaluator's configuration (default: config.yaml beside it, if it is OpenEvolve's).",
    ),
]
EditsOption = Annotated[
    Literal["full", "diff"] | None,
    typer.Option(help="Ask for whole programs, or for SEARCH/REPLACE edits (default: the configuration's, else full)."),
]
MinimiseOption = Annotated[bool, typer.Option("--minimise", help="A lower score of the evaluator is better.")]


@contextmanager
def named_task(task: str | None, options: Mapping[str, Any], runs: Path) -> Iterator[Made]:
    """Yield the task that a command is about: `task`, a name or path, or the file made for an evaluator.

    `options` are the command's parameters by name. A file made here lies below `runs`, the folder of the runs, and is
    removed after the block if no run uses it. Raises UsageError if no task or two are named, and as `task_file` does.
    """
    wanted = _wanted(options)
    if wanted is None and task is not None:
        yield Made(Path(task))
    elif wanted is not None and task is None:
        with task_file(wanted, runs, tell, bool(options.get("allow_weak_isolation"))) as made:
            yield made
    elif task is not None:
        raise UsageError(f"name a task or an --evaluator, not both ({task!r} stands where a task's name would)")
    else:
        raise UsageError(
            "name a task, such as tsp (`behavesim tasks` lists them), or an evaluator and its first program "
            "with --evaluator and --program"
        )


def _wanted(options: Mapping[str, Any]) -> Wanted | None:
    """Return what the options say of an evaluator; None if they name no evaluator.

    Raises UsageError if an option that belongs to an evaluator, such as --program, is given without one.
    """
    evaluator = options.get("evaluator")
    flags = {"--program": "program", "--evaluator-config": "evaluator_config", "--edits": "edits"}
    given = [flag for flag, name in {**flags, "--minimise": "minimise"}.items() if options.get(name)]
    if evaluator is None:
        if given:
            raise UsageError(f"{given[0]} belongs to an evaluator; name it with --evaluator")
        return None
    program, configuration, edits = (options.get(name) for name in flags.values())
    # old releases of Typer, such as 0.19, give texts here: they make paths of them for the command alone
    program, configuration = program and Path(program), configuration and Path(configuration)
    return Wanted(evaluator, program, configuration, edits, bool(options.get("minimise")))
