"""Runs as a person starts them: `behavesim` in processes of its own, which can be killed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import shutil
import signal
import sqlite3
import sys
import time
from asyncio import StreamReader, StreamReaderProtocol
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from behavesim.analysis.run import Run
from behavesim.state.events import Asked, NoteAsked, NoteReceived, Responded, RunResumed
from behavesim.store.reading import read_events
from tests import forks

COMMAND = [sys.executable, "-m", "behavesim"]
FEW_CITIES = str(Path(__file__).parents[1] / "few_cities.py")
ENDLESS_CITIES = str(Path(__file__).parents[1] / "endless_cities.py")
"""The task that is run, as an argument of `run`."""
CALM = (
    *(FEW_CITIES, "--method", "funsearch", "--budget", "40", "--window", "8", "--workers", "1"),
    *("--set", "recommend=false", "--set", "islands=2"),
)
"""A run that many tests disturb, each in its own way."""


class Forked:
    """The command in a fork of what has loaded it, with what tests ask of asyncio's own processes."""

    def __init__(self, process: forks.Popen, stdout: StreamReader, stderr: StreamReader) -> None:
        self._process = process
        self.pid = process.pid
        self.kill = process.kill
        self.stdout = stdout
        self.stderr = stderr

    @classmethod
    async def start(cls, *command: str, env: Mapping[str, str], cwd: Path | None) -> Forked:
        """Start it in a process group of its own."""
        (stdout, out), (stderr, err) = await _piped(), await _piped()
        with out, err:
            here = str(cwd or Path.cwd())
            process = forks.Popen(command, stdout=out.fileno(), stderr=err.fileno(), env=env, cwd=here)
        return cls(process, stdout, stderr)

    @property
    def returncode(self) -> int | None:
        """How it ended, or None while it goes on."""
        return self._process.poll()

    async def wait(self) -> None:
        """Wait for its end."""
        while self.returncode is None:
            await asyncio.sleep(0.002)

    async def communicate(self) -> tuple[bytes, bytes]:
        """Wait for its end; returns what it wrote."""
        written = await asyncio.gather(self.stdout.read(), self.stderr.read())
        await self.wait()
        return written[0], written[1]


async def _piped() -> tuple[StreamReader, BinaryIO]:
    """What comes out of a pipe, and the end to write to."""
    reading, writing = os.pipe()
    stream = StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: StreamReaderProtocol(stream), os.fdopen(reading, "rb"))
    return stream, os.fdopen(writing, "wb")


@dataclass(frozen=True)
class Ended:
    """How a process ended, and what it said."""

    code: int
    stdout: str
    stderr: str


async def start(
    *arguments: str, env: Mapping[str, str] | None = None, cwd: Path | None = None, anew: bool = False
) -> Process | Forked:
    """Start the command in a process group of its own; it knows no model but the one `env` names.

    Anew it begins with nothing loaded, which matters where its start does, or what Python reads at that.
    """
    surroundings = {key: value for key, value in os.environ.items() if not key.startswith("OPENAI_")}
    env = {**surroundings, **(env or {})}
    if forks.ARE_POSSIBLE and not anew:
        return await Forked.start(*COMMAND, *arguments, env=env, cwd=cwd)
    return await asyncio.create_subprocess_exec(
        *COMMAND,
        *arguments,
        env=env,
        cwd=cwd,
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=PIPE,
        start_new_session=True,
    )


async def ended(process: Process | Forked) -> Ended:
    """Wait for the end of a process."""
    stdout, stderr = await asyncio.wait_for(process.communicate(), 500)
    assert process.returncode is not None
    return Ended(process.returncode, stdout.decode(), stderr.decode())


async def carried_out(*arguments: str, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> Ended:
    """Run the command to its end."""
    return await ended(await start(*arguments, env=env, cwd=cwd))


@dataclass
class Subject:
    """A run to be killed: how it is started, and where it is."""

    folder: Path
    arguments: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    anew: bool = False

    async def start(self) -> Process | Forked:
        """Begin the run, or resume it once it has begun."""
        here = ("--runs-dir", str(self.folder.parent))
        if self.events() > 0:
            return await start("resume", self.folder.name, *here, env=self.env, anew=self.anew)
        shutil.rmtree(self.folder, ignore_errors=True)
        arguments = (*self.arguments, "--name", self.folder.name, *here)
        return await start("run", *arguments, env=self.env, anew=self.anew)

    async def finish(self) -> Ended:
        """Let it run to its end."""
        return await ended(await self.start())

    def events(self) -> int:
        """How many events are committed."""
        path = self.folder / "run.db"
        if not path.exists():
            return 0
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as db:
            try:
                return int(db.execute("SELECT count(*) FROM events").fetchone()[0])
            except sqlite3.OperationalError:
                return 0  # killed before its tables were there

    async def reached(self, events: int) -> None:
        """Wait until so many events are committed."""
        while self.events() < events:
            await asyncio.sleep(0.005)

    @property
    def digest(self) -> str:
        """The digest of the run as its journal tells it."""
        return Run.load(self.folder).state.digest()

    @property
    def told(self) -> list[str]:
        """What became of each candidate, in a line each: where a digest differs, these say by which."""
        return [
            f"{c.candidate} of {c.parents}: {c.status} {c.score} in {c.group}, {c.reason} {c.message}"
            for c in Run.load(self.folder).candidates
        ]

    async def killed(self, rng: random.Random, longest_s: float, budget_events: int) -> None:
        """Start it, and kill it at a random time or after a random event: the daemon alone, or its process group."""
        before, process = self.events(), await self.start()
        begun = rng.random() < 0.2  # now and then while it is still starting
        event = rng.randrange(before + 1, max(budget_events, before + 2))
        deadline = time.monotonic() + rng.uniform(0.05, longest_s)
        while process.returncode is None and self.events() < event and (not begun or time.monotonic() < deadline):
            if not begun and self.events() > before:
                begun, deadline = True, time.monotonic() + rng.uniform(0.0, longest_s)
            await asyncio.sleep(0.005)
        if process.returncode is None:
            number = os.killpg if rng.random() < 0.5 else os.kill
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                number(process.pid, signal.SIGKILL)
        await process.communicate()


def asked_again(folder: Path) -> int:
    """How many requests were in flight when a run was killed, over all its deaths; its journal must agree."""
    waiting: set[int] = set()
    notes: set[int] = set()
    again = 0
    for _, _, event in read_events(folder / "run.db"):
        match event:
            case Asked(candidate):
                waiting.add(candidate)
            case Responded(candidate):
                assert candidate in waiting, f"candidate {candidate} is answered twice"
                waiting.remove(candidate)
            case NoteAsked(number):
                notes.add(number)
            case NoteReceived(number):
                notes.remove(number)
            case RunResumed():
                assert set(event.asked_again) == waiting, "what is asked again is what had no reply"
                assert set(event.notes_again) == notes, "and so are notes"
                again += len(waiting) + len(notes)
    return again
