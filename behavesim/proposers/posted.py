"""Programs that are posted from outside: each goes to the first waiting candidate, and its outcome is told."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections import deque
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from behavesim.base.errors import BehavesimError, JournalError, UsageError
from behavesim.programs.answer import add_fence
from behavesim.proposers.proposer import Proposer, ProposerContext, ProposerSettings
from behavesim.proposers.secrets import Secrets
from behavesim.state.events import TUNE, Evaluated, Prompt, Rejected, Reply, Responded
from behavesim.store.reading import read_events

# The model's name in the journal: who really answers is unknown.
MODEL = "http"
# Most bytes of a posted program, in a request with its JSON.
LARGEST = 2**20
# Most posted programs that wait for a candidate.
MOST_WAITING = 64
# Seconds between two looks into the journal for outcomes; nothing else tells a proposer of them.
LOOK_S = 0.1


class TooManyPosted(BehavesimError):
    """Too many posted programs wait for a candidate; this one can be posted again later."""


class RunEnded(BehavesimError):
    """The run takes no more programs, and this one has no outcome."""


class PostedSettings(ProposerSettings):
    """The settings of a proposer of posted programs; it has none of its own."""

    counted_as = MODEL
    keeps_requests = True


class PostedPrograms(Proposer[PostedSettings]):
    """Gives each posted program to the first waiting candidate, and tells its outcome once the journal has it.

    A program that was posted before with the same thought, also before a kill, is not evaluated again: its outcome is
    told once more. Programs come from `evaluate`, which subclasses and the MCP server call.
    """

    settings_type = PostedSettings
    costs_money = False  # to this run: no prompt is sent, and what the agent takes is unknown
    writes_text = False

    def __init__(self, folder: Path, context: ProposerContext) -> None:
        """Create the proposer of the run in `folder`; the journal is followed from the first candidate on."""
        self.folder, self.context = folder, context
        self._secrets = Secrets.of(os.environ.items())
        self._waiting: dict[int, asyncio.Future[str]] = {}  # candidates that no program was posted for
        self._posted: deque[str] = deque()  # replies that no candidate waits for yet
        self._numbers: dict[bytes, int] = {}  # candidates by the hash of their reply, in the journal or not yet
        self._replies: dict[int, bytes] = {}  # the hash of each candidate's latest reply in the journal
        self._outcome_of: dict[bytes, Evaluated | Rejected] = {}  # outcomes by the hash of the reply
        self.outcomes: dict[int, Evaluated | Rejected] = {}
        """The latest outcome of each candidate, without its program, as all of them would fill the memory."""
        self._read = 0
        self._complaint = ""
        self._news = asyncio.Event()  # set when outcomes are known, and then replaced by a new one
        self._has_ended = False
        self._opening = asyncio.Lock()
        self._looking: asyncio.Task[None] | None = None

    @classmethod
    def of(cls, settings: PostedSettings, context: ProposerContext) -> Self:
        """Return the proposer of a run; raises UsageError if there is no folder, whose journal has the outcomes."""
        if context.folder is None:
            raise UsageError("posted programs are for a run, which needs a folder")
        return cls(context.folder, context)

    @property
    def left(self) -> int:
        """How many more programs the budget allows: no candidate has a program for them, and none waits."""
        return max(0, self.context.budget - len(set(self._numbers.values())) - len(self._posted))

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Tell the outcomes that are known by now; `evaluate` raises RunEnded for all other programs from now on."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait([self._looking])
            await self._try_to_follow()
        self._has_ended = True
        self._news.set()

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        """Wait as long as it takes for a program, and return it in a fenced block, after its thought, as the reply."""
        async with self._opening:
            if self._looking is None:
                await self.follow()
                await self.open()
                self._looking = asyncio.create_task(self._look())
        waiting = asyncio.get_running_loop().create_future()
        self._waiting[number] = waiting
        self._assign()
        try:
            await asyncio.wait([waiting, self._looking], return_when=asyncio.FIRST_COMPLETED)
            if not waiting.done():
                self._looking.result()  # raises what ended it: agents would wait for their outcomes without end
            return Reply(waiting.result(), MODEL)
        finally:
            self._waiting.pop(number, None)

    async def open(self) -> None:
        """Begin to take programs; called once, before the first candidate waits. Raises ProposerError if that fails."""

    async def evaluate(self, program: str, thought: str = "") -> Evaluated | Rejected:
        """Post a program, wait for its outcome as long as it takes, and return that.

        A call that is cancelled leaves the program in the run: to post it again returns its outcome. Raises
        TooManyPosted if MOST_WAITING programs wait, RunEnded if there is no outcome and the run takes no program more.
        """
        # as it will be stored, so that the same program is known again after a resume
        text = self._secrets.clean("\n\n".join(filter(None, (thought.strip(), add_fence(program)))))
        name = _hash_of(text)
        if name not in self._numbers and text not in self._posted:
            if self.context.budget and not self.left and all(each.done() for each in self._waiting.values()):
                raise RunEnded(f"the budget of {self.context.budget:,} programs is used up")
            if len(self._posted) >= MOST_WAITING:
                raise TooManyPosted(f"{MOST_WAITING} programs wait already; post this one later")
            self._posted.append(text)
            self._assign()
        while True:
            if (outcome := self._outcome_of.get(name)) is not None:
                return outcome
            if self._has_ended:
                raise RunEnded("the run has stopped; resume it, and post the program again")
            await self._news.wait()

    def _assign(self) -> None:
        """Give the posted programs to the waiting candidates, the first posted to the smallest number."""
        for number in sorted(self._waiting):
            waiting = self._waiting[number]
            if self._posted and not waiting.done():
                text = self._posted.popleft()
                self._numbers[_hash_of(text)] = number
                waiting.set_result(text)

    async def _look(self) -> None:
        while True:
            await self._try_to_follow()
            await asyncio.sleep(LOOK_S)

    async def _try_to_follow(self) -> None:
        """Read the journal's new events; if that fails, as while another program locks it, say so once."""
        try:
            await self.follow()
            self._complaint = ""
        except JournalError as error:
            if str(error) != self._complaint:
                self._complaint = str(error)
                self.context.tell(f"agents wait for their outcomes, as the journal cannot be read now: {error}")

    async def follow(self) -> None:
        """Read the journal's new events; if there are any, wake those who wait for an outcome. Raises JournalError."""
        found, self._read = await asyncio.to_thread(_news, self.folder / "run.db", self._read)
        for each in found:
            if isinstance(each, Evaluated | Rejected):
                self.outcomes[each.candidate] = each
                # the outcome of its latest reply in the journal: a program that repairs that one may be posted already
                if (name := self._replies.get(each.candidate)) is not None:
                    self._outcome_of[name] = each
            else:
                name, candidate = each
                self._numbers[name] = candidate
                self._replies[candidate] = name
        if found:
            self._news.set()
            self._news = asyncio.Event()


def _hash_of(text: str) -> bytes:
    """Return the hash by which a reply is known again: all texts of a long run would take 100 MB."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()


def _news(path: Path, after: int) -> tuple[list[tuple[bytes, int] | Evaluated | Rejected], int]:
    """Return, in their order, replies by hash and candidate and outcomes after event `after`; and the last event."""
    found: list[tuple[bytes, int] | Evaluated | Rejected] = []
    for seq, _, event in read_events(path, after=after, only=(Responded, Evaluated, Rejected)):
        after = seq
        match event:
            case Responded(candidate, reply) if reply.model != TUNE:  # no budget counts a program that is tuned
                found.append((_hash_of(reply.text), candidate))
            case Evaluated():
                found.append(replace(event, source="", thought="", scores=(), trajectories=()))
            case Rejected():
                found.append(replace(event, source="", thought=""))
    return found, after
