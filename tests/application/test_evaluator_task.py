"""The task file that is written for an evaluator."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from behavesim.application.evaluator_task import LONGEST_IN_FULL, Wanted, task_file

EVALUATOR = "def evaluate(program_path):\n    return {'score': 1.0}\n"


def written(folder: Path, lines: int, **wanted: Any) -> dict[str, Any]:
    """What the file says for a first program of so many lines."""
    (folder / "evaluator.py").write_text(EVALUATOR)
    (folder / "first.py").write_text("".join(f"x{number} = {number}\n" for number in range(lines)))
    given = Wanted(str(folder / "evaluator.py"), folder / "first.py", **wanted)
    with task_file(given, folder / "runs", lambda text: None) as made:
        return tomllib.loads(made.path.read_text())


@pytest.mark.parametrize(
    ("lines", "wanted", "edits"),
    [
        (LONGEST_IN_FULL, {}, "full"),
        (LONGEST_IN_FULL + 1, {}, "diff"),
        (LONGEST_IN_FULL + 1, {"edits": "full"}, "full"),
        (3, {"edits": "diff"}, "diff"),
    ],
)
def test_a_long_first_program_is_changed_by_edits_unless_a_person_says_otherwise(
    tmp_path: Path, lines: int, wanted: dict[str, Any], edits: str
) -> None:
    folder = tmp_path / "own"  # the evaluator's folder must not be the system's temporary one
    folder.mkdir()
    assert written(folder, lines, **wanted).get("edits", "full") == edits


def test_a_configuration_decides_before_the_length(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "config.yaml").write_text("diff_based_evolution: false\n")
    assert written(folder, LONGEST_IN_FULL + 1).get("edits", "full") == "full"
