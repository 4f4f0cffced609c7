"""How two programs differ, on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.analysis.journals import feasible, rejected, started, write
from tests.cli.command import Command


@pytest.fixture
def made(behavesim: Command, tmp_path: Path) -> Command:
    write(
        tmp_path / "runs/first",
        started(),
        feasible(0, 2.5, [0, 1, 3, 2], source="x = 1\n"),
        feasible(1, 3.0, [0, 3, 2, 1], source="x = 2  # \x1b[2J\n"),
        rejected(2, "exception", "division by zero"),
    )
    return behavesim


def test_text_and_behaviour_of_two_programs_are_told_apart(made: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    ended = made("show", "first", 0, 1)
    assert (ended.code, ended.err) == (0, "")
    assert "\n-x = 1\n+x = 2  # \\u001b[2J\n" in ended.out
    said = " ".join(ended.out.replace("│", " ").split())
    for fact in ("a 2.5, gap 25.00 % (candidate 0)", "at which they differ", "chooses city 1", "chooses city 3"):
        assert fact in said


def test_the_template_may_be_either_of_them(made: Command) -> None:
    assert "\n-template\n+x = 1\n" in made("show", "first", "-1", 0).out
    assert "\n-x = 1\n+template\n" in made("show", "first", 0, "-1").out
    same = made("show", "first", "-1", "-1").out
    assert "the two programs have the same text" in same
    assert "They do exactly the same on all instances." in " ".join(same.split())


def test_the_document_has_what_the_view_is_made_of(made: Command) -> None:
    document = made("show", "first", -1, 1, "--json").document
    assert set(document) == {"run", "score_source", "a", "b", "diff", "similarity", "instances"}
    assert document["score_source"] == "trusted"
    assert (document["a"]["candidate"], document["b"]["score"]) == (-1, 3.0)
    (only,) = document["instances"]
    assert (only["instance"], only["step"]) == (1, 2)
    assert only["a_did"] == "chooses city 1, the 49th nearest of 49 left, 0.768 away"
    assert only["b_did"] == "chooses city 3, the 5th nearest of 49 left, 0.141 away"
    assert only["similarity"] == document["similarity"] < 1.0


def test_of_a_rejected_program_only_the_text_is_known(made: Command) -> None:
    ended = made("show", "first", 2, 0)
    assert (ended.code, "not both are feasible" in ended.out, "at which they part" in ended.out) == (0, True, False)


def test_what_there_is_not_is_refused_in_a_line(made: Command) -> None:
    ended = made("show", "first", 0, 9)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "behavesim: run first has no candidate 9; there are 0 to 2, and -1 is the template\n"


def test_the_prompt_is_that_of_one_program(made: Command) -> None:
    ended = made("show", "first", 0, 1, "--prompt")
    assert (ended.code, "name only one" in ended.err) == (2, True)


def test_its_old_name_does_the_same(made: Command) -> None:
    assert made("diff", "first", -1, 1, "--json") == made("show", "first", -1, 1, "--json")
