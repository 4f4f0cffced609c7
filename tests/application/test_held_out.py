"""Programs of runs tried on held-out instances."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from behavesim.analysis.held_out import KEPT
from behavesim.application.evaluation import evaluate_held_out, reports_of
from behavesim.base.config import Settings
from behavesim.base.errors import UsageError
from behavesim.state.protocols import Judge
from behavesim.task import Task
from behavesim.task.verdict import Failure, Verdict
from tests.analysis.journals import feasible, journalled, started


class Slow:
    """A judge under whose limit `slow` is done in 100 s."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s

    async def evaluate(self, source: str, *_: object) -> Verdict | Failure:
        """The verdict, or a timeout."""
        if source == "slow" and self._timeout_s < 100:
            return Failure("timeout")
        return Verdict(8.0, (8.0,), (), 0.0)


@asynccontextmanager
async def judge_of(settings: Settings, task: Task, split: str) -> AsyncIterator[Judge]:
    """In place of a sandbox."""
    yield Slow(settings.timeout_s)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_each_program_is_judged_under_the_limits_of_its_own_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: tuple[int, ...]
) -> None:
    monkeypatch.setattr("behavesim.engine.build.judge_of", judge_of)
    both = [
        journalled(tmp_path / "brief", started(timeout_s=2.0), feasible(0, 5.0, source="slow")),
        journalled(tmp_path / "long", started(timeout_s=200.0), feasible(0, 5.0, source="slow")),
    ]
    runs = [both[place] for place in order]
    told: list[str] = []
    found = asyncio.run(reports_of(runs, told.append, ["held-out"]))
    assert told == ["trying the programs of 2 runs on held-out instances of tsp"]
    reasons = {each.summary.run: each.held_out.programs[0].reason for each in found if each.held_out is not None}
    assert reasons == {"brief": "timeout", "long": None}
    assert asyncio.run(evaluate_held_out(runs, [run.ranked() for run in runs])) == {
        "slow": (8.0,),
        runs[0].task().template: (8.0,),
    }


def test_what_a_folder_keeps_is_unknown_where_the_task_is_gone(tmp_path: Path) -> None:
    run = journalled(tmp_path / "first", started(task=str(tmp_path / "gone.py")), feasible(0, 5.0))
    run.folder.keep(KEPT["held-out"], "{}")
    (found,) = asyncio.run(reports_of([run], pytest.fail, []))
    assert (found.held_out, found.shifted) == (None, None)


def test_programs_are_tried_on_one_task_that_has_such_instances(tmp_path: Path) -> None:
    one = journalled(tmp_path / "one", started(), feasible(0, 5.0))
    other = journalled(tmp_path / "other", started(task="asp"), feasible(0, 5.0))
    with pytest.raises(UsageError, match="these runs are on different tasks"):
        asyncio.run(evaluate_held_out([one, other], [one.ranked(), other.ranked()]))
    assert asyncio.run(evaluate_held_out([other], [other.ranked()], "shifted")) == {}
