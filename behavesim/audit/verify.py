"""Verification: every decision of a run is derived again from its journal, and every program is run again."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from behavesim.audit.audit import Audit, Discrepancy, discrepancy, misfit
from behavesim.base.config import Settings
from behavesim.base.errors import JournalError
from behavesim.programs.extract import Program
from behavesim.programs.hashing import program_hash
from behavesim.search.admission import run_provenance
from behavesim.search.build import judging
from behavesim.search.outcome import copied, judged
from behavesim.search.settings import recorded
from behavesim.state.events import (
    DECISIONS,
    TEMPLATE,
    CandidateId,
    Evaluated,
    Event,
    Rejected,
    Responded,
    RunForked,
    RunStarted,
)
from behavesim.state.protocols import Judge
from behavesim.state.provenance import DECISIVE
from behavesim.state.verdict import Failure
from behavesim.store.damage import altered, damages
from behavesim.store.database import count_registered, last_event
from behavesim.store.folder import RunFolder
from behavesim.store.reading import read_events, read_outcome
from behavesim.task import Task, TaskReference

TIMED = ("timeout", "memory")
"""Reasons that depend on the machine: they are recorded, and say nothing when they come or go on another one."""

OPENINGS = (RunStarted, RunForked)
Outcome = Evaluated | Rejected
OnProgress = Callable[[int, int], None]
"""Told how many events have been gone through, and how many there are."""


@dataclass
class Verification:
    """What a verification found; `unchecked` counts what could not be run again, by reason."""

    run: str
    events: int = 0
    decisions: int = 0
    evaluations: int = 0
    copies: int = 0
    unchecked: Counter[str] = field(default_factory=Counter)
    damage: list[str] = field(default_factory=list)
    differences: list[Discrepancy] = field(default_factory=list)

    @property
    def is_sound(self) -> bool:
        """Whether the run is what its settings and replies make it."""
        return not self.damage and not self.differences


async def verify(
    folder: RunFolder,
    workers: int = 1,
    progress: OnProgress = lambda done, total: None,
    sample: int | None = None,
) -> Verification:
    """Verify a run; it may be going on meanwhile.

    Of a `sample`, so many candidates are drawn by the run's seed: all that became of them is derived again, and of the
    others only taken in. Raises JournalError where there is no journal, TaskError where its task cannot be had,
    SandboxError where the sandbox fails.
    """
    result = Verification(folder.run, damage=damages(folder.journal))
    if result.damage:
        return result
    openings = {seq: e for seq, _, e in read_events(folder.journal, only=OPENINGS) if isinstance(e, OPENINGS)}
    settings = folder.with_task_at_hand(recorded(openings[max(openings)].settings))
    task = TaskReference(settings.task).load()
    total = last_event(folder.journal)
    async with judging(settings.model_copy(update={"workers": workers}), task) as judge:
        drawn = None if sample is None else _drawn(settings, sample, count_registered(folder.journal))
        verifier = Verifier(folder, task, judge, result, 2 * workers, drawn)
        for seq, _, event in read_events(folder.journal):
            await verifier.take(seq, event, is_last=seq == max(openings))
            progress(seq, total)
            if verifier.is_lost:
                break
        await verifier.settle(0)
    named = {found.seq for found in result.differences}
    result.differences += [_altered(*row) for row in altered(folder.journal) if row[0] not in named]
    result.differences.sort(key=lambda found: found.seq)
    return result


class Verifier:
    """Goes through a journal once, event by event; programs are run a few at a time on the way."""

    def __init__(
        self,
        folder: RunFolder,
        task: Task,
        judge: Judge,
        result: Verification,
        at_once: int,
        drawn: frozenset[CandidateId] | None = None,
    ) -> None:
        """`drawn` are the candidates to check; None is all of them."""
        self.is_lost = False
        self._folder = folder
        self._task = task
        self._template = Program(task.template, "", program_hash(task.template))
        self._provenance: dict[str, str] = {}
        self._judge = judge
        self._result = result
        self._at_once = at_once
        self._drawn = drawn
        self._audit: Audit | None = None
        self._is_same_task = True
        self._running: deque[tuple[int, Outcome, asyncio.Task[Outcome | None]]] = deque()

    async def take(self, seq: int, event: Event, is_last: bool) -> None:
        """Check an event against those before it, then fold it; `is_last` says that no fork comes after it.

        Where an event cannot follow those before it, nothing after it can be judged: `is_lost`.
        """
        self._result.events += 1
        if isinstance(event, OPENINGS):
            self._open(seq, event, is_last)
        assert self._audit is not None, "a journal begins with its settings"
        try:
            if not self._is_drawn(event):
                self._result.unchecked["not in the sample"] += isinstance(event, Outcome)
            elif self._is_same_task:
                await self._check(seq, event, self._audit)
            elif isinstance(event, Outcome):
                self._result.unchecked["under another task"] += 1
            self._audit.take(event)
        except JournalError as error:
            self.is_lost = True
            expected = f"an event that can follow those before it ({error})"
            self._result.differences.append(misfit(seq, expected, event))

    def _is_drawn(self, event: Event) -> bool:
        candidate = getattr(event, "candidate", TEMPLATE)  # what is of no candidate is of the run, as the template is
        return self._drawn is None or candidate == TEMPLATE or candidate in self._drawn

    async def settle(self, at_once: int) -> None:
        """Wait until no more than so many programs are running."""
        while len(self._running) > at_once:
            seq, recorded, running = self._running.popleft()
            expected = await running
            if expected is not None:
                self._compare(seq, expected, recorded)

    def _open(self, seq: int, event: RunStarted | RunForked, is_last: bool) -> None:
        """Begin, or go on under other settings after a fork."""
        settings = recorded(event.settings)
        self._audit = Audit(settings, self._task, later=recorded(self._folder.read_settings()))
        self._provenance = run_provenance(settings, self._task)
        for earlier, _, folded in read_events(self._folder.journal):
            if earlier >= seq:
                break
            self._audit.take(folded)
        changed = [key for key in DECISIVE if event.provenance.get(key) != self._provenance.get(key)]
        self._is_same_task = is_last or not changed
        if changed and is_last:
            self._result.differences.append(misfit(seq, f"the {' and '.join(changed)} as found on disk now", event))

    async def _check(self, seq: int, event: Event, audit: Audit) -> None:
        if isinstance(event, DECISIONS):
            self._result.decisions += 1
            self._compare(seq, audit.due(event), event)
        elif isinstance(event, Responded):
            self._compare(seq, audit.reply(event), event)
        elif isinstance(event, Evaluated | Rejected):
            program = self._template if event.candidate == TEMPLATE else audit.program(event)
            if isinstance(program, Rejected):
                self._compare(seq, program, event)
            elif event.copy_of is not None:
                self._result.copies += 1
                twin = read_outcome(self._folder.journal, event.copy_of, program.source)
                if twin is None:  # older runs also shared results between texts of one normal form
                    await self._run_again(seq, event, program)
                else:
                    self._compare(seq, copied(event.candidate, program, twin), event)
            else:
                await self._run_again(seq, event, program)

    async def _run_again(self, seq: int, event: Outcome, program: Program) -> None:
        """Start to run a program again, once there is room for it."""
        self._running.append((seq, event, asyncio.create_task(self._again(event, program))))
        await self.settle(self._at_once)

    async def _again(self, recorded: Outcome, program: Program) -> Outcome | None:
        """What becomes of a program now; None where the machine's pace or memory decides that."""
        if isinstance(recorded, Rejected) and recorded.reason in TIMED:
            self._result.unchecked[recorded.reason] += 1
            return replace(judged(recorded.candidate, program, Failure(recorded.reason)), copy_of=recorded.copy_of)
        self._result.evaluations += 1
        assert self._audit is not None, "a journal begins with its settings"
        verdict = self._audit.comparable(await self._judge.evaluate(program.source))
        if isinstance(verdict, Failure) and verdict.reason in TIMED:
            self._result.unchecked[verdict.reason] += 1
            return None
        return replace(judged(recorded.candidate, program, verdict), copy_of=recorded.copy_of)

    def _compare(self, seq: int, expected: Event | None, recorded: Event) -> None:
        found = discrepancy(seq, _lasting(expected), _lasting(recorded) or recorded)
        if found is not None:
            self._result.differences.append(found)


def _altered(seq: int, kind: str, candidate: CandidateId | None) -> Discrepancy:
    """A row that behavesim did not write: another program added it, or changed it afterwards."""
    return Discrepancy(seq, kind, candidate, "a row with the seal of its columns", "a row without it")


def _drawn(settings: Settings, sample: int, registered: int) -> frozenset[CandidateId]:
    """Candidates drawn by the run's seed, all where there are no more."""
    rng = np.random.default_rng(settings.seed)
    return frozenset(rng.choice(registered, min(sample, registered), replace=False).tolist())


def _lasting(event: Event | None) -> Event | None:
    """An event without what may differ from one time to the next: times, and the addresses in messages."""
    if not isinstance(event, Evaluated | Rejected):
        return event
    key = "" if event.candidate == TEMPLATE or not event.source else event.program_hash
    if isinstance(event, Rejected):
        return replace(event, cpu_s=0.0, message="", program_hash=key)
    return replace(event, cpu_s=0.0, program_hash=key)
