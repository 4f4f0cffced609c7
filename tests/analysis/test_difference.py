"""How two programs of a run differ."""

from __future__ import annotations

from pathlib import Path

import pytest

from behavesim.analysis.difference import DiffedProgram, InstanceDifference, program_difference
from behavesim.analysis.run import Run
from behavesim.base.errors import UsageError
from tests.analysis.journals import asked, feasible, journalled, rejected, started

ONE = "def f():\n    x = 1\n    return x\n"
OTHER = "def f():\n    x = 2\n    return x\n"


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return journalled(
        tmp_path / "first",
        started(),
        feasible(0, 3.0, [0, 1, 2, 3], [0, 3, 2, 1], source=ONE, scores=(2.0, 4.0)),
        feasible(1, 2.5, [0, 1, 3, 2], [0, 3, 2, 1], source=OTHER, scores=(1.0, 4.0)),
        rejected(2, "timeout"),
        feasible(3, 3.0, [0, 1], [3, 2, 1, 0], source=ONE, scores=(2.0, 4.0)),
        asked(4),
    )


def test_the_text_is_compared_as_a_unified_diff_from_one_to_the_other(run: Run) -> None:
    lines = ["--- candidate 0", "+++ candidate 1", "@@ -1,3 +1,3 @@", " def f():"]
    assert program_difference(run, 0, 1).diff.split("\n") == [*lines, "-    x = 1", "+    x = 2", "     return x"]
    assert program_difference(run, 0, 3).diff == ""


def test_the_step_at_which_they_part_and_what_each_did_there_is_said_of_each_instance(run: Run) -> None:
    found = program_difference(run, 0, 1)
    first, second = found.instances
    alike = run.matrix([0, 1])[0, 1]
    assert (found.a, found.b) == (DiffedProgram(0, "feasible", 3.0, 0.5), DiffedProgram(1, "feasible", 2.5, 0.25))
    assert (first.step, first.a_did, first.b_did) == (
        3,
        "chooses city 2, the 2nd nearest of 48 left, 0.0645 away",
        "chooses city 3, the 36th nearest of 48 left, 0.833 away",
    )
    assert second == InstanceDifference(2, 4.0, 4.0, 1.0, None, None, None)
    assert found.similarity == pytest.approx(alike)
    assert found.similarity == pytest.approx((first.similarity + second.similarity) / 2)
    assert 0.0 < first.similarity < 1.0


def test_programs_may_part_at_once_or_by_one_ending(run: Run) -> None:
    ends, at_once = program_difference(run, 0, 3).instances
    assert (ends.step, ends.a_did, ends.b_did) == (
        3,
        "chooses city 2, the 2nd nearest of 48 left, 0.0645 away",
        "has come to its end there",
    )
    assert (at_once.step, at_once.a_did, at_once.b_did) == (1, "chooses city 0", "chooses city 3")


def test_a_rejected_program_is_compared_by_its_text_alone(run: Run) -> None:
    found = program_difference(run, 2, 0)
    assert "-its source" in found.diff.splitlines()
    assert (found.similarity, found.instances) == (None, ())
    assert found.table().caption == "" and found.table().rows == ()
    assert found.a == DiffedProgram(2, "rejected", None, None)


def test_what_has_no_program_is_refused(run: Run) -> None:
    with pytest.raises(UsageError, match=r"candidate 4 has no program to compare \(it is open\)"):
        program_difference(run, 0, 4)
    with pytest.raises(UsageError, match="no candidate 9; there are 0 to 4"):
        program_difference(run, 9, 0)
