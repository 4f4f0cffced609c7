"""Chaos: runs of real processes, killed at random moments and resumed, must end as if they had never been.

`python -m tests.chaos --runs 100 --seed 1` kills real runs with SIGKILL, the daemon alone or its process group, once,
twice or three times, also while they resume; half of them ask a model server, whose own count is compared with the
journal. `--events` resumes in-process runs of all methods from before, inside and after the commit of every event.
`--commits` kills so many writers whose log is moved all the time; what they said to be committed must be there.
`--damages` damages the journal of a finished run in so many ways (flipped bits, zeroed, mixed and missing pages): what
`recover` makes of each must hold nothing that was not in the journal.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from behavesim.store.folder import RunFolder
from tests.crash.deaths import METHODS, RACING, every_death, gone_on, uninterrupted
from tests.crash.harm import invented_by_recovery
from tests.crash.model import endpoint, steadfast
from tests.crash.processes import FEW_CITIES, Subject, asked_again
from tests.crash.writer import killed
from tests.proposers.chat_server import ChatServer

BUDGET = 60
EVENTS = 5 * BUDGET


@dataclass(frozen=True)
class Variant:
    """What kind of run is killed."""

    method: str
    proposer: str
    seed: int

    def arguments(self) -> list[str]:
        """The command line of such a run."""
        chosen = ["--method", self.method, "--proposer", self.proposer, "--seed", str(self.seed)]
        size = ["--budget", str(BUDGET), "--window", "16", "--workers", "2", "--connections", "8"]
        islands = ["--set", "islands=4", "--set", "restart_every=20"] if self.method.startswith("funsearch") else []
        return [FEW_CITIES, *chosen, *size, *islands]

    def __str__(self) -> str:
        return f"{self.method}, {self.proposer}, seed {self.seed}"


def variant(rng: random.Random) -> Variant:
    """Any of the kinds."""
    method = rng.choice(["funsearch", "funsearch", "funsearch+behavesim", "eoh", "niche"])
    return Variant(method, rng.choice(["genetic", "openai"]), rng.randrange(2))


@dataclass
class Chaos:
    """Kills runs in a folder, and knows how each kind ends when nobody kills it."""

    folder: Path
    server: ChatServer
    calm: dict[Variant, tuple[str, float]] = field(default_factory=dict)

    async def undisturbed(self, chosen: Variant) -> tuple[str, float]:
        """The digest of a kind of run, and the seconds it takes."""
        if chosen not in self.calm:
            subject = self._subject(chosen, f"calm-{len(self.calm)}")
            begun = time.monotonic()
            ended = await subject.finish()
            assert ended.code == 0, ended.stderr
            self.calm[chosen] = subject.digest, time.monotonic() - begun
        return self.calm[chosen]

    async def disturbed(self, name: str, chosen: Variant, rng: random.Random) -> str:
        """Kill a run and let it finish; returns what was seen. Raises AssertionError where a promise is broken."""
        digest, seconds = await self.undisturbed(chosen)
        subject = self._subject(chosen, name)
        asked_before = len(self.server.asked)
        seen = []
        for _ in range(rng.choice([1, 1, 2, 3])):
            await subject.killed(rng, 1.2 * seconds, EVENTS)
            seen.append(str(subject.events()))
        ended = await subject.finish()
        assert ended.code == 0, ended.stderr
        assert subject.digest == digest, f"the digest differs after {', '.join(seen)} events"
        again, asked = asked_again(subject.folder), len(self.server.asked) - asked_before
        if chosen.proposer == "openai":
            assert BUDGET <= asked <= BUDGET + again, f"{asked} requests for {BUDGET} replies, {again} were in flight"
        return f"killed at {', '.join(seen)} events, {again} requests in flight, {asked} requests seen by the server"

    def _subject(self, chosen: Variant, name: str) -> Subject:
        env: Mapping[str, str] = endpoint(self.server) if chosen.proposer == "openai" else {}
        return Subject(self.folder / name, chosen.arguments(), env)


async def kill_processes(runs: int, seed: int) -> int:
    """Kill so many runs; returns how many broke a promise."""
    broken = 0
    with tempfile.TemporaryDirectory() as folder:
        async with ChatServer(steadfast) as server:
            chaos = Chaos(Path(folder), server)
            for number in range(runs):
                rng = random.Random(f"{seed}/{number}")
                chosen = variant(rng)
                try:
                    seen = await chaos.disturbed(f"run-{number}", chosen, rng)
                except AssertionError as error:
                    broken += 1
                    seen = f"BROKEN: {error}"
                print(f"{number + 1}/{runs} {chosen}: {seen}", flush=True)
    print(f"{runs - broken} of {runs} killed runs ended as those that nobody killed")
    return broken


async def stop_at_every_event(seed: int) -> int:
    """Resume runs of every method from each of their deaths; returns how many ended otherwise than undisturbed."""
    broken = 0
    for method in (*METHODS, *RACING):
        with tempfile.TemporaryDirectory() as folder:
            story, images, events = await uninterrupted(method, Path(folder) / "whole", every_death(), seed)
            ends = [await gone_on(method, images[death], Path(folder) / "resumed", death[0]) for death in images]
        same = sum(end == story for end in ends)
        broken += len(ends) - same
        print(f"{method}: {events} events, {same} of {len(ends)} deaths resumed as if nothing had happened", flush=True)
    return broken


async def kill_writers(count: int, seed: int) -> int:
    """Kill so many writers; returns how many had said more than there is."""
    broken = 0
    for number in range(count):
        with tempfile.TemporaryDirectory() as folder:
            said, found = await killed(Path(folder) / "run.db", random.Random(f"{seed}/{number}"))
        broken += said > found
        print(f"{number + 1}/{count}: {said} events were said to be committed, {found} are there", flush=True)
    print(f"{count - broken} of {count} killed writers had lost nothing")
    return broken


async def damage(count: int, seed: int) -> int:
    """Damage a journal in so many ways; returns in how many of them something was invented."""
    broken = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sound = Subject(folder / "runs" / "sound", [FEW_CITIES, "--budget", str(BUDGET), "--set", "n_init=10"])
        done = await sound.finish()
        assert done.code == 0, done.stderr
        for number in range(seed, seed + count):
            found = await invented_by_recovery(RunFolder(sound.folder), folder / str(number), number)
            broken += bool(found)
            for line in found:
                print(line, flush=True)
    print(f"{count - broken} of {count} damages made recover invent nothing")
    return broken


def main() -> int:
    """Read the command line; the exit code is 1 where a promise was broken."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=100, help="runs of real processes to kill")
    parser.add_argument("--seed", type=int, default=1, help="what draws the moments")
    parser.add_argument("--events", action="store_true", help="instead, every death of in-process runs of all methods")
    parser.add_argument("--commits", type=int, default=0, help="instead, so many writers whose log is always moved")
    parser.add_argument("--damages", type=int, default=0, help="instead, so many damages of a journal, recovered")
    arguments = parser.parse_args()
    if arguments.damages:
        return min(1, asyncio.run(damage(arguments.damages, arguments.seed)))
    if arguments.commits:
        return min(1, asyncio.run(kill_writers(arguments.commits, arguments.seed)))
    if arguments.events:
        return min(1, asyncio.run(stop_at_every_event(arguments.seed)))
    return min(1, asyncio.run(kill_processes(arguments.runs, arguments.seed)))


if __name__ == "__main__":
    sys.exit(main())
