"""A sandbox that runs nothing, and referees without a process: what a judge is made of."""

from __future__ import annotations

from typing import Any, Self

from behavesim.sandbox.frames import encode_solutions
from behavesim.sandbox.judge import RefereePool, RefereeReply, SandboxJudge, read_reply
from behavesim.sandbox.limits import Limits
from behavesim.sandbox.messages import SIZE
from behavesim.sandbox.pool import Pool
from behavesim.sandbox.referee import Scorer
from behavesim.task import Split, Task, TaskReference, as_arrays
from behavesim.task.verdict import Failure, Sent


class Returns:
    """A sandbox in which every program returns the same."""

    isolation = "strong"

    def __init__(self, *solutions: Any, cpu_s: float = 0.25) -> None:
        frame = encode_solutions([as_arrays(each) for each in solutions], 1 << 23)
        self._sent = Sent(frame, len(solutions), cpu_s)

    async def send(self, source: str, *_: object) -> Sent | Failure:
        return self._sent

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None: ...


class Here(RefereePool):
    """Referees that answer in this process."""

    def __init__(self, task: Task, split: Split = "search", starts: int = 1) -> None:
        self._scorer = Scorer(task, split, Limits(), starts)
        self.instances = self._scorer.instances

    async def ask(self, kind: bytes, frame: bytes, share: float = 1.0) -> RefereeReply:
        return read_reply(self._scorer.answer(kind, frame)[SIZE.size :])

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None: ...


def judge_here(task: Task, sandbox: Any) -> SandboxJudge:
    """A judge that scores in this process what a sandbox sends."""
    return SandboxJudge(task, sandbox, Here(task))


def judge_with(reference: TaskReference, pool: Pool) -> SandboxJudge:
    """A judge as a run has it, around a pool; not entered."""
    return SandboxJudge(reference.load(), pool, RefereePool(reference, "search", Limits()))
