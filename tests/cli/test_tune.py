"""`behavesim tune`, and `bs.tune`."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

import behavesim as bs
from behavesim.base.errors import BehavesimError, UsageError
from tests.cli.command import Command

CITIES = str(Path(__file__).parents[1] / "endless_cities.py")
PROGRAM = '''# A file of one's own.
import numpy as np


def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    """Weigh the way home by 30.0."""
    near = distance_matrix[current_node][unvisited_nodes]
    home = distance_matrix[destination_node][unvisited_nodes]
    return unvisited_nodes[int(np.argmin(near - 5.0 * home))]
'''
KEYS = {
    "task",
    "file",
    "before",
    "after",
    "numbers",
    "evaluations",
    "told_apart",
    "fresh",
    "gain",
    "interval",
    "evidence",
}


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(PROGRAM)
    return tmp_path / "mine.py"


def test_a_program_s_numbers_are_tuned_and_the_tuned_file_is_written_beside_it(behavesim: Command, mine: Path) -> None:
    ended = behavesim("tune", CITIES, "mine.py", "--evaluations", 40, "--workers", 2, "--json")
    document = ended.document
    assert (ended.code, set(document)) == (0, KEYS)
    assert document["task"] == "endless_cities" and document["file"] == "mine.py"
    (number,) = document["numbers"]
    assert number["line"] == 9 and number["before"] == 5.0 and 0.5 <= number["after"] <= 50
    assert document["after"]["score"] < document["before"]["score"]
    assert document["told_apart"] is True and document["fresh"] >= 10 and document["evaluations"] <= 40
    assert 0 < document["interval"][0] < document["gain"] < document["interval"][1]
    assert mine.read_text() == PROGRAM
    assert mine.with_name("mine.tuned.py").read_text() == document["after"]["source"]
    assert document["after"]["source"] == PROGRAM.replace("5.0 * home", f"{number['after']:.6g} * home")
    assert "mine.tuned.py" in ended.err


def test_a_tuned_template_is_written_where_a_file_is_named(behavesim: Command, mine: Path) -> None:
    task = mine.with_name("cities.py")
    task.write_text(
        Path(CITIES).read_text().replace("    endless = True", f"    endless = True\n    template = {PROGRAM!r}")
    )
    ended = behavesim("tune", task, "template", "--evaluations", 40, "--workers", 2, "--out", "found.py", "--json")
    assert mine.with_name("found.py").read_text() == ended.document["after"]["source"] != PROGRAM


def test_the_same_seed_tunes_alike_on_any_number_of_workers_and_from_python(behavesim: Command, mine: Path) -> None:
    once = behavesim("tune", CITIES, "mine.py", "--evaluations", 12, "--workers", 1, "--json").document
    again = behavesim("tune", CITIES, "mine.py", "--evaluations", 12, "--workers", 4, "--json").document
    assert once == again

    async def in_a_notebook() -> bs.TunedProgram:
        return bs.tune(CITIES, Path("mine.py"), evaluations=12, workers=1)

    found = asyncio.run(in_a_notebook())
    assert found.document() == once and "<table" in found._repr_html_()
    other = bs.tune(CITIES, PROGRAM, evaluations=12, seed=1, workers=1)
    assert other.file == "the program" and other.numbers != found.numbers


def test_a_person_reads_a_table_and_what_changed(behavesim: Command, mine: Path) -> None:
    ended = behavesim("tune", CITIES, "mine.py", "--evaluations", 40, "--out", "better.py")
    assert ended.code == 0 and "better for certain: gain" in ended.out
    assert "-    return unvisited_nodes[int(np.argmin(near - 5.0 * home))]" in ended.out
    assert (mine.parent / "better.py").exists() and not (mine.parent / "mine.tuned.py").exists()


def test_nothing_is_written_if_it_is_not_better(behavesim: Command, mine: Path) -> None:
    mine.write_text(PROGRAM.replace("near - 5.0 * home", "near + 0.5"))
    ended = behavesim("tune", CITIES, "mine.py", "--evaluations", 40, "--json")
    document = ended.document
    assert ended.code == 0 and document["after"] == {"score": None, "source": None}
    assert document["numbers"] == [{"line": 9, "before": 0.5, "after": None}]
    assert document["told_apart"] is False and (document["fresh"], document["gain"], document["interval"]) == (
        0,
        None,
        None,
    )
    assert document["evaluations"] == 4  # a plateau: all of the first generation score alike
    assert not mine.with_name("mine.tuned.py").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((CITIES, "template"), 2, "template has no numbers to tune"),
        (("nosuch", "mine.py"), 2, "no task 'nosuch'"),
        ((CITIES, "missing.py"), 2, "missing.py"),
        ((CITIES, "mine.py", "--out", "mine.py"), 2, "is never written over"),
        ((CITIES, "mine.py", "--out", "nowhere/better.py"), 2, "there is no folder"),
        ((CITIES, "mine.py", "--out", "."), 2, "is a folder; name a file"),
        ((CITIES, "broken.py"), 3, "broken.py was rejected (extraction: syntax)"),
        ((CITIES, "wrong.py"), 3, "wrong.py was rejected (evaluation: "),
    ],
)
def test_an_error_is_one_clear_line(
    behavesim: Command, mine: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    mine.with_name("broken.py").write_text("def f(:\n")
    mine.with_name("wrong.py").write_text(PROGRAM.replace("return unvisited_nodes[", "return [0.5]["))
    ended = behavesim("tune", *arguments)
    assert (ended.code, ended.out) == (code, "")
    assert said in ended.err and len(ended.err.strip().splitlines()) <= 2


def test_a_gain_that_is_unknown_is_not_told_as_0() -> None:
    found = bs.tune(CITIES, PROGRAM, evaluations=12, workers=1)
    failed = replace(found, told_apart=False, fresh=0, gain=None, interval=None, evidence="")
    assert "one of both failed" in failed.sentence and "0.00 %" not in failed.sentence
    assert "→ unknown in" in replace(failed, score_after=None).sentence


EVALUATOR = """
import runpy
def evaluate(program_path):
    return {"combined_score": -abs(runpy.run_path(program_path)["number"]() - 6.0)}
"""


def test_without_other_instances_the_line_says_on_what_the_gain_rests(behavesim: Command, mine: Path) -> None:
    folder = mine.parent
    (folder / "evaluator.py").write_text(EVALUATOR)
    (folder / "first.py").write_text("def number():\n    return 5.0  # tune: 9 to 1\n")
    (folder / "six.toml").write_text('convention = "openevolve"\nevaluator = "evaluator.py"\nprogram = "first.py"\n')
    ended = behavesim("tune", "six.toml", "first.py", "--evaluations", 12, "--workers", 2)
    assert ended.code == 0 and "on the trials' own instances, 5 runs each; others" in " ".join(ended.out.split())
    assert (folder / "first.tuned.py").exists()
    assert "behavesim: line 2: no number stands within its range" in ended.err


def test_python_raises_what_the_command_says(mine: Path) -> None:
    with pytest.raises(UsageError, match="no numbers to tune"):
        bs.tune(CITIES, Path("template"))
    with pytest.raises(BehavesimError, match="syntax"):
        bs.tune(CITIES, "def f(:\n")
