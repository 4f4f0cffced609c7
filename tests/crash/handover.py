"""What a model server had handed over to a run when it was killed, and what of that the run's journal holds."""

from __future__ import annotations

import asyncio
import random
import re
import time
from dataclasses import dataclass

from behavesim.state.events import Responded
from behavesim.store.reading import read_events
from tests.crash.processes import Subject
from tests.proposers.chat_server import Answer, Asked, Behaviour, ChatServer, improved, says

_NUMBER = re.compile(r"Reply (\d+)\.\Z")


def numbered(asked: Asked) -> Answer:
    """Another variation of a program in the prompt each time; the text names the request it answers."""
    return says(f"{improved(asked.prompt, random.Random(asked.number))}\n\nReply {asked.number}.")


def spread(shortest_s: float, longest_s: float) -> Behaviour:
    """Numbered replies that take as long as a draw says."""
    return lambda asked: numbered(asked).after(random.Random(asked.number).uniform(shortest_s, longest_s))


def in_bursts(every_s: float) -> Behaviour:
    """Numbered replies that all come at once, every so often."""
    return lambda asked: numbered(asked).after(every_s - time.monotonic() % every_s)


@dataclass(frozen=True)
class Kept:
    """Where each reply stood in a journal: by its number the time of its commit, in seconds of `time.monotonic`."""

    committed: dict[int, float]

    @classmethod
    def by(cls, subject: Subject) -> Kept:
        """What the journal of a run holds; the run's clock and this process's are compared now."""
        if not subject.events():
            return cls({})
        ahead = time.time() - time.monotonic()
        replies = ((at, event) for _, at, event in read_events(subject.folder / "run.db", only=(Responded,)))
        found = ((_NUMBER.search(event.reply.text), at) for at, event in replies if isinstance(event, Responded))
        return cls({int(number[1]): at - ahead for number, at in found if number})


@dataclass(frozen=True)
class Death:
    """A session that was killed: how long before the kill each reply was handed over, in seconds, kept or lost.

    `waits` are the seconds from the handing over of each reply that was kept to the beginning of its commit.
    """

    kept: tuple[float, ...]
    lost: tuple[float, ...]
    waits: tuple[float, ...]

    @property
    def oldest_lost_s(self) -> float:
        """How long before the kill the oldest reply was handed over that got lost; 0 where none did."""
        return max(self.lost, default=0.0)


async def killed(subject: Subject, server: ChatServer, replies: int, pause_s: float = 0.0) -> Death:
    """Start or resume a run, and kill it a moment after the server has handed over so many more replies to it.

    A run that ends before that has nothing to lose.
    """
    before, first = len(server.handed_over), len(server.asked)
    process = await subject.start()
    while process.returncode is None and len(server.handed_over) < before + replies:
        await asyncio.sleep(0.002)
    if process.returncode is None:
        await asyncio.wait([asyncio.create_task(process.wait())], timeout=pause_s)
    at = time.monotonic()
    if process.returncode is None:
        process.kill()
    await process.communicate()
    given = {number: when for number, when in server.handed_over.items() if number >= first and when < at}
    committed = Kept.by(subject).committed
    return Death(
        kept=tuple(at - when for number, when in given.items() if number in committed),
        lost=tuple(at - when for number, when in given.items() if number not in committed),
        waits=tuple(committed[number] - when for number, when in given.items() if number in committed),
    )
