"""The state of a run. It follows from the run's events alone: applying them again gives the same state."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, assert_never

from behavesim.base.errors import JournalError
from behavesim.state.advice import Advice, advice
from behavesim.state.events import (
    INJECTED,
    TEMPLATE,
    TUNE,
    Added,
    Advised,
    Asked,
    BatchSent,
    CandidateId,
    ClockRead,
    Compared,
    Evaluated,
    Event,
    FreshBegun,
    FreshScored,
    GoneOn,
    GroupName,
    Injected,
    NotAdded,
    NoteAsked,
    NoteReceived,
    PortfolioChosen,
    PutOff,
    Raced,
    RaceEnded,
    Recommended,
    Regrouped,
    Rejected,
    Responded,
    RunEvent,
    RunForked,
    RunResumed,
    RunStarted,
    RunStopped,
    note_number,
)
from behavesim.state.members import Group, Member, Note, OpenCandidate
from behavesim.state.race import FreshRace
from behavesim.state.views import ModelRecord, PromptHistory, Tally, add_to_record
from behavesim.task import Objective


@dataclass(eq=False, repr=False)
class RunState:
    """Where a run stands. Only `apply` changes it; everybody else only reads it."""

    objective: Objective
    """Which scores are better, and the best one known."""

    # the whole run

    started: RunStarted | None = None
    """The settings and the provenance in force, from the start or the last fork; None before the start."""
    isolation: str = ""
    """The sandbox's isolation level: strong+, strong, partial or process; "" before the start."""
    stopped: str | None = None
    """The `reason` of RunStopped; None while the run goes on, or if it was killed."""
    failure: str = ""
    """What went wrong, if an error ended the run: the `message` of RunStopped; "" otherwise."""
    under_way: int | None = None
    """Requests sent but unanswered at the last stop; they may be billed. None: unknown, or running."""
    used_budgets: list[int] = field(default_factory=list)
    """The budgets (candidates) that were used up since the start or the last fork, in order."""
    asked: int = 0
    """Number of candidates asked for, injected ones included; a repair does not count again."""
    registered: int = 0
    """Number of candidates registered. They are registered in the order of their numbers."""
    tuned: list[Member] = field(default_factory=list)
    """The program of which each candidate with the operator TUNE has other numbers, in the order of asking."""
    trials: int = 0
    """Number of trials for those of these candidates that are registered."""
    idle_decisions: int = 0
    """Number of regroupings and notes since a candidate was last asked for or registered, or since a fork."""
    injected: list[Injected] = field(default_factory=list)
    """Injected programs that have not become candidates yet, oldest first."""
    brought_names: set[str] = field(default_factory=set)
    """The names of all injected programs, those that became candidates included, and of all advice."""
    advised: list[Advised] = field(default_factory=list)
    """All advice and its withdrawals, in order; `not_before` is the candidate from which each holds."""
    active_s: float = 0.0
    """Seconds the run has been active by the last clock reading in force, by which decisions are made; 0 before."""
    readings: list[ClockRead] = field(default_factory=list)
    """Clock readings not in force yet, oldest first: they wait until their number of candidates is registered."""
    batched: dict[int, BatchSent] = field(default_factory=dict)
    """The batch in which each prompt was sent, by the prompt's number: only of prompts that this run sent in one
    and that have no reply yet."""
    recommended: Recommended | None = None
    """The latest choice on validation instances since the start or the last fork; None if none was made."""
    recommended_of: int | None = None
    """Number of registered candidates that `recommended` was chosen from; None if none was made."""
    fresh: FreshRace | None = None
    """The race on fresh instances that is under way or led to `recommended`; None if there was none."""
    is_racing: bool = False
    """Whether that race was begun among all candidates registered by now, and no program is recommended yet."""
    fresh_used: int = 0
    """Validation instances with a smaller number may have been used by this run, or by one that it was forked from."""
    used_validation: bool = False
    """Whether programs were tried on all instances of the validation split, without a race."""
    portfolio: PortfolioChosen | None = None
    """The latest portfolio since the start or the last fork; None if none was chosen."""
    tally: Tally = field(default_factory=Tally)
    """Counts of outcomes and requests."""

    # candidates, the archive and the method's notes

    open: dict[CandidateId, OpenCandidate] = field(default_factory=dict)
    """Candidates asked for and not registered yet, in the order of their numbers."""
    last_asked: Asked | None = None
    """The last event that asked for a new candidate, injected programs and repairs left out; None before the first,
    and after a fork."""
    template: Member | None = None
    """The program that the search starts from; None until it is evaluated, which comes before the first candidate."""
    members: dict[CandidateId, Member] = field(default_factory=dict)
    """The archive: the members of all groups, the ungrouped programs, and the template."""
    groups: dict[GroupName, Group] = field(default_factory=dict)
    """The groups of the archive, in the order in which they were first named."""
    ungrouped: list[CandidateId] = field(default_factory=list)
    """Programs of the archive that wait for a group, in order of registration."""
    notes: dict[int, Note] = field(default_factory=dict)
    """The notes (texts) that the method asked for, by their numbers."""
    shown_parents: dict[str, set[tuple[CandidateId, ...]]] = field(default_factory=dict)
    """The parents that prompts have shown so far, by operator; those that show none are left out."""
    asked_texts: set[bytes] = field(default_factory=set)
    """A hash of every prompt for a program so far, so that none is asked twice word for word."""
    rejected_from: Counter[GroupName | None] = field(default_factory=Counter)
    """Number of registered candidates that were rejected, by the group that their question named; None for no group."""
    models: dict[str, ModelRecord] = field(default_factory=dict)
    """What each model has done for the run, by its name in the replies."""
    best: Member | None = None
    """The best registered candidate, the oldest of equally good ones; None before the first feasible one."""
    bests: list[tuple[CandidateId, float]] = field(default_factory=list)
    """Each candidate that scored better than all registered before it, and its score; oldest first. The template does
    not count."""
    tried: PromptHistory = field(default_factory=PromptHistory)
    """What prompts say of all registered candidates."""
    _awaited: dict[int, Note] = field(default_factory=dict)  # the notes without a reply: few, of thousands in `notes`
    _noted: dict[tuple[CandidateId, ...], int] = field(default_factory=dict)  # the last note about some programs
    _digest: Any = field(default_factory=hashlib.sha256)  # updated on each registration: no list is needed

    def apply(self, event: Event) -> None:
        """Apply one event. Raises JournalError for most that cannot follow, such as a registration out of turn."""
        _APPLIED.get(type(event), RunState._apply_to_run)(self, event)

    def _apply_asked(self, event: Asked) -> None:
        if event.candidate in self.open:
            self._apply_repair(event)
            return
        question, parent = self.questions, None
        if event.prompt.operator == TUNE:
            parent = self.members.get(event.parents[0]) if len(event.parents) == 1 else None
            if parent is None:
                raise JournalError(f"candidate {event.candidate} tunes a program that is not in the archive")
            self.tuned.append(parent)
        elif event.prompt.operator != INJECTED:
            self.last_asked = event
            self.asked_texts.add(text_hash(event.prompt.text))
        elif (program := self.next_injected) is not None:
            self.injected.remove(program)
        else:
            raise JournalError(f"candidate {event.candidate} is an injected program, and none was injected")
        # looked up now: a later eviction could change the answer
        parents = event.parents or (TEMPLATE,)
        shown = [self.members[each] for each in (TEMPLATE, *parents) if each in self.members]
        self.open[event.candidate] = OpenCandidate(
            event,
            idea="" if parent is None else parent.thought,
            shown=shown[-1].source if shown else "",  # the best parent: prompts show the worst first
            baseline_utility=max((each.utility for each in shown if each.candidate in parents), default=None),
            question=question,
        )
        if event.parents and parent is None:
            self.shown_parents.setdefault(event.prompt.operator, set()).add(event.parents)
        self.asked = event.candidate + 1
        self.idle_decisions = 0

    def _apply_repair(self, event: Asked) -> None:
        before = self.open[event.candidate]
        if not isinstance(before.outcome, Rejected):
            raise JournalError(f"candidate {event.candidate} is asked for again and was not rejected")
        self.tally.take_repair(before.outcome)
        idea = before.idea or before.outcome.thought
        self.open[event.candidate] = replace(
            before,
            asked=event,
            reply=None,
            outcome=None,
            compared=None,
            repairs=before.repairs + 1,
            idea=idea,
            raced=(),
        )

    def _apply_responded(self, event: Responded) -> None:
        opened = self._opened(event.candidate)
        opened.reply, opened.tuning = event.reply, event.tuning
        self.batched.pop(event.candidate, None)
        self.tally.take_reply(event.reply)
        self.tally.cpu_s += 0.0 if event.tuning is None else event.tuning.cpu_s

    def _apply_outcome(self, event: Evaluated | Rejected) -> None:
        if event.candidate == TEMPLATE and isinstance(event, Evaluated):
            self.template = self.members[TEMPLATE] = Member.of(event, self.objective.utility(event.score))
        elif (opened := self._opened(event.candidate)).reply is None:
            raise JournalError(f"candidate {event.candidate} has an outcome before it has a reply")
        else:
            opened.outcome = event
        self.tally.take_outcome(event)

    def _apply_put_off(self, event: PutOff) -> None:
        opened = self._opened(event.candidate)
        is_evaluated = opened.reply is None or (opened.outcome is not None and opened.gone_on is None)
        if is_evaluated:
            raise JournalError(f"candidate {event.candidate} is put off while it has nothing to be evaluated")
        self.tally.put_off[event.reason] += 1

    def _apply_gone_on(self, event: GoneOn) -> None:
        opened = self._opened(event.candidate)
        if not opened.is_feasible or opened.gone_on is not None or event.first != len(opened.all_scores):
            raise JournalError(f"candidate {event.candidate} goes on where it cannot")
        opened.gone_on = event

    def _apply_raced(self, event: Raced) -> None:
        self.tally.cpu_s += event.cpu_s
        if event.candidate == TEMPLATE:
            if self.template is None or event.first != len(self.template.scores):
                raise JournalError("the template is raced before it is evaluated, or on other instances")
            self.template = self.members[TEMPLATE] = replace(self.template, raced=event.scores)
            return
        opened = self._opened(event.candidate)
        expected = opened.gone_on
        if expected is None or event.first != expected.first or len(event.scores) not in (0, expected.count):
            raise JournalError(f"candidate {event.candidate} is judged on instances to which it did not go on")
        opened.gone_on = None
        if event.reason:
            found = opened.outcome
            assert isinstance(found, Evaluated), "only what is feasible goes on"
            why = Rejected(event.candidate, "evaluation", event.reason, event.message, found.source, found.thought)
            program_hash, copy_of, cpu_s = found.program_hash, found.copy_of, found.cpu_s
            opened.outcome = replace(why, program_hash=program_hash, copy_of=copy_of, cpu_s=cpu_s)
            opened.raced = ()
            self.tally.take_failure_in_race(event.reason)
        else:
            opened.raced += event.scores

    def _apply_race_ended(self, event: RaceEnded) -> None:
        opened = self._opened(event.candidate)
        if not isinstance(opened.outcome, Evaluated) or opened.gone_on is not None:
            raise JournalError(f"candidate {event.candidate} gets a score before its race is over")
        opened.outcome, opened.race_ended = replace(opened.outcome, score=event.score), event

    def _apply_compared(self, event: Compared) -> None:
        self._opened(event.candidate).compared = event

    def _apply_added(self, event: Added) -> None:
        candidate, name = event.candidate, event.group
        opened = self._opened(candidate)
        member = self.members[candidate] = self.member(opened)
        if name is None:
            self.ungrouped.append(candidate)
        else:
            group = self.groups.setdefault(name, Group())
            if opened.compared is not None:
                group.add_similarities(name, opened.compared)
            group.add(member, event.evicted)
        self._register(opened, name)
        if event.evicted:
            self._forget()

    def _apply_not_added(self, event: NotAdded) -> None:
        self._register(self._opened(event.candidate), None)

    def _register(self, opened: OpenCandidate, name: GroupName | None) -> None:
        """Take the next candidate out of `open`, count it and add it to the digest; `name` is the group it joined."""
        candidate, outcome = opened.id, opened.outcome
        # in the order of their numbers, not of arrival: decisions must not depend on timing
        if outcome is None or candidate != self.registered:
            raise JournalError(f"candidate {candidate} is registered out of turn, or before it has an outcome")
        del self.open[candidate]
        self.registered = candidate + 1
        self.is_racing = False  # a race has to begin anew, with what may be better now
        self.idle_decisions = 0
        self._apply_readings()
        score = outcome.score if isinstance(outcome, Evaluated) else None
        self.trials += 0 if opened.tuning is None else opened.tuning.trials
        if not opened.is_tuned:  # else it says nothing of those who write programs
            self.tally.recent.append(score is not None)
        if isinstance(outcome, Rejected) and not opened.is_tuned:
            # also what was given up: a method must not ask for ever what the endpoint refuses
            self.rejected_from[opened.asked.group] += 1
        # no program of a model's failed where its numbers were tuned, or where there was no reply
        if not (isinstance(outcome, Rejected) and (opened.is_tuned or outcome.is_given_up)):
            self.tried.take(opened, self.objective)
        add_to_record(self.models, opened, None if score is None else self.objective.utility(score))
        if opened.asked.parents in self._noted:
            self.notes[self._noted[opened.asked.parents]].children.append(score)
        if score is not None and (self.best is None or self.objective.utility(score) > self.best.utility):
            self.best = self.member(opened)
            self.bests.append((candidate, score))
        # the group's position, not its name: a method may rename its groups without a change of the digest
        place = None if name is None else list(self.groups).index(name)
        self._digest.update(repr((candidate, outcome.source, score is not None, score, place)).encode())

    def _opened(self, candidate: CandidateId) -> OpenCandidate:
        if (opened := self.open.get(candidate)) is None:
            raise JournalError(f"candidate {candidate} is not open: it was never asked for, or is registered already")
        return opened

    def _apply_regrouped(self, event: Regrouped) -> None:
        is_first = not self.islands
        self.idle_decisions += 1
        for name, members in event.groups.items():
            if unknown := [member for member in members if member not in self.members]:
                raise JournalError(f"group {name!r} holds candidate {unknown[0]}, which is not in the archive")
            found = [self.members[member] for member in members]
            self.groups[name] = Group.arranged(found, self.registered, self.active_s, event.selection)
        if is_first and not event.selection:  # later regroupings follow from what is in the digest already
            self._digest.update(repr(("clustered", *event.groups.values())).encode())
        if not event.selection:
            self.ungrouped = []
            self._forget()

    def _forget(self) -> None:
        """Drop members that are in no group and not ungrouped. The template stays."""
        held = {TEMPLATE, *self.ungrouped, *(m for group in self.groups.values() for m in group.members)}
        self.members = {m: member for m, member in self.members.items() if m in held}

    def _apply_note_asked(self, event: NoteAsked) -> None:
        best = self.members.get(event.about[-1]) if event.about else None
        self.notes[event.number] = self._awaited[event.number] = Note(event, score=None if best is None else best.score)
        if len(event.about) > 1:
            self._noted[event.about] = event.number
        self.idle_decisions += 1

    def _apply_note_received(self, event: NoteReceived) -> None:
        if event.number not in self.notes:
            raise JournalError(f"note {event.number} is answered and was never asked for")
        self.notes[event.number].reply = event.reply
        self._awaited.pop(event.number, None)
        self.batched.pop(note_number(event.number), None)
        self.tally.take_reply(event.reply)

    def _apply_to_run(self, event: RunEvent) -> None:
        match event:
            case Injected(name):
                self.injected.append(event)
                self.brought_names.add(name)
            case Advised(name):
                self.advised.append(replace(event, not_before=max(event.not_before, self.asked)))
                self.brought_names.add(name)
            case ClockRead():
                self.readings.append(event)
                self._apply_readings()
            case BatchSent(numbers=numbers):
                self.batched |= dict.fromkeys(numbers, event)
            case RunStarted():
                self.started, self.isolation = event, event.isolation
            case RunForked(_, settings, provenance):
                self.idle_decisions = 0  # the method may have been mended since
                self.last_asked = None  # its prompt was written under other settings: no candidate shares it any more
                self.started, self.stopped = RunStarted(settings, provenance, self.isolation), None
                self.failure, self.used_budgets = "", []
                # they were chosen under other settings, and perhaps by another `validation` split
                self.recommended = self.recommended_of = self.portfolio = self.fresh = None
                self.is_racing = False
                self.batched.clear()  # left to the run that paid for it: reading a batch deletes its files
            case RunResumed():
                self.stopped, self.failure, self.under_way, self.isolation = None, "", None, event.isolation
                self.tally.unanswered += event.unanswered
            case RunStopped(reason):
                self.stopped, self.failure, self.under_way = reason, event.message, event.under_way
                if reason == "budget" and self.registered not in self.used_budgets:
                    self.used_budgets.append(self.registered)
            case FreshBegun(first=first, size=size):
                if first < self.fresh_used or TEMPLATE not in event.programs:
                    raise JournalError(f"a race on instances from {first} on, which the run has used")
                self.fresh, self.is_racing = FreshRace(event, self.objective), True
                self.fresh_used = first + size
            case FreshScored(first, count, scores):
                race = self.fresh if self.is_racing else None
                is_next = race is not None and first == race.next_number and count > 0
                if race is None or not is_next or any(len(each) not in (0, count) for each in scores.values()):
                    raise JournalError(f"scores on fresh instances from {first} on, which no race expects")
                race.apply(event)
                self.fresh_used = max(self.fresh_used, first + count)
            case Recommended():
                if not self.is_racing:
                    self.fresh, self.used_validation = None, True
                self.recommended, self.recommended_of, self.is_racing = event, self.registered, False
            case PortfolioChosen():
                self.portfolio = event
                self.used_validation |= bool(event.validation)
            case _:
                assert_never(event)

    def _apply_readings(self) -> None:
        """Put waiting clock readings in force, oldest first, until one needs more registered candidates."""
        while self.readings and self.readings[0].registered <= self.registered:
            self.active_s = self.readings.pop(0).active_s

    @property
    def budget(self) -> int:
        """The budget (candidates) at the start or the last fork, not as raised later; JournalError before the start."""
        if self.started is None:
            raise JournalError("a run that has not started has no budget")
        return int(self.started.settings["budget"])

    @property
    def has_recommended(self) -> bool:
        """Whether the choice on validation instances was made among all candidates that are registered by now."""
        return self.recommended_of == self.registered  # the count is None if there is no choice

    @property
    def last_reading_s(self) -> float:
        """Active seconds of the run at the last clock reading, in force or not; 0 before the first."""
        return self.readings[-1].active_s if self.readings else self.active_s

    @property
    def advice(self) -> tuple[Advice, ...]:
        """The advice that was or is in force, or waits for its first candidate, oldest first."""
        return advice(self.advised)

    @property
    def leader(self) -> Member | None:
        """The best program so far: the template until a registered candidate is better; None if neither is there."""
        # `max` returns the first of equals, the template
        return max(filter(None, (self.template, self.best)), key=lambda program: program.utility, default=None)

    @property
    def gain(self) -> float | None:
        """How much better than the template's score the best one is, relative to it: a fraction, negative if worse.

        If the template scores 0, it is the plain difference. It is None while one of the two is missing.
        """
        if self.best is None or self.template is None:
            return None
        return (self.best.utility - self.template.utility) / (abs(self.template.score) or 1.0)

    @property
    def islands(self) -> dict[GroupName, Group]:
        """All groups that are not selections (`Group.is_selection`), by name."""
        return {name: group for name, group in self.groups.items() if not group.is_selection}

    @property
    def next_injected(self) -> Injected | None:
        """The oldest injected program that may become the next candidate; None if there is none, or all must wait."""
        return next((program for program in self.injected if program.not_before <= self.questions), None)

    @property
    def questions(self) -> int:
        """Number of candidates asked for that a budget counts: all but those whose numbers the machine tunes."""
        return self.asked - len(self.tuned)

    @property
    def tuning(self) -> int:
        """Number of candidates whose numbers the machine tunes and that are not registered yet."""
        return sum(candidate.is_tuned for candidate in self.open.values()) if self.tuned else 0

    @property
    def registered_questions(self) -> int:
        """Number of candidates registered that a budget counts."""
        return self.registered - len(self.tuned) + self.tuning

    @property
    def unanswered(self) -> list[CandidateId]:
        """The candidates that have no reply yet, except those whose numbers the machine tunes."""
        return [number for number, each in self.open.items() if each.reply is None and not each.is_tuned]

    @property
    def awaited_notes(self) -> list[Note]:
        """The notes that have no reply yet, in the order in which they were asked for."""
        return list(self._awaited.values())

    @property
    def waiting(self) -> int:
        """The number of candidates and notes to which somebody owes a reply."""
        return len(self.unanswered) + len(self.awaited_notes)

    def digest(self) -> str:
        """Return the SHA-256 of all registered candidates (number, source, score, group) and of the first islands."""
        return str(self._digest.hexdigest())

    def best_member(self, members: Iterable[CandidateId]) -> Member:
        """Return the best of these members, the oldest of equally good ones; KeyError if one is not in the archive."""
        return max((self.members[m] for m in members), key=lambda member: member.merit)

    def members_of(self, group: GroupName) -> list[Member]:
        """Return the members of a group, in its order; [] if there is no group of this name."""
        return [self.members[member] for member in self.groups[group].members] if group in self.groups else []

    def member(self, candidate: OpenCandidate) -> Member:
        """Return an open candidate as a member; raises JournalError if it is not feasible."""
        if not isinstance(candidate.outcome, Evaluated):
            raise JournalError(f"candidate {candidate.id} is not feasible, and cannot be a member of the archive")
        return Member.of(candidate.outcome, self.objective.utility(candidate.outcome.score), candidate)


def text_hash(text: str) -> bytes:
    """Return a hash of a prompt's text, equal in every process."""
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=16).digest()


# What applies an event, by type; all others: `_apply_to_run`. A look-up costs less than a chain of comparisons.
_APPLIED: Mapping[type[Event], Callable[[RunState, Any], None]] = {
    Asked: RunState._apply_asked,
    Responded: RunState._apply_responded,
    Evaluated: RunState._apply_outcome,
    Rejected: RunState._apply_outcome,
    PutOff: RunState._apply_put_off,
    GoneOn: RunState._apply_gone_on,
    Raced: RunState._apply_raced,
    RaceEnded: RunState._apply_race_ended,
    Compared: RunState._apply_compared,
    Added: RunState._apply_added,
    NotAdded: RunState._apply_not_added,
    Regrouped: RunState._apply_regrouped,
    NoteAsked: RunState._apply_note_asked,
    NoteReceived: RunState._apply_note_received,
}
