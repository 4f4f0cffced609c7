"""Verification: derive every decision of a run again from its journal, and run every program again.

`Verifier` takes the events in order. Its resources, the sandboxes and proposers, come after it; last is what tells a
program that draws at random, or a noisy evaluator, from a journal that was changed.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from behavesim.audit.audit import Audit, Discrepancy, discrepancy, make_discrepancy, opening_contradictions
from behavesim.audit.damage import find_altered_rows, list_damages
from behavesim.audit.recover import LOST
from behavesim.base.config import Settings
from behavesim.base.errors import JournalError
from behavesim.engine.admission import further_of_run, run_provenance
from behavesim.engine.build import judge_of
from behavesim.engine.outcome import outcome_of_copy, outcome_of_verdict, raced_of_verdict, without_addresses
from behavesim.evaluators.tracing import is_of_the_clock
from behavesim.programs.reading import Program
from behavesim.proposers.proposer import ProposerContext, proposer_of, proposer_type
from behavesim.sandbox.limits import Limits
from behavesim.state.events import (
    DECISIONS,
    INJECTED,
    TEMPLATE,
    TUNE,
    CandidateId,
    Evaluated,
    Event,
    Raced,
    Rejected,
    Responded,
    RunForked,
    RunResumed,
    RunStarted,
)
from behavesim.state.protocols import Judge, Responder, unnoticed
from behavesim.state.settings import changed_parts, settings_from_journal
from behavesim.store.database import count_registered, last_event_number
from behavesim.store.folder import RunFolder
from behavesim.store.reading import read_events, read_outcome
from behavesim.task import Task, TaskReference
from behavesim.task.evaluated import LIBRARY_METRIC, EvaluatorTask
from behavesim.task.verdict import TIMED, Block, Failure

# Events that carry settings, under which all later events are judged.
OPENINGS = (RunStarted, RunForked)
# Called after each event with the event's number in the journal, and the number of all events.
OnProgress = Callable[[int, int], None]


@dataclass
class Verification:
    """What was checked of a run and what was found not as expected."""

    # The name of the run.
    run: str
    # Events that were read.
    events: int = 0
    # Decisions that were derived again.
    decisions: int = 0
    # Programs that were run again.
    evaluations: int = 0
    # Outcomes that copy the result of an earlier candidate with the same text.
    copies: int = 0
    # How many outcomes could not be checked, by reason.
    unchecked: Counter[str] = field(default_factory=Counter)
    # Damages of the journal's file, one text each; if there are any, no event is checked.
    damage: list[str] = field(default_factory=list)
    # Events that are not as expected, in the journal's order; see `damage` and `is_lost` for what was not compared.
    differences: list[Discrepancy] = field(default_factory=list)
    # Whether the check ended early, at an event that cannot follow those before it.
    is_lost: bool = False
    # Fresh instances of the last race for the recommended program; 0 if it was chosen without one.
    fresh: int = 0

    @property
    def is_sound(self) -> bool:
        """Whether no damage and no difference was found."""
        return not self.damage and not self.differences


async def verify(
    folder: RunFolder,
    workers: int | str = 1,
    progress: OnProgress = lambda done, total: None,
    sample: int | None = None,
) -> Verification:
    """Derive a run's decisions again, run its programs again, and return what differs; the run may be going on.

    Args:
        folder: the run.
        workers: how many programs run at once, or the name of a cluster.
        progress: called with how many events are checked by now, and how many there are.
        sample: how many candidates to check, drawn by the run's seed; None for all. The template and the events of
            the run as a whole are checked in any case.

    Raises:
        JournalError: there is no journal of this version.
        TaskError: the task cannot be loaded.
        SandboxError: the sandbox fails.
        UsageError: settings.toml cannot be read, or the isolation is too weak.
    """
    result = Verification(folder.run, damage=list_damages(folder.journal))
    if result.damage:
        return result
    openings = {seq: e for seq, _, e in read_events(folder.journal, only=OPENINGS) if isinstance(e, OPENINGS)}
    settings = settings_from_journal(folder.at_hand(openings[max(openings)].settings))
    task = TaskReference(settings.task).load()
    total = last_event_number(folder.journal)
    drawn = None if sample is None else _drawn(settings, sample, count_registered(folder.journal))
    async with AsyncExitStack() as stack:
        verifier = Verifier(folder, task, settings.task, workers, stack, result, max(openings), drawn)
        for seq, _, event in read_events(folder.journal):
            await verifier.take(seq, event)
            progress(result.events - verifier.running, total)
            if result.is_lost:
                break
        while verifier.running:
            await verifier.settle(verifier.running - 1)
            progress(result.events - verifier.running, total)
    named = {found.seq for found in result.differences}
    for row in find_altered_rows(folder.journal):
        if row[0] not in named:  # another program added the row, or changed it afterwards
            result.differences.append(Discrepancy(*row, "a row with the seal of its columns", "a row without it"))
    result.differences.sort(key=lambda found: found.seq)
    return result


def _drawn(settings: Settings, sample: int, registered: int) -> frozenset[CandidateId]:
    """Return `sample` of the `registered` candidates, drawn by the run's seed; all if there are not more."""
    rng = np.random.default_rng(settings.seed)
    return frozenset(rng.choice(registered, min(sample, registered), replace=False).tolist())


