"""Print the findings of `task check` and `method check`, one line each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from textwrap import indent

import typer

from behavesim.base.finding import Finding
from behavesim.base.text import printable

from .output import hanging, print_json

MARKS = {"ok": "ok", "warning": "note", "mend": "MEND"}
"""The first word of a finding's line, by the finding's `result`."""


def report_findings(found: AsyncIterator[Finding], width: int, as_json: bool) -> None:
    """Print each finding as it comes, or all as one JSON document; raises typer.Exit with code 1 if one must be fixed.

    `width` is the number of characters that the column of the findings' names takes.
    """

    async def collected() -> list[Finding]:
        findings = list[Finding]()
        async for finding in found:
            if not as_json:
                _show(finding, findings[-1].section if findings else "", width)
            findings.append(finding)
        return findings

    findings = asyncio.run(collected())
    if as_json:
        print_json([vars(finding) for finding in findings])
    if any(finding.result == "mend" for finding in findings):
        raise typer.Exit(1)


def _show(finding: Finding, section: str, width: int) -> None:
    """Print a finding, below its section's heading unless the one before is of that `section`; its text is indented."""
    if finding.section != section:
        typer.echo(f"\n{finding.section}")
    typer.echo(hanging(f"{MARKS[finding.result]:5} {finding.name:{width}} ", finding.message))
    if finding.text:
        typer.echo(f"\n{indent(printable(finding.text), '    ')}")
