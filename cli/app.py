"""The `behavesim` command: its verbs, and how errors reach a person."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from .compare import compare
from .doctor import doctor
from .evaluate import evaluate, tasks
from .experiment import experiment
from .recommend import recommend
from .recover import recover
from .report import report, runs
from .run import resume, run
from .settings import settings
from .task import task
from .verify import verify
from .watch import watch

app = typer.Typer(
    name="behavesim",
    help="Search for algorithms with language models, and know them by what they do.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"behavesim {version('behavesim')}")
        raise typer.Exit


@app.callback()
def behavesim(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """What the command takes before its verb."""


app.command("run")(run)
app.command("resume")(resume)
app.command("watch")(watch)
app.command("verify")(verify)
app.command("recover")(recover)
app.command("report")(report)
app.command("recommend")(recommend)
app.command("list")(runs)
app.command("experiment")(experiment)
app.command("evaluate")(evaluate)
app.command("compare")(compare)
app.command("tasks")(tasks)
app.command("settings")(settings)
app.add_typer(task, name="task")
app.command("doctor")(doctor)


def main() -> None:
    """Run the command; what behavesim itself reports becomes one line on stderr and the error's exit code."""
    from behavesim.errors import BehavesimError

    try:
        app()
    except BehavesimError as error:
        print(f"behavesim: {error}", file=sys.stderr)  # noqa: T201 - the one place where an error is printed
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
