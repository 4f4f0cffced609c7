"""The list of runs, and notes that people make on them."""

from __future__ import annotations

import shutil
from pathlib import Path

from behavesim.analysis.report import report
from behavesim.analysis.run import Run
from behavesim.analysis.summary import load_summary
from behavesim.reports.page.html import run_page
from behavesim.store.folder import LONGEST_NOTE, RunFolder
from tests.analysis.journals import feasible, journalled, started, stopped, write
from tests.cli.command import Command


def test_a_note_stands_in_lists_reports_and_pages_and_beside_the_program_that_it_names(behavesim: Command) -> None:
    write(Path("runs/first"), started(), feasible(0, 5.0), feasible(1, 4.0), stopped("budget"))
    write(Path("runs/second"), started(), feasible(0, 5.0), stopped("budget"))
    before = load_summary(RunFolder(Path("runs/first")))
    assert behavesim("note", "first", "candidate 1 is", "2-opt:\n try  Or-opt").code == 0
    (note,) = RunFolder(Path("runs/first")).notes
    assert note.endswith(" candidate 1 is 2-opt: try Or-opt")
    assert behavesim("note", "first").out == f"{note}\n"
    listed = behavesim("list").out.splitlines()
    assert listed[0].split()[-1] == "note"
    assert [note[:30] in line for line in listed[2:]] == [True, False]
    assert note in behavesim("report", "first").out
    assert note in behavesim("show", "first", 1).out
    assert note not in behavesim("show", "first", 0).out
    assert behavesim("show", "first", 1, "--json").document["notes"] == [note]
    after = load_summary(RunFolder(Path("runs/first")))
    assert (after.notes, after.digest) == ((note,), before.digest)
    _, summary, _ = run_page(report(Run.load("runs/first"))).sections["summary"]
    assert 'data-candidate="1">candidate 1</button> is 2-opt' in summary


def test_a_run_can_be_noted_on_while_it_goes_on_and_by_hand(behavesim: Command) -> None:
    folder = journalled(Path("runs/first"), started(), feasible(0, 5.0)).folder
    with folder.locked():
        assert behavesim("note", "first", "still running").code == 0
    with folder.notes_file.open("a") as file:
        file.write("\n  by hand \x1b[2J\n")
    assert [each.split(" ", 1)[1] for each in folder.notes] == ["still running", "hand \x1b[2J"]
    assert "by hand \\u001b[2J" in behavesim("note", "first").out
    assert "\x1b[2J" not in behavesim("report", "first").out


def test_a_note_that_is_too_long_or_empty_is_refused(behavesim: Command) -> None:
    folder = journalled(Path("runs/first"), started(), feasible(0, 5.0)).folder
    for text, length in (("x" * (LONGEST_NOTE + 1), LONGEST_NOTE + 1), (" ", 0)):
        refused = behavesim("note", "first", text)
        assert refused.code == 2
        assert f"1 to {LONGEST_NOTE} characters, this one {length}" in refused.err
    assert folder.notes == ()


def test_runs_are_listed_in_the_order_of_a_column_the_unknown_last(behavesim: Command) -> None:
    for name, scores in (("a", (3.0,)), ("b", ()), ("c", (2.5,))):
        write(Path("runs", name), started(), *(feasible(at, score) for at, score in enumerate(scores)))
    assert [each["run"] for each in behavesim("list", "--sort", "best", "--json").document] == ["c", "a", "b"]
    for name in ("a", "b"):
        shutil.rmtree(f"runs/{name}")
    Path("runs/c/run.db").write_text("no journal")
    unread = behavesim("list")
    assert (unread.code, unread.out, unread.err.count("\n")) == (0, "", 1)
    assert "file is not a database" in unread.err
    assert "--sort takes one of run, state" in behavesim("list", "--sort", "best-of").err
