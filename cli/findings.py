"""Print the findings of `doctor`, `task check` and `method check`, one line each."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import AsyncIterator
from textwrap import TextWrapper

import typer

from behavesim.base.finding import Finding

from .output import print_json

MARKS = {"ok": "ok", "warning": "note", "mend": "MEND"}
"""The first word of a finding's line, by its result."""


def report_findings(found: AsyncIterator[Finding], width: int, as_json: bool) -> None:
    """Print each finding as it comes, or all as one JSON document; raises typer.Exit with code 1 if one must be fixed.

    width: columns for the findings' names.
    """

    async def collected() -> list[Finding]:
        findings = []
        async for finding in found:
            findings.append(finding)
            if not as_json:
                typer.echo(_line(finding, width))
        return findings

    findings = asyncio.run(collected())
    if as_json:
        print_json([vars(finding) for finding in findings])
    if any(finding.result == "mend" for finding in findings):
        raise typer.Exit(1)


def _line(finding: Finding, width: int) -> str:
    """Return a finding as a line, folded between words if the terminal is narrower."""
    margin = f"{MARKS[finding.result]:5} {finding.name:{width}} "
    if not sys.stdout.isatty():
        return margin + finding.message
    columns, indent = shutil.get_terminal_size().columns, " " * len(margin)
    return TextWrapper(columns, margin, indent, break_long_words=False, break_on_hyphens=False).fill(finding.message)
