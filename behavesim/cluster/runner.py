"""Runs programs on the workers of a Dask cluster, as they come and go, and tells a person which serve.

`Cluster` makes sandboxes that offer what `Pool` and `TreePool` offer on one machine.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from behavesim.base.errors import SandboxError, UsageError
from behavesim.base.heartbeat import Heartbeat, await_finished
from behavesim.base.text import count_noun
from behavesim.cluster.dispatcher import Dispatcher, Link, Refused, Terms, open_link
from behavesim.cluster.protocol import Garbage, Line, LineLost, Order
from behavesim.cluster.schedulers import Scheduler, scheduler_of
from behavesim.cluster.task_files import TaskFiles, files_of_evaluator, files_of_task, platform_facts, task_hash
from behavesim.evaluators.evaluation import folders_of_runs, for_sandbox
from behavesim.sandbox.connection import RawResult
from behavesim.sandbox.frames import frame_limit
from behavesim.sandbox.isolation import LEVELS
from behavesim.sandbox.limits import Limits
from behavesim.sandbox.messages import Ready
from behavesim.sandbox.pool import NOT_ENTERED, ProgramPool
from behavesim.task import Split, Task, TaskReference, instances_of
from behavesim.task.evaluated import EvaluatorFile
from behavesim.task.verdict import Block

# Most serving workers that one line names, and most losses between two looks that have a line each.
MOST_NAMED = 8
# Looks in a row at which no worker serves, after which a person is told.
LOOKS_WITHOUT = 5


class WorkerNotices:
    """Calls `tell` with a line for a person when the workers that serve have changed.

    A look is an answer of the scheduler to the question which workers there are. `window` is the most programs in
    progress at once, None for no bound: a person is told, once, if workers have more places than that.
    """

    def __init__(self, tell: Callable[[str], None], window: int | None) -> None:
        self._tell = tell
        self._window = window
        self._told = ""  # the last line on the workers that serve
        self._lost = 0  # workers lost since the last look
        self._looks_without = 0

    def report_loss(self, name: str, why: object) -> None:
        """Tell that a worker was lost and why; of those between two looks, only the first MOST_NAMED are told."""
        self._told = ""  # if it serves again, that is told
        self._lost += 1
        if self._lost <= MOST_NAMED:
            self._tell(f"worker {name} was lost: {why}")

    def report_workers(self, links: Collection[Link], starting: int) -> None:
        """Tell after a look which workers serve, if that changed, and once if none did at LOOKS_WITHOUT looks.

        `links` lead to the workers that serve; `starting` is the number of those that do not serve yet.
        """
        if self._lost > MOST_NAMED:
            self._tell(f"worker losses: {self._lost - MOST_NAMED} more at the same time")
        self._lost = 0
        self._looks_without = 0 if links else self._looks_without + 1
        said = _workers_in_words(links) if links else ""
        if links and said != self._told:
            self._tell(said)
            self._told = said
            self._tell_idle(sum(link.places for link in links))
        elif self._looks_without == LOOKS_WITHOUT:
            also = f" yet; {count_noun(starting, 'worker')} starting" if starting else ""
            self._tell(f"no worker of the cluster serves{also}; programs wait for one")
            self._told = ""

    def _tell_idle(self, places: int) -> None:
        """Tell, once, if some of the workers' places will never be used."""
        if self._window is not None and places > self._window:
            said = f"at most {self._window} of these places are used: the window is {self._window}"
            self._tell(f"{said}, which is fixed for a run; begin another with --window {4 * places}")
            self._window = None


def _workers_in_words(links: Collection[Link]) -> str:
    """Return how many workers serve, their places, the weakest isolation among them, and the names of the first."""
    names = sorted(link.name for link in links)
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    isolation = min((link.isolation for link in links), key=LEVELS.index)
    places = count_noun(sum(link.places for link in links), "place")
    said = f"the cluster: {count_noun(len(names), 'worker')}, {places}, isolation {isolation}"
    return f"{said} ({', '.join(names[:MOST_NAMED])}{more})"


