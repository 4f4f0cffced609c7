"""Forgeries: in a finished run one field of one event is changed, and `verify` must name it.

`python -m tests.forgeries --count 300 --seed 1` forges so many copies, of every kind of event and every field in turn,
and lists those that `verify` takes for sound. Such a forgery is only allowed where docs/explanation/durability.md says
that the journal cannot know better; `UNKNOWABLE` has the same list. Programs are run once, whatever copies they
stand in.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from json import dumps, loads
from pathlib import Path
from shutil import copytree
from typing import Any
from unittest.mock import patch

from behavesim.application.verification import verify_runs
from behavesim.base.config import Settings
from behavesim.base.errors import BehavesimError
from behavesim.engine import build
from behavesim.sandbox.limits import Limits
from behavesim.state.events import STORED_AS, BatchSent, Evaluated, Event, PutOff, Responded
from behavesim.state.protocols import Postponed, unnoticed
from behavesim.store.codec import decode, encode
from behavesim.store.folder import RunFolder
from behavesim.store.journal import SqliteJournal
from behavesim.store.reading import read_events
from behavesim.task import Split, Task, TaskReference
from behavesim.task.verdict import Block, Failure, Verdict
from tests.crash.processes import ENDLESS_CITIES, FEW_CITIES, carried_out

ADJUSTABLE = "label|workers|connections|max_.*|recommend|fresh_evaluations|prices|request_timeout_s|service_tier|batch"
UNKNOWABLE: Mapping[str, Sequence[str]] = {
    "what a model or a command answered, as long as the same program is in it": [
        r"Responded reply\.(text|model|calls|finish_reason|unanswered)(\..*)?",
        r"NoteReceived reply\..*",
    ],
    "how long a program took": [r"(Evaluated|Rejected|Raced) (cpu_s|counted_s)"],
    "that it ran out of time or memory, or was put off, and what was said of it": [
        r"Rejected (reason|message)",
        r"PutOff .*",
    ],
    "what the clock said within a period": [r"ClockRead active_s"],
    "what a person's program or advice is called, and from when on it waited": [
        r"(Injected|Advised) (name|not_before)"
    ],
    "with what and where the run was made": [
        r"(RunStarted|RunForked) provenance\.(behavesim|genai-prices|numpy|python|machine)",
        r"(RunStarted|RunResumed) isolation",
        r"RunResumed price_list",
    ],
    "adjustable settings of a resumed run": [rf"(RunStarted|RunForked) settings\.({ADJUSTABLE})"],
    "those of a fork, and from what run it was made, where they changed nothing": [
        r"RunForked run",
        r"RunStarted (settings|provenance)\..*",
    ],
    "why a run stopped before its end, and how many requests were under way": [
        r"RunStopped (reason|under_way|message)",
        r"RunResumed unanswered",
    ],
    "in which batch a prompt was sent": [r"BatchSent .*"],
    "how many evaluations a race for the recommended program might cost, where it ended before": [r"FreshBegun purse"],
    "how many programs were wanted of a portfolio where fewer were found": [r"PortfolioChosen wanted"],
}
"""What `verify` cannot know, in the words of docs/explanation/durability.md, and the fields that this is about."""

MODEL = """\
import hashlib, sys
said = sys.stdin.read()
drawn = hashlib.sha256(said.encode()).digest()[0]
print(f"Prefer what is near, {drawn} times out of 256.")
print("```python")
print(TEMPLATE.replace("unvisited_nodes[0]", f"unvisited_nodes[{drawn} * len(unvisited_nodes) // 256]"))
print("```")
"""


@dataclass(frozen=True)
class Forgery:
    """A field of an event that was changed, and whether that was noticed."""

    run: str
    seq: int
    place: str
    before: Any
    after: Any
    is_named: bool

    @property
    def excuse(self) -> str | None:
        """Why nobody could notice; None where somebody could."""
        for reason, places in UNKNOWABLE.items():
            if any(re.fullmatch(place, self.place) for place in places):
                return reason
        return None

    def __str__(self) -> str:
        return f"{self.run}, event {self.seq}, {self.place}: {self.before!r:.60} -> {self.after!r:.60}"


@dataclass
class Judges:
    """Stands in for the sandbox: each program is run once for each split and limits, and remembered."""

    stack: AsyncExitStack
    known: dict[tuple[str, Split, Limits, int, int], Any] = field(default_factory=dict)
    verdicts: dict[tuple[str, Split, Limits, int, int, str, Block | None], Verdict | Failure] = field(
        default_factory=dict
    )

    @asynccontextmanager
    async def judge_of(
        self, settings: Settings, task: Task, split: Split = "search", further: int = 0
    ) -> AsyncIterator[Any]:
        """In the place of `engine.build.judge_of`."""
        key = (task.name, split, Limits.of(settings), settings.race, further)
        if key not in self.known:
            self.known[key] = await self.stack.enter_async_context(build.judge_of(settings, task, split, further))
        judge, verdicts = self.known[key], self.verdicts

        class Remembering:
            async def evaluate(
                self, source: str, postponed: Postponed = unnoticed, block: Block | None = None
            ) -> Verdict | Failure:
                if (*key, source, block) not in verdicts:
                    verdicts[*key, source, block] = await judge.evaluate(source, postponed, block)
                return verdicts[*key, source, block]

        yield Remembering()


async def runs(folder: Path) -> list[RunFolder]:
    """Finished runs with every kind of event: one resumed, a fork of it, one with notes, and one with a race."""
    own, here = folder / "own", ("--runs-dir", str(folder))
    own.mkdir()
    template = TaskReference("tsp").load().template
    (own / "nearest.py").write_text(f"# mine\n{template}")
    # the clock decides which programs a run restarts from, so only one that always fails makes sure of a rejection
    (own / "broken.py").write_text(template.replace("unvisited_nodes[0]", "unvisited_nodes[len(unvisited_nodes)]"))
    (folder / "model.py").write_text(f"TEMPLATE = {template!r}\n{MODEL}")
    begun = ["--start-with", str(own), "--set", "n_init=4", "--set", "restart_every=5", "--set", "islands=3"]
    begun += ["--set", "restart_every_s=0.05", "--set", "repair=1", "--set", "shortlist=3"]
    begun += ["--set", "recommend=false"]  # until it is told to
    model = f"command:{sys.executable} -IS {folder / 'model.py'}"
    noted = ["--method", "reevo", "--proposer", model, "--set", "initial_population=3", "--set", "population=3"]
    for arguments in (
        ("run", FEW_CITIES, "--budget", "12", *begun, "--name", "plain"),
        ("advise", "plain", "Look two cities ahead."),
        ("resume", "plain", "--budget", "15"),
        ("recommend", "plain", "--portfolio", "3"),
        ("resume", "plain", "--budget", "18", "--set", "timeout_s=40", "--fork", "forked"),
        ("run", FEW_CITIES, "--budget", "6", *noted, "--set", "recommend=false", "--name", "noted"),
        ("run", ENDLESS_CITIES, "--budget", "12", "--set", "race=9", "--set", "fresh_evaluations=2", "--name", "raced"),
    ):
        ended = await carried_out(*arguments, *here)
        assert ended.code == 0, ended.stderr
    return [RunFolder(folder / name) for name in ("plain", "forked", "raced")] + [
        await busy(RunFolder(folder / "noted"))
    ]


async def busy(run: RunFolder) -> RunFolder:
    """A copy of a run in which the first prompt was sent in a batch, and the machine was busy when its program came."""
    events = [event for _, _, event in read_events(run.journal)]
    at, reply = next((k, event) for k, event in enumerate(events) if isinstance(event, Responded))
    batch = BatchSent("first", (reply.candidate,), "batch_1")
    late = PutOff(reply.candidate, "clock", "its time by the clock was over")
    return await written([*events[:at], batch, reply, late, *events[at + 1 :]], run, run.path.with_name("busy"))


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all values in JSON; an empty list or table is a value too."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = [leaf for key, each in pairs for leaf in leaves(each, (*path, key))]
    yield from found or [path]


def changed(value: Any, rng: random.Random) -> Any:
    """Another value of the same kind."""
    match value:
        case bool():
            return not value
        case int():
            return value + rng.choice((-1, 1, 2, 7))
        case float():
            return value + rng.choice((-0.5, 1e-9, 0.25, 3.0))
        case str():
            place = rng.randrange(len(value) + 1)
            return rng.choice((value[:place] + rng.choice("abc 1") + value[place + 1 :], value + "x", "another"))
        case None:
            return rng.choice((0, 1, "x", 0.5))
        case list():
            return [rng.randrange(5)]
        case _:
            return {"x": rng.choice((1, "y"))}


def forged(event: Event, behaviours: Sequence[Evaluated], rng: random.Random) -> tuple[str, Any, Any, Event] | None:
    """The place that was changed, the values before and after, and the event; None where no event comes of it."""
    kind, payload, blob = encode(event)
    values = loads(payload)
    fields = list(values)
    name = rng.choice(fields)
    if name == "trajectories":
        other = rng.choice(behaviours)
        forgery = decode(kind, payload, encode(other)[2])
        return None if forgery == event else (f"{kind} trajectories", "its own", f"those of {other.candidate}", forgery)
    path = rng.choice(list(leaves(values[name], (name,))))
    holder = values = deepcopy(values)
    for key in path[:-1]:
        holder = holder[key]
    before, after = holder[path[-1]], changed(holder[path[-1]], rng)
    holder[path[-1]] = after
    try:
        forgery = decode(kind, dumps(values), blob)
    except (ValueError, TypeError):
        return None
    place = f"{kind} {'.'.join(str(key) for key in path if isinstance(key, str))}"
    return None if forgery == event else (place, before, after, forgery)


async def written(events: Sequence[Event], source: RunFolder, target: Path) -> RunFolder:
    """A copy of a run with these events."""
    copytree(source.path, target, ignore=lambda _, names: [name for name in names if name.startswith("run.db")])
    async with SqliteJournal(target / "run.db") as journal:
        await journal.append(events)
    return RunFolder(target)


async def is_named(run: RunFolder) -> bool:
    """Whether `verify` finds anything wrong."""
    try:
        return not (await verify_runs(run, workers=2)).is_sound
    except BehavesimError:
        return True


async def forgeries(count: int, seed: int, folder: Path) -> list[Forgery]:
    """Forge so many copies, the kinds of events in turn; raises AssertionError where a run is not sound as it is."""
    rng, found = random.Random(seed), list[Forgery]()
    async with AsyncExitStack() as stack:
        judges = Judges(stack)
        for room in ("audit.verify", "application.recommendation"):
            stack.enter_context(patch(f"behavesim.{room}.judge_of", judges.judge_of))
        journals = {run: [event for _, _, event in read_events(run.journal)] for run in await runs(folder)}
        for run in journals:
            whole = await verify_runs(run, workers=2)
            assert whole.is_sound, whole.differences
        kinds = sorted({type(event).__name__ for events in journals.values() for event in events})
        assert kinds == sorted(STORED_AS), f"every kind of event is forged: {set(STORED_AS) - {*kinds}}"
        while len(found) < count:
            kind = kinds[len(found) % len(kinds)]
            run, seq = rng.choice(
                [(r, k) for r, events in journals.items() for k, e in enumerate(events) if type(e).__name__ == kind]
            )
            events = journals[run]
            behaviours = [each for each in events if isinstance(each, Evaluated)]
            if (done := forged(events[seq], behaviours, rng)) is None:
                continue
            copy = await written([*events[:seq], done[3], *events[seq + 1 :]], run, folder / f"copy{len(found)}")
            found.append(Forgery(run.run, seq + 1, *done[:3], await is_named(copy)))
    return found


def main() -> int:
    """Forge, and say what was noticed; 1 where something was not that could have been."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(forgeries(given.count, given.seed, Path(folder)))
    unnamed = [each for each in found if not each.is_named]
    missed = [each for each in unnamed if each.excuse is None]
    print(f"{len(found)} forgeries: {len(found) - len(unnamed)} named by verify, {len(unnamed)} not, which it may:")
    for reason, times in Counter(each.excuse for each in unnamed if each.excuse).most_common():
        print(f"  {times:4} {reason}")
    for each in unnamed:
        print(f"  {'MISSED' if each.excuse is None else 'excused'}: {each}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
