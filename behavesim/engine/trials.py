"""Trials of programs: each leads from a reply to an outcome. Programs with the same text share one evaluation."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from contextlib import suppress

from behavesim.engine.outcome import copied, extracted, judged
from behavesim.programs.extract import NeedsLimits, Program
from behavesim.state.events import Asked, CandidateId, Evaluated, Event, Rejected, Reply, RunForked
from behavesim.state.protocols import Journal, Judge
from behavesim.state.verdict import Failure, Verdict
from behavesim.task import Task

AT_ONCE = 4_000
"""Replies up to this many characters are read on the event loop: a few milliseconds, hardly more than a thread."""

Check = Callable[[Verdict | Failure], Awaitable[Verdict | Failure]]
"""Checks a verdict after the judge: returns it unchanged, or a failure."""


class Trials:
    """Evaluates each program text once; a later candidate with the same text takes the result from the journal.

    Programs that differ only in names or layout are evaluated separately: a program can see its names and line
    numbers, and the message of a failure shows them.
    """

    def __init__(self, task: Task, judge: Judge, journal: Journal, check: Check | None) -> None:
        self._task = task
        self._judge = judge
        self._journal = journal
        self._check = check
        self._reading = asyncio.Lock()  # one reply at a time: several would only compete for the same core
        self._first: dict[bytes, CandidateId] = {}  # the candidate that was tried, by the hash of its text
        self._under_way: dict[CandidateId, asyncio.Event] = {}  # set when the candidate's result is committed

    def apply(self, event: Event) -> None:
        """Apply a committed event: from now on, candidates with the same text can take this result."""
        if isinstance(event, Evaluated | Rejected):
            if event.source:
                self._first.setdefault(_text_hash(event.source), event.candidate)
            if event.candidate in self._under_way:
                self._under_way.pop(event.candidate).set()
        elif isinstance(event, RunForked):
            self._first.clear()  # results from before a fork were found under another task or other limits

    async def outcome(self, asked: Asked, reply: Reply) -> Evaluated | Rejected:
        """Return the outcome of a candidate with this reply: read the program, evaluate it, check the verdict.

        Raises SandboxError if the sandbox itself fails.
        """
        program = await self._read(asked, reply)
        if isinstance(program, Rejected):
            return program
        candidate = asked.candidate
        first = self._first.setdefault(_text_hash(program.source), candidate)
        if first != candidate:
            return await self._copy(candidate, program, first)
        self._under_way[candidate] = asyncio.Event()
        verdict = await self._judge.evaluate(program.source)
        return judged(candidate, program, verdict if self._check is None else await self._check(verdict))

    async def _read(self, asked: Asked, reply: Reply) -> Program | Rejected:
        """Return the program of a reply or its rejection; only one reply is read at a time."""
        async with self._reading:
            if len(reply.text) <= AT_ONCE:
                with suppress(NeedsLimits):
                    program = extracted(self._task, asked, reply, at_once=True)
                    await asyncio.sleep(0)  # lets the loop commit what has arrived meanwhile
                    return program
            return await asyncio.to_thread(extracted, self._task, asked, reply)

    async def _copy(self, candidate: CandidateId, program: Program, first: CandidateId) -> Evaluated | Rejected:
        """Return the outcome of the candidate `first` for this candidate, as soon as it is committed."""
        if first in self._under_way:
            await self._under_way[first].wait()
        return copied(candidate, program, await self._journal.outcome(first, program.source))


def _text_hash(source: str) -> bytes:
    return hashlib.sha256(source.encode()).digest()