# The event that ends the evaluation of a candidate.
Outcome = Evaluated | Rejected
# An event with what a program did when it was run.
Ran = Outcome | Raced
# What is expected in place of a lost reply that a proposer derives otherwise, such as the offline one.
LOST_REPLY = "the reply, which was lost: `behavesim verify --salvage` put the program alone, or nothing, in its place"


@dataclass(frozen=True)
class Segment:
    """The part of a journal from one start or fork to the next, and what checks it."""

    audit: Audit
    # Runs the programs of this part again; None if the task has changed since, so that nothing can be checked.
    judge: Judge | None
    # Derives the replies of this part again; None if a model or a person gave them.
    writer: Responder | None


@dataclass
class Verifier:
    """Checks a journal's events in order and adds what differs to `result`; programs run a few at a time meanwhile."""

    folder: RunFolder
    # The task as it is now, and its name or file, from which the sandbox loads it.
    task: Task
    task_name: str
    # How many programs run at once, or a cluster's name.
    workers: int | str
    # Closes the judges and proposers.
    stack: AsyncExitStack
    result: Verification
    # The number of the last event that carries settings.
    last_opening: int
    # The candidates to check; None for all.
    drawn: frozenset[CandidateId] | None
    _segment: Segment | None = None
    _running: deque[tuple[int, Ran, asyncio.Task[Ran | None]]] = field(default_factory=deque)
    _judges: dict[tuple[Limits, int], Judge] = field(default_factory=dict)

    @property
    def running(self) -> int:
        """How many programs are running."""
        return len(self._running)

    async def take(self, seq: int, event: Event) -> None:
        """Check event `seq` against those before it, then fold it; SandboxError if the sandbox fails."""
        # if it cannot follow them, later events cannot be judged either: the result becomes `is_lost`
        self.result.events += 1
        try:
            if isinstance(event, OPENINGS):
                self._segment = await self._opened(seq, event)
            assert self._segment is not None, "a journal begins with its settings"
            if not self._is_drawn(event):
                self.result.unchecked["not in the sample"] += isinstance(event, Ran)
            elif self._segment.judge is not None:
                await self._check(seq, event, self._segment)
            elif isinstance(event, Ran):
                self.result.unchecked["under another task"] += 1
            self._segment.audit.take(event)
        except JournalError as error:
            self.result.is_lost = True
            self._differ(seq, f"an event that can follow those before it ({error})", event)

    def _is_drawn(self, event: Event) -> bool:
        candidate = getattr(event, "candidate", TEMPLATE)  # events of no candidate are always checked
        return self.drawn is None or candidate == TEMPLATE or candidate in self.drawn

    async def settle(self, at_once: int) -> None:
        """Wait until at most `at_once` programs are running, and compare the outcomes of the finished ones."""
        while len(self._running) > at_once:
            seq, recorded, running = self._running.popleft()
            if (expected := await running) is not None:
                self._compare_lasting(seq, expected, recorded)

    async def _opened(self, seq: int, event: RunStarted | RunForked) -> Segment:
        """Return what checks the part of the journal that begins with `event`; its audit has folded those before."""
        # differences of the settings, or of the task from what it was then, are recorded
        await self.settle(0)  # programs from before a fork are judged by the rules from before it
        folder = self.folder
        settings, now = (
            settings_from_journal(folder.at_hand(values)) for values in (event.settings, folder.read_settings())
        )
        audit = Audit(settings, self.task, later=now)
        for earlier, _, folded in read_events(folder.journal):
            if earlier >= seq:
                break
            audit.take(folded)
        origin = run_provenance(settings, self.task)
        changed = changed_parts(event.provenance, origin)
        if seq < self.last_opening and changed:  # its task is gone, so its programs cannot be run again
            return Segment(audit, None, None)
        if changed:
            self._differ(seq, f"the {' and '.join(changed)} as found on disk now", event)
        elif seq == self.last_opening:
            is_resumed = any(True for _ in read_events(self.folder.journal, only=(RunResumed,)))
            for expected in opening_contradictions(event, settings, now, is_resumed, origin):
                self._differ(seq, expected, event)
        return Segment(audit, await self._judge(settings), await self._writer(settings))

    async def _check(self, seq: int, event: Event, segment: Segment) -> None:
        audit = segment.audit
        if isinstance(event, DECISIONS):
            self.result.decisions += 1
            self._compare(seq, audit.due(event), event)
        elif isinstance(event, Responded):
            derived = await _reply(event, segment)
            if derived != event and event.reply.finish_reason == LOST:
                self._differ(seq, LOST_REPLY, event)
            else:
                self._compare(seq, derived, event)
        elif isinstance(event, Evaluated | Rejected):
            await self._check_outcome(seq, event, segment)
        elif isinstance(event, Raced):
            await self._check_raced(seq, event, segment)
        elif expected := audit.contradiction(event):
            self._differ(seq, expected, event)

    async def _check_outcome(self, seq: int, event: Outcome, segment: Segment) -> None:
        """Check an outcome: of a reply without a program, a copy of an earlier result, or a program to run again."""
        audit = segment.audit
        program = audit.program(event)
        if event.cpu_s < 0:
            self._differ(seq, "a CPU time of 0 s or more", event)
        if isinstance(program, Rejected):
            self._compare(seq, program, event)
        elif (first := audit.tried(event.candidate, program)) is not None:
            self.result.copies += 1
            twin = read_outcome(self.folder.journal, first, program.source, seq)
            self._compare(seq, outcome_of_copy(event.candidate, program, twin), event)
        elif event.copy_of is not None:
            self._differ(seq, "no copy, as this text was not tried before", event)
        elif isinstance(event, Rejected) and event.reason in TIMED:  # depends on the machine: it is not run again
            self.result.unchecked[event.reason] += 1
            failure = Failure(event.reason, event.message, 0.0, event.metrics, event.feedback)
            self._compare_lasting(seq, outcome_of_verdict(event.candidate, program, failure), event)
        else:
            await self._run_again(seq, event, partial(self._outcome, event.candidate, program, segment))

    async def _check_raced(self, seq: int, event: Raced, segment: Segment) -> None:
        """Check the result of a program, or of the template, on further instances: run it on them again."""
        if event.cpu_s < 0:
            self._differ(seq, "a CPU time of 0 s or more", event)
        if event.reason in TIMED:  # depends on the machine
            self.result.unchecked[event.reason] += 1
            return
        state = segment.audit.state
        template, opened = state.template, state.open.get(event.candidate)
        if template is None or (event.candidate != TEMPLATE and (opened is None or opened.gone_on is None)):
            self._differ(seq, "nothing, as the candidate did not go on", event)
            return
        begun, count, source = len(template.scores), segment.audit.race, template.source
        if opened is not None and opened.gone_on is not None and isinstance(opened.outcome, Evaluated):
            count, source = opened.gone_on.count, opened.outcome.source
        block = Block(event.first, count, count / begun)
        await self._run_again(seq, event, partial(self._raced, event, source, block, segment))

    async def _run_again(self, seq: int, recorded: Ran, run: Callable[[], Awaitable[Ran]]) -> None:
        self._running.append((seq, recorded, asyncio.create_task(self._again(recorded, run))))
        await self.settle(self._at_once)

    async def _again(self, recorded: Ran, run: Callable[[], Awaitable[Ran]]) -> Ran | None:
        """Run a program again and return its outcome; None if it cannot be compared with the recorded one."""
        # That is so if the program now exceeds the time or memory limit, or if it or its evaluator draws at random.
        self.result.evaluations += 1
        outcome = await run()
        if not isinstance(outcome, Evaluated) and outcome.reason in TIMED:
            self.result.unchecked[outcome.reason] += 1
            return None
        said = await noise(recorded, outcome, run)
        self.result.unchecked += Counter([said] if said else [])
        return None if said else outcome

    async def _raced(self, recorded: Raced, source: str, block: Block, segment: Segment) -> Raced:
        assert segment.judge is not None, "programs are run again where they can be"
        verdict = await segment.judge.evaluate(source, unnoticed, block)
        return raced_of_verdict(recorded.candidate, recorded.first, verdict)

    async def _outcome(self, candidate: CandidateId, program: Program, segment: Segment) -> Outcome:
        assert segment.judge is not None, "programs are run again where they can be"
        verdict = segment.audit.with_comparison_checked(await segment.judge.evaluate(program.source))
        return outcome_of_verdict(candidate, program, verdict)

    def _differ(self, seq: int, expected: str, recorded: Event) -> None:
        self.result.differences.append(make_discrepancy(seq, expected, recorded))

    def _compare_lasting(self, seq: int, expected: Ran, recorded: Ran) -> None:
        is_reported = isinstance(self.task, EvaluatorTask)
        self._compare(seq, *(without_volatile(each, is_reported) for each in (expected, recorded)))

    def _compare(self, seq: int, expected: Event | None, recorded: Event) -> None:
        found = discrepancy(seq, expected, recorded)
        if found is not None:
            self.result.differences.append(found)

    @property
    def _at_once(self) -> int:
        """Number of programs handed out at once: two for each worker, so that none has to wait; or ON_A_CLUSTER."""
        return 2 * self.workers if isinstance(self.workers, int) else ON_A_CLUSTER

    async def _judge(self, settings: Settings) -> Judge:
        """Return a judge with the limits and the further instances of these settings; equal ones share one judge."""
        key = Limits.of(settings), further_of_run(settings, self.task)
        if key not in self._judges:
            here = settings.model_copy(update={"task": self.task_name, "workers": self.workers})
            self._judges[key] = await self.stack.enter_async_context(judge_of(here, self.task))
        return self._judges[key]

    async def _writer(self, settings: Settings) -> Responder | None:
        """Return the proposer if its replies follow from prompt and number alone, else None."""
        if not proposer_type(settings.proposer).is_pure:
            return None  # a model or a person gave them
        context = ProposerContext(self.task, settings.seed, settings.connections)
        return await self.stack.enter_async_context(proposer_of(settings, context))


