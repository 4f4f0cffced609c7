"""What a command says: results on stdout, all else on stderr, and exit codes that no error has."""

from __future__ import annotations

import json
import sys

import typer

from behavesim.base.text import printable

REJECTED = 3
"""The exit code where a program that was given is rejected."""


def tell(text: str) -> None:
    """Say something on stderr, in a line of its own, above a live view where there is one."""
    print(f"behavesim: {printable(text)}", file=sys.stderr)  # noqa: T201 - typer.echo would write into the live view


def busy(text: str) -> None:
    """Tell a person at a terminal what takes a while; elsewhere it would be one more line in a log."""
    if sys.stderr.isatty():
        tell(f"{text} …")


def print_json(document: object) -> None:
    """Print one JSON document on stdout, where `--json` lets nothing else through."""
    assert sys.__stdout__ is not None, "the command opens it where it is closed"
    holds_all = sys.__stdout__.encoding.lower().startswith("utf")
    typer.echo(printable(json.dumps(document, indent=2, ensure_ascii=not holds_all)), file=sys.__stdout__)
