"""Recovery: make a new run from the readable events of a damaged one.

If the run was forked and nothing is missing before a fork, the events up to the fork are copied. The rest is searched
again, with a proposer, a judge and a method that give back the saved replies, verdicts and questions.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from behavesim.audit.damage import read_damaged
from behavesim.base.config import Settings
from behavesim.base.errors import JournalError
from behavesim.base.heartbeat import Heartbeat
from behavesim.engine.admission import method_of_run, run_provenance
from behavesim.engine.build import assemble_search, evaluate_template, judge_of, race_template
from behavesim.engine.caps import Caps
from behavesim.engine.loop import Search
from behavesim.evaluators.evaluation import EvaluatorJudge
from behavesim.methods.method import Method
from behavesim.programs.answer import add_fence
from behavesim.proposers.replay import repeat_advice, repeat_injected
from behavesim.sandbox.judge import SandboxJudge
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import (
    INJECTED,
    TEMPLATE,
    TUNE,
    Added,
    Advised,
    Asked,
    CandidateId,
    ClockRead,
    Evaluated,
    Event,
    Injected,
    NotAdded,
    NoteAsked,
    NoteReceived,
    Prompt,
    Raced,
    Regrouped,
    Rejected,
    Reply,
    Responded,
    RunForked,
    RunStarted,
    note_number,
)
from behavesim.state.members import OpenCandidate
from behavesim.state.protocols import Judge, Postponed, unnoticed
from behavesim.state.settings import settings_from_journal
from behavesim.state.state import RunState
from behavesim.store.folder import RunFolder
from behavesim.store.journal import SqliteJournal
from behavesim.store.reading import read_events
from behavesim.store.run_files import RunFiles
from behavesim.task import Task, TaskReference
from behavesim.task.evaluated import repository_of
from behavesim.task.verdict import Block, Failure, Verdict


@dataclass(frozen=True)
class Recovery:
    """The result of a recovery."""

    # The name of the new run.
    run: str
    # Events of the damaged run that could be read.
    events: int
    # Replies among the events that could be read.
    replies: int
    # Candidates (from 0) and notes (below -1), ascending, whose lost replies will not be asked for again.
    lost: tuple[CandidateId, ...]
    # Events before the last readable one that could not be read.
    missing: int


async def recover(folder: RunFolder, target: RunFolder, workers: int | str = 1) -> Recovery:
    """Write the new run `target` from all that can be read of the run `folder`, which stays as it is.

    A registered candidate whose reply is lost is rejected. Other candidates without a reply are asked for on resume.

    Args:
        folder: the damaged run.
        target: the new run; its folder must not exist.
        workers: how many programs without a saved verdict are run at once, or the name of a cluster.

    Raises JournalError if no reply can be read, OSError without a journal, UsageError if the target exists, TaskError
    if the task cannot be loaded, and SandboxError if the sandbox fails.
    """
    events = {seq: event for seq, (_, event) in read_damaged(folder.journal).items()}
    replies = sum(isinstance(event, Responded | NoteReceived) for event in events.values())
    if not replies:
        raise JournalError(f"no reply can be read in {folder.journal}; start the run anew")
    kept = sound_prefix(events)
    stretches = split_at_forks([*kept[-1:], *list(events.values())[len(kept) :]])
    known = [
        settings_from_journal(folder.at_hand(folder.read_settings() if each.opening is None else each.opening.settings))
        for each in stretches
    ]
    settings = [each.model_copy(update={"task": known[-1].task, "workers": workers}) for each in known]
    lost = await _rerun(kept, list(zip(stretches, settings, strict=True)), target)
    target.note(f"recovered from {folder.path}: {len(events)} events could be read")
    return Recovery(target.run, len(events), replies, tuple(sorted(lost)), max(events) - len(events))


async def _rerun(
    kept: Sequence[Event], stretches: Sequence[tuple[RecoveredEvents, Settings]], target: RunFolder
) -> set[int]:
    """Write the new run into the folder `target`; return the candidates and notes whose replies are lost."""
    # kept: the events that are copied. stretches: what was recovered from one fork to the next, with its settings.
    lost = set[int]()
    final, settings = stretches[-1]
    task = TaskReference(settings.task).load()
    async with judge_of(settings, task) as judge:
        beginning = kept or await _beginning(*stretches[0], task, judge)
        with target.created(), target.locked():
            target.keep_parts(settings)
            target.write_settings(settings.flat())
            async with SqliteJournal(target.journal) as journal:
                await journal.append(beginning)
                tuned = sum(isinstance(each, Asked) and each.prompt.operator == TUNE for each in beginning)
                for salvage, settings in stretches:
                    if salvage is not stretches[0][0] and isinstance(salvage.opening, RunForked):
                        await journal.append([replace(salvage.opening, settings=settings.flat())])
                    proposer = SalvagedProposer(salvage)
                    known = SalvagedJudge(judge, salvage.verdicts, salvage.raced)
                    is_last = salvage is final
                    # before a fork no more is asked for than was: later candidates belong to the settings after it
                    tuned += len(salvage.tuned)
                    budget = settings.budget if is_last else salvage.asks - tuned
                    caps = Caps(budget, lambda model, tokens: 0.0, Heartbeat())  # saved replies cost nothing again
                    files = RunFiles(target, target.note, task.suffix, repository_of(task))
                    method = SalvagedMethod(method_of_run(settings, task), salvage.asked)
                    search = assemble_search(settings, task, proposer, known, journal, caps, files, method=method)
                    search.rules = replace(search.rules, tunes=salvage.tunes(search.rules.tunes))
                    await _take_up(search, salvage, target)
                    await _use_saved_replies(
                        search, proposer, max(salvage.replies, default=-1) + 1 if is_last else salvage.asks
                    )
                    await search.record(*(each for each in salvage.late if each.candidate in search.state.open))
                    lost |= proposer.lost
    return lost


async def _beginning(
    salvage: RecoveredEvents, settings: Settings, task: Task, judge: SandboxJudge | EvaluatorJudge
) -> list[Event]:
    """Return the first events of the new run: its start and the template's results, which are run again if lost."""
    template = salvage.template or await evaluate_template(task, judge)
    raced = [salvage.template_raced] if salvage.template_raced else await race_template(settings, task, judge)
    made_of = run_provenance(settings, task) if salvage.opening is None else salvage.opening.provenance
    return [RunStarted(settings.flat(), made_of, judge.isolation), template, *raced]


