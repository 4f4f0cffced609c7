"""One candidate on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from behavesim.reports.terminal import show_text
from tests.analysis.journals import answered, asked, feasible, rejected, started, write
from tests.cli.command import Command

SOURCE = "def select_next_node():\n    return 1  # \x1b[2Jnothing\n"


@pytest.fixture
def made(behavesim: Command, tmp_path: Path) -> Command:
    write(
        tmp_path / "runs/first",
        started(),
        feasible(0, 2.5, [0, 1, 3, 2], source=SOURCE),
        feasible(1, 3.0, [3, 2, 1, 0]),
        rejected(2, "exception", "ZeroDivisionError: division by zero"),
        asked(3, (0, -1)),
        [answered(3)],
    )
    return behavesim


def test_a_program_is_shown_with_what_is_known_of_it(made: Command) -> None:
    ended = made("show", "first", 0)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("def select_next_node():\n    return 1  # \\u001b[2Jnothing\n")
    said = " ".join(ended.out.replace("│", " ").split())
    for fact in ("run first: candidate 0", "2.5, gap 25.00 % (candidate 0)", "nearest in behaviour", "improve"):
        assert fact in said
    assert "improve it" not in said and "a reply" not in said


def test_prompt_and_reply_are_shown_where_they_are_wanted(made: Command) -> None:
    ended = made("show", "first", 0, "--prompt", "--reply")
    assert "--- prompt ---\nimprove it\n--- reply ---\na reply\n" in ended.out
    assert made("show", "first", -1, "--reply").out.endswith("--- reply ---\nthere is no reply\n")


def test_the_document_has_all_of_it(made: Command) -> None:
    document = made("show", "first", 0, "--json").document
    assert (document["source"], document["prompt"], document["reply"]) == (SOURCE, "improve it", "a reply")
    assert document["scores"] == [2.5]
    assert [each["candidate"] for each in document["neighbours"]] == [1]
    assert 0.0 <= document["neighbours"][0]["similarity"] < 1.0
    assert [each["candidate"] for each in made("show", "first", 3, "--json").document["parents"]] == [0, -1]


def test_a_rejected_candidate_says_where_and_why(made: Command) -> None:
    said = " ".join(made("show", "first", 2).out.replace("│", " ").split())
    assert "rejected in evaluation, exception (raised an exception): ZeroDivisionError: division by zero" in said


def test_a_candidate_without_an_outcome_has_no_time(made: Command) -> None:
    assert "CPU" in made("show", "first", 2).out
    said = made("show", "first", 3)
    assert (said.code, "CPU" in said.out, "candidate 3" in said.out) == (0, False, True)


def test_the_template_is_number_minus_one(made: Command) -> None:
    assert made("show", "first", "-1").out.startswith("template\n")


def test_what_there_is_not_is_refused_in_a_line(made: Command) -> None:
    unknown = made("show", "first", 9)
    assert (unknown.code, unknown.out) == (2, "")
    assert unknown.err == "behavesim: run first has no candidate 9; there are 0 to 3, and -1 is the template\n"
    assert made("show", "first", 0, "--jsn").code == 2
    assert "best, recommended, template, not 'last'" in made("show", "first", "last").err
    assert made("show", "first", "recommended").err == "behavesim: run first has no recommended program yet\n"
    assert made("show", "first", "best").out == made("show", "first", 0).out


def test_a_terminal_gets_colours_and_nothing_that_the_text_would_do_to_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    show_text(SOURCE, "python")
    out = capsys.readouterr().out
    assert "\x1b[" in out and "\x1b[2J" not in out
    monkeypatch.setenv("NO_COLOR", "1")
    show_text("x = 1", "python")
    assert "\x1b[3" not in capsys.readouterr().out
