"""What a person sees while a run goes on, by what their terminal can do."""

from __future__ import annotations

import asyncio
import io
import sys

import pytest

from behavesim.application import console
from tests.reports.test_panels import moment


class Terminal(io.StringIO):
    """A terminal that keeps what is written to it."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("term", "is_live"), [("dumb", False), ("xterm", True)])
async def test_a_terminal_that_cannot_move_its_cursor_gets_plain_lines(
    monkeypatch: pytest.MonkeyPatch, term: str, is_live: bool
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr(console, "REFRESH_S", 0.001)
    monkeypatch.setattr(console, "LINE_S", 0.001)
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    async with console.shown(moment):
        for _ in range(10_000):
            if screen.getvalue():
                break
            await asyncio.sleep(0.001)
    assert screen.getvalue()
    assert ("\x1b" in screen.getvalue()) is is_live
