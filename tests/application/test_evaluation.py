"""Programs of a person's own, evaluated from Python."""

from __future__ import annotations

from pathlib import Path

import pytest

from behavesim.application.evaluation import evaluate_programs, read_program
from behavesim.base.errors import UsageError
from behavesim.engine.admission import settings_from_person
from behavesim.sandbox.limits import Limits
from behavesim.task import TaskReference
from behavesim.task.evaluated import EvaluatorFile, EvaluatorTask, separate_files
from behavesim.task.verdict import Failure, Verdict

TSP = TaskReference("tsp").load()


async def test_programs_are_evaluated_in_their_order_each_with_the_stage_it_came_to() -> None:
    settings = settings_from_person({"task": "tsp", "timeout_s": 50})
    programs = [("good", TSP.template), ("prose", "no program here"), ("bad", "def select_next_node(a, b, c, d): d.x")]
    found = await evaluate_programs(settings, TSP, programs, "validation")
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


BUSY = """
import time
def order(points):
    begin = time.process_time()
    while time.process_time() - begin < 0.1: pass
    return range(10)
"""


async def test_a_program_has_as_much_time_for_each_instance_of_any_split(tmp_path: Path) -> None:
    text = (Path(__file__).parents[1] / "sandbox" / "cities.py").read_text()
    file = tmp_path / "cities.py"
    file.write_text(text.replace('"held-out": (4,)', '"held-out": tuple(range(10))'))
    task, settings = TaskReference(str(file)).load(), settings_from_person({"task": str(file), "timeout_s": 0.7})
    for split in ("search", "validation", "held-out"):  # of 2, 1 and 10 instances
        (found,) = await evaluate_programs(settings, task, [("busy", BUSY)], split)
        assert isinstance(found.verdict, Verdict), found.verdict


def test_limits_grow_with_the_instances_and_never_shrink() -> None:
    limits = Limits(timeout_s=50.0, memory_mb=512, output_mb=8)
    assert limits.on(TSP, "search") == limits
    assert limits.on(TSP, "validation") == Limits(60.0, 512, 10)  # 6 instances for the search's 5
    assert limits.on(TSP, "held-out") == Limits(140.0, 512, 23)
    one = TaskReference(str(Path(__file__).parents[1] / "sandbox" / "cities.py")).load()
    assert limits.on(one, "validation") == limits  # 1 instance for the search's 2


def test_a_program_is_a_file_or_the_template(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("x = 1")
    assert read_program(file, TSP) == "x = 1"
    assert read_program(Path("template"), TSP) == TSP.template
    file.write_bytes(b"\xff")
    for unreadable in (file, tmp_path / "missing.py"):
        with pytest.raises(UsageError, match="cannot read the program"):
            read_program(unreadable, TSP)
    with pytest.raises(UsageError, match=r"a program of tsp is one file, and .* is a folder"):
        read_program(tmp_path, TSP)


def test_a_program_of_an_evaluator_may_be_a_folder(tmp_path: Path) -> None:
    (tmp_path / "src/lib").mkdir(parents=True)
    (tmp_path / "src/a.txt").write_text("1\n")
    (tmp_path / "src/lib/b.txt").write_text("2\n")
    task = EvaluatorTask(EvaluatorFile("command", "judge {program}", str(tmp_path / "src")), "judged")
    read = read_program(tmp_path / "src", task)
    assert separate_files(read) == {"a.txt": "1\n", "lib/b.txt": "2\n"} and read == task.template
