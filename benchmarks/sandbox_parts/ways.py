"""The ways to evaluate a program that are compared: four others, and pools of the sandbox."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor

from sandbox_parts.programs import ALONE, TRIVIAL

from behavesim.sandbox.layers import LAYERS
from behavesim.sandbox.limits import Limits
from behavesim.sandbox.pool import PRELOADED, SCIENTIFIC, Pool
from behavesim.task import TaskReference
from behavesim.task.verdict import Solved


def run_alone() -> None:
    """Compile and run the trivial program in this process, without a sandbox."""
    exec(compile(ALONE, "candidate", "exec"), {})


def run_into(queue: multiprocessing.Queue[bytes]) -> None:
    """Run the trivial program as `run_alone` does, then put 80 bytes into the queue."""
    run_alone()
    queue.put(b"x" * 80)


def spawned() -> None:
    """Evaluate in a process that multiprocessing starts afresh ("spawn"), and wait for its end."""
    process = multiprocessing.get_context("spawn").Process(target=run_alone)
    process.start()
    process.join()


def fresh() -> None:
    """Evaluate in a fresh Python interpreter; raises CalledProcessError if it fails."""
    subprocess.run([sys.executable, "-c", ALONE], check=True)


def forked() -> None:
    """Evaluate in a bare fork of this process, and wait for its end."""
    if (pid := os.fork()) == 0:
        run_alone()
        os._exit(0)
    os.waitpid(pid, 0)


EXECUTOR = ThreadPoolExecutor(1)


def queued() -> None:
    """Evaluate in a fork with a queue for the result, started by an executor's thread, as published code does it."""

    def evaluate() -> bytes:
        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        process = context.Process(target=run_into, args=(queue,))
        process.start()
        result: bytes = queue.get()
        process.join()
        return result

    EXECUTOR.submit(evaluate).result()


def in_pool(pool: Pool) -> Callable[[], Awaitable[None]]:
    """Return a function that evaluates the trivial program in the pool; AssertionError if that fails."""

    async def evaluate() -> None:
        assert isinstance(await pool.evaluate(TRIVIAL), Solved)

    return evaluate


@contextlib.asynccontextmanager
async def pools(task: TaskReference) -> AsyncIterator[dict[str, Pool]]:
    """Enter four pools of one worker each, and yield them by their names in the table.

    They have numpy loaded, or numpy and scipy, and only limits or every layer of isolation that this machine has.
    """
    async with (
        Pool(task, "search", 1, Limits(), True, (), ()) as bare,
        Pool(task, "search", 1, Limits(), True, LAYERS, ()) as numpy,
        Pool(task, "search", 1, Limits(), True, (), PRELOADED + SCIENTIFIC) as bare_scipy,
        Pool(task, "search", 1, Limits(), True, LAYERS, PRELOADED + SCIENTIFIC) as scipy,
    ):
        yield {
            "zygote with numpy, limits alone": bare,
            f"zygote with numpy, {numpy.isolation}": numpy,
            "zygote with numpy and scipy, limits alone": bare_scipy,
            f"zygote with numpy and scipy, {scipy.isolation}": scipy,
        }
