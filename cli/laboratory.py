"""Runs carried out side by side, each by a process of its own, begun or gone on with as their folders say."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from behavesim.experiment import Planned
    from behavesim.store.folder import RunFolder

FLAGS = ("method", "proposer", "seed", "budget")
"""Settings that `behavesim run` takes as options of their own."""

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Bench:
    """Where runs are kept, how many go on at once, and the programs each of them evaluates at once."""

    runs_dir: Path
    jobs: int
    workers: int


def left_to_do(planned: Sequence[Planned], runs_dir: Path) -> list[Planned]:
    """The runs that are not finished; raises UsageError where one was made under other settings."""
    return [run for run in planned if not _is_finished(run, runs_dir)]


async def carry_out(planned: Sequence[Planned], bench: Bench, tell: Tell) -> list[str]:
    """Make every run; returns the names of those that failed.

    A signal that ends this process is passed on, so that every run ends in order.
    """
    free, failed, living = asyncio.Semaphore(bench.jobs), list[str](), set[asyncio.subprocess.Process]()
    ending, took = asyncio.Event(), list[float]()

    def end() -> None:
        ending.set()
        for process in living:
            if process.returncode is None:
                process.send_signal(signal.SIGTERM)

    async def one(run: Planned) -> None:
        async with free:
            if ending.is_set():
                return
            began = time.monotonic()
            with (bench.runs_dir / f"{run.name}.log").open("ab") as log:
                process = await asyncio.create_subprocess_exec(
                    *_command(run, bench), stdout=log, stderr=log, start_new_session=True
                )
                living.add(process)
                if ending.is_set():  # it came while the process was being made
                    process.send_signal(signal.SIGTERM)
                code = await process.wait()
                living.discard(process)
            if code and ending.is_set():
                tell(f"{run.name}: interrupted")
                return
            if code:
                failed.append(run.name)
            took.append(time.monotonic() - began)
            left = _left(took, len(planned), bench.jobs)
            tell(f"{len(took)}/{len(planned)} {run.name}: {_said(run, bench, code)}{left}")

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, end)
    await asyncio.gather(*map(one, planned))
    if ending.is_set():
        raise KeyboardInterrupt
    return sorted(failed)


def _is_finished(run: Planned, runs_dir: Path) -> bool:
    from behavesim.config import differences
    from behavesim.errors import UsageError
    from behavesim.store.folder import RunFolder
    from behavesim.store.progress import progress

    folder = RunFolder(runs_dir / run.name)
    if not folder.journal.exists():
        return False
    if moved := differences(folder.read_settings(), run.settings):
        listed = ", ".join(f"{key} was {then!r} and is {now!r}" for key, (then, now) in moved.items())
        raise UsageError(f"the run {run.name} was made under other settings: {listed}; rename the experiment")
    found = progress(folder.journal)
    return found.told >= run.settings.budget and (found.recommended or not run.settings.recommend)


def _command(run: Planned, bench: Bench) -> list[str]:
    from behavesim.store.folder import RunFolder

    python = [sys.executable, "-c", "from behavesim_cli.member import main; main()"]
    common = ["--runs-dir", str(bench.runs_dir), "--workers", str(bench.workers), "--json"]
    folder = RunFolder(bench.runs_dir / run.name)
    if folder.journal.exists():
        return [*python, "resume", run.name, *common]
    _clear(folder)
    flags = [part for name in FLAGS if name in run.given for part in (f"--{name}", str(run.given[name]))]
    others = {key: value for key, value in run.given.items() if key not in (*FLAGS, "task", "workers")}
    sets = [part for key, value in others.items() for part in ("--set", f"{key}={toml(value)}")]
    return [*python, "run", str(run.given["task"]), "--name", run.name, *flags, *sets, *common]


def _clear(folder: RunFolder) -> None:
    """Take away what a run leaves that was killed before its journal began."""
    if folder.path.is_dir():
        for path in folder.path.iterdir():
            path.unlink()
        folder.path.rmdir()


def _said(run: Planned, bench: Bench, code: int | None) -> str:
    from behavesim.analysis.run import load_run

    if code:
        return f"ended with exit code {code}; see {bench.runs_dir / run.name}.log"
    best = load_run(bench.runs_dir / run.name).best
    return "nothing feasible" if best is None else f"best {best.score:.6g}"


def _left(took: Sequence[float], runs: int, jobs: int) -> str:
    """How long the runs that are left will take if they are like those so far, which took so many seconds each."""
    from behavesim.reports.panels import clock

    left = runs - len(took)
    return f", about {clock(sum(took) / len(took) * left / min(left, jobs))} left" if left else ""


def toml(value: Any) -> str:
    """A setting's value as TOML on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)
