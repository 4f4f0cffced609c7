"""The requests of a session that are under way, and the batches in which some are sent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

from behavesim.base.heartbeat import Heartbeat
from behavesim.base.notices import OFTEN_S, Sparing
from behavesim.base.text import count_noun
from behavesim.state.events import BatchSent, Event

# Messages between a search and a proposer that sends prompts in batches.


class Batches:
    """Connects the search with a proposer that sends prompts in batches.

    The search says how many prompts are open when no further one will come for now, so that the proposer sends them.
    The proposer says which batches it sends, and the search puts them in the journal. `earlier` maps the number of each
    prompt in a batch that earlier sessions left open to that batch; it is empty if this session takes up none.
    """

    def __init__(self) -> None:
        self.earlier: dict[int, BatchSent] = {}
        self.when_gathered: Callable[[], object] = lambda: None
        """Called whenever `expected` is set to a number above 0."""
        self.when_answered: Callable[[int], object] = lambda number: None
        """Called with the number of each prompt once its reply is in the journal."""
        self.record: Callable[[Event], object] = lambda event: None
        """Hands an event of `commit` to the search for its journal."""
        self._expected = 0
        self._commits: dict[BatchSent, asyncio.Future[None]] = {}

    @property
    def expected(self) -> int:
        """Number of open prompts while the search waits for their replies and nothing else; 0 at all other times."""
        return self._expected

    @contextmanager
    def expecting(self, prompts: int, is_all: bool) -> Iterator[None]:
        """Set `expected` while the search waits for replies to this number of `prompts`; it is 0 after the block.

        is_all: no other work is running, so the batch is complete.
        """
        self._expected = prompts if is_all else 0
        if self._expected:
            self.when_gathered()
        try:
            yield
        finally:
            self._expected = 0

    async def commit(self, event: BatchSent) -> None:
        """Hand an event to the search, and return once it is in the journal."""
        committed = self._commits[event] = asyncio.get_running_loop().create_future()
        self.record(event)
        await committed

    def committed(self, event: BatchSent) -> None:
        """Let the `commit` of this event return, if one waits: the event is in the journal now."""
        if (commit := self._commits.pop(event, None)) is not None and not commit.done():
            commit.set_result(None)


# Seconds in which no request under way ended, after which a notice says so.
SILENCE_S = 30.0


class Requests:
    """Counts requests that are sent and not answered yet. A proposer sends each that may be billed within `one`.

    `tell` is called with a line, at most once a minute, while requests are under way and none ends for SILENCE_S.
    `clock` leaves out time in which the machine slept, so that sleep causes no notice. `batches` is for proposers that
    send prompts in batches; these go on without the process, and count as no requests under way.
    """

    def __init__(self, tell: Callable[[str], None] = lambda text: None, clock: Heartbeat | None = None) -> None:
        self.batches = Batches()
        self._clock = clock or Heartbeat()
        self._often = Sparing(tell, self._clock)
        self._came_back_at = 0.0
        self._limit_s: float | None = None
        self._listening: asyncio.Task[None] | None = None  # while there is something to wait for
        self._under_way: int | None = None
        self._lost = 0
        self._is_closed = False
        self._settled = asyncio.Event()

    @property
    def under_way(self) -> int | None:
        """The number of requests under way; None if `one` was never entered."""
        return self._under_way

    @property
    def unreported(self) -> int | None:
        """Requests that may be billed but are counted in no reply: under way, cancelled or given up (`accounted`).

        None if `one` was never entered.
        """
        return None if self._under_way is None else self._under_way + self._lost

    @contextmanager
    def accounted(self, spent: Callable[[], int]) -> Iterator[None]:
        """Context around all requests for one reply: if it raises, `spent()` of them count as unreported."""
        try:
            yield
        except BaseException:  # also cancelled: what was sent may be billed, and no reply says so
            self._lost += spent()
            raise

    @asynccontextmanager
    async def one(self, limit_s: float | None = None) -> AsyncIterator[None]:
        """Count one request as under way inside this context; if it is cancelled there, it counts as unreported.

        `limit_s` is its time limit in seconds, only named in notices; None for no limit. After `settle` was called,
        entering waits until it is cancelled, so that no further request is sent.
        """
        # an error would look like a failure of the endpoint; the run is ending and cancels what waits here
        if self._is_closed:
            await asyncio.get_running_loop().create_future()
        self._limit_s = limit_s
        self._under_way = (self._under_way or 0) + 1
        if self._listening is None:
            self._came_back_at = self._clock()
            self._listening = asyncio.create_task(self._listen())
        try:
            yield
        except asyncio.CancelledError:
            self._lost += 1  # it was sent, and may be billed without a reply
            raise
        finally:
            self._came_back_at = self._clock()
            self._under_way -= 1
            if not self._under_way:
                self._listening.cancel()
                self._listening = None
                if self._is_closed:
                    self._settled.set()

    async def _listen(self) -> None:
        while True:
            silence = self._clock() - self._came_back_at
            if silence >= SILENCE_S:
                waiting = count_noun(self._under_way or 0, "request")
                most = "" if self._limit_s is None else f", each for {self._limit_s:g} s at most"
                self._often("silence", f"nothing came back for {silence:.0f} s; {waiting} under way{most}")
            await self._clock.sleep(SILENCE_S - silence if silence < SILENCE_S else OFTEN_S)

    async def settle(self, within_s: float) -> None:
        """Let `one` begin no more, and wait up to `within_s` seconds until those under way have ended."""
        self._is_closed = True
        if self._under_way:
            try:
                await asyncio.wait_for(self._settled.wait(), within_s)
            except TimeoutError:
                return

    def abandon(self) -> None:
        """Make `settle` return at once."""
        self._settled.set()
