"""What an examination finds, in a line each as it is found."""

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
"""How a finding begins its line."""


def report_findings(found: AsyncIterator[Finding], width: int, as_json: bool) -> None:
    """Print the findings, their names so wide, or as one document; exits with 1 where something is to be mended."""

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
    """A finding as a line, folded between words where a terminal is narrower."""
    margin = f"{MARKS[finding.result]:5} {finding.name:{width}} "
    if not sys.stdout.isatty():
        return margin + finding.message
    columns, indent = shutil.get_terminal_size().columns, " " * len(margin)
    return TextWrapper(columns, margin, indent, break_long_words=False, break_on_hyphens=False).fill(finding.message)
