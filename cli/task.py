"""`behavesim task init` and `behavesim task check`: a task of one's own."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from behavesim.checkup import Finding, checkup
from behavesim.errors import UsageError
from behavesim.sandbox import Limits
from behavesim.settings import resolve
from behavesim.task import TaskReference

from .commands import PLAIN
from .options import AsJson, Assignments
from .output import print_json

task = typer.Typer(help="Write and examine a task of your own.", no_args_is_help=True, **PLAIN)

MARKS = {"ok": "ok", "warning": "note", "mend": "MEND"}


@task.command("init")
def init(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The task's name; the file is NAME.py here.")],
) -> None:
    """Write a commented task file to start from."""
    if not name.isidentifier():
        raise UsageError(f"a task's name is a Python name, not {name!r}")
    path = Path(f"{name}.py")
    text = Path(__file__).with_name("example_task.py").read_text(encoding="utf-8").replace("NAME", name)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"{path} exists already; choose another name") from None
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None
    typer.echo(f"wrote {path}; next: behavesim task check {path}")


@task.command("check")
def check(
    path: Annotated[str, typer.Argument(metavar="PATH", help="A task file, or an installed task's name.")],
    assignments: Assignments = None,
    as_json: AsJson = False,
) -> None:
    """Examine a task before any money is spent.

    Exit code 1 where something is to be mended.
    """
    reference = TaskReference(path).resolved()
    loaded = reference.load()
    settings = resolve({"task": reference.text}, assignments, task=loaded)
    limits = Limits(settings.timeout_s, settings.memory_mb, settings.output_mb)

    async def examine() -> list[Finding]:
        findings = []
        async for finding in checkup(reference, loaded, limits):
            findings.append(finding)
            if not as_json:
                typer.echo(f"{MARKS[finding.result]:5} {finding.name:20} {finding.message}")
        return findings

    findings = asyncio.run(examine())
    if as_json:
        print_json([vars(finding) for finding in findings])
    if any(finding.result == "mend" for finding in findings):
        raise typer.Exit(1)
