"""Runs evaluations in the second profile, and returns what their processes sent as it came."""

from __future__ import annotations

from functools import partial
from typing import Self

from behavesim.base.errors import SandboxError
from behavesim.base.heartbeat import Heartbeat
from behavesim.sandbox.connection import Ran
from behavesim.sandbox.messages import Ready
from behavesim.sandbox.runner import NOT_ENTERED, Places, refuse_weak, refuse_weaker
from behavesim.sandbox.supervisor import ZygoteSupervisor
from behavesim.sandbox.tree.messages import TreeAssignment


class TreeRunner:
    """Runs the evaluator of an assignment with programs on this machine; an async context manager.

    Entering starts the zygote, which confines itself and then loads the evaluator. Raises UsageError if the isolation
    is below `strong`, unless `allow_weak_isolation`, and SandboxError if the zygote does not start. Leaving ends all
    processes.
    """

    def __init__(self, assignment: TreeAssignment, allow_weak_isolation: bool, clock: Heartbeat | None = None) -> None:
        self._allow_weak_isolation = allow_weak_isolation
        self._zygote = ZygoteSupervisor(assignment, self._accept, clock or Heartbeat())
        self._places = Places(assignment.workers)
        self._ready: Ready | None = None

    async def __aenter__(self) -> Self:
        try:
            await self._zygote.connection()
        except BaseException:
            await self._zygote.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._zygote.close()

    @property
    def ready(self) -> Ready:
        """The first message of the zygote that started last; raises SandboxError if there is none yet."""
        if self._ready is None:
            raise SandboxError(NOT_ENTERED)
        return self._ready

    async def run(self, source: str, question: bytes = b"", alone: bool = False) -> Ran:
        """Run the evaluator with a program; `question` must be empty, since evaluators are asked no calls.

        Waits until a worker is free, or with `alone` until all are. Cancelling kills all processes of the evaluation.
        Raises SandboxError if the sandbox itself fails.
        """
        return await self._places.tried(partial(self._run, source), alone)

    async def _run(self, source: str) -> Ran:
        return await (await self._zygote.connection()).run(source)

    def _accept(self, ready: Ready) -> None:
        """Keep a zygote's first message; raises SandboxError if its isolation fell, UsageError if it is too weak."""
        refuse_weaker(ready, self._ready)
        self._ready = ready
        if not self._allow_weak_isolation:
            refuse_weak(ready, "the evaluator and its programs")
