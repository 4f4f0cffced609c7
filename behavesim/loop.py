"""The search: one loop that commits every event, folds it into the state, and starts what follows from it."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec

from behavesim.behaviours import Behaviours
from behavesim.caps import Caps
from behavesim.due import Permits, Rules, due
from behavesim.errors import BehavesimError, JournalError, PartError
from behavesim.events import (
    DECISIONS,
    INJECTED,
    Asked,
    CandidateId,
    ClockRead,
    Evaluated,
    Event,
    Injected,
    NoteAsked,
    NoteReceived,
    Rejected,
    Reply,
    Responded,
    RunForked,
    RunStopped,
)
from behavesim.members import OpenCandidate
from behavesim.methods.comparison import Comparison
from behavesim.methods.method import Measurement, Method
from behavesim.outcome import comparable, copied, extracted, judged, put_in
from behavesim.plugins import failures_named
from behavesim.programs.extract import Program
from behavesim.proposers.proposer import note_number
from behavesim.protocols import Journal, Judge, Responder
from behavesim.requests import Requests
from behavesim.state import RunState
from behavesim.task import Task
from behavesim.verdict import Verdict

P = ParamSpec("P")

AT_ONCE = 4_000
"""Characters of a reply that is read in a millisecond or two: handing it to a thread would take nearly as long."""
STATES_AT_ONCE = 1_000
"""States of a program's trajectories that are compared with the template's in less time than a thread is woken."""
COMPARED_AT_ONCE_S = 0.005
"""CPU seconds that the last candidate took to be compared with the archive, if the next is to be without a thread."""
DECIDED_AT_ONCE = 8
"""Decisions in one transaction at most: the requests that follow from the first wait for the last."""

Show = Callable[[Event, RunState], None]
"""Told of every event, once it is committed and the state has it."""


class Search:
    """A run in progress, and the only writer of its journal.

    Workers return events and touch nothing. What arrives is committed before anything else is done, all that waits in
    one transaction, and with it what was decided before it; in between, one decision is taken at a time, so that no
    reply waits for more than one of them. Candidates are registered with the method in order, and candidate t is asked
    for when candidate t − window is registered: so what is decided never depends on which reply came first, and a
    resumed run decides as if it had never stopped.
    """

    def __init__(
        self,
        task: Task,
        rules: Rules,
        caps: Caps,
        method: Method[Any],
        proposer: Responder,
        judge: Judge,
        journal: Journal,
        behaviours: Behaviours | None,
        show: Show = lambda event, state: None,
        clock_every_s: float = 0.0,
        requests: Requests | None = None,
    ) -> None:
        self.state = RunState(task.objective)
        self.rules = rules
        self.caps = caps
        self._task = task
        self.method = method
        self._proposer = proposer
        self._judge = judge
        self._journal = journal
        self.behaviours = behaviours
        self.show = show
        self.requests = requests or Requests()
        self.clock_every_s = clock_every_s
        self._arrived: list[Event] = []  # by workers, and not committed yet
        self._decided: list[Event] = []  # and applied to the state, but not committed yet
        self._steps: deque[Event] = deque()  # committed events whose next step has not been started
        self._woken = asyncio.Event()  # set where there may be something to do again
        self._workers: set[asyncio.Task[None]] = set()
        self._reading = asyncio.Lock()  # a long reply takes a while, and several at once would take turns anyway
        self._first: dict[str, CandidateId] = {}  # by program hash, whose verdict all that are equal take
        self._injecting: set[str] = set()
        self._evaluating: dict[CandidateId, asyncio.Event] = {}  # for which equal programs wait
        self._interrupted: str | None = None
        self._warming: asyncio.Task[None] | None = None
        self._measuring: tuple[Measurement, asyncio.Task[Event]] | None = None
        self._compared_in_s = math.inf  # the last comparison with the archive, by which the next is known

    def fold(self, event: Event) -> None:
        """Take in an event that is committed already, and start nothing."""
        self.state.apply(event)
        if self.behaviours is not None:
            self.behaviours.apply(event, self.state.members)
        if isinstance(event, Evaluated | Rejected) and event.program_hash:
            self._first.setdefault(event.program_hash, event.candidate)
        elif isinstance(event, RunForked):
            self._first.clear()  # what was found under another task or other limits is no result of this run

    async def record(self, *events: Event) -> None:
        """The spine: append to the journal, apply to the state, show, and queue the steps that follow."""
        self._arrived += events
        await self._commit()

    def inject(self, name: str, source: str) -> bool:
        """Take in a person's program, once; returns whether it is committed, and nobody else need keep it."""
        if name not in self.state.injected_names | self._injecting:
            self._injecting.add(name)
            self._arrive(Injected(name, source))
        return name in self.state.injected_names

    def stop(self, reason: str) -> None:
        """End the run in order; requests in flight are given up, everything that has arrived is kept."""
        self._interrupted = self._interrupted or reason
        self._woken.set()

    @property
    def is_warming(self) -> bool:
        """Whether what comparing needs is still being loaded."""
        return self._warming is not None and not self._warming.done()

    @property
    def _is_measuring(self) -> bool:
        return self._measuring is not None and not self._measuring[1].done()

    async def run(self) -> str:
        """Search until the budget is spent, a cap is reached or `stop` is called; returns which.

        Raises what a worker raised (ProposerError, SandboxError), JournalError, or a defect; the journal then holds
        all that had arrived, and the run can be resumed.
        """
        self._steps.extend(self._left_over())
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                watching = group.create_task(self._watch_time())
                await self._work()
                under_way = self.requests.under_way
                # these are given up: a stop must not wait minutes for a model, and resuming asks again
                for task in (watching, self._warming, self._measuring and self._measuring[1], *self._workers):
                    if task is not None:
                        task.cancel()
        except BaseExceptionGroup as failures:
            failure = failures.exceptions[0]  # the first is the cause; the others were cancelled for its sake
            if not isinstance(failure, JournalError):  # a journal that failed takes nothing more
                await self._commit()
                await self._journal.append([RunStopped("failed")])
            raise failure from None
        await self._commit()
        reason = self._interrupted or self.caps.reached(self.state) or "budget"
        await self.record(RunStopped(reason, under_way))
        return reason

    async def _work(self) -> None:
        """Commit what has arrived, start what follows from it, take one decision, and again, until nothing is left."""
        at_once = 1 if self.caps.limits_requests else DECIDED_AT_ONCE  # where each answer counts, none is asked ahead
        while not self._interrupted:
            if self._arrived or len(self._decided) >= at_once:
                await self._commit()
            if (ended := self.caps.ended(self.state)) is not None:
                self.stop(ended)
                return
            while self._steps:
                self._advance(self._steps.popleft())
            if (decision := self._clock_reading() or self._decision()) is not None:
                self._decide(decision)
            elif self._decided:
                await self._commit()
            elif self._workers or self._is_measuring:
                if self.behaviours is not None:
                    self._warm(self.behaviours)
                await self._woken.wait()
            elif self.caps.reached(self.state) is None:
                raise BehavesimError(
                    f"the method asks for nothing more after {self.state.asked} of {self.caps.budget} candidates; "
                    "mend it (`behavesim method check` says where), then resume"
                )
            else:
                return
            self._woken.clear()
            await asyncio.sleep(0)  # whatever is ready to arrive does so now

    def _left_over(self) -> list[Event]:
        """What each open candidate and note waits to be advanced from; no request is made anew that a cap forbids."""
        steps = [*map(_latest, self.state.open.values()), *(note.asked for note in self.state.awaited_notes)]
        if self.caps.exhausted(self.state, more=0) is None:
            return steps
        return [step for step in steps if not isinstance(step, Asked | NoteAsked)]

    async def _watch_time(self) -> None:
        """Look again when the run's time is up; the clock beats as long as somebody waits for it."""
        await self.caps.clock.sleep(self.caps.left_s())
        self._woken.set()

    def _decide(self, decision: Event) -> None:
        """Take a decision; it is committed with those beside it, before anything follows from it outside the state."""
        self.fold(decision)
        self._decided.append(decision)

    async def _commit(self) -> None:
        """Commit what was decided and what has arrived, in one transaction, and queue the steps that follow."""
        (decided, self._decided), (arrived, self._arrived) = (self._decided, []), (self._arrived, [])
        if not decided and not arrived:
            return
        await self._journal.append([*decided, *arrived])
        for event in decided:
            self.show(event, self.state)
        for event in arrived:  # not before they are committed: what is applied and then lost would be decided on
            self.fold(event)
            self.show(event, self.state)
        self._steps.extend([*decided, *arrived])

    def _clock_reading(self) -> ClockRead | None:
        """What the clock says, where another period has passed that decisions go by.

        They know it from the next registration on, whatever else happens before: so that place alone says where.
        """
        if not self.clock_every_s:
            return None
        now_s = self.caps.active_s()
        is_due = now_s // self.clock_every_s > self.state.read_s // self.clock_every_s
        return ClockRead(now_s, self.state.registered + 1) if is_due else None

    def _decision(self) -> Event | None:
        """The decision that is due; None where none is, or while behaviours are being measured for it."""
        if self._is_measuring:
            return None
        goes_on = self.state.registered < self.caps.budget  # or islands would be emptied for nobody
        is_capped = self.caps.exhausted(self.state) is not None
        permits = Permits(goes_on, not is_capped, not is_capped and self.state.asked < self.caps.budget)
        with failures_named(type(self.method), "method"):
            decision = due(self.state, self.method, self.rules, permits)
        if decision is None or isinstance(decision, DECISIONS):
            return decision
        if not isinstance(decision, Comparison | Measurement):  # most are the first; to look at a protocol takes longer
            raise PartError(f"the method returned {decision!r:.100}, which is no decision; mend it")
        return self._measured(decision)

    def _measured(self, measurement: Measurement) -> Event | None:
        """The decision that a measurement leads to; None where it has only been begun now."""
        assert self.behaviours is not None, "a method that measures comes with behaviours"
        known, self._measuring = self._measuring, None
        if known is not None and known[0] == measurement:
            return known[1].result()
        if isinstance(measurement, Comparison) and self._compared_in_s < COMPARED_AT_ONCE_S:
            return self._timed(measurement, self.behaviours)
        self._measuring = measurement, self._group.create_task(self._measure(measurement, self.behaviours))
        return None

    async def _measure(self, measurement: Measurement, behaviours: Behaviours) -> Event:
        try:
            await self._warm(behaviours)
            return await asyncio.to_thread(self._timed, measurement, behaviours)
        finally:
            self._woken.set()

    def _timed(self, measurement: Measurement, behaviours: Behaviours) -> Event:
        begun = time.thread_time()
        decision = measurement.decide(behaviours)
        if isinstance(measurement, Comparison):
            self._compared_in_s = time.thread_time() - begun
        return decision

    def _warm(self, behaviours: Behaviours) -> asyncio.Task[None]:
        """Load what comparing needs, once: where there is nothing else to do, or somebody waits for it."""
        if self._warming is None:
            self._warming = self._group.create_task(asyncio.to_thread(behaviours.warm))
        return self._warming

    def _advance(self, event: Event) -> None:
        """Start the step that follows from an event's type alone."""
        match event:
            case Asked():
                self._start(self._propose, event)
            case Responded(candidate):
                self._start(self._evaluate, self.state.open[candidate].asked, event.reply)
            case NoteAsked():
                self._start(self._write, event)
            case Evaluated(candidate) | Rejected(candidate):
                if candidate in self._evaluating:
                    self._evaluating.pop(candidate).set()

    def _start(self, step: Callable[P, Coroutine[Any, Any, Event]], *args: P.args, **kwargs: P.kwargs) -> None:
        async def deliver() -> None:
            self._arrive(await step(*args, **kwargs))

        worker = self._group.create_task(deliver())
        self._workers.add(worker)
        worker.add_done_callback(self._workers.discard)

    def _arrive(self, event: Event) -> None:
        self._arrived.append(event)
        self._woken.set()

    async def _propose(self, asked: Asked) -> Responded:
        if asked.prompt.operator == INJECTED:
            return put_in(asked)
        return Responded(asked.candidate, await self._proposer.propose(asked.prompt, asked.candidate))

    async def _write(self, asked: NoteAsked) -> NoteReceived:
        return NoteReceived(asked.number, await self._proposer.propose(asked.prompt, note_number(asked.number)))

    async def _evaluate(self, asked: Asked, reply: Reply) -> Evaluated | Rejected:
        async with self._reading:
            if len(reply.text) > AT_ONCE:
                found = await asyncio.to_thread(extracted, self._task, asked, reply)
            else:
                found = extracted(self._task, asked, reply)
                await asyncio.sleep(0)  # one at a time, so that whatever arrives meanwhile is committed first
        if isinstance(found, Rejected):
            return found
        candidate = asked.candidate
        first = self._first.setdefault(found.hash, candidate)
        if first != candidate:
            return await self._copy(candidate, found, first)
        self._evaluating[candidate] = asyncio.Event()
        verdict = await self._judge.evaluate(found.source)
        if self.behaviours is not None:
            await asyncio.shield(self._warm(self.behaviours))
            if isinstance(verdict, Verdict) and verdict.states > STATES_AT_ONCE:
                verdict = await asyncio.to_thread(comparable, verdict, self.behaviours)
            else:
                verdict = comparable(verdict, self.behaviours)
        return judged(candidate, found, verdict)

    async def _copy(self, candidate: CandidateId, program: Program, first: CandidateId) -> Evaluated | Rejected:
        """The result of a program whose twin was evaluated before, without evaluating it again."""
        if first in self._evaluating:
            await self._evaluating[first].wait()
        return copied(candidate, program, await self._journal.outcome(first, program.hash))


def _latest(candidate: OpenCandidate) -> Event:
    """The event that a candidate waits to be advanced from."""
    if candidate.outcome is not None:
        return candidate.outcome
    if candidate.reply is not None:
        return Responded(candidate.asked.candidate, candidate.reply)
    return candidate.asked