async def _take_up(search: Search, salvage: RecoveredEvents, target: RunFolder) -> None:
    """Fold the journal of `target` into the search; record what people and the clock brought if it is new."""
    for _, _, event in read_events(target.journal):
        search.fold(event)
    waiting = {program.source for program in search.state.injected}
    programs = (each for each in salvage.injections if each.source not in waiting)
    advice = (each for each in salvage.advised if each.name not in search.state.brought_names)
    await search.record(*programs, *advice, *salvage.readings)


# Seconds between two checks whether the new run has used all saved replies.
#
# It is short because the new run has nothing else to do by then, and ends only at such a check.
POLL_S = 0.02


async def _use_saved_replies(search: Search, proposer: SalvagedProposer, replied: CandidateId) -> None:
    """Run the search until no saved reply is left to use, then stop it with the reason "recovered"."""
    # All are used when every open candidate has an outcome or waits for a reply that was not saved, and the search has
    # asked for `replied` candidates: one more than the last with a saved reply. If the search waits for a candidate
    # whose reply is gone, and cannot ask beyond it, that candidate is given up: later replies would be lost with it.

    def is_stuck() -> bool:
        state = search.state
        is_waiting = all(c.outcome is not None or number in proposer.waiting for number, c in state.open.items())
        return is_waiting and state.registered in proposer.waiting

    async def stop_when_dry() -> None:
        while not (is_stuck() and search.state.asked >= min(replied, search.caps.budget + len(search.state.tuned))):
            # later candidates have replies, so the one that is waited for was registered: its reply is lost
            if is_stuck() and not _asks_more(search):
                proposer.waiting.pop(search.state.registered).set()
            await asyncio.sleep(POLL_S)
        search.stop("recovered")  # replies that are not saved are asked for when the new run is resumed

    watching = asyncio.create_task(stop_when_dry())
    try:
        await search.run()
    finally:
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching


