"""Programs of a person's own, evaluated from Python."""

from __future__ import annotations

from pathlib import Path

import pytest

from behavesim.application.evaluation import evaluate, read_program
from behavesim.errors import UsageError
from behavesim.settings import resolve
from behavesim.task import TaskReference
from behavesim.verdict import Failure, Verdict

TSP = TaskReference("tsp").load()


async def test_programs_are_evaluated_in_their_order_each_with_the_stage_it_came_to() -> None:
    settings = resolve({"task": "tsp", "timeout_s": 50})
    programs = [("good", TSP.template), ("prose", "no program here"), ("bad", "def select_next_node(a, b, c, d): d.x")]
    found = await evaluate(settings, TSP, programs, "validation")
    assert [(each.file, each.stage) for each in found] == [
        ("good", "evaluation"),
        ("prose", "extraction"),
        ("bad", "evaluation"),
    ]
    good, prose, bad = (each.verdict for each in found)
    assert isinstance(good, Verdict)
    assert len(good.scores) == len(TSP.instances("validation"))
    assert isinstance(prose, Failure)
    assert isinstance(bad, Failure)
    assert "AttributeError" in bad.message


def test_a_program_is_a_file_or_the_template(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("x = 1")
    assert read_program(file, TSP) == "x = 1"
    assert read_program(Path("template"), TSP) == TSP.template
    file.write_bytes(b"\xff")
    for unreadable in (file, tmp_path, tmp_path / "missing.py"):
        with pytest.raises(UsageError, match="cannot read the program"):
            read_program(unreadable, TSP)
