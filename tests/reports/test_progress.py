"""How far a computation has come, as a pipe shows it."""

from __future__ import annotations

import time

import pytest

from behavesim.reports import live as shown
from behavesim.reports.live import count_progress, progress


def test_a_pipe_gets_a_line_at_once_and_then_as_time_goes_by(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shown, "LINE_S", 0.05)
    lines = list[str]()
    with progress("verifying first") as told:
        lines += capsys.readouterr().err.splitlines()
        told(1200, 1500)
        while len(lines) < 3:  # nothing more is done, and still there are lines
            time.sleep(0.01)
            lines += capsys.readouterr().err.splitlines()
    assert lines[0] == "verifying first"
    assert set(lines[1:]) == {"verifying first: 1,200 of 1,500"}


def test_items_are_counted_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(count_progress("ab", 2, "comparing pairs")) == ["a", "b"]
    assert capsys.readouterr().err == "comparing pairs: 0 of 2\n"


def test_a_terminal_gets_a_bar_that_is_removed_at_the_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in (("FORCE_COLOR", "1"), ("TERM", "xterm"), ("COLUMNS", "80")):
        monkeypatch.setenv(name, value)
    with progress("verifying [first]", 5) as told:
        told(3, 4)
    shown_at_last = capsys.readouterr().err
    assert "verifying [first]" in shown_at_last and "3/4" in shown_at_last
    assert shown_at_last.endswith("\x1b[2K")
