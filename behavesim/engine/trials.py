"""Trials of programs: each leads from a reply to an outcome. Programs with the same text share one evaluation."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable

from behavesim.engine.outcome import copied, extracted, judged
from behavesim.programs.reading import Program
from behavesim.state.events import CandidateId, Evaluated, Event, PutOff, Rejected, Reply, RunForked
from behavesim.state.members import OpenCandidate
from behavesim.state.protocols import Journal, Judge
from behavesim.task import Task
from behavesim.task.verdict import Failure, Verdict

Check = Callable[[Verdict | Failure], Awaitable[Verdict | Failure]]
"""Checks a verdict after the judge: returns it unchanged, or a failure."""


class Trials:
    """Evaluates each program text once; a later candidate with the same text takes the result from the journal.

    Programs that differ only in names or layout are evaluated separately: a program can see its names and line
    numbers, and the message of a failure shows them. Earlier results are read from `journal`. `check` is applied to
    each verdict of the judge; None for no check. `arrive` is called with a PutOff event when a program was put off.
    """

    def __init__(
        self, task: Task, judge: Judge, journal: Journal, check: Check | None, arrive: Callable[[Event], None]
    ) -> None:
        self._arrive = arrive
        self._task = task
        self._judge = judge
        self._journal = journal
        self._check = check  # `Search._checked`: behaviour that cannot be compared is a failure
        self._reading = asyncio.Lock()
        self._first: dict[bytes, CandidateId] = {}  # the candidate that was tried, by the hash of its text
        self._under_way: dict[CandidateId, asyncio.Event] = {}  # set when the candidate's result is committed

    def apply(self, event: Event) -> None:
        """Apply a committed event: later candidates with the same text can take its result, until the run is forked."""
        if isinstance(event, (Evaluated, Rejected)):  # a tuple: a union would be made at each call
            if event.source:
                self._first.setdefault(_text_hash(event.source), event.candidate)
            if event.candidate in self._under_way:
                self._under_way.pop(event.candidate).set()
        elif isinstance(event, RunForked):
            self._first.clear()  # results from before a fork were found under another task or other limits

    async def outcome(self, opened: OpenCandidate, reply: Reply) -> Evaluated | Rejected:
        """Return the outcome of a candidate with this reply: read the program, evaluate it, check the verdict.

        Raises SandboxError if the sandbox itself fails, TaskError if the fault is the task's.
        """
        asked = opened.asked
        # one at a time: several would only compete for the same core
        async with self._reading:
            program = await asyncio.to_thread(extracted, self._task, asked, reply, opened.shown, opened.idea)
        if isinstance(program, Rejected):
            return program
        candidate = asked.candidate
        first = self._first.setdefault(_text_hash(program.source), candidate)
        if first != candidate:
            return await self._copy(candidate, program, first)
        self._under_way[candidate] = asyncio.Event()
        verdict = await self._judge.evaluate(program.source, lambda *why: self._arrive(PutOff(candidate, *why)))
        return judged(candidate, program, verdict if self._check is None else await self._check(verdict))

    async def _copy(self, candidate: CandidateId, program: Program, first: CandidateId) -> Evaluated | Rejected:
        """Return the outcome of the candidate `first` for this candidate, as soon as it is committed."""
        if first in self._under_way:
            await self._under_way[first].wait()
        return copied(candidate, program, await self._journal.earlier_outcome(first, program.source))


def _text_hash(source: str) -> bytes:
    return hashlib.sha256(source.encode()).digest()
