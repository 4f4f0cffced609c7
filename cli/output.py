"""Printing: results go to stdout, everything else to stderr."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from textwrap import TextWrapper
from typing import TypeVar

import typer

from behavesim.base.text import printable, wrapped

Result = TypeVar("Result")


def tell(text: str) -> None:
    """Print "behavesim: " and a text on stderr, above the live view if there is one; control characters are escaped."""
    said = f"behavesim: {printable(text)}"
    said = wrapped(said, shutil.get_terminal_size().columns) if sys.stderr.isatty() else said
    print(said, file=sys.stderr)  # noqa: T201 - typer.echo would write into the live view


def say(text: str) -> None:
    """Print a text on stdout; control characters are escaped, and lines wrapped to the terminal's width, if it is one.

    Neither a path nor a command in it, "behavesim …", is broken.
    """
    said = printable(text)
    typer.echo(wrapped(said, shutil.get_terminal_size().columns) if sys.stdout.isatty() else said)


def tell_written(files: Iterable[Path]) -> None:
    """Print on stderr that these files were written, one a line."""
    for file in files:
        tell(f"wrote {file}")


def busy(text: str) -> None:
    """Print a text on what takes a while, followed by " …", on stderr if that is a terminal; else print nothing."""
    if sys.stderr.isatty():
        tell(f"{text} …")


def hanging(margin: str, text: str) -> str:
    """Return `margin` and a text wrapped beside it to the terminal's width; on one line if stdout is no terminal."""
    if not sys.stdout.isatty():  # files and other programs get one thing a line
        return margin + text
    columns, indent = shutil.get_terminal_size().columns, " " * len(margin)
    return TextWrapper(columns, margin, indent, break_long_words=False, break_on_hyphens=False).fill(text)


def print_json(document: object) -> None:
    """Print an object as one JSON document on the process's real stdout, even while `--json` redirects `sys.stdout`.

    Characters that stdout's encoding may lack are escaped.
    """
    assert sys.__stdout__ is not None, "the command opens it where it is closed"
    holds_all = sys.__stdout__.encoding.lower().startswith("utf")
    typer.echo(printable(json.dumps(document, indent=2, ensure_ascii=not holds_all)), file=sys.__stdout__)


def print_result(
    found: Result, as_json: bool, document: Callable[[Result], object], show: Callable[[Result], object]
) -> None:
    """Print a result on stdout: as the JSON document that `document` makes of it, or else by calling `show`."""
    if as_json:
        print_json(document(found))
    else:
        show(found)
