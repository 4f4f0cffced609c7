"""The runs of an experiment as forks of what has loaded the command, for tests of other things than their processes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import BinaryIO

from tests import forks


class Forked:
    """The process of a run, with what `Execution` asks of asyncio's own processes."""

    def __init__(self, process: forks.Popen, order: BinaryIO) -> None:
        self._process, self._order = process, order

    @classmethod
    async def start(
        cls, *command: str, stdin: int, stdout: BinaryIO, stderr: BinaryIO, env: dict[str, str], start_new_session: bool
    ) -> Forked:
        """Start it as `asyncio.create_subprocess_exec` would."""
        reading, writing = os.pipe()
        logs = {"stdout": stdout.fileno(), "stderr": stderr.fileno()}
        process = forks.Popen(command, stdin=reading, **logs, env=env, cwd=os.getcwd())  # noqa: PTH109
        os.close(reading)
        return cls(process, os.fdopen(writing, "wb"))

    @property
    def returncode(self) -> int | None:
        return self._process.poll()

    async def wait(self) -> int:
        """Return the exit code, after `communicate`."""
        code = self.returncode
        assert code is not None
        return code

    def send_signal(self, sent: signal.Signals) -> None:
        os.kill(self._process.pid, sent)

    async def communicate(self, order: bytes) -> None:
        """Tell it what to do, with the parent that a fork has, and wait for its end."""
        status = Path(f"/proc/{self._process.pid}/stat").read_text()
        parent = int(status.rpartition(")")[2].split()[1])
        with self._order as order_to:
            order_to.write(json.dumps({**json.loads(order), "parent": parent}).encode())
        while self.returncode is None:
            await asyncio.sleep(0.01)


ASYNCIO = SimpleNamespace(**{**vars(asyncio), "create_subprocess_exec": Forked.start})
"""For the module `execution`, in the place of asyncio."""
