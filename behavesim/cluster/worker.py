"""What happens in a Dask worker: it opens a sandbox for each search that is connected, and runs what that sends."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from itertools import accumulate
from pathlib import Path
from typing import Any

from distributed import Status, Worker
from distributed.comm.core import Comm, CommClosedError

from behavesim.base.errors import BehavesimError, SandboxError, TaskError
from behavesim.base.text import last_line
from behavesim.cluster.protocol import BEAT_S, ENOUGH, HANDLER, Order, as_values
from behavesim.cluster.task_files import Unpacking, platform_facts
from behavesim.evaluators.evaluation import evaluator_pool
from behavesim.sandbox.connection import START_S, bare_environment
from behavesim.sandbox.layers import LAYERS
from behavesim.sandbox.messages import TaskAssignment
from behavesim.sandbox.pool import PRELOADED, SCIENTIFIC, Runner, Slots, ZygoteRunner
from behavesim.task.evaluated import EvaluatorFile
from behavesim.task.verdict import Block

# Seconds for which a result waits for others, where other programs are running: they share a message.
GATHER_S = 0.004


def install(dask_worker: Worker) -> None:
    """Let a Dask worker serve us; Dask calls this there, at the daemon's wish. A second call changes nothing."""
    if HANDLER not in dask_worker.handlers:
        dask_worker.handlers[HANDLER] = WorkerService(dask_worker.state.nthreads).serve


class WorkerService:
    """Serves the daemons that connect to one Dask worker; together they run `places` programs at once."""

    def __init__(self, places: int) -> None:
        self._places = places
        self._free = Slots(places)
        self._known: set[Order] = set()  # whose task here is the daemon's; finding that out takes a second

    async def serve(self, comm: Comm, order: str) -> Status:
        """Serve one daemon until its connection closes; whatever was opened for it is closed then.

        `order` is an Order as JSON. The result tells Dask that no further reply is sent.
        """
        with suppress(CommClosedError):
            await self._serve(comm, Order.from_json(order))
        return Status.dont_reply

    async def _serve(self, comm: Comm, order: Order) -> None:
        """Open a sandbox as ordered, and run what comes until the connection closes; this may raise CommClosedError."""
        await comm.write({"facts": platform_facts()})
        session = _Session(comm, self._free)
        beating = asyncio.create_task(session.send())
        try:
            async with self._opened(order, comm) as runner:
                session.put("ready", [runner.ready.isolation, list(runner.ready.notes), self._places])
                await session.take(runner)
        except (BehavesimError, OSError, ValueError) as error:
            if isinstance(error, CommClosedError):
                raise
            session.put("refused", f"{error}"[:2000])
            while True:  # until the daemon, which may be sending files, has read it and closes
                await comm.read()
        finally:
            beating.cancel()
            await asyncio.wait([beating])

    @asynccontextmanager
    async def _opened(self, order: Order, comm: Comm) -> AsyncIterator[Runner]:
        """Receive an order's files into a temporary folder, and yield its runner; the folder is deleted afterwards."""
        with tempfile.TemporaryDirectory(prefix="behavesim-") as place:
            folder = Path(place)
            if os.geteuid() == 0:
                folder.chmod(0o755)  # root's programs become `nobody`, who could not read the evaluator
            unpacking = Unpacking(folder)
            while (piece := (await comm.read())["file"]) is not None:
                await asyncio.to_thread(unpacking.write, *piece)
            if unpacking.hash != order.files_hash:
                raise TaskError("the task's files arrived damaged")
            async with await self._runner(order, folder) as runner:
                yield runner

    async def _runner(self, order: Order, folder: Path) -> Runner:
        """Return an order's runner, not entered yet; its files are in `folder`."""
        if order.profile == "evaluator":
            file = EvaluatorFile.from_json(order.task).from_folder(folder)
            return evaluator_pool(file, self._places, order.limits, order.allow_weak_isolation).runner
        task = str(folder / order.task) if order.task.endswith(".py") else order.task
        if order not in self._known and await _task_hash_here(task, order.split) != order.task_hash:
            raise TaskError("the task or its instances are not the same there; install the same version, and its data")
        self._known.add(order)
        assignment = TaskAssignment(
            task, order.split, PRELOADED, further=order.further, limits=order.limits, layers=LAYERS
        )
        return ZygoteRunner(assignment, self._places, order.allow_weak_isolation, scientific=SCIENTIFIC)


