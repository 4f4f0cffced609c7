"""Writes a commented example as the beginning of a user's own file."""

from __future__ import annotations

from collections.abc import Mapping
from keyword import iskeyword
from pathlib import Path

import typer

from behavesim.base.errors import UsageError


def write_example(noun: str, name: str, example: str = "", texts: Mapping[str, str] | None = None) -> Path:
    """Write the file NAME.py in the current folder from an example, print what to do next, and return its path.

    The example is that of `noun` ("task" or "method"), or the one named `example`. In it the name and the keys of
    `texts` are replaced. Raises UsageError if the name is not a Python name, or the file exists or cannot be written.
    """
    if not name.isidentifier():
        raise UsageError(f"a {noun}'s name is a Python name, not {name!r}")
    path = Path(f"{name}.py")
    text = (Path(__file__).parent / f"examples/{example or noun}.py.txt").read_text(encoding="utf-8")
    # the user's own texts last, so that nothing in them is replaced
    for before, after in {"NAME": name, "Knapsack": _class_name(name), **(texts or {})}.items():
        text = text.replace(before, after)
    try:
        with path.open("x", encoding="utf-8") as file:  # "x" never replaces a file of the user's
            file.write(text)
    except FileExistsError:
        raise UsageError(f"{path} exists already; choose another name") from None
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None
    typer.echo(f"wrote {path}; next: behavesim {noun} check {path}")
    return path


def _class_name(name: str) -> str:
    """Return a class name such as JobShop for job_shop; the name itself if that is no valid name (`_1`, `none`)."""
    camel = name.title().replace("_", "")
    return camel if camel.isidentifier() and not iskeyword(camel) else name
