"""What `task check` and `method check` print."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator

import pytest
import typer
from behavesim_cli.output import report_findings

from behavesim.base.errors import Finding

LONG = "at most 50 s of CPU time (timeout_s) and 102 s by the clock, for the template too, which is tried now"


async def found(*findings: Finding) -> AsyncIterator[Finding]:
    for finding in findings:
        yield finding


def test_at_a_terminal_a_long_finding_is_folded_between_words_below_itself(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setattr("shutil.get_terminal_size", lambda: os.terminal_size((60, 24)))
    report_findings(found(Finding("time limit", "ok", LONG)), 20, as_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "ok    time limit           at most 50 s of CPU time"
    assert len(lines) > 2
    assert all(line.startswith(" " * 27) and len(line) <= 60 for line in lines[1:])
    assert " ".join(line[27:] for line in lines) == LONG


def test_elsewhere_each_finding_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    report_findings(found(Finding("time limit", "warning", LONG)), 20, as_json=False)
    assert capsys.readouterr().out == f"note  time limit           {LONG}\n"


def test_what_is_to_be_mended_ends_in_an_exit_code() -> None:
    with pytest.raises(typer.Exit) as ended:
        report_findings(found(Finding("score", "fail", "is none"), Finding("use", "ok", "")), 20, as_json=True)
    assert ended.value.exit_code == 1
