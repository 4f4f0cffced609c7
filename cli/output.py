"""Printing: results go to stdout, everything else to stderr."""

from __future__ import annotations

import json
import sys

import typer

from behavesim.base.text import printable

REJECTED = 3
"""The exit code if a program that a person gave is rejected."""


def tell(text: str) -> None:
    """Print a line "behavesim: text" on stderr, above the live view if there is one."""
    print(f"behavesim: {printable(text)}", file=sys.stderr)  # noqa: T201 - typer.echo would write into the live view


def busy(text: str) -> None:
    """Print on stderr, if it is a terminal, what takes a while; prints nothing into logs."""
    if sys.stderr.isatty():
        tell(f"{text} …")


def print_json(document: object) -> None:
    """Print one JSON document on the process's real stdout, even while `--json` redirects `sys.stdout`."""
    assert sys.__stdout__ is not None, "the command opens it where it is closed"
    holds_all = sys.__stdout__.encoding.lower().startswith("utf")
    typer.echo(printable(json.dumps(document, indent=2, ensure_ascii=not holds_all)), file=sys.__stdout__)
