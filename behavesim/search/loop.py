"""The search: one loop that commits every event, folds it into the state, and starts what follows from it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec

from behavesim.base.errors import BehavesimError, JournalError, PartError
from behavesim.base.finished import finished
from behavesim.base.plugins import failures_named
from behavesim.methods.comparison import Comparison
from behavesim.methods.method import Measurement, Method
from behavesim.proposers.proposer import note_number
from behavesim.search.caps import Caps
from behavesim.search.due import Permits, Rules, due
from behavesim.search.measurements import Measurements
from behavesim.search.outcome import put_in
from behavesim.search.trials import Trials
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import (
    DECISIONS,
    INJECTED,
    Asked,
    ClockRead,
    Event,
    Injected,
    NoteAsked,
    NoteReceived,
    Responded,
    RunStopped,
)
from behavesim.state.members import OpenCandidate
from behavesim.state.protocols import Journal, Judge, Responder
from behavesim.state.requests import Requests
from behavesim.state.state import RunState
from behavesim.task import Task

P = ParamSpec("P")

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
        self.method = method
        self.behaviours = behaviours
        self.show = show
        self.clock_every_s = clock_every_s
        self.requests = requests or Requests()
        self._proposer = proposer
        self._journal = journal
        self._arrived: list[Event] = []  # by workers, and not committed yet
        self._decided: list[Event] = []  # and applied to the state, but not committed yet
        self._steps: deque[Event] = deque()  # committed events whose next step has not been started
        self._woken = asyncio.Event()  # set where there may be something to do again
        self._unasked: deque[Asked | NoteAsked] = deque()  # open questions of earlier sessions, not asked again yet
        self._workers: set[asyncio.Task[None]] = set()
        self._injecting: set[str] = set()
        self._stopped_by: str | None = None  # a person's word, or the cap that ends the run
        self._measurements = None if behaviours is None else Measurements(behaviours, self._begin, self._woken.set)
        check = None if self._measurements is None else self._measurements.comparable
        self._trials = Trials(task, judge, journal, check)

    def fold(self, event: Event) -> None:
        """Take in an event that is committed already, and start nothing."""
        self.state.apply(event)
        if self.behaviours is not None:
            self.behaviours.apply(event, self.state.members)
        self._trials.apply(event)

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
        self._stopped_by = self._stopped_by or reason
        self._woken.set()

    @property
    def is_warming(self) -> bool:
        """Whether what comparing needs is still being loaded."""
        return self._measurements is not None and self._measurements.is_warming

    @property
    def _is_measuring(self) -> bool:
        return self._measurements is not None and self._measurements.is_under_way

    async def run(self) -> str:
        """Search until the budget is spent, a cap is reached or `stop` is called; returns which.

        Raises what a worker raised (ProposerError, SandboxError), JournalError, or a defect; the journal then holds
        all that had arrived, and the run can be resumed.
        """
        self._take_up()
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                watching = group.create_task(self._watch_time())
                await group.create_task(self._work())  # a task too: failures are listed as they happen
                # these are given up: a stop must not wait minutes for a model, and resuming asks again
                for task in (watching, *self._workers):
                    task.cancel()
                if self._measurements is not None:
                    self._measurements.cancel()
        except BaseExceptionGroup as failures:
            failure = failures.exceptions[0]  # the first is the cause; the others came up while its workers ended
            if not any(isinstance(each, JournalError) for each in failures.exceptions):  # it takes nothing more
                await self._commit()
                await self._journal.append([RunStopped("failed", self.requests.unreported)])
            raise failure from None
        await self._commit()
        reason = self._stopped_by or self.caps.forbids_candidate(self.state, len(self._unasked)) or "budget"
        await self.record(RunStopped(reason, self.requests.unreported))
        return reason

    async def _work(self) -> None:
        """Commit what has arrived, start what follows from it, take one decision, and again, until nothing is left."""
        at_once = 1 if self.caps.limits_requests else DECIDED_AT_ONCE  # where each answer counts, none is asked ahead
        while self._stopped_by is None:
            if self._arrived or len(self._decided) >= at_once:
                await self._commit()
            if (ended := self.caps.ends_run(self.state)) is not None:
                self.stop(ended)
                return
            while self._steps:
                self._advance(self._steps.popleft())
            while self._unasked and self.caps.forbids_request(self.state, len(self._unasked)) is None:
                self._advance(self._unasked.popleft())
            if (decision := self._clock_reading() or self._decision()) is not None:
                self._decide(decision)
            elif self._decided:
                await self._commit()
            elif self._workers or self._is_measuring or self._arrived:  # the last may have come during the commit
                if self._measurements is not None:
                    self._measurements.warm()
                await self._woken.wait()
            elif self.caps.forbids_candidate(self.state, len(self._unasked)) is None:
                raise BehavesimError(
                    f"the method asks for nothing more after {self.state.asked} of {self.caps.budget} candidates; "
                    "mend it (`behavesim method check` says where), then resume"
                )
            else:
                return
            self._woken.clear()
            await asyncio.sleep(0)  # whatever is ready to arrive does so now

    def _take_up(self) -> None:
        """Queue what earlier sessions left: replies to be read go on at once, questions as the caps leave room."""
        candidates = (candidate for candidate in self.state.open.values() if candidate.outcome is None)
        for event in (*map(_latest, candidates), *(note.asked for note in self.state.awaited_notes)):
            if isinstance(event, Asked | NoteAsked) and event.prompt.operator != INJECTED:
                self._unasked.append(event)
            else:  # a person's program and a reply cost nothing
                self._steps.append(event)

    async def _watch_time(self) -> None:
        """Look again when the run's time is up; the clock beats as long as somebody waits for it."""
        await self.caps.clock.sleep(self.caps.left_s())
        self._woken.set()

    def _decide(self, decision: Event) -> None:
        """Take a decision; it is committed with those beside it, before anything follows from it outside the state."""
        self.fold(decision)
        self._decided.append(decision)

    async def _commit(self) -> None:
        """Commit what was decided and what has arrived, in one transaction, and queue the steps that follow.

        A commit that has begun ends even if the run is cancelled: the state never lacks what the journal holds.
        """
        (decided, self._decided), (arrived, self._arrived) = (self._decided, []), (self._arrived, [])
        if decided or arrived:
            await finished(self._committed(decided, arrived))

    async def _committed(self, decided: list[Event], arrived: list[Event]) -> None:
        """More may arrive while the journal is awaited: that waits for the next commit."""
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
        is_due = now_s // self.clock_every_s > self.state.last_reading_s // self.clock_every_s
        return ClockRead(now_s, self.state.registered + 1) if is_due else None

    def _decision(self) -> Event | None:
        """The decision that is due; None where none is, or while behaviours are being measured for it."""
        if self._is_measuring:
            return None
        may_pay = not self._unasked and self.caps.forbids_request(self.state) is None
        permits = Permits(
            regroup=self.state.registered < self.caps.budget,  # or islands would be emptied for nobody
            repair=may_pay,
            ask=may_pay and self.state.asked < self.caps.budget,
        )
        with failures_named(type(self.method), "method"):
            decision = due(self.state, self.method, self.rules, permits)
        if decision is None or isinstance(decision, DECISIONS):
            return decision
        if not isinstance(decision, Comparison | Measurement):  # most are the first; to look at a protocol takes longer
            raise PartError(f"the method returned {decision!r:.100}, which is no decision; mend it")
        assert self._measurements is not None, "a method that measures comes with behaviours"
        return self._measurements.decision(decision)

    def _advance(self, event: Event) -> None:
        """Start the step that follows from an event's type alone."""
        match event:
            case Asked():
                self._start(self._propose, event)
            case Responded(candidate):
                self._start(self._trials.outcome, self.state.open[candidate].asked, event.reply)
            case NoteAsked():
                self._start(self._write, event)

    def _start(self, step: Callable[P, Coroutine[Any, Any, Event]], *args: P.args, **kwargs: P.kwargs) -> None:
        async def deliver() -> None:
            self._arrive(await step(*args, **kwargs))

        worker = self._begin(deliver())
        self._workers.add(worker)
        worker.add_done_callback(self._workers.discard)

    def _begin(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        return self._group.create_task(work)

    def _arrive(self, event: Event) -> None:
        self._arrived.append(event)
        self._woken.set()

    async def _propose(self, asked: Asked) -> Responded:
        if asked.prompt.operator == INJECTED:
            return put_in(asked)
        return Responded(asked.candidate, await self._proposer.propose(asked.prompt, asked.candidate))

    async def _write(self, asked: NoteAsked) -> NoteReceived:
        return NoteReceived(asked.number, await self._proposer.propose(asked.prompt, note_number(asked.number)))


def _latest(candidate: OpenCandidate) -> Event:
    """The last event of a candidate of which nothing has become yet."""
    return candidate.asked if candidate.reply is None else Responded(candidate.id, candidate.reply)
