"""Whoever answers prompts in a folder: it reads each, and puts a reply beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

Answer = Callable[[str], str]


def echo(text: str) -> str:
    return f"reply to {text}"


async def answered(folder: Path, answer: Answer = echo) -> None:
    """Answer every prompt that appears, for ever."""
    while True:
        for path in unanswered(folder):
            write(path, answer(path.read_text()))
        await asyncio.sleep(0.005)


def unanswered(folder: Path) -> list[Path]:
    """The prompts without a reply, by name."""
    return sorted(path for path in folder.glob("*.prompt.md") if not reply_of(path).exists())


def reply_of(path: Path) -> Path:
    return path.with_name(path.name.replace(".prompt.", ".reply."))


def write(path: Path, text: str) -> None:
    """Reply to the prompt of a path as it is best done: written under another name, then renamed."""
    draft = path.with_suffix(".draft")
    draft.write_text(text)
    draft.replace(reply_of(path))
