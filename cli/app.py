"""The `behavesim` command: its verbs, and how errors reach a person."""

from __future__ import annotations

import sys

import typer

from . import doctor, evaluate, report, run

app = typer.Typer(
    name="behavesim",
    help="Search for algorithms with language models, and know them by what they do.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("run")(run.run)
app.command("resume")(run.resume)
app.command("report")(report.report)
app.command("list")(report.runs)
app.command("evaluate")(evaluate.evaluate)
app.command("tasks")(evaluate.tasks)
app.command("doctor")(doctor.doctor)


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