def _asks_more(search: Search) -> bool:
    """Whether the search can ask for another candidate before it registers the next one, by its window and method."""
    state = search.state
    if state.asked >= state.registered + search.rules.window:
        return False
    return search.method.ask(state, search.behaviours, state.asked) is not None


# Finish reason of a reply that could not be read: its text is empty, or only the program that is known.
LOST = "lost"


class SalvagedProposer:
    """A proposer that answers with the saved replies."""

    def __init__(self, salvage: RecoveredEvents) -> None:
        self.lost: set[CandidateId] = set()  # candidates and notes whose replies could not be read
        self.waiting: dict[CandidateId, asyncio.Event] = {}  # those that had no reply yet; setting one gives it up
        self._replies = {number: list(replies) for number, replies in salvage.replies.items()}
        self._sources = salvage.sources
        self._registered = salvage.registered

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        """Return the next saved reply to the candidate, or to the note below -1; else one that counts as `lost`."""
        # A candidate that the damaged run had not registered waits first, until its event in `waiting` is set: its
        # reply may only have been under way. A lost reply is the candidate's program in a fenced block if that is
        # known, else empty.
        if replies := self._replies.get(number):
            return replies.pop(0)
        if number >= self._registered:
            self.waiting[number] = asyncio.Event()
            await self.waiting[number].wait()
        self.lost.add(number)
        source = self._sources.get(number)
        return Reply(add_fence(source) if source else "", "", finish_reason=LOST)


class SalvagedJudge:
    """A judge that returns saved verdicts by a program's text, and runs programs that have none."""

    def __init__(
        self,
        judge: Judge,
        verdicts: Mapping[str, Verdict | Failure],
        raced: Mapping[tuple[str, int], Verdict | Failure],
    ) -> None:
        self._judge = judge
        self._verdicts = verdicts
        self._raced = raced

    async def evaluate(
        self, source: str, postponed: Postponed = unnoticed, block: Block | None = None, /
    ) -> Verdict | Failure:
        """Return the saved verdict on the program `source`, or run it in the sandbox if there is none."""
        known = self._verdicts.get(source) if block is None else self._raced.get((source, block.first))
        return known if known is not None else await self._judge.evaluate(source, postponed, block)


class SalvagedMethod(Method[Any]):
    """A method that decides as the wrapped one does, but asks the damaged run's questions, which the replies fit."""

    def __init__(self, method: Method[Any], asked: Mapping[CandidateId, Asked]) -> None:
        super().__init__(method.settings, method.context)
        self._method = method
        self._asked = asked

    @property
    def uses_behaviour(self) -> bool:
        """Whether the wrapped method's decisions depend on behaviour."""
        return self._method.uses_behaviour

    @property
    def clock_every_s(self) -> float:
        """0: the clock is not read, because the damaged run's readings are recorded again."""
        return 0.0

    def regroup(self, state: RunState, behaviours: Behaviours) -> Regrouped | None:
        """Regroup as the wrapped method does."""
        return self._method.regroup(state, behaviours)

    def register(self, state: RunState, behaviours: Behaviours, candidate: OpenCandidate) -> Added | NotAdded:
        """Register as the wrapped method does."""
        return self._method.register(state, behaviours, candidate)

    def ask(self, state: RunState, behaviours: Behaviours, candidate: CandidateId) -> Asked | NoteAsked | None:
        """Return the damaged run's question for the candidate, or the wrapped method's own if that one is lost."""
        # the wrapped method first: where it wants a note, or to wait, the saved question comes too early
        asked = self._method.ask(state, behaviours, candidate)
        return self._asked.get(candidate, asked) if isinstance(asked, Asked) else asked


