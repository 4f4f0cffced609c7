"""The search: one loop that commits every event, folds it into the state, and starts what follows from it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, ParamSpec

from behavesim.caps import Caps
from behavesim.errors import JournalError
from behavesim.events import (
    Asked,
    Compared,
    Evaluated,
    Event,
    Operator,
    Rejected,
    Responded,
    RunForked,
    RunStopped,
    Ticket,
)
from behavesim.methods.protocol import SearchMethod
from behavesim.programs.extract import Program, extract
from behavesim.programs.fingerprint import fingerprint
from behavesim.prompts.repair import repair
from behavesim.protocols import Failure, Journal, Judge, Proposer, Verdict
from behavesim.similarity.behaviours import Behaviours
from behavesim.state import OpenCandidate, RunState
from behavesim.task import Task

P = ParamSpec("P")

Show = Callable[[Event, RunState], None]
"""Told of every event, once it is committed and the state has it."""


class Search:
    """A run in progress, and the only writer of its journal.

    Workers return events and touch nothing. Events are committed as they arrive; candidates are told to the method in
    ticket order, and ticket t is asked for when ticket t − window has been told: so what is decided never depends on
    which reply came first, and a resumed run decides as if it had never stopped.
    """

    def __init__(
        self,
        task: Task,
        window: int,
        repairs: int,
        caps: Caps,
        method: SearchMethod,
        proposer: Proposer,
        judge: Judge,
        journal: Journal,
        behaviours: Behaviours | None,
        show: Show = lambda event, state: None,
    ) -> None:
        self.state = RunState(task.objective)
        self._task = task
        self.window = window
        self._repairs = repairs
        self.caps = caps
        self._method = method
        self._proposer = proposer
        self._judge = judge
        self._journal = journal
        self._behaviours = behaviours
        self._show = show
        self._inbox: asyncio.Queue[Event | None] = asyncio.Queue()
        self._workers: set[asyncio.Task[None]] = set()
        self._first: dict[str, Ticket] = {}
        self._evaluating: dict[Ticket, asyncio.Event] = {}
        self._interrupted: str | None = None
        self._warming: asyncio.Task[None] | None = None

    def fold(self, event: Event) -> None:
        """Take in an event that is committed already, and start nothing."""
        self.state.apply(event)
        if self._behaviours is not None:
            self._behaviours.apply(event, self.state.members)
        if isinstance(event, Evaluated | Rejected) and event.fingerprint:
            self._first.setdefault(event.fingerprint, event.candidate)
        elif isinstance(event, RunForked):
            self._first.clear()  # what was found under another task or other limits is no result of this run

    async def record(self, event: Event) -> None:
        """The spine: append to the journal, apply to the state, show, start the next step."""
        await self._journal.append([event])
        self.fold(event)
        self._show(event, self.state)
        self._advance(event)

    def stop(self, reason: str) -> None:
        """End the run in order; requests in flight are given up, everything that has arrived is kept."""
        self._interrupted = self._interrupted or reason
        self._inbox.put_nowait(None)

    @property
    def is_warming(self) -> bool:
        """Whether what comparing needs is still being loaded."""
        return self._warming is not None and not self._warming.done()

    async def run(self) -> str:
        """Search until the budget is spent, a cap is reached or `stop` is called; returns which.

        Raises what a worker raised (ProposerError, SandboxError), JournalError, or a defect; the journal then holds
        all that had arrived, and the run can be resumed.
        """
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                if self._behaviours is not None:
                    self._warming = group.create_task(asyncio.to_thread(self._behaviours.warm))
                await self._work()
                for worker in self._workers:
                    worker.cancel()
        except BaseExceptionGroup as failures:
            failure = failures.exceptions[0]
            if not isinstance(failure, JournalError):
                await self._flush()
                await self._journal.append([RunStopped("failed")])
            raise failure from None
        await self._flush()
        reason = self._interrupted or self.caps.reached(self.state) or "budget"
        await self.record(RunStopped(reason))
        return reason

    async def _work(self) -> None:
        for candidate in list(self.state.open.values()):
            self._advance(_latest(candidate))
        await self._settle()
        while not self._interrupted and self.state.open:
            event = await self._inbox.get()
            if event is not None:
                await self.record(event)
                await self._settle()

    async def _flush(self) -> None:
        """Commit what has arrived and is still unread; whatever follows from it is for the next resume."""
        while not self._inbox.empty():
            event = self._inbox.get_nowait()
            if event is not None:
                await self._journal.append([event])
                self.fold(event)

    async def _settle(self) -> None:
        """Take every decision that is due, one after another."""
        while not self._interrupted and (event := await self._due()) is not None:
            await self.record(event)

    async def _due(self) -> Event | None:
        """The next decision, a function of the state alone: regroup, else repair, else ask, else tell."""
        state, method = self.state, self._method
        if state.told and self._warming is not None and not self._warming.done():
            await self._warming  # the kernels load while the first replies are on their way
        goes_on = state.told < self.caps.budget  # or islands would be emptied for nobody
        if goes_on and (regrouped := method.regroup(state)) is not None:
            return regrouped
        if (mended := self._repair()) is not None:
            return mended
        if self._may_ask() and (asked := method.ask(state, state.asked)) is not None:
            return asked
        candidate = state.open.get(state.told)
        if candidate is None or candidate.outcome is None:
            return None
        if isinstance(candidate.outcome, Evaluated) and candidate.compared is None:
            groups = method.groups(state, candidate)
            if groups:
                assert self._behaviours is not None, "a method that compares comes with behaviours"
                means = await asyncio.to_thread(self._behaviours.means, state.told, groups)
                return Compared(state.told, means)
        return method.tell(state, candidate)

    def _may_ask(self) -> bool:
        state = self.state
        return state.asked < state.told + self.window and self.caps.reached(state) is None

    def _repair(self) -> Asked | None:
        """The question that gives a rejected candidate another try, where one has any left and no cap forbids it."""
        for candidate in self.state.open.values() if self._repairs else ():
            outcome, reply = candidate.outcome, candidate.reply
            if isinstance(outcome, Rejected) and candidate.repairs < self._repairs:
                if self.caps.exhausted(self.state) is not None:
                    return None
                assert reply is not None, "a candidate is rejected for what was replied"
                return repair(candidate.asked, reply.text, outcome)
        return None

    def _advance(self, event: Event) -> None:
        """Start the step that follows from an event's type alone."""
        match event:
            case Asked():
                self._start(self._propose, event)
            case Responded():
                operator = self.state.open[event.candidate].asked.prompt.operator
                program = extracted(self._task, event, operator)
                if isinstance(program, Rejected):
                    self._inbox.put_nowait(program)
                else:
                    self._start(self._evaluate, event.candidate, program)
            case Evaluated(candidate) | Rejected(candidate):
                if candidate in self._evaluating:
                    self._evaluating.pop(candidate).set()

    def _start(self, step: Callable[P, Coroutine[Any, Any, Event]], *args: P.args, **kwargs: P.kwargs) -> None:
        async def deliver() -> None:
            self._inbox.put_nowait(await step(*args, **kwargs))

        worker = self._group.create_task(deliver())
        self._workers.add(worker)
        worker.add_done_callback(self._workers.discard)

    async def _propose(self, asked: Asked) -> Responded:
        return Responded(asked.candidate, await self._proposer.propose(asked.prompt, asked.candidate))

    async def _evaluate(self, candidate: Ticket, program: Program) -> Evaluated | Rejected:
        key = fingerprint(program.source)
        first = self._first.setdefault(key, candidate)
        if first != candidate:
            return await self._copy(candidate, program, first, key)
        self._evaluating[candidate] = asyncio.Event()
        return judged(candidate, program, key, await self._judge.evaluate(program.source))

    async def _copy(self, candidate: Ticket, program: Program, first: Ticket, key: str) -> Evaluated | Rejected:
        """The result of a program whose twin was evaluated before, without evaluating it again."""
        if first in self._evaluating:
            await self._evaluating[first].wait()
        return copied(candidate, program, await self._journal.outcome(first, key))


