"""Real processes of Dask on this machine: a scheduler and workers, as the commands `dask scheduler` and `dask worker`
start them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

START_S = 60.0


@dataclass
class DaskCluster:
    """A scheduler's process and its workers' by name; `folder` takes what they write."""

    folder: Path
    scheduler: subprocess.Popen[bytes]
    workers: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @classmethod
    @contextmanager
    def of(cls, folder: Path, *names: str) -> Iterator[DaskCluster]:
        """Start a scheduler and workers of these names, each of one place; end all of them afterwards."""
        file = ["--scheduler-file", str(folder / "scheduler.json")]
        options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
        running = cls(folder, _started(folder / "scheduler.log", "dask_scheduler", *options, *file))
        try:
            for name in names:
                running.join(name)
            yield running
        finally:
            for process in (*running.workers.values(), running.scheduler):
                process.kill()
                process.wait()

    @property
    def address(self) -> str:
        """The text for the setting `workers`; it waits until the scheduler serves."""
        file, deadline = self.folder / "scheduler.json", time.monotonic() + START_S
        while time.monotonic() < deadline:
            if file.exists() and (text := file.read_text()):
                return str(json.loads(text)["address"]).replace("tcp://", "dask://")
            time.sleep(0.02)
        raise AssertionError((self.folder / "scheduler.log").read_text())

    def join(self, name: str, places: int = 1) -> None:
        """Start a worker."""
        options = ["--no-nanny", "--no-dashboard", "--host", "127.0.0.1", "--nthreads", str(places), "--name", name]
        file = ["--scheduler-file", str(self.folder / "scheduler.json"), "--local-directory", str(self.folder / name)]
        self.workers[name] = _started(self.folder / f"{name}.log", "dask_worker", *options, *file)

    def serve(self, *names: str) -> None:
        """Have these workers, and no others: start those that do not run, and end the others."""
        for name, process in list(self.workers.items()):
            if name not in names or process.poll() is not None:
                process.kill()
                process.wait()
                del self.workers[name]
        for name in names:
            if name not in self.workers:
                self.join(name)

    def kill(self, name: str, how: signal.Signals = signal.SIGKILL) -> None:
        """Send a worker a signal."""
        os.kill(self.workers[name].pid, how)


def _started(log: Path, command: str, *options: str) -> subprocess.Popen[bytes]:
    with log.open("wb") as said:
        return subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.{command}", *options], stdout=said, stderr=said, cwd=log.parent
        )