# A reply or an outcome of a candidate.
Arrival = Responded | Evaluated | Rejected


@dataclass
class RecoveredEvents:
    """The readable events from the start or a fork of a damaged run to the next fork, in one field for each kind."""

    # the start or fork that these events follow; None if it cannot be read
    opening: RunStarted | RunForked | None = None
    # the template's result; None if it cannot be read or came before an earlier fork
    template: Evaluated | None = None
    # the first question for each candidate; later ones are repairs
    asked: dict[CandidateId, Asked] = field(default_factory=dict)
    # the candidates whose numbers the machine tuned; nobody was asked
    tuned: dict[CandidateId, Asked] = field(default_factory=dict)
    # the replies to each candidate or note, in order. The key of note n is -2 - n (`note_number`).
    replies: dict[CandidateId, list[Reply]] = field(default_factory=lambda: defaultdict(list))
    # the verdict on each program, by its text
    verdicts: dict[str, Verdict | Failure] = field(default_factory=dict)
    # the template's result on the race's instances; None as for `template`, and without a race
    template_raced: Raced | None = None
    # the verdict on each program on further instances, by its text and the first of these
    raced: dict[tuple[str, int], Verdict | Failure] = field(default_factory=dict)
    # the program text of each candidate whose outcome could be read and has one
    sources: dict[CandidateId, str] = field(default_factory=dict)
    # programs that people injected, in order
    injected: list[Injected] = field(default_factory=list)
    # advice of people, in order; `not_before` is the candidate from which each holds
    advised: list[Advised] = field(default_factory=list)
    # readings of the clock, in order
    readings: list[ClockRead] = field(default_factory=list)
    # number of candidates that were registered: one more than the highest number of one that was. Candidates that were
    # asked for and not registered yet have this number or higher ones (see `asks`).
    registered: int = 0
    # replies and outcomes of candidates not registered yet at the next fork, in order; `split_at_forks` says which
    late: list[Arrival] = field(default_factory=list)

    @property
    def asks(self) -> int:
        """How many candidates had been asked for at the end of this part, judging by the events that are left."""
        late = (event.candidate for event in self.late)
        return max((*self.asked, *self.tuned, *self.replies, *late, self.registered - 1), default=-1) + 1

    def tunes(self, rule: Callable[[RunState], Asked | None] | None) -> Callable[[RunState], Asked | None] | None:
        """Return the rule by which a new run tunes: as the damaged run did, and after that by its own `rule`.

        The trials are made again: they cost nothing but time. But a candidate more or less would give every later
        reply to another question.
        """
        last = self.asks

        def tune(state: RunState) -> Asked | None:
            found = self.tuned.get(state.asked)
            if found is not None and all(parent in state.members for parent in found.parents):
                return found
            return None if rule is None or state.asked < last else rule(state)

        return None if rule is None and not self.tuned else tune

    @property
    def injections(self) -> list[Injected]:
        """The injected programs, each with how many questions come before it at least."""
        # A program that had already been tried keeps its turn; if its question is lost, that of a reply with that
        # program is used. The others are queued after the last candidate.
        again = repeat_injected((*self.asked.values(), *self.tuned.values()))
        tried = {program.source for program in again}
        replies = [(candidate, reply) for candidate, each in self.replies.items() for reply in each]
        turns = {reply.text: self._question(candidate) for candidate, reply in replies if reply.model == INJECTED}
        after_all = self._question(max((*self.asked, *self.replies), default=-1) + 1)
        rest = (each for each in self.injected if each.source not in tried)
        return [*again, *(replace(each, not_before=turns.get(add_fence(each.source), after_all)) for each in rest)]

    def _question(self, candidate: CandidateId) -> int:
        """Return a candidate's number without those whose numbers the machine tuned."""
        return candidate - sum(each < candidate for each in self.tuned)

    @classmethod
    def of(cls, events: Iterable[Event]) -> RecoveredEvents:
        """Return these events, which must be in the journal's order, each in the field for its kind."""
        known = list(events)
        salvage = cls(advised=repeat_advice(known))
        for event in known:
            salvage._take(event)
        return salvage

    def _take(self, event: Event) -> None:
        """Put one event into the field for its kind."""
        # Events must come in the order of the journal, since later ones replace earlier ones.
        match event:
            case RunStarted() | RunForked():
                self.opening = event
            case Injected():
                self.injected.append(event)
            case ClockRead():
                self.readings.append(event)
            case Asked(candidate) if event.prompt.operator == TUNE:
                self.tuned[candidate] = event
            case Asked(candidate):
                self.asked.setdefault(candidate, event)  # a later question for the same candidate is a repair
            case Responded(candidate, reply):
                self.replies[candidate].append(reply)
            case NoteReceived(number, reply):
                self.replies[note_number(number)].append(reply)
            case Added(candidate) | NotAdded(candidate):
                self.registered = max(self.registered, candidate + 1)
            case Evaluated() if event.candidate == TEMPLATE:
                self.template = event
            case Raced() if event.candidate == TEMPLATE:
                self.template_raced = event
            case Raced(candidate, first) if source := self.sources.get(candidate):
                self.raced[source, first] = _verdict_of_raced(event)
            case Evaluated(candidate, source):
                told = event.cpu_s, event.metrics, event.feedback, event.counted_s
                self.verdicts[source] = Verdict(event.score, event.scores, tuple(event.trajectories), *told)
                self.sources[candidate] = source
            case Rejected(candidate, source=source) if source:
                self.verdicts[source] = Failure(event.reason, event.message, event.cpu_s, event.metrics, event.feedback)
                self.sources[candidate] = source


