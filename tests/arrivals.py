"""Does a run depend on which reply came first? Measured on runs whose replies arrive in random orders.

`python -m tests.arrivals --orders 1000` carries out each method in so many orders, with repairs, and compares prompts,
outcomes and digests with those of the run in which each reply arrives at once.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from behavesim.state.events import DECISIONS, Evaluated, Event, Prompt, Rejected, Reply, Responded
from behavesim.task.verdict import Failure, Verdict
from tests.crash.deaths import METHODS
from tests.engine.toys import MemoryJournal, ToyJudge, ToyProposer, search

SETTINGS: Mapping[str, Any] = {
    **{"budget": 20, "window": 8, "connections": 8, "workers": 3, "n_init": 5, "repair": 2, "restart_every": 10},
    **{"prompt_times": True, "prompt_feedback": "behaviour", "population": 4, "initial_population": 6},
}


class TwinsProposer(ToyProposer):
    """Gives a third of the programs another layout and other names, and so the same normal form."""

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        """A reply of the toy, with a local variable and a line more, drawn by the number."""
        reply = await super().propose(prompt, number)
        name, lines = ("a", 1) if number % 3 else ("b", 2)
        body = "\n" * lines + f"    {name} = 1\n    return"
        return replace(reply, text=re.sub(r"\n    return", body, reply.text))


class TellingJudge(ToyJudge):
    """Judges as the toy does but rejects more; its message shows names, lines and an address that changes each time."""

    async def evaluate(self, source: str, *_: object) -> Verdict | Failure:
        """The verdict; its CPU time follows from the text."""
        verdict = await super().evaluate(source)
        if isinstance(verdict, Failure) or verdict.scores[0] < 3:
            address = f"<thing at 0x{random.getrandbits(40):x}>"
            return Failure("exception", f"{address} {source.split()[4]} (line {source.count(chr(10))})", 0.1)
        return replace(verdict, cpu_s=len(source) / 100)


@dataclass(frozen=True)
class Story:
    """All that must not depend on the order of arrival: each candidate's events in order, and the digest."""

    digest: str
    events: tuple[Event, ...]


async def story(method: str, order: random.Random | None) -> Story:
    """A run of a method in which replies and verdicts arrive in this order."""
    settings, journal = {**SETTINGS, "method": method}, MemoryJournal()
    run = await search(journal, settings, proposer=TwinsProposer(delay=order))
    run._evaluations.judge = TellingJudge(run._evaluations.task, order, 3)
    await run.run()
    kinds = (*DECISIONS, Responded, Evaluated, Rejected)
    events = sorted((event for event in journal.events() if isinstance(event, kinds)), key=_place)
    return Story(run.state.digest(), tuple(map(_lasting, events)))


def _place(event: Event) -> tuple[str, int]:
    """Events of one candidate stay in their order; a repair may come before or after a decision about another."""
    return ("", event.candidate) if hasattr(event, "candidate") else (type(event).__name__, 0)


def _lasting(event: Event) -> Event:
    """An event without the one thing that may depend on the order: which of two equal texts was run."""
    return replace(event, copy_of=None) if isinstance(event, Evaluated | Rejected) else event


async def differences(method: str, orders: int, seed: int) -> int:
    """How many of so many orders of arrival change anything about a run of a method."""
    expected = await story(method, None)
    rng = np.random.default_rng(seed)
    found = 0
    for order in rng.integers(1 << 30, size=orders).tolist():
        found += await story(method, random.Random(order)) != expected
    return found


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--orders", type=int, default=1000, help="orders of arrival for each method")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    for method in METHODS:
        found = asyncio.run(differences(method, arguments.orders, arguments.seed))
        print(f"{method:20} {found} of {arguments.orders} orders change the run", flush=True)


if __name__ == "__main__":
    main()
