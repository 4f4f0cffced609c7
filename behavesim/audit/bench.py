"""The sandboxes and proposers with which a verification runs programs and derives replies again."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from behavesim.base.config import Settings
from behavesim.engine.judging import judging
from behavesim.proposers.installed import proposer_of, proposer_type
from behavesim.proposers.proposer import ProposerContext
from behavesim.sandbox.limits import Limits
from behavesim.state.protocols import Judge, Responder
from behavesim.store.folder import RunFolder
from behavesim.task import Task

ON_A_CLUSTER = 256
"""Number of programs that a verification runs again at the same time on a cluster, whose number of workers is unknown
here."""


@dataclass(frozen=True)
class Bench:
    """What a verification needs to run programs again: a run's folder, its task as it is now, judges and proposers."""

    folder: RunFolder
    task: Task
    task_name: str
    """The task's name or file, from which the sandbox loads it."""
    workers: int | str
    """Programs that each judge runs at once, or a cluster's name."""
    stack: AsyncExitStack
    """Closes the judges and proposers."""
    _judges: dict[Limits, Judge] = field(default_factory=dict)

    @property
    def at_once(self) -> int:
        """Number of programs handed out at once: two for each worker, so that none has to wait; or ON_A_CLUSTER."""
        return 2 * self.workers if isinstance(self.workers, int) else ON_A_CLUSTER

    async def judge(self, settings: Settings) -> Judge:
        """Return a judge with the time and memory limits of these settings; equal limits share one judge.

        Raises SandboxError if the sandbox cannot start, UsageError if its isolation is too weak.
        """
        limits = Limits.of(settings)
        if limits not in self._judges:
            here = settings.model_copy(update={"task": self.task_name, "workers": self.workers})
            self._judges[limits] = await self.stack.enter_async_context(judging(here, self.task))
        return self._judges[limits]

    async def writer(self, settings: Settings) -> Responder | None:
        """Return the proposer if its replies follow from prompt and number alone; None if a model or person gave them.

        Raises UsageError if the proposer cannot be created.
        """
        if not proposer_type(settings.proposer).is_pure:
            return None
        context = ProposerContext(self.task, settings.seed, settings.connections)
        return await self.stack.enter_async_context(proposer_of(settings, context))
