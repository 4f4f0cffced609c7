"""Evaluations in the second profile: each runs an evaluator on one program, in a tree of processes of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

from behavesim.base.heartbeat import Heartbeat
from behavesim.sandbox.connection import ProcessOutput
from behavesim.sandbox.layers import LAYERS
from behavesim.sandbox.limits import Limits
from behavesim.sandbox.runner import Runner
from behavesim.sandbox.solutions import frame_of
from behavesim.sandbox.tree.confinement import MOST_FILES, MOST_PROCESSES
from behavesim.sandbox.tree.messages import LOAD_S, TreeAssignment
from behavesim.sandbox.tree.runner import TreeRunner
from behavesim.task.verdict import Failure


class ResultPool:
    """A sandbox of an evaluator over a runner: lets it run evaluations, and reads here how they ended.

    An async context manager, which enters and leaves the runner. `limits` are those that evaluations run under.
    """

    def __init__(self, runner: Runner, limits: Limits) -> None:
        self._runner = runner
        self._limits = limits

    async def __aenter__(self) -> Self:
        await self._runner.__aenter__()
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self._runner.__aexit__(*raised)

    @property
    def isolation(self) -> str:
        """The isolation level: "strong+", "partial" or "process"; raises SandboxError if the pool was not entered."""
        return self._runner.ready.isolation

    @property
    def notes(self) -> Sequence[str]:
        """What keeps the isolation from "strong+", a line each; raises SandboxError if the pool was not entered."""
        return self._runner.ready.notes

    async def evaluate(self, program: str) -> tuple[bytes | Failure, float]:
        """Return the bytes that the evaluation of a program sent, or its failure; and the CPU seconds of its processes.

        Waits until a worker is free. Cancelling kills all processes of the evaluation. If the sandbox dies, it is
        started again and the program is evaluated once more. Raises SandboxError if it dies again or does not start,
        TaskError if the evaluator can no longer be loaded.
        """
        run = (await self._runner.run(program)).output
        return self._sent(run), run.ending.cpu_s

    def _sent(self, run: ProcessOutput) -> bytes | Failure:
        if run.ending.killed == "memory":
            said = f"the evaluation held more than {self._limits.memory_mb} MB of memory in all its processes"
            return Failure("memory", said)
        if run.ending.killed == "processes":
            return Failure("forbidden", f"the evaluation started more than {MOST_PROCESSES} processes and threads")
        if run.ending.killed == "files":
            return Failure("forbidden", f"the evaluation had more than {MOST_FILES} files open in all its processes")
        return frame_of(run, self._limits)


class TreePool(ResultPool):
    """Runs evaluations on this machine, at most `workers` at once; an async context manager.

    Entering starts a process that is confined and then calls the function `loader` ("module:name") with the text
    `given`, for `load_s` seconds of CPU time at most. `limits` are those of each evaluation. `readable` and `hidden`
    are explained at TreeAssignment. Leaving ends all processes.

    Entering raises UsageError if the isolation is below `strong+`, unless `allow_weak_isolation`; TaskError if the
    evaluator cannot be loaded; SandboxError if the sandbox does not start.
    """

    def __init__(
        self,
        loader: str,
        given: str,
        workers: int,
        limits: Limits,
        readable: Iterable[Path] = (),
        hidden: Iterable[Path] = (),
        allow_weak_isolation: bool = False,
        layers: tuple[str, ...] = LAYERS,
        clock: Heartbeat | None = None,
        load_s: float = LOAD_S,
    ) -> None:
        paths = tuple(map(str, readable)), tuple(map(str, hidden))
        assignment = TreeAssignment(loader, given, limits, layers, *paths, load_s, workers)
        super().__init__(TreeRunner(assignment, allow_weak_isolation, clock), limits)
