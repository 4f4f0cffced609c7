"""Compressed JSON files of finished studies: one document, or one a line."""

from __future__ import annotations

import lzma
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter

from behavesim.base.errors import UsageError

Kind = TypeVar("Kind")

PRESET = 9 | lzma.PRESET_EXTREME
"""xz's slowest setting: such a file is committed once and read often."""


def write(path: Path, documents: Sequence[Kind], kind: type[Kind]) -> None:
    """Write documents of one type, one a line, into an xz file, which is replaced; OSError if it cannot be written."""
    adapter = TypeAdapter(kind)
    with lzma.open(path, "wb", preset=PRESET) as file:
        file.writelines(adapter.dump_json(document) + b"\n" for document in documents)


def read(path: Path, kind: type[Kind], maker: str) -> list[Kind]:
    """Read what `write` wrote, at least one document; raises UsageError if the file is missing, damaged or another.

    `maker` is the script that makes such files, for that error.
    """
    try:
        with lzma.open(path, "rb") as file:
            first, *others = file
        return [TypeAdapter(kind).validate_json(line) for line in (first, *others)]
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}; {maker} makes it of finished runs") from None
    # EOFError: the file ends early; ValueError: it is empty, or its JSON is something else
    except (EOFError, lzma.LZMAError, ValueError):
        raise UsageError(f"{path} is damaged, or not made by {maker}; take it from the project again") from None
