"""Runs programs on the workers of a Dask cluster, as they come and go."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any, Self

from behavesim.base.errors import SandboxError, UsageError
from behavesim.base.finished import finished
from behavesim.base.heartbeat import Heartbeat
from behavesim.base.text import counted
from behavesim.cluster.dealer import Dealer
from behavesim.cluster.link import Link, Refused, Terms, opened
from behavesim.cluster.news import News
from behavesim.cluster.schedulers import Scheduler
from behavesim.cluster.wire import Garbage, Line, LineLost
from behavesim.sandbox.connection import Ran
from behavesim.sandbox.isolation import LEVELS
from behavesim.sandbox.messages import Ready
from behavesim.sandbox.runner import NOT_ENTERED

LOOK_S = 2.0
"""Seconds between two questions to the scheduler which workers there are."""
LOOK_A_WORKER_S = 0.005
"""Seconds that each worker adds to LOOK_S: the answer for a thousand has 2 MB."""
AGAIN_S = 5.0
"""Seconds after which a worker that was lost, and is still listed, is tried again."""
RATED_S = 5.0
"""Least seconds over which the rate of evaluations is measured."""


class ClusterRunner:
    """Runs programs on the workers that a Dask scheduler lists; an async context manager.

    Entering enters `scheduler`, then waits until a worker serves and no other one that is listed is starting. It raises
    UsageError if there is no scheduler, or all workers were refused, SandboxError if the scheduler is lost. `instances`
    is the number of the split's, 1 for an evaluator. The run's isolation is the weakest of these workers; later ones
    must have as good a one. `tell` gets a line for a person when workers come, go or are refused. It gets one too if
    they could run more programs at once than `window`, the most in progress (None: no bound). Time limits go by
    `clock`, a new one if None.
    """

    def __init__(
        self,
        scheduler: AbstractAsyncContextManager[Scheduler],
        terms: Terms,
        instances: int,
        tell: Callable[[str], None],
        clock: Heartbeat | None = None,
        window: int | None = None,
    ) -> None:
        self._entering = scheduler
        self._entered = AsyncExitStack()
        self._terms = terms
        self._instances = instances
        self._tell = tell
        self._news = News(tell, window)
        self._clock = clock or Heartbeat()
        self._ready: Ready | None = None
        self._failure: BaseException | None = None
        self._refused: dict[str, str] = {}  # why, by the worker's name
        self._listed: dict[str, str] = {}  # names by address, as the scheduler gave them last
        self._beginning: set[str] = set()  # addresses of workers that do not serve yet, and are not refused
        self._attending: dict[str, asyncio.Task[None]] = {}  # by address
        self._following: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()  # set when workers have come, gone or been refused, or the scheduler was lost
        self._rated = (self._clock(), 0, 0.0)  # time of the clock, programs done by then, and their rate before
        self.dealer = Dealer(self._leave_out)

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as entered:
            self._scheduler = await entered.enter_async_context(self._entering)
            try:
                line = await Line.open(self._scheduler.address, self._scheduler.context)
            except (LineLost, Garbage) as error:
                said = f"no Dask scheduler serves at {self._scheduler.address}: {error}"
                raise UsageError(f"{said}; start one (`dask scheduler`), or give its address") from None
            self._following = asyncio.create_task(self._follow(line))
            self._following.add_done_callback(self._fail)
            try:
                await self._first_workers()
            except BaseException:
                await self._close()
                raise
            self._entered = entered.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        async with self._entered:
            await finished(self._close())

    @property
    def ready(self) -> Ready:
        """The weakest isolation of the first workers, and the number of instances.

        Raises SandboxError if the runner was not entered.
        """
        if self._ready is None:
            raise SandboxError(NOT_ENTERED)
        return self._ready

    def sight(self) -> str:
        """Return how many workers serve, their places, and the evaluations a second, as a phrase for a person."""
        then, before, rate = self._rated
        if (passed_s := self._clock() - then) >= RATED_S:
            rate = (self.dealer.done - before) / passed_s
            self._rated = (then + passed_s, self.dealer.done, rate)
        workers, places = len(self.dealer.links), self.dealer.places
        return f"{counted(workers, 'worker')}, {counted(places, 'place')}, {rate:.1f} evaluations/s"

    async def run(self, source: str, question: bytes = b"", alone: bool = False) -> Ran:
        """Run a program on every instance on some worker, or let it answer the encoded calls in `question`.

        A `question` of b"" has no calls. This waits until a worker has a place; with `alone`, the program then has all
        places of that worker. Cancelling kills the program. Raises SandboxError if the scheduler is lost, or if
        `dealer.MOST_LOST` workers were lost or failed while they ran this program. Without entering, it waits for good.
        """
        if self._failure:
            raise self._failure
        job = self.dealer.put(source, question, alone)
        try:
            return await job.done
        finally:
            self.dealer.drop(job)

    async def _close(self) -> None:
        """End all connections; raise SandboxError in each `run` that still waits for a result."""
        self._failure = self._failure or SandboxError("the sandbox was closed with programs in flight")
        tasks = [*self._attending.values(), *([self._following] if self._following else [])]
        # the task group of a link that is lost right now drops the cancellation: no worker is tried again all the same
        self._listed = {}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.dealer.fail(self._failure)

    async def _first_workers(self) -> None:
        """Wait until some worker serves and no other one is beginning.

        Raises UsageError if all were refused, SandboxError if the scheduler is lost.
        """
        while self._beginning or not self.dealer.links:
            if self._failure:
                raise self._failure
            if self._refused and not self._beginning:
                first, *others = self._refused.values()
                raise UsageError(first + (f" (and {counted(len(others), 'other worker')})" if others else ""))
            self._changed.clear()
            await self._changed.wait()
        self._news.looked(self.dealer.links, len(self._beginning))
        weakest = min(self.dealer.links, key=lambda link: LEVELS.index(link.isolation))
        self._ready = Ready(weakest.isolation, tuple(weakest.notes), self._instances)

    async def _follow(self, line: Line) -> None:
        """Ask the scheduler again and again which workers there are; raises SandboxError if it is lost."""
        try:
            while True:
                await line.send({"op": "identity"})
                self._listed = _workers_in(await line.receive())
                self._meet()
                self._news.looked(self.dealer.links, len(self._beginning))
                await self._clock.sleep(LOOK_S + LOOK_A_WORKER_S * len(self._listed))
        except (LineLost, Garbage) as error:
            said = f"the Dask scheduler {self._scheduler.address} was lost ({error})"
            raise SandboxError(f"{said}; start the cluster again, then resume") from None
        finally:
            await line.close()

    def _fail(self, task: asyncio.Task[None]) -> None:
        """If an asyncio task of this runner ended with an error, raise that in each waiting and each later `run`."""
        if not task.cancelled() and (error := task.exception()):
            self._failure = self._failure or error
            self.dealer.fail(error)
            self._changed.set()

    def _meet(self) -> None:
        """Start to use each listed worker that is neither used nor refused yet."""
        for address in [address for address, task in self._attending.items() if task.done()]:
            if address not in self._listed:
                del self._attending[address]
        for address, name in self._listed.items():
            if address not in self._attending and name not in self._refused:
                self._beginning.add(address)
                self._attending[address] = asyncio.create_task(self._attend(address, name))
                self._attending[address].add_done_callback(self._fail)

    async def _attend(self, address: str, name: str) -> None:
        """Use a worker as long as it is listed; if it is lost, try it again after AGAIN_S seconds."""
        said = ""
        while address in self._listed and name not in self._refused:
            try:
                await self._served(address, name)
            except Refused as error:
                self._leave_out(name, str(error))
            except Garbage as error:
                self._leave_out(name, f"worker {name} is left out, nothing of this was accepted: {error}")
            except LineLost as error:
                if str(error) != said:  # one that stays lost is told of once
                    self._news.lost(name, error)
                said = str(error)
            self._beginning.discard(address)
            self._changed.set()
            if address in self._listed:
                await self._clock.sleep(AGAIN_S)

    async def _served(self, address: str, name: str) -> None:
        """Use a worker until it is lost.

        Raises LineLost if it is lost, Garbage if it sends what it must not, Refused if it does not fulfil the terms.
        """
        link = await opened(address, name, self._scheduler.context, self._terms, self._clock, self.dealer.end)
        why = "this run ends"
        try:
            self._accept(link)
            self.dealer.join(link)
            self._beginning.discard(address)
            self._changed.set()
            await link.serve()
        except (LineLost, Garbage) as error:
            why = str(error)
            raise
        finally:
            self.dealer.part(link, f"worker {name} is left out, it fails with whatever it gets: {why}")
            await link.line.close()

    def _accept(self, link: Link) -> None:
        """Raise Refused if a worker's isolation is weaker than the run's; else tell a person if its facts differ."""
        if self._ready and LEVELS.index(link.isolation) < LEVELS.index(self._ready.isolation):
            said = f"its isolation is {link.isolation}, the run's {self._ready.isolation}"
            raise Refused(f"worker {link.name} is left out: {said} ({'; '.join(link.notes)})")
        if link.differs:
            self._tell(f"worker {link.name} differs and is accepted: {'; '.join(link.differs)}")

    def _leave_out(self, name: str, why: str) -> None:
        """Let a worker serve no more in this session, and tell a person why."""
        if name in self._refused:
            return
        self._refused[name] = why
        self._tell(why)
        for address, task in self._attending.items():
            if self._listed.get(address) == name and task is not asyncio.current_task():
                task.cancel()


def _workers_in(answer: Any) -> dict[str, str]:
    """Return the names of the workers that run, by address, from a scheduler's answer.

    Raises Garbage if the answer has no mapping of workers.
    """
    match answer:
        case {"workers": dict(found)}:
            return {
                str(address): str(worker.get("name"))[:200]
                for address, worker in found.items()
                if isinstance(worker, dict) and worker.get("status") == "running"
            }
    raise Garbage(f"a list of workers was expected, not {answer!r:.100}")
