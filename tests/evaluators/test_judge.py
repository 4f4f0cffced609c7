"""What evaluations cannot see of the runs in their evaluator's folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from behavesim.evaluators.judge import runs_in


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
