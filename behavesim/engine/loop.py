"""The search: one loop that commits each event, applies it to the state, and starts the step that follows."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from behavesim.base.errors import BehavesimError, JournalError, PartError, failure_message
from behavesim.base.heartbeat import await_finished
from behavesim.base.plugins import as_part_errors
from behavesim.engine.caps import Caps
from behavesim.engine.due import Allowed, Rules, next_decision
from behavesim.engine.outcome import Evaluations, fail_incomparable, is_paid, reply_with_program
from behavesim.engine.tuning import untuned
from behavesim.methods.method import Method
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import (
    INJECTED,
    TUNE,
    Advised,
    Asked,
    BatchSent,
    ClockRead,
    Event,
    GoneOn,
    Injected,
    NoteAsked,
    NoteReceived,
    Raced,
    Rejected,
    Responded,
    RunStopped,
    note_number,
)
from behavesim.state.members import OpenCandidate
from behavesim.state.protocols import Journal, Judge, Responder
from behavesim.state.requests import Requests
from behavesim.state.state import RunState
from behavesim.store.codec import is_storable
from behavesim.task import Task
from behavesim.task.verdict import Failure, Verdict

# Most decisions in one transaction. The request that follows from the first waits until the last is taken.
DECISIONS_PER_COMMIT = 8
# Seconds that a decision may take before those taken earlier are committed and followed, without waiting for it.
PATIENCE_S = 0.01

# Called with each event after its commit, and with the state that includes it.
Observe = Callable[[Event, RunState], None]


@dataclass(eq=False, repr=False)
class Search:
    """A run in progress, and the only writer of its journal.

    A candidate's way: Asked (a decision) → `_propose` → Responded → `Evaluations.outcome` → Evaluated or Rejected →
    Added or NotAdded (a decision). If the last decision reads behaviours, what it read is recorded before it, as
    Compared. In a race these come before it, too: GoneOn (a decision) → `Evaluations.race` → Raced, perhaps several
    times, then RaceEnded (a decision).

    The loop (`_work`) repeats: commit, start the steps that follow, take one decision. So an arrived event waits for
    one decision at most.

    A decision is made in the one worker thread (`_decide`), where it may take long. Until it has ended the state and
    the behaviours belong to that thread, and the loop changes neither: what a task brings (`_arrive`) is committed at
    once, and applied afterwards. The loop then applies the decision, and commits it before any step follows from it.
    Candidate t is asked for when candidate t − window is registered, and they are registered by number: decisions do
    not depend on which reply came first.
    """

    task: Task
    rules: Rules
    caps: Caps
    method: Method[Any]
    proposer: Responder
    judge: Judge
    journal: Journal
    behaviours: Behaviours
    observe: Observe
    # Active seconds between readings of the clock; 0 for none.
    clock_every_s: float
    # The requests under way.
    requests: Requests
    # Returns the reply of a candidate whose numbers are tuned; None if none are.
    tune: Callable[[OpenCandidate, int], Awaitable[Responded]] | None = None
    # Whether the proposer gets the number of the question among those that were asked of it, not the candidate's.
    by_question: bool = False

    def __post_init__(self) -> None:
        self.state = RunState(self.task.objective)
        self.requests.batches.record = self._arrive
        self._arrived: list[Event] = []  # from tasks; not committed and not applied yet
        self._decided: list[Event] = []  # decisions that are applied to the state, but not committed yet
        self._unapplied: list[Event] = []  # arrived and committed, but not applied to the state yet
        self._committed: deque[Event] = deque()  # events whose next step has not been started
        self._woken = asyncio.Event()  # set when the loop may have something to do
        self._unsent: deque[Asked | NoteAsked] = deque()  # prompts of earlier sessions, not sent again yet
        self._tasks: set[asyncio.Task[Any]] = set()  # all that the loop may wait for
        self._is_complete = True  # no event is missing in the journal that a later one could refer to
        self._bringing: set[str] = set()  # names of programs and advice from people that are not committed yet
        self._nothing_due: Allowed | None = None  # with these decisions allowed none is due in the present state
        self._stopped_by: str | None = None  # the signal or the cap that ends the run
        self._kernels: asyncio.Task[None] | None = None  # loads those that compare behaviours
        self._thread = ThreadPoolExecutor(1, "decisions")
        check = self._check_comparable if self.behaviours.are_kept else None
        self._evaluations = Evaluations(self.task, self.judge, self.journal, check, self._arrive)

    def fold(self, event: Event) -> None:
        """Apply an event to state, behaviours and evaluations; commit nothing, tell nobody and start nothing.

        Raises JournalError if it cannot follow the events before it.
        """
        self._nothing_due = None  # each decision is a function of the state, which changes only here
        self.state.apply(event)
        self.behaviours.apply(event, self.state.members)
        self._evaluations.apply(event)

    async def record(self, *events: Event) -> None:
        """Commit events, apply them, tell the observer, and queue the steps that follow; raises JournalError."""
        self._arrived += events
        await self._commit()

    def bring(self, event: Injected | Advised) -> bool:
        """Add a person's program or advice to the run, once for each name. Return whether it is committed by now."""
        if event.name not in self.state.brought_names | self._bringing:
            self._bringing.add(event.name)
            self._arrive(event)
        return event.name in self.state.brought_names

    def stop(self, reason: str) -> None:
        """End the run in order, for a reason that `run` returns: the first counts. Requests under way are given up."""
        self._stopped_by = self._stopped_by or reason
        self._woken.set()

    @property
    def is_warming(self) -> bool:
        """Whether the kernels for comparisons are being loaded at this moment."""
        return self._kernels is not None and not self._kernels.done()

    async def run(self) -> str:
        """Search until the budget is used up, a cap is reached or `stop` is called; return which, such as "budget".

        Raises ProposerError, SandboxError, TaskError, JournalError, another BehavesimError for a method's mistake, or
        whatever a defect raises. If cancelled, it raises CancelledError, and records no stop. In each case the journal
        then holds all that had arrived, unless it failed itself, and the run can be resumed.
        """
        self._queue_unfinished()
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                watching = group.create_task(self._watch_time())
                await group.create_task(self._work())  # a task too: failures are listed as they happen
                # a stop must not wait minutes for a model; a resumed run asks again
                for task in (watching, *self._tasks):
                    task.cancel()
        except BaseExceptionGroup as failures:
            failure = failures.exceptions[0]  # the first is the cause; the others are from tasks being cancelled
            await self._append_last(RunStopped("failed", self.requests.unreported, failure_message(failure)))
            raise failure from None
        except asyncio.CancelledError:  # by somebody who did not call `stop` first
            await self._append_last()
            raise
        finally:
            self._thread.shutdown(wait=False)  # no decision is under way any more
        await self._commit()
        reason = self._stopped_by or self.caps.forbids_candidate(self.state, len(self._unsent)) or "budget"
        await self.record(RunStopped(reason, self.requests.unreported))
        return reason

    async def _work(self) -> None:
        most = 1 if self.caps.limits_requests else DECISIONS_PER_COMMIT  # a reply may forbid the next request
        while self._stopped_by is None:
            if self._arrived or len(self._decided) >= most:
                await self._commit()
            if (ended := self.caps.ends_run(self.state)) is not None:
                self.stop(ended)
                break
            while self._committed:
                self._advance(self._committed.popleft())
            while self._unsent and self.caps.forbids_request(self.state, len(self._unsent)) is None:
                self._advance(self._unsent.popleft())
            decided = await self._decide()
            if decided is None:  # what arrived meanwhile may come first
                continue
            if decided:
                for event in decided:  # in the state at once, and committed before any step outside it follows
                    try:
                        self.fold(event)
                    except JournalError as error:  # before it is committed: the journal stays readable
                        said = f"the method {self.method.name} returned {event!r:.100}, which cannot be: {error}"
                        raise PartError(f"{said}; mend it, and go on with --fork NEW-ID") from error
                    self._decided.append(event)
            elif self._decided:
                await self._commit()
            elif self._tasks or self._arrived:  # the last may have come during the commit
                await self._wait()
            elif self.caps.forbids_candidate(self.state, len(self._unsent)) is None:
                raise BehavesimError(
                    f"the method asks for nothing more after {self.state.questions} of {self.caps.budget} candidates; "
                    "mend it (`behavesim method check` says where), and go on with --fork NEW-ID"
                )
            else:
                break
            self._woken.clear()
            await asyncio.sleep(0)  # lets tasks that have ended deliver their events

    async def _wait(self) -> None:
        """Wait until a task ends or an event arrives; meanwhile load the kernels, and send what waits for a batch."""
        if self.behaviours.are_kept:
            self._load_kernels()
        sent = self.state.waiting - len(self._unsent)  # each has a task
        # if anything else is awaited, it could bring another prompt for the batch
        with self.requests.batches.expecting(sent, is_all=len(self._tasks) == sent and not self._arrived):
            await self._woken.wait()

    def _queue_unfinished(self) -> None:
        """Queue what earlier sessions left open: what costs nothing more at once, prompts as the caps allow."""
        candidates = (candidate for candidate in self.state.open.values() if candidate.outcome is None)
        for event in (*(each.latest for each in candidates), *(note.asked for note in self.state.awaited_notes)):
            if isinstance(event, Responded) or is_paid(event, self.requests.batches.earlier):
                self._committed.append(event)
            else:
                self._unsent.append(event)
        self._committed.extend(each.gone_on for each in self.state.open.values() if each.gone_on is not None)

    async def _watch_time(self) -> None:
        await self.caps.clock.sleep(self.caps.left_s())
        self._woken.set()

    async def _decide(self) -> tuple[Event, ...] | None:
        """Return the next decision, made in the worker thread: () if none is due, None if it has to be made again."""
        # What arrives meanwhile is committed, so that a kill costs none of it, and applied when the thread has ended,
        # before the decision. If it is cancelled, it waits for the thread.
        if (reading := self._clock_reading()) is not None:
            return (reading,)
        if self.behaviours.are_kept and self.state.tally.feasible and not self._load_kernels().done():
            return ()  # the decision may read behaviours of the programs at hand
        allowed = self._allowed()
        if allowed == self._nothing_due:
            # Each end of a task wakes the loop. Going to the thread each time took a tenth of a run's CPU time: the
            # thread's own signal woke the loop again, so it spun until something arrived.
            return ()
        loop = asyncio.get_running_loop()
        deciding = self._thread.submit(next_decision, self.state, self.behaviours, self.method, self.rules, allowed)
        # not by `run_in_executor`: its future takes two more turns of the loop, for each decision
        deciding.add_done_callback(lambda _: loop.call_soon_threadsafe(self._woken.set))
        impatient = loop.call_later(PATIENCE_S, self._woken.set)
        try:
            while not deciding.done():
                self._woken.clear()
                await self._woken.wait()
                if not deciding.done():
                    await self._append()
                    # what was decided before is in the state already; what arrived is not, and has to wait
                    while self._committed:
                        self._advance(self._committed.popleft())
        finally:
            impatient.cancel()
            if not deciding.done():  # cancelled: the state must not change below the thread
                ended = asyncio.gather(asyncio.wrap_future(deciding), return_exceptions=True)
                await await_finished(ended)
            came = self._apply_committed()
        # they are in the journal before the decision, which must be the one that follows from them
        if self._stopped_by is not None or any(map(self._comes_first, came)):
            return None
        with as_part_errors(type(self.method), "method"):
            decided = deciding.result()
        if came and not decided:  # none was due before these events; one may be now
            return None
        self._nothing_due = None if decided else allowed
        return decided

    def _allowed(self) -> Allowed:
        may_pay = not self._unsent and self.caps.forbids_request(self.state) is None
        return Allowed(
            # after the last candidate it would only empty islands
            regroup=self.state.registered_questions < self.caps.budget,
            repair=may_pay,
            ask=may_pay and self.state.questions < self.caps.budget,
            tune=may_pay,
        )

    def _comes_first(self, arrived: Event) -> bool:
        """Whether another decision may be due before the one that was made while this event arrived."""
        if isinstance(arrived, Rejected) or (isinstance(arrived, Raced) and arrived.reason):
            return self.rules.repairs > 0  # it may be asked for again
        return isinstance(arrived, Injected | Advised | NoteReceived)

    async def _commit(self) -> None:
        """Commit what was decided and what has arrived in one transaction, apply it, and queue the steps that follow.

        A commit that has begun is finished even if the run is cancelled: else the state could lack committed events.
        """
        try:
            await self._append()
        finally:
            self._apply_committed()

    async def _append(self) -> None:
        """Commit what was decided and what has arrived; the latter waits to be applied (`_apply_committed`)."""
        (decided, self._decided), (arrived, self._arrived) = (self._decided, []), (self._arrived, [])
        if decided or arrived:
            await await_finished(self._append_both(decided, arrived))

    async def _append_both(self, decided: list[Event], arrived: list[Event]) -> None:
        self._is_complete = False
        try:
            await self.journal.append([*decided, *arrived])
        except (ValueError, TypeError, AttributeError):
            # An event cannot be written as JSON, and nothing is committed. It must not take paid replies with it.
            refused = next((event for event in (*decided, *arrived) if not is_storable(event)), None)
            if refused is None:
                raise
            # decisions behind it build on it, and are taken again on resume
            await self._append_both(list(takewhile(is_storable, decided)), list(filter(is_storable, arrived)))
            raise PartError(
                f"an event of the run cannot be stored ({type(refused).__name__}): a text in it has half a character, "
                "or a value is of a wrong type; mend the method or task that made it, and go on with --fork NEW-ID"
            ) from None
        self._is_complete = True
        self._unapplied += arrived
        for event in decided:
            self.observe(event, self.state)
        self._committed.extend(decided)

    def _apply_committed(self) -> list[Event]:
        """Apply what arrived and is committed, tell the observer, queue the steps that follow; return these events."""
        came, self._unapplied = self._unapplied, []
        for event in came:  # only now: no decision may follow from an event that a crash could still lose
            self.fold(event)
            self.observe(event, self.state)
        self._committed.extend(came)
        return came

    async def _append_last(self, *last: Event) -> None:
        """Append what is not committed yet, and `last`, as the run ends here: replies that arrived are paid for."""
        # No observer is told: one that cannot write its file would keep the replies from the journal. An append that
        # failed may have lost what these events refer to: with them the journal could not be read any more.
        if self._is_complete and (events := [*self._decided, *self._arrived, *last]):
            await await_finished(self.journal.append(events))

    def _clock_reading(self) -> ClockRead | None:
        """Return a clock reading, in force from the next registration, if another `clock_every_s` passed; else None."""
        # one waits at most: with a period shorter than a candidate takes, the run would do nothing but read it
        if not self.clock_every_s or self.state.readings:
            return None
        now_s = self.caps.active_s()
        is_due = now_s // self.clock_every_s > self.state.last_reading_s // self.clock_every_s
        return ClockRead(now_s, self.state.registered + 1) if is_due else None

    def _load_kernels(self) -> asyncio.Task[None]:
        """Return the task that loads the kernels for comparisons; the first call starts it."""
        if self._kernels is None:
            self._kernels = self._start_task(asyncio.to_thread(self.behaviours.warm))
        return self._kernels

    async def _check_comparable(self, verdict: Verdict | Failure) -> Verdict | Failure:
        """Return the verdict, or Failure "incomparable" if its trajectories cannot be compared with the template's."""
        await self._load_kernels()
        return await asyncio.to_thread(fail_incomparable, verdict, self.behaviours)

    def _advance(self, event: Event) -> None:
        """Start the step that follows from an event, if any: ask the model, or read and evaluate a reply."""
        match event:
            case Asked() | NoteAsked():
                self._start_step(lambda: self._propose(event))
            case Responded(candidate):
                self.requests.batches.when_answered(candidate)
                opened, reply = self.state.open[candidate], event.reply
                self._start_step(lambda: self._evaluations.outcome(opened, reply))
            case GoneOn(candidate):
                racing = self.state.open[candidate]
                self._start_step(lambda: self._evaluations.race(racing, event))
            case NoteReceived(number):
                self.requests.batches.when_answered(note_number(number))
            case BatchSent():
                self.requests.batches.committed(event)

    def _start_step(self, step: Callable[[], Coroutine[Any, Any, Event]]) -> None:
        """Run a step in a task, which delivers the event that the step returns."""

        async def deliver() -> None:
            # called only here: a task that is cancelled before its first turn would leave a coroutine never awaited
            self._arrive(await step())

        self._start_task(deliver())

    def _start_task(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:  # the loop waits for it
        task = self._group.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: self._woken.set())
        return task

    def _arrive(self, event: Event) -> None:
        self._arrived.append(event)
        self._woken.set()

    async def _propose(self, asked: Asked | NoteAsked) -> Responded | NoteReceived:
        if isinstance(asked, NoteAsked):
            return NoteReceived(asked.number, await self.proposer.propose(asked.prompt, note_number(asked.number)))
        if asked.prompt.operator == INJECTED:
            return reply_with_program(asked)
        if asked.prompt.operator == TUNE:
            if self.tune is None:  # a fork may give up tuning
                return untuned(asked.candidate)
            return await self.tune(self.state.open[asked.candidate], self.state.budget)
        number = self.state.open[asked.candidate].question if self.by_question else asked.candidate
        return Responded(asked.candidate, await self.proposer.propose(asked.prompt, number))