THOUGHTFUL: frozenset[Operator] = frozenset({"i1", "e1", "e2", "m1", "m2", "m3", "repair"})
"""The operators whose replies may begin with a thought (EoH), which is kept beside the program."""


def extracted(task: Task, event: Responded, operator: Operator) -> Program | Rejected:
    """The program of a reply, or that it holds none."""
    reply, thought = event.reply, operator in THOUGHTFUL
    program = extract(reply.text, task.template, task.entry_point, reply.finish_reason, thought=thought)
    if isinstance(program, Failure):
        return Rejected(event.candidate, "extraction", program.reason, program.message)
    return program


def judged(candidate: Ticket, program: Program, key: str, verdict: Verdict | Failure) -> Evaluated | Rejected:
    """What becomes of a program under a verdict; `key` is its fingerprint."""
    known: dict[str, Any] = {
        "source": program.source,
        "thought": program.thought,
        "fingerprint": key,
        "cpu_s": verdict.cpu_s,
    }
    if isinstance(verdict, Failure):
        return Rejected(candidate, "evaluation", verdict.reason, verdict.message, **known)
    return Evaluated(candidate, score=verdict.score, scores=verdict.scores, trajectories=verdict.trajectories, **known)


def copied(candidate: Ticket, program: Program, first: Evaluated | Rejected) -> Evaluated | Rejected:
    """What becomes of a program whose twin was evaluated before."""
    return replace(
        first,
        candidate=candidate,
        source=program.source,
        thought=program.thought,
        copy_of=first.candidate,
        cpu_s=0.0,
    )


def _latest(candidate: OpenCandidate) -> Event:
    """The event that a candidate waits to be advanced from."""
    if candidate.outcome is not None:
        return candidate.outcome
    if candidate.reply is not None:
        return Responded(candidate.asked.candidate, candidate.reply)
    return candidate.asked