# Seconds between two questions to the scheduler which workers there are.
LOOK_S = 2.0
# Seconds that each worker adds to LOOK_S: the answer for a thousand has 2 MB.
LOOK_A_WORKER_S = 0.005
# Seconds after which a worker that was lost, and is still listed, is tried again.
AGAIN_S = 5.0
# Least seconds over which the rate of evaluations is measured.
RATED_S = 5.0


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
        self._notices = WorkerNotices(tell, window)
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
        self.dispatcher = Dispatcher(self._leave_out)

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
            except BaseException:  # also cancelled: else the tasks that attend to workers would go on
                await self._close()
                raise
            self._entered = entered.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        async with self._entered:
            await await_finished(self._close())

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
        passed_s = self._clock() - then
        if passed_s >= RATED_S:
            rate = (self.dispatcher.done - before) / passed_s
            self._rated = (then + passed_s, self.dispatcher.done, rate)
        workers, places = len(self.dispatcher.links), self.dispatcher.places
        return f"{count_noun(workers, 'worker')}, {count_noun(places, 'place')}, {rate:.1f} evaluations/s"

    async def run(self, source: str, alone: bool = False, block: Block | None = None) -> RawResult:
        """Run a program on every instance of the split, or of a block, on some worker.

        This waits until a worker has a place; with `alone`, the program then has all places of that worker. Cancelling
        kills the program. Raises SandboxError if the scheduler is lost, or if `MOST_LOST` workers were lost or failed
        while they ran this program. Without entering, it waits for good.
        """
        if self._failure:
            raise self._failure
        job = self.dispatcher.submit(source, alone, block)
        try:
            return await job.done
        finally:
            self.dispatcher.cancel(job)

    async def _close(self) -> None:
        """End all connections; raise SandboxError in each `run` that still waits for a result."""
        self._failure = self._failure or SandboxError("the sandbox was closed with programs in flight")
        tasks = [*self._attending.values(), *([self._following] if self._following else [])]
        # the task group of a link that is lost right now drops the cancellation: no worker is tried again all the same
        self._listed = {}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.dispatcher.fail(self._failure)

    async def _first_workers(self) -> None:
        """Wait until some worker serves and no other one is beginning."""
        while self._beginning or not self.dispatcher.links:
            if self._failure:
                raise self._failure
            if self._refused and not self._beginning:
                first, *others = self._refused.values()
                raise UsageError(first + (f" (and {count_noun(len(others), 'other worker')})" if others else ""))
            self._changed.clear()
            await self._changed.wait()
        self._notices.report_workers(self.dispatcher.links, len(self._beginning))
        weakest = min(self.dispatcher.links, key=lambda link: LEVELS.index(link.isolation))
        self._ready = Ready(weakest.isolation, tuple(weakest.notes), self._instances)

    async def _follow(self, line: Line) -> None:
        """Ask the scheduler again and again which workers there are; raises SandboxError if it is lost."""
        try:
            while True:
                await line.send({"op": "identity"})
                self._listed = _workers_in(await line.receive())
                self._attend_new_workers()
                self._notices.report_workers(self.dispatcher.links, len(self._beginning))
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
            self.dispatcher.fail(error)
            self._changed.set()

    def _attend_new_workers(self) -> None:
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
                await self._serve_once(address, name)
            except Refused as error:
                self._leave_out(name, str(error))
            except Garbage as error:
                self._leave_out(name, f"worker {name} is left out, nothing of this was accepted: {error}")
            except LineLost as error:
                if str(error) != said:  # a worker that stays lost is reported once
                    self._notices.report_loss(name, error)
                said = str(error)
            self._beginning.discard(address)
            self._changed.set()
            if address in self._listed:
                await self._clock.sleep(AGAIN_S)

    async def _serve_once(self, address: str, name: str) -> None:
        """Use a worker until it is lost."""
        link = await open_link(address, name, self._scheduler.context, self._terms, self._clock, self.dispatcher.finish)
        why = "this run ends"
        try:
            self._accept(link)
            self.dispatcher.add_worker(link)
            self._beginning.discard(address)
            self._changed.set()
            await link.serve()
        except (LineLost, Garbage) as error:
            why = str(error)
            raise
        finally:
            self.dispatcher.remove_worker(link, f"worker {name} is left out, it fails with whatever it gets: {why}")
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
    """Return the names of the workers that run, by address, from a scheduler's answer."""
    match answer:
        case {"workers": dict(found)}:
            return {
                str(address): str(worker.get("name"))[:200]
                for address, worker in found.items()
                if isinstance(worker, dict) and worker.get("status") == "running"
            }
    raise Garbage(f"a list of workers was expected, not {answer!r:.100}")


