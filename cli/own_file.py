"""Write a commented example as the beginning of a user's own file."""

from __future__ import annotations

from keyword import iskeyword
from pathlib import Path

import typer

from behavesim.base.errors import UsageError


def write_example(noun: str, name: str) -> None:
    """Write NAME.py from the example of a task or a method; raises UsageError where it cannot be written."""
    if not name.isidentifier():
        raise UsageError(f"a {noun}'s name is a Python name, not {name!r}")
    path = Path(f"{name}.py")
    example = (Path(__file__).parent / f"examples/{noun}.py.txt").read_text(encoding="utf-8")
    text = example.replace("NAME", name).replace("Knapsack", _class_name(name))
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"{path} exists already; choose another name") from None
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None
    typer.echo(f"wrote {path}; next: behavesim {noun} check {path}")


def _class_name(name: str) -> str:
    """Return a class name such as JobShop for job_shop; the name itself if that is no valid name (`_1`, `none`)."""
    camel = name.title().replace("_", "")
    return camel if camel.isidentifier() and not iskeyword(camel) else name