async def _reply(event: Responded, segment: Segment) -> Responded:
    """Return the reply that should have been recorded."""
    # It is the injected program, what follows from the trials of a tuned one, or what a proposer such as the offline
    # one derives again; else the reply itself. A reply with a fault is not derived again, because a recovered run has
    # faults in place of lost replies.
    candidate = segment.audit.state.open.get(event.candidate)
    prompt = None if candidate is None else candidate.asked.prompt
    if segment.writer is None or event.reply.fault or prompt is None or prompt.operator in (INJECTED, TUNE):
        return segment.audit.reply(event)
    return Responded(event.candidate, await segment.writer.propose(prompt, event.candidate))


# Number of programs that a verification runs again at the same time on a cluster, whose number of workers is unknown
# here.
ON_A_CLUSTER = 256


# Most further evaluations of a program: more would tell rarer noise, at a higher cost for a changed journal.
TRIALS = 3
# What `noise` returns: the scores differ, or everything but the scores.
SCORE = "noisy: the score differs each time the program is run"
REST = "noisy: the score is equal, metrics, feedback or behaviour differ each time"


async def noise(recorded: Ran, again: Ran, evaluated: Callable[[], Awaitable[Ran]]) -> str:
    """Return in what the outcomes of a program differ between evaluations (SCORE or REST); "" if they do not."""
    # `again` is the outcome of a new evaluation, and `evaluated` makes up to TRIALS more. If `again` is like the
    # recorded one, or all new ones are alike, there is no noise: then a difference is one of the journal.
    if without_volatile(again, True) == without_volatile(recorded, True):
        return ""
    for _ in range(TRIALS):
        other = await evaluated()
        if without_volatile(other, True) != without_volatile(again, True):
            return SCORE if len({_score_of(each) for each in (recorded, again, other)}) > 1 else REST
    return ""


def _score_of(event: Ran) -> float | tuple[float, ...] | None:
    if isinstance(event, Raced):
        return event.scores
    return event.score if isinstance(event, Evaluated) else None


def without_volatile(event: Ran, is_self_reported: bool = False) -> Ran:
    """Return an outcome without what differs each time: its CPU times, and memory addresses in its message."""
    # If an evaluator reported it, its metrics of time and memory go, too; a task's own are kept, whatever their names.
    # So do those that say which libraries the machine has: another one may have more, as where a recording is checked.
    if isinstance(event, Raced):
        return replace(event, cpu_s=0.0)
    metrics = event.metrics
    if is_self_reported:
        metrics = {
            name: value
            for name, value in metrics.items()
            if not is_of_the_clock(name) and not name.startswith(LIBRARY_METRIC)
        }
    if isinstance(event, Rejected):
        return replace(event, cpu_s=0.0, message=without_addresses(event.message), metrics=metrics)
    return replace(event, cpu_s=0.0, counted_s=None, metrics=metrics)
