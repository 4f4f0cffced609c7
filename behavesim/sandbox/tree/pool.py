"""Evaluations in the second profile: each runs an evaluator on one program, in a tree of processes of its own."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from behavesim.base.heartbeat import Heartbeat
from behavesim.sandbox.again import settled
from behavesim.sandbox.connection import Ran
from behavesim.sandbox.layers import LAYERS
from behavesim.sandbox.limits import Limits
from behavesim.sandbox.messages import LOAD_S, TreeAssignment
from behavesim.sandbox.runner import RunnerPool, ZygoteRunner
from behavesim.sandbox.solutions import frame_of
from behavesim.sandbox.tree.confinement import MOST_FILES, MOST_PROCESSES
from behavesim.state.protocols import Postponed, unnoticed
from behavesim.task.verdict import Failure


class ResultPool(RunnerPool):
    """A sandbox of an evaluator, which runs together with each program: reads how the evaluations ended.

    Its isolation is "strong+", "partial" or "process".
    """

    async def evaluate(self, program: str, postponed: Postponed = unnoticed) -> tuple[bytes | Failure, float]:
        """Return the bytes that the evaluation of a program sent, or its failure; and the CPU seconds of its processes.

        Waits until a worker is free. Cancelling kills all processes of the evaluation. If the sandbox dies, it is
        started again and the program is evaluated once more. If the program's ending may be the machine's fault,
        `postponed` is called, and the program runs again alone, up to three times. Raises SandboxError if the sandbox
        dies again or does not start, or if the ending stays in doubt; TaskError if the evaluator can no longer be
        loaded.
        """
        ran = await settled(self.runner, self._limits, program, postponed, may_signal=True)
        return self._sent(ran), ran.ending.cpu_s

    def _sent(self, ran: Ran) -> bytes | Failure:
        """Return the bytes that an evaluation sent, or its failure; limits over all processes come first."""
        if ran.ending.killed == "memory":
            said = f"the evaluation held more than {self._limits.memory_mb} MB of memory in all its processes"
            return Failure("memory", said)
        if ran.ending.killed == "processes":
            return Failure("forbidden", f"the evaluation started more than {MOST_PROCESSES} processes and threads")
        if ran.ending.killed == "files":
            return Failure("forbidden", f"the evaluation had more than {MOST_FILES} files open in all its processes")
        return frame_of(ran, self._limits)


class TreePool(ResultPool):
    """Runs evaluations on this machine, at most `workers` at once; an async context manager.

    Entering starts a process that is confined and then calls the function `loader` ("module:name") with the text
    `given`, for `load_s` seconds of CPU time at most. `limits` are those of each evaluation. Evaluator and programs may
    read `readable` paths (absolute), and where namespaces hold not the `hidden` ones below them. Time limits on
    processes go by `clock`, a new one if None. Tests give fewer `layers`. Leaving ends all processes.
    The processes are started through the command `wall`, unless that is empty, and may use `devices`.

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
        wall: str = "",
        devices: tuple[str, ...] = (),
    ) -> None:
        shown, unseen = tuple(map(str, readable)), tuple(map(str, hidden))
        assignment = TreeAssignment(
            *(loader, given, shown, load_s, workers, devices), limits=limits, layers=layers, hidden=unseen, wall=wall
        )
        super().__init__(ZygoteRunner(assignment, workers, allow_weak_isolation, clock), limits)
