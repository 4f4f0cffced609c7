"""What a person sees while a run goes on, by what their terminal can do."""

from __future__ import annotations

import asyncio
import io
import re
import sys
from types import SimpleNamespace

import pytest
from rich.console import Console, ConsoleDimensions

from behavesim.application import console
from behavesim.reports.moment import Moment
from tests.reports.test_panels import moment

CLEARED = "\x1b[2J"


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


async def test_a_run_goes_on_where_nobody_reads_what_it_says_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "REFRESH_S", 0.001)
    monkeypatch.setattr(console, "LINE_S", 0.001)
    tried: list[str] = []

    def refuse(text: str) -> None:
        tried.append(text)
        raise BrokenPipeError

    screen = io.StringIO()
    monkeypatch.setattr(screen, "write", refuse)
    monkeypatch.setattr(sys, "stderr", screen)
    looks = 0

    def look() -> Moment:
        nonlocal looks
        looks += 1
        return moment()

    async with console.shown(look):
        while looks < 5:
            await asyncio.sleep(0.001)
    assert len(tried) == 1


async def test_a_terminal_that_is_given_another_size_is_cleared_and_filled_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(console, "REFRESH_S", 0.001)
    monkeypatch.setattr(console, "MOST", 1.0)
    size = ConsoleDimensions(120, 40)
    monkeypatch.setattr(Console, "size", property(lambda _: size))
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    async with console.shown(moment):
        while "convergence" not in screen.getvalue():
            await asyncio.sleep(0.001)
        assert CLEARED not in screen.getvalue()
        size = ConsoleDimensions(60, 20)
        while CLEARED not in screen.getvalue():
            await asyncio.sleep(0.001)
    after = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.getvalue().rpartition(CLEARED)[2])
    assert "funsearch+behavesim" in after
    assert max(map(len, re.split(r"[\r\n]+", after))) <= 60


def test_a_rate_is_of_the_last_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(console, "time", SimpleNamespace(monotonic=lambda: now))
    rate, seen = console.Rate(5), []
    for registered, seconds in ((105, 100.0), (205, 300.0), (205, 300.0), (206, 10.0)):
        now += seconds
        seen.append(rate.of(registered))
    assert seen == [1.0, 200 / 400, 100 / 600, 1 / 310]
