"""The summary that a run's folder keeps."""

from __future__ import annotations

from pathlib import Path

import pytest

from behavesim.analysis.run import Run
from behavesim.analysis.summary import load_summary, summary
from behavesim.store.folder import SUMMARY
from tests.analysis.journals import asked, feasible, journalled, started, stopped


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return journalled(tmp_path / "first", started(), feasible(0, 5.0), asked(1), stopped("max_cost"))


def unread(folder: object) -> Run:
    raise AssertionError("the journal was read")


def test_a_second_glance_reads_no_journal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load_summary(run.folder)
    assert first == summary(run)
    monkeypatch.setattr(Run, "load", unread)
    assert load_summary(run.folder) == first


def test_what_happened_since_is_seen(run: Run) -> None:
    load_summary(run.folder)
    with run.folder.locked():
        assert load_summary(run.folder).unanswered == summary(run).unanswered
    longer = journalled(run.folder.path, asked(2))
    assert load_summary(longer.folder) == summary(longer)
    assert load_summary(longer.folder).asked == 3


@pytest.mark.parametrize("text", ["", "{", f"{'0' * 64}\n{{}}"])
def test_a_note_that_says_nothing_is_found_out_anew(run: Run, text: str) -> None:
    run.folder.keep(SUMMARY, text)
    assert load_summary(run.folder) == summary(run)
    assert load_summary(run.folder) == summary(run)


def test_bytes_that_are_no_text_hide_no_run(run: Run) -> None:
    load_summary(run.folder)
    (run.folder.path / ".summary").write_bytes(b"\xff\xfe\x00\n{}")
    assert load_summary(run.folder) == summary(run)


def test_a_run_is_listed_where_its_summary_cannot_be_kept(run: Run) -> None:
    (run.folder.path / ".summary").mkdir()
    assert load_summary(run.folder) == summary(run)
