"""The outcome of a candidate: pure functions derive it from its reply and its verdict; `Evaluations` gets the verdict.

The search records the outcome; an audit derives it again from the journal.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

from behavesim.programs.answer import add_fence
from behavesim.programs.extract import extract, form_of
from behavesim.programs.reading import Program, Request
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import (
    INJECTED,
    TUNE,
    Added,
    Asked,
    CandidateId,
    Evaluated,
    Event,
    GoneOn,
    NotAdded,
    NoteAsked,
    PutOff,
    Raced,
    Rejected,
    Reply,
    Responded,
    RunForked,
    note_number,
)
from behavesim.state.members import OpenCandidate
from behavesim.state.protocols import Journal, Judge
from behavesim.task import Task
from behavesim.task.verdict import Block, Failure, Verdict

# An object's address in memory, as Python's `repr` shows it.
_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]+")


def reply_with_program(asked: Asked) -> Responded:
    """Return the reply of a candidate whose program a person injected: the program in a fenced block."""
    return Responded(asked.candidate, Reply(add_fence(asked.prompt.text), INJECTED))


def is_paid(asked: Asked | NoteAsked, batched: Collection[int]) -> bool:
    """Whether a prompt without a reply costs nothing more: nobody is asked, or `batched` has its number."""
    number = note_number(asked.number) if isinstance(asked, NoteAsked) else asked.candidate
    return asked.prompt.operator in (INJECTED, TUNE) or number in batched


def program_of_reply(task: Task, asked: Asked, reply: Reply, shown: str, idea: str = "") -> Program | Rejected:
    """Return the program of a reply, or a rejection if it has none.

    `shown` is the program to which edits apply. `idea` is kept as the program's thought in place of the reply's; "" for
    none. If `reply.fault` says that the request was given up, the reason of the rejection is "given-up". Where the
    machine tuned numbers and found none better, its stage is "tune".
    """
    if asked.prompt.operator == TUNE and not reply.text:
        return Rejected(asked.candidate, "tune", "not-told-apart", reply.fault)
    if reply.fault:
        return Rejected(asked.candidate, "extraction", "given-up", reply.fault)
    thought = asked.prompt.asks_thought
    is_own = asked.prompt.operator in (INJECTED, TUNE)
    program = extract(form_of(task), Request(reply.text, shown, reply.finish_reason, thought, is_own))
    if isinstance(program, Failure):
        return Rejected(asked.candidate, "extraction", program.reason, program.message)
    return replace(program, thought=idea) if idea else program


def fail_incomparable(verdict: Verdict | Failure, behaviours: Behaviours) -> Verdict | Failure:
    """Return the verdict, or Failure "incomparable" if its trajectories cannot be compared with the template's.

    A method that compares could not decide on such a program: the comparison would raise an error.
    """
    why = behaviours.why_incomparable(verdict.trajectories) if isinstance(verdict, Verdict) else ""
    return Failure("incomparable", why, verdict.cpu_s, verdict.metrics, verdict.feedback) if why else verdict


def without_addresses(message: str) -> str:
    """Return the message with "at 0x…" in place of each "at 0x" and hexadecimal digits, as `repr` shows an address."""
    return _ADDRESS.sub("at 0x…", message)


def outcome_of_verdict(candidate: CandidateId, program: Program, verdict: Verdict | Failure) -> Evaluated | Rejected:
    """Return the outcome of a program with this verdict: Evaluated for a Verdict, Rejected for a Failure.

    Addresses in memory are taken out of its message and feedback.
    """
    known: dict[str, Any] = {
        "source": program.source,
        "thought": program.thought,
        "program_hash": program.hash,
        "cpu_s": verdict.cpu_s,
        "metrics": verdict.metrics,
        "feedback": without_addresses(verdict.feedback),  # else prompts would differ from process to process
    }
    if isinstance(verdict, Failure):
        message = without_addresses(verdict.message)  # else repair prompts would differ from process to process
        return Rejected(candidate, "evaluation", verdict.reason, message, **known)
    known |= {"score": verdict.score, "scores": verdict.scores, "trajectories": verdict.trajectories}
    return Evaluated(candidate, counted_s=verdict.counted_s, **known)


def raced_of_verdict(candidate: CandidateId, first: int, verdict: Verdict | Failure) -> Raced:
    """Return the result of a candidate, or of the template, on further instances from number `first` on."""
    if isinstance(verdict, Failure):
        return Raced(candidate, first, (), verdict.cpu_s, verdict.reason, without_addresses(verdict.message))
    return Raced(candidate, first, verdict.scores, verdict.cpu_s)


def outcome_of_copy(candidate: CandidateId, program: Program, first: Evaluated | Rejected) -> Evaluated | Rejected:
    """Return the outcome of a program whose text was evaluated before: that of `first`, with this candidate's thought.

    Its `copy_of` is the first candidate.
    """
    return replace(first, candidate=candidate, source=program.source, thought=program.thought, copy_of=first.candidate)


# From a reply to an outcome. Programs with the same text share one evaluation.


# Checks a verdict after the judge: returns it unchanged, or a failure.
Check = Callable[[Verdict | Failure], Awaitable[Verdict | Failure]]


@dataclass(eq=False, repr=False)
class Evaluations:
    """Evaluates each program text once; a later candidate with the same text takes the result from the journal.

    Programs that differ only in names or layout are evaluated separately: a program can see its names and line
    numbers, and the message of a failure shows them. Earlier results are read from `journal`. `check` is applied to
    each verdict of the judge; None for no check. `arrive` is called with a PutOff event when a program was put off.
    """

    task: Task
    judge: Judge
    journal: Journal
    check: Check | None  # `Search._check_comparable`: behaviour that cannot be compared is a failure
    arrive: Callable[[Event], None]

    def __post_init__(self) -> None:
        self._reading = asyncio.Lock()
        self._first: dict[bytes, CandidateId] = {}  # the candidate that was tried, by the hash of its text
        self._under_way: dict[CandidateId, asyncio.Event] = {}  # set when the candidate's result is committed
        self._texts: dict[CandidateId, bytes] = {}  # the hash of the text of each candidate not registered yet
        # results on further instances, by the hash of the text and the first instance
        self._raced: dict[tuple[bytes, int], Raced] = {}

    def apply(self, event: Event) -> None:
        """Apply a committed event: later candidates with the same text can take its result, until the run is forked."""
        if isinstance(event, (Evaluated, Rejected)):  # a tuple: a union would be made at each call
            if event.source:
                text = self._texts[event.candidate] = _text_hash(event.source)
                self._first.setdefault(text, event.candidate)
            if event.candidate in self._under_way:
                self._under_way.pop(event.candidate).set()
        elif isinstance(event, Raced):
            self._raced[self._texts[event.candidate], event.first] = event
        elif isinstance(event, (Added, NotAdded)):
            self._texts.pop(event.candidate, None)
        elif isinstance(event, RunForked):
            self._first.clear()  # results from before a fork were found under another task or other limits
            self._raced.clear()

    async def outcome(self, opened: OpenCandidate, reply: Reply) -> Evaluated | Rejected:
        """Return the outcome of a candidate with this reply: read the program, evaluate it, check the verdict.

        Raises SandboxError if the sandbox itself fails, TaskError if the fault is the task's.
        """
        asked = opened.asked
        # one at a time: several would only compete for the same core
        async with self._reading:
            program = await asyncio.to_thread(program_of_reply, self.task, asked, reply, opened.shown, opened.idea)
        if isinstance(program, Rejected):
            return program
        candidate = asked.candidate
        first = self._first.setdefault(_text_hash(program.source), candidate)
        if first != candidate:
            if first in self._under_way:
                await self._under_way[first].wait()
            earlier = await self.journal.earlier_outcome(first, program.source)
            return outcome_of_copy(candidate, program, earlier)
        self._under_way[candidate] = asyncio.Event()
        verdict = await self.judge.evaluate(program.source, lambda *why: self.arrive(PutOff(candidate, *why)))
        return outcome_of_verdict(candidate, program, verdict if self.check is None else await self.check(verdict))

    async def race(self, opened: OpenCandidate, event: GoneOn) -> Raced:
        """Return the result of a candidate on the instances to which it goes on; one with the same text shares it.

        Raises as `outcome`.
        """
        outcome, candidate = opened.outcome, event.candidate
        assert isinstance(outcome, Evaluated), "only what is feasible goes on"
        known = self._raced.get((_text_hash(outcome.source), event.first))
        if known is not None:
            return replace(known, candidate=candidate, cpu_s=0.0)
        block = Block(event.first, event.count, event.count / len(outcome.scores))
        verdict = await self.judge.evaluate(outcome.source, lambda *why: self.arrive(PutOff(candidate, *why)), block)
        return raced_of_verdict(candidate, event.first, verdict)


def _text_hash(source: str) -> bytes:
    return hashlib.sha256(source.encode()).digest()
