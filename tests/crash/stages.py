"""A run that is killed in each stage of its life, and what of the replies it had been given was lost."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tests.crash.handover import Death, Kept, killed
from tests.crash.model import endpoint
from tests.crash.processes import Subject, asked_again
from tests.proposers.chat_server import ChatServer

BUDGET = 200
FIRST = BUDGET // 4
"""Replies until the first programs are all there, and are grouped."""
RESTART = 25


@dataclass(frozen=True)
class Stage:
    """When a run is killed: once its journal is to have so many replies, and up to some seconds later."""

    name: str
    replies: int
    within_s: float


def stages(connections: int, rng: random.Random) -> list[Stage]:
    """The stages of a run, in order."""
    return [
        Stage("start-up, kernels still compiling", rng.randint(1, min(2 * connections, FIRST // 2)), 1.0),
        Stage("first clustering", FIRST, 0.5),
        Stage("restart of islands", 4 * RESTART, 0.5),
        Stage("in full run", rng.randint(5 * RESTART, 6 * RESTART), 0.5),
        Stage("just resumed", 6 * RESTART + rng.randint(1, RESTART), 0.0),
        Stage("all told, recommending", BUDGET, 1.0),
    ]


@dataclass(frozen=True)
class Life:
    """A run of a method that compares, asking a server over some connections."""

    subject: Subject
    server: ChatServer
    connections: int

    @classmethod
    def of(cls, folder: Path, server: ChatServer, connections: int) -> Life:
        """One that has not begun."""
        size = ["--budget", str(BUDGET), "--connections", str(connections), "--workers", "2"]
        settings = ["--set", "islands=4", "--set", f"restart_every={RESTART}"]
        arguments = ["tsp", "--method", "funsearch+behavesim", "--proposer", "openai", *size, *settings]
        return cls(Subject(folder, arguments, endpoint(server)), server, connections)

    async def deaths(self, rng: random.Random, kernels: Path) -> AsyncIterator[tuple[str, Death]]:
        """Kill it in each stage, and let it end; `kernels` is an empty folder, where its first session compiles them.

        Raises AssertionError where a reply was paid for twice that the journal had, or the run does not end well.
        """
        env: Mapping[str, str] = {**self.subject.env, "NUMBA_CACHE_DIR": str(kernels)}
        subject = replace(self.subject, env=env, anew=True)
        for stage in stages(self.connections, rng):
            wanted = max(1, stage.replies - len(Kept.by(subject).committed))
            yield stage.name, await killed(subject, self.server, wanted, rng.uniform(0.0, stage.within_s))
            subject = self.subject
        ended = await subject.finish()
        assert ended.code == 0, ended.stderr
        again, asked = asked_again(subject.folder), len(self.server.asked)
        assert BUDGET <= asked <= BUDGET + again, f"{asked} requests for {BUDGET} replies, {again} were in flight"