@dataclass(frozen=True)
class Cluster:
    """A cluster as the setting `workers` names it, and what its workers must fulfil.

    `workers` is such as "dask", "dask:8" or "dask://HOST:PORT". Workers whose software or processor differs are refused
    unless `allow_others`. `tell` gets a line for a person when workers come, go or are refused. Time limits go by
    `clock`. `window` is the most programs in progress at once, None for no bound.
    """

    workers: str
    allow_weak_isolation: bool
    allow_others: bool
    tell: Callable[[str], None]
    clock: Heartbeat
    window: int | None = None
    sights: list[Callable[[], str]] = field(default_factory=list)
    """Gets a function that says what the workers do, for each sandbox that is made."""

    def functions(self, task: str, loaded: Task, split: Split, limits: Limits, further: int = 0) -> ProgramPool:
        """Return the sandbox of programs that are functions, for the instances of a split; not entered yet.

        Programs may also run on blocks, which are taken from `further` instances beyond the split's. `task` is the
        task's name or its file, `loaded` the task itself. `limits` are those on this split. Raises
        TaskError if the task's `data_files` cannot be sent, or its instances cannot be made or hashed; OSError if a
        file cannot be read.
        """
        place = TaskReference(task).place()
        files = files_of_task(Path(place), loaded.data_files) if place.endswith(".py") else TaskFiles({})
        name = Path(place).name if files.files else place
        given = self.allow_weak_isolation, files.hash, task_hash(loaded, split)
        order = Order("functions", name, split, *given, further, limits=limits)
        return ProgramPool(self._runner(order, files, len(instances_of(loaded, split))), limits)

    def evaluator(self, file: EvaluatorFile, limits: Limits) -> ProgramPool:
        """Return the sandbox of an evaluator and programs, not entered yet.

        Raises TaskError if the evaluator's files are too large or too many, OSError if one cannot be read.
        """
        files = files_of_evaluator(file, folders_of_runs(file))
        there = _relative(file).to_json()
        order = Order("evaluator", there, "search", self.allow_weak_isolation, files.hash, "", limits=limits)
        return ProgramPool(self._runner(order, files, 1), limits, is_tree=True)

    def _runner(self, order: Order, files: TaskFiles, instances: int) -> ClusterRunner:
        """Return a runner, not entered yet; `instances` is the number of the split's, 1 for an evaluator."""
        largest = max(instances, order.further)
        most = frame_limit(largest, order.limits.times(largest / instances).output)
        terms = Terms(order, files, platform_facts(), self.allow_others, most)
        runner = ClusterRunner(scheduler_of(self.workers), terms, instances, self.tell, self.clock, self.window)
        self.sights.append(runner.sight)
        return runner


def _relative(file: EvaluatorFile) -> EvaluatorFile:
    """Return an evaluator's file for a sandbox on another machine: with paths relative to what is sent."""
    top = file.readable
    evaluator = Path(file.evaluator).relative_to(top).as_posix() if file.evaluator_path else file.evaluator
    program = Path(file.program)
    inside = program.relative_to(top).as_posix() if program.is_relative_to(top) else program.name
    runs_in = Path(file.runs_in).relative_to(top).as_posix() if file.runs_in else ""
    root = "." if file.root else ""
    return replace(for_sandbox(file), evaluator=evaluator, program=inside, runs_in=runs_in, root=root)