class _Session:
    """One daemon's programs on this worker, and what is to be sent to it."""

    def __init__(self, comm: Comm, free: Slots) -> None:
        self._comm = comm
        self._free = free
        self._running: dict[int, asyncio.Task[None]] = {}
        self._unsent: dict[str, Any] = {}
        self._woken = asyncio.Event()

    def put(self, kind: str, value: Any) -> None:
        """Send a value with the next message, in place of an unsent one of the same kind."""
        self._unsent[kind] = value
        self._woken.set()

    async def send(self) -> None:
        """Send what there is, and each BEAT_S a sign of life, until cancelled or the connection closes."""
        with suppress(CommClosedError):
            while True:
                with suppress(TimeoutError):
                    async with asyncio.timeout(BEAT_S):
                        await self._woken.wait()
                if self._running and self._woken.is_set():
                    await asyncio.sleep(GATHER_S)
                self._woken.clear()
                await self._comm.write({"beat": 1, **self._taken()})

    def _taken(self) -> dict[str, Any]:
        """Return the fields of the next message, by kind; of results, `ran`, below ENOUGH bytes, and one more."""
        taken, self._unsent = self._unsent, {}
        sizes = accumulate(len(frame or b"") for _, _, frame, _ in taken.get("ran", ()))
        fit = 1 + sum(size < ENOUGH for size in sizes)
        if rest := taken.get("ran", [])[fit:]:
            taken["ran"], self._unsent = taken["ran"][:fit], {"ran": rest}
            self._woken.set()
        return taken

    async def take(self, runner: Runner) -> None:
        """Run what the daemon sends until it closes the connection; then end the programs that are running."""
        async with asyncio.TaskGroup() as group:
            with suppress(CommClosedError):
                while True:
                    message = await self._comm.read()
                    for job, *what in message.get("run", ()):
                        self._running[job] = group.create_task(self._run(runner, job, *what))
                    for job in message.get("cancel", ()):
                        if job in self._running:
                            self._running[job].cancel()
            for task in self._running.values():
                task.cancel()

    async def _run(self, runner: Runner, job: int, source: str, alone: bool, *block: Any) -> None:
        """Run a program when there is a place for it, and put what came of it among what is sent."""
        try:
            async with self._free.held(alone):
                ran = await runner.run(source, alone, Block(*block) if block else None)
            self._add("ran", as_values(job, ran))
        except BehavesimError as error:
            self._add("failed", [job, f"{error}"[:2000]])
        finally:
            del self._running[job]

    def _add(self, kind: str, value: Any) -> None:
        """Add a value to the list of this kind that is sent with the next message."""
        self._unsent.setdefault(kind, []).append(value)
        self._woken.set()


async def _task_hash_here(task: str, split: str) -> str:
    """Return `task_hash` of the task here, from a process of its own.

    Raises SandboxError if the task cannot be loaded, or not within START_S.
    """
    # in another process: the task's code must not hold the one that serves daemons
    command = (sys.executable, "-sP", "-m", "behavesim.cluster.task_files", task, split)
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=PIPE, env=bare_environment())
    try:
        # nobody reads the connection meanwhile: a daemon that has left must not leave the process and the folder here
        async with asyncio.timeout(START_S):
            found, errors = await process.communicate()
    except TimeoutError:
        raise SandboxError(
            f"the task is not loaded there within {START_S:g} s; does its `instances` wait for something?"
        ) from None
    finally:
        if process.returncode is None:
            process.kill()
    if process.returncode:
        said = last_line(errors.decode(errors="replace")) or process.returncode
        advice = "; files that it reads must be in its data_files" if task.endswith(".py") else ""
        raise SandboxError(f"the task cannot be loaded there: {said}{advice}")
    return found.decode()
