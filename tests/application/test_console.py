"""What a person sees while a run goes on, by what their terminal can do."""

from __future__ import annotations

import asyncio
import fcntl
import os
import re
import select
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO, TextIO

import pytest
from rich.console import Console, ConsoleDimensions

from behavesim.analysis.run import Run
from behavesim.application import console
from behavesim.reports.live import LiveRun
from tests.analysis.journals import feasible, started, write
from tests.reports.test_panels import moment

CLEARED = "\x1b[2J"


class Terminal:
    """A terminal that keeps what is written to it."""

    encoding = "utf-8"

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the terminal

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._file.fileno()

    def getvalue(self) -> str:
        return os.pread(self.fileno(), 1 << 24, 0).decode()


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
    async with console.show(moment):
        for _ in range(10_000):
            if screen.getvalue():
                break
            await asyncio.sleep(0.001)
    assert screen.getvalue()
    assert ("\x1b" in screen.getvalue()) is is_live


@pytest.fixture
def pipe() -> Iterator[tuple[BinaryIO, TextIO]]:
    """What is read, and what is written to as stderr."""
    read, write = os.pipe()
    with os.fdopen(read, "rb", 0) as ours, os.fdopen(write, "w") as theirs:
        yield ours, theirs


async def _looks(count: int) -> None:
    """Show a run until it has been looked at so often."""
    seen = 0

    def look() -> LiveRun:
        nonlocal seen
        seen += 1
        return moment()

    async with console.show(look):
        while seen < count:
            await asyncio.sleep(0.001)


@pytest.mark.parametrize("is_terminal", [False, True])
@pytest.mark.parametrize("is_read", [False, True])
async def test_a_run_goes_on_where_nobody_reads_what_it_says_any_more(
    monkeypatch: pytest.MonkeyPatch, pipe: tuple[BinaryIO, TextIO], is_terminal: bool, is_read: bool
) -> None:
    """Its reader is gone, as `tee` at Ctrl-C, or has stopped to read, as a terminal at Ctrl-S."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(console, "PATIENCE_S", 0.01)
    for name in ("REFRESH_S", "LINE_S"):
        monkeypatch.setattr(console, name, 0.001)
    monkeypatch.setattr(console, "MAX_CPU_SHARE", 1.0)
    ours, theirs = pipe
    monkeypatch.setattr(theirs, "isatty", lambda: is_terminal)
    monkeypatch.setattr(sys, "stderr", theirs)
    if is_read:
        fcntl.fcntl(theirs, fcntl.F_SETPIPE_SZ, 4096)
        os.write(theirs.fileno(), bytes(4096))
    else:
        ours.close()
    await _looks(5)


@pytest.mark.parametrize("blocks", [True, False])  # another process may have made the file non-blocking
def test_what_waits_for_a_slow_reader_arrives_in_order_and_no_more_waits_than_is_allowed(
    monkeypatch: pytest.MonkeyPatch, pipe: tuple[BinaryIO, TextIO], blocks: bool
) -> None:
    monkeypatch.setattr(console, "LIMIT", 10)
    monkeypatch.setattr(console, "PATIENCE_S", 60.0)
    ours, theirs = pipe
    fcntl.fcntl(theirs, fcntl.F_SETPIPE_SZ, 4096)
    os.write(theirs.fileno(), bytes(4096))
    os.set_blocking(theirs.fileno(), blocks)
    waits = threading.Event()

    def selected(*given: Any) -> Any:
        waits.set()
        return select.select(*given)

    monkeypatch.setattr(console, "select", SimpleNamespace(select=selected))
    slow = console.NonblockingStream(theirs)
    assert (slow.fileno(), slow.isatty()) == (theirs.fileno(), False)
    for text in ("first ", "last", "dropped"):
        assert slow.write(text) == len(text)
    assert blocks or waits.wait(60)
    assert ours.read(4096) == bytes(4096)
    slow.close()
    assert ours.read(100) == b"first last"


def test_what_still_waits_when_its_stream_is_closed_goes_to_no_other_file(
    monkeypatch: pytest.MonkeyPatch, pipe: tuple[BinaryIO, TextIO]
) -> None:
    monkeypatch.setattr(console, "PATIENCE_S", 0.0)
    ours, theirs = pipe
    fcntl.fcntl(theirs, fcntl.F_SETPIPE_SZ, 4096)
    os.write(theirs.fileno(), bytes(4096))
    slow = console.NonblockingStream(theirs)
    slow.write("first ")
    slow.write("last")
    slow.close()
    read, write = os.pipe()
    os.dup2(write, theirs.fileno())
    os.close(write)
    with os.fdopen(read, "rb", 0) as other:
        assert b"".join(iter(lambda: ours.read(100), b"")) == bytes(4096) + b"first last"
        theirs.close()
        assert other.read(100) == b""


async def test_a_terminal_that_is_given_another_size_is_cleared_and_filled_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(console, "REFRESH_S", 0.001)
    monkeypatch.setattr(console, "MAX_CPU_SHARE", 1.0)
    size = ConsoleDimensions(120, 40)
    monkeypatch.setattr(Console, "size", property(lambda _: size))
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    async with console.show(moment):
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


def test_a_plain_line_comes_with_a_change_and_else_once_a_minute() -> None:
    schedule, now = console.LineSchedule(), moment()
    due = [schedule.is_due(now) for _ in range(round(125 / console.REFRESH_S))]
    assert [place * console.REFRESH_S for place, is_due in enumerate(due, 1) if is_due] == [5.0, 65.0, 125.0]
    for _ in range(3):
        assert not schedule.is_due(now)
    due = [schedule.is_due(moment(is_warming=True)) for _ in range(40)]
    assert due.index(True) == 16 and sum(due) == 1  # five seconds after the last line


def test_a_run_whose_task_is_gone_can_be_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("REFRESH_S", "LINE_S", "POLL_S"):
        monkeypatch.setattr(console, name, 0.001)
    write(tmp_path / "first", started(task=str(tmp_path / "gone.py"), budget=1), feasible(0, 3.0))
    run, said = Run.load(tmp_path / "first"), ""

    async def watched() -> None:
        nonlocal said
        with run.folder.locked():
            watching = asyncio.create_task(console.watch(run))
            while "1/1 tried" not in said:
                await asyncio.sleep(0.001)
                said += capfd.readouterr().err
        await watching

    asyncio.run(asyncio.wait_for(watched(), 60))
    assert re.search("best [^,]*3", said)
