"""What a search and a proposer that sends prompts in batches tell each other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from behavesim.state.events import BatchSent, Event


class Batches:
    """Tells the proposer when no further prompt will come for now, and has the search commit what it sends.

    `earlier` has the batches that earlier sessions left open, by the number of the prompt; empty if none is taken up.
    """

    def __init__(self) -> None:
        self.earlier: dict[int, BatchSent] = {}
        self._expected = 0
        self._gathered: Callable[[], object] = lambda: None
        self._record: Callable[[Event], object] = lambda event: None
        self._commits: dict[BatchSent, asyncio.Future[None]] = {}

    @property
    def expected(self) -> int:
        """The number of prompts whose replies are all that the search waits for; 0 while it does anything else."""
        return self._expected

    @contextmanager
    def expecting(self, prompts: int, is_all: bool) -> Iterator[None]:
        """Context around the search's waiting, in which `expected` is this number of prompts if `is_all`, else 0."""
        self._expected = prompts if is_all else 0
        if self._expected:
            self._gathered()
        try:
            yield
        finally:
            self._expected = 0

    def when_gathered(self, call: Callable[[], object]) -> None:
        """Have `call` called whenever `expected` is set to a number above 0."""
        self._gathered = call

    def recorded_by(self, record: Callable[[Event], object]) -> None:
        """Have `commit` hand its events to `record`, the search's way into the journal."""
        self._record = record

    async def commit(self, event: BatchSent) -> None:
        """Return once the event is in the journal."""
        committed = self._commits[event] = asyncio.get_running_loop().create_future()
        self._record(event)
        await committed

    def committed(self, event: BatchSent) -> None:
        """Let the `commit` of this event return."""
        if (commit := self._commits.pop(event, None)) is not None and not commit.done():
            commit.set_result(None)