def _verdict_of_raced(event: Raced) -> Verdict | Failure:
    if event.reason:
        return Failure(event.reason, event.message, event.cpu_s)
    return Verdict(sum(event.scores) / len(event.scores), event.scores, (), event.cpu_s)


def sound_prefix(events: Mapping[int, Event]) -> list[Event]:
    """Return the events up to and with the last fork before which no event is missing; [] if there is no such fork."""
    # numbers ascend, so from the first gap on each is larger than its place
    whole = [event for place, (seq, event) in enumerate(events.items(), 1) if seq == place]
    last = max((place for place, event in enumerate(whole, 1) if isinstance(event, RunForked)), default=0)
    return whole[:last]


def split_at_forks(events: Sequence[Event]) -> list[RecoveredEvents]:
    """Divide events at each fork and return what was recovered of each part, in order."""
    # Candidates still open at a fork: with one reply they stay in their part (`late`), otherwise, for example because
    # of a repair, they move to the next.
    parts: list[list[Event]] = [[]]
    for event in events:
        if isinstance(event, RunForked) and parts[-1]:
            parts.append([])
        parts[-1].append(event)
    stretches, moved = list[RecoveredEvents](), list[Event]()
    for number, part in enumerate(parts, 1):
        registered = RecoveredEvents.of(part).registered if number < len(parts) else sys.maxsize
        late = [event for event in part if isinstance(event, Arrival) and event.candidate >= registered]
        answered = Counter(event.candidate for event in late if isinstance(event, Responded))
        taken = [event for event in late if answered[event.candidate] == 1]
        salvage = RecoveredEvents.of([*moved, *(event for event in part if event not in late)])
        stretches.append(replace(salvage, late=taken))
        moved = [event for event in late if event not in taken]
    return stretches
