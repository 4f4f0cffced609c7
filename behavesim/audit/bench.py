"""What a verification runs programs and derives replies with."""

from __future__ import annotations

from contextlib import AsyncExitStack

from behavesim.base.config import Settings
from behavesim.engine.build import judging
from behavesim.proposers.installed import argument, proposer, proposer_type
from behavesim.proposers.proposer import Errand
from behavesim.sandbox import Limits
from behavesim.state.protocols import Judge, Responder
from behavesim.store.folder import RunFolder
from behavesim.task import Task


class Bench:
    """A run's folder, its task as it is now, and the judges and proposers of its settings, which end with `stack`."""

    def __init__(self, folder: RunFolder, task: Task, task_name: str, workers: int, stack: AsyncExitStack) -> None:
        self.folder = folder
        self.task = task
        self.workers = workers
        self._task_name = task_name
        self._stack = stack
        self._judges: dict[Limits, Judge] = {}

    async def judge(self, settings: Settings) -> Judge:
        """Return a judge under the limits of these settings; equal limits share one."""
        limits = Limits.of(settings)
        if limits not in self._judges:
            here = settings.model_copy(update={"task": self._task_name, "workers": self.workers})
            self._judges[limits] = await self._stack.enter_async_context(judging(here, self.task))
        return self._judges[limits]

    async def writer(self, settings: Settings) -> Responder | None:
        """Return the proposer if its replies can be derived again; None if they are what somebody said."""
        if not proposer_type(settings.proposer).is_pure:
            return None
        errand = Errand(self.task, settings.seed, settings.connections, argument(settings.proposer))
        return await self._stack.enter_async_context(proposer(settings, errand))
