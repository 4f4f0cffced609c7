"""What a search and a proposer that sends prompts in batches say to each other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from behavesim.state.events import BatchSent, Event


class Batches:
    """Connects the search with a proposer that sends prompts in batches.

    The search says how many prompts are open when no further one will come for now, so that the proposer sends them.
    The proposer says which batches it sends, and the search puts them in the journal. `earlier` maps the number of each
    prompt in a batch that earlier sessions left open to that batch; it is empty if this session takes up none.
    """

    def __init__(self) -> None:
        self.earlier: dict[int, BatchSent] = {}
        self._expected = 0
        self._gathered: Callable[[], object] = lambda: None
        self._record: Callable[[Event], object] = lambda event: None
        self._answered: Callable[[int], object] = lambda number: None
        self._commits: dict[BatchSent, asyncio.Future[None]] = {}

    @property
    def expected(self) -> int:
        """Number of open prompts while the search waits for their replies and nothing else; 0 at all other times."""
        return self._expected

    @contextmanager
    def expecting(self, prompts: int, is_all: bool) -> Iterator[None]:
        """Context manager around the search's waiting, which sets `expected`; after the block it is 0.

        `prompts` is the number of prompts without a reply. `is_all` is whether the search waits for nothing but their
        replies; if it is False, `expected` is 0.
        """
        self._expected = prompts if is_all else 0
        if self._expected:
            self._gathered()
        try:
            yield
        finally:
            self._expected = 0

    def when_gathered(self, call: Callable[[], object]) -> None:
        """Set the function `call`, which is called whenever `expected` is set to a number above 0."""
        self._gathered = call

    def recorded_by(self, record: Callable[[Event], object]) -> None:
        """Set the function `record`, by which `commit` hands an event to the search for its journal."""
        self._record = record

    def when_answered(self, call: Callable[[int], object]) -> None:
        """Set the function `call`, which gets the number of each prompt once its reply is in the journal."""
        self._answered = call

    def answered(self, number: int) -> None:
        """Say that the reply to the prompt of this number is in the journal."""
        self._answered(number)

    async def commit(self, event: BatchSent) -> None:
        """Hand an event to the search, and return once it is in the journal."""
        committed = self._commits[event] = asyncio.get_running_loop().create_future()
        self._record(event)
        await committed

    def committed(self, event: BatchSent) -> None:
        """Let the `commit` of this event return, since the event is in the journal now.

        Nothing happens if no `commit` waits for it.
        """
        if (commit := self._commits.pop(event, None)) is not None and not commit.done():
            commit.set_result(None)
