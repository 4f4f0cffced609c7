"""A program can be run on a block of further instances, in the zygotes that have those of the split."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from behavesim.sandbox.judge import RefereePool, SandboxJudge
from behavesim.sandbox.limits import Limits
from behavesim.sandbox.pool import Pool
from behavesim.state.protocols import unnoticed
from behavesim.task import TaskReference
from behavesim.task.verdict import Block, Failure, Verdict

SORTED = "def order(points):\n    return sorted(range(len(points)), key=lambda each: points[each])\n"
BUSY = """
import time

def order(points):
    began = time.process_time()
    while time.process_time() < began + 0.05:
        pass
    return list(range(len(points)))
"""
NUMBERED = """
    {flag} = True
    endless = True

    def instance(self, split, number):
        return np.random.RandomState(100 + number).rand(10) if number > 1 else self.instances(split)[number]

    def solve("""
FURTHER = 12


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["online", "stateless", "endless"])
async def judge(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[SandboxJudge, TaskReference]]:
    file = tmp_path_factory.mktemp("tasks") / "numbered.py"
    plain = Path(__file__).with_name("cities.py").read_text()
    file.write_text(plain.replace("\n    def solve(", NUMBERED.format(flag=request.param)))
    task, limits = TaskReference(str(file)), Limits(timeout_s=0.4)
    pool = Pool(task, "search", 2, limits, allow_weak_isolation=True, further=FURTHER)
    async with SandboxJudge(task.load(), pool, RefereePool(task, "search", limits, further=FURTHER)) as opened:
        yield opened, task


@pytest.mark.asyncio(loop_scope="module")
async def test_a_block_has_its_own_instances_and_no_trajectories(judge: tuple[SandboxJudge, TaskReference]) -> None:
    judged, reference = judge
    task = reference.load()
    for block in (Block(2, 2, 1.0), Block(4, 10, 5.0)):
        verdict = await judged.evaluate(SORTED, unnoticed, block)
        assert isinstance(verdict, Verdict)
        instances = [task.instance("search", block.first + place) for place in range(block.size)]
        assert verdict.scores == pytest.approx([each.max() - each.min() for each in instances])
        assert verdict.trajectories == ()
    whole = await judged.evaluate(SORTED)
    assert isinstance(whole, Verdict)
    assert len(whole.scores) == len(whole.trajectories) == 2


@pytest.mark.asyncio(loop_scope="module")
async def test_time_on_a_block_grows_with_it(judge: tuple[SandboxJudge, TaskReference]) -> None:
    judged, _ = judge
    found = await judged.evaluate(BUSY, unnoticed, Block(2, 12, 6.0))
    assert isinstance(found, Verdict)
    assert found.cpu_s > 0.6
    slow = await judged.evaluate(BUSY, unnoticed, Block(2, 12, 0.5))
    assert isinstance(slow, Failure)
    assert slow.reason == "timeout"
