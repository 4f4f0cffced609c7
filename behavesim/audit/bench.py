"""The sandboxes and proposers with which a verification runs programs and derives replies again."""

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
    """A run's folder, its task as it is now, and the judges and proposers of its settings; `stack` closes them."""

    def __init__(self, folder: RunFolder, task: Task, task_name: str, workers: int, stack: AsyncExitStack) -> None:
        self.folder = folder
        self.task = task
        self.workers = workers
        self._task_name = task_name
        self._stack = stack
        self._judges: dict[Limits, Judge] = {}

    async def judge(self, settings: Settings) -> Judge:
        """Return a judge with the time and memory limits of these settings; equal limits share one judge.

        Raises SandboxError if the sandbox cannot start.
        """
        limits = Limits.of(settings)
        if limits not in self._judges:
            here = settings.model_copy(update={"task": self._task_name, "workers": self.workers})
            self._judges[limits] = await self._stack.enter_async_context(judging(here, self.task))
        return self._judges[limits]

    async def writer(self, settings: Settings) -> Responder | None:
        """Return the proposer if its replies follow from prompt and number alone; None if a model or person gave them.

        Raises UsageError if the proposer cannot be created.
        """
        if not proposer_type(settings.proposer).is_pure:
            return None
        errand = Errand(self.task, settings.seed, settings.connections, argument(settings.proposer))
        return await self._stack.enter_async_context(proposer(settings, errand))
