"""What evaluations cannot see of the runs in their evaluator's folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from behavesim.evaluators.evaluation import evaluator_pool, runs_in
from behavesim.sandbox.limits import Limits
from behavesim.task.evaluated import EvaluatorFile


@pytest.mark.parametrize(
    ("journal", "hidden"),
    [
        ("runs/one/run.db", {"runs"}),
        ("results/deep/one/run.db", {"results/deep"}),
        ("one/run.db", {"one"}),
        ("run.db", {"run.db", "run.db-wal"}),
    ],
)
def test_runs_are_hidden_and_the_evaluator_never_is(tmp_path: Path, journal: str, hidden: set[str]) -> None:
    (tmp_path / "evaluator.py").touch()
    (tmp_path / journal).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / journal).touch()
    (tmp_path / f"{journal}-wal").touch()
    assert set(runs_in(tmp_path)) == {tmp_path / each for each in hidden}


async def test_no_description_is_in_a_command_line_however_long_it_is(tmp_path: Path) -> None:
    (tmp_path / "evaluator.py").write_text("def evaluate(path):\n    return {'combined_score': 1.0}\n")
    (tmp_path / "first.py").write_text("x = 1\n")
    places = str(tmp_path / "evaluator.py"), str(tmp_path / "first.py")
    file = EvaluatorFile("openevolve", *places, description="a secret plan, " * 20_000)
    async with evaluator_pool(file, 1, Limits(), allow_weak_isolation=True) as pool:
        assert pool.isolation
        lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if os.access(path, os.R_OK)]
    assert b"behavesim.sandbox.keeper" in b"".join(lines)
    assert not any(b"a secret plan" in line for line in lines)
