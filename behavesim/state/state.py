"""The state of a run. It follows from the run's events alone: applying them again gives the same state."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import assert_never

from behavesim.base.errors import JournalError
from behavesim.state.events import (
    INJECTED,
    TEMPLATE,
    Added,
    Asked,
    CandidateId,
    ClockRead,
    Compared,
    Evaluated,
    Event,
    GroupName,
    Injected,
    NotAdded,
    NoteAsked,
    NoteReceived,
    PortfolioChosen,
    Recommended,
    Regrouped,
    Rejected,
    Responded,
    RunForked,
    RunResumed,
    RunStarted,
    RunStopped,
)
from behavesim.state.members import Group, Member, Note, OpenCandidate
from behavesim.state.tally import Tally
from behavesim.task import Objective


class RunState:
    """Where a run stands. Only `apply` changes it; everybody else only reads it."""

    def __init__(self, objective: Objective) -> None:
        self.objective = objective
        """Which scores are better, and the best one known."""
        self.started: RunStarted | None = None
        """The settings and the provenance in force, from the start or the last fork; None before the start."""
        self.isolation = ""
        """The sandbox's isolation level: strong+, strong, partial or process."""
        self.stopped: str | None = None
        """Why the run ended; None while it goes on, or if it was killed."""
        self.under_way: int | None = None
        """Requests that were under way when the run ended; None if unknown, or while the run goes on."""
        self.asked = 0
        """Number of candidates asked for."""
        self.registered = 0
        """Number of candidates registered. They are registered in the order of their numbers."""
        self.open: dict[CandidateId, OpenCandidate] = {}
        """Candidates asked for and not registered yet, in the order of their numbers."""
        self.without_candidate = 0
        """Regroupings and notes since a candidate was last asked for or registered."""
        self.last_asked: Asked | None = None
        """The last prompt for a new candidate, injected programs left out; None before the first."""
        self.injected: list[Injected] = []
        """Injected programs that have not become candidates yet."""
        self.injected_names: set[str] = set()
        """The names of all injected programs, those that became candidates included."""
        self.active_s = 0.0
        """Seconds the run has been active, as decisions know them: by the last clock reading in force."""
        self.readings: list[ClockRead] = []
        """Clock readings that are not in force yet, in order."""
        self.template: Member | None = None
        """The program that the search starts from; None until it is evaluated, before the first candidate."""
        self.members: dict[CandidateId, Member] = {}
        """The archive: the members of all groups, the ungrouped programs, and the template."""
        self.groups: dict[GroupName, Group] = {}
        """The groups of the archive, in the order in which they were first named."""
        self.ungrouped: list[CandidateId] = []
        """Programs of the archive that wait for a group."""
        self.notes: dict[int, Note] = {}
        """The notes (texts) that the method asked for, by their numbers."""
        self.best: Member | None = None
        """The best registered candidate, the oldest of equally good ones; None before the first feasible one."""
        self.bests: list[tuple[CandidateId, float]] = []
        """Each candidate that was the best so far when it was registered, and its score."""
        self.recommended: Recommended | None = None
        """The latest choice on validation instances; None if none was made."""
        self.portfolio: PortfolioChosen | None = None
        """The latest portfolio; None if none was chosen."""
        self.tally = Tally()
        """Counts of outcomes and requests."""
        self._digest = hashlib.sha256()  # updated on each registration, so that no list of candidates is needed

    @property
    def budget(self) -> int:
        """The budget (candidates) the run was begun or forked with, not as raised later. JournalError before that."""
        if self.started is None:
            raise JournalError("a run that has not started has no budget")
        return int(self.started.settings["budget"])

    @property
    def leader(self) -> Member | None:
        """The best program: the template until a candidate is better; None before the template is evaluated."""
        known = [program for program in (self.template, self.best) if program is not None]
        return max(known, key=lambda program: program.utility, default=None)  # the first of equals

    @property
    def gain(self) -> float | None:
        """The best candidate's utility minus the template's, in the task's unit; None while one of them is missing."""
        return None if self.best is None or self.template is None else self.best.utility - self.template.utility

    @property
    def islands(self) -> dict[GroupName, Group]:
        """All groups that are not selections, by name."""
        return {name: group for name, group in self.groups.items() if not group.is_selection}

    @property
    def last_reading_s(self) -> float:
        """Active seconds of the run at the last clock reading, in force or not; 0 before the first."""
        return self.readings[-1].active_s if self.readings else self.active_s

    @property
    def next_injected(self) -> Injected | None:
        """The injected program that becomes the next candidate; None if there is none."""
        return next((program for program in self.injected if program.not_before <= self.asked), None)

    @property
    def awaited_notes(self) -> list[Note]:
        """The notes that have no reply yet."""
        return [note for note in self.notes.values() if note.reply is None]

    @property
    def waiting(self) -> int:
        """The number of candidates and notes that have no reply yet."""
        return sum(candidate.reply is None for candidate in self.open.values()) + len(self.awaited_notes)

    def digest(self) -> str:
        """Return the SHA-256 (64 hexadecimal digits) of all registered candidates: source, status, score, group."""
        return self._digest.hexdigest()

    def best_member(self, members: Iterable[CandidateId]) -> Member:
        """Return the best of these members, the oldest of equally good ones. There must be at least one."""
        return max((self.members[m] for m in members), key=lambda member: member.merit)

    def members_of(self, group: GroupName) -> list[Member]:
        """Return the members of a group in order of arrival; [] if there is no group of this name."""
        return [self.members[member] for member in self.groups[group].members] if group in self.groups else []

    def member(self, candidate: OpenCandidate) -> Member:
        """Return an open candidate as a member; raises JournalError if it is not feasible."""
        if not isinstance(candidate.outcome, Evaluated):
            raise JournalError(f"candidate {candidate.id} is not feasible, and cannot be a member of the archive")
        return Member.of(candidate.outcome, self.objective.utility(candidate.outcome.score), candidate)

    def apply(self, event: Event) -> None:
        """Apply one event; raises JournalError if it cannot follow the events before it."""
        match event:  # the most frequent events first
            case Asked(candidate) if candidate in self.open:
                self._apply_repair(event)
            case Asked():
                self._apply_asked(event)
            case Responded(candidate, reply):
                self._opened(candidate).reply = reply
                self.tally.take_reply(reply)
            case Evaluated(candidate) if candidate == TEMPLATE:
                self.template = self.members[TEMPLATE] = Member.of(event, self.objective.utility(event.score))
                self.tally.take_outcome(event)
            case Evaluated(candidate) | Rejected(candidate):
                self._answered(candidate).outcome = event
                self.tally.take_outcome(event)
            case Compared(candidate):
                self._opened(candidate).compared = event
            case Added():
                self._apply_added(event)
            case NotAdded(candidate):
                self._register(candidate, None)
            case Regrouped():
                self._apply_regrouped(event)
            case Injected(name):
                self.injected.append(event)
                self.injected_names.add(name)
            case ClockRead():
                self.readings.append(event)
                self._apply_readings()
            case RunStarted():
                self.started, self.isolation = event, event.isolation
            case RunForked(_, settings, provenance):
                self.without_candidate = 0  # the method may have been mended since
                self.started, self.stopped = RunStarted(settings, provenance, self.isolation), None
            case RunResumed():
                self.stopped, self.under_way, self.isolation = None, None, event.isolation
                self.tally.unanswered += event.unanswered
            case RunStopped(reason):
                self.stopped, self.under_way = reason, event.under_way
            case NoteAsked(number):
                self.notes[number] = Note(event)
                self.without_candidate += 1
            case NoteReceived(number, reply):
                if number not in self.notes:
                    raise JournalError(f"note {number} is answered and was never asked for")
                self.notes[number].reply = reply
                self.tally.take_reply(reply)
            case Recommended():
                self.recommended = event
            case PortfolioChosen():
                self.portfolio = event
            case _:
                assert_never(event)

    def _opened(self, candidate: CandidateId) -> OpenCandidate:
        if candidate not in self.open:
            raise JournalError(f"candidate {candidate} is not open: it was never asked for, or is registered already")
        return self.open[candidate]

    def _answered(self, candidate: CandidateId) -> OpenCandidate:
        opened = self._opened(candidate)
        if opened.reply is None:
            raise JournalError(f"candidate {candidate} has an outcome before it has a reply")
        return opened

    def _apply_asked(self, event: Asked) -> None:
        if event.prompt.operator != INJECTED:
            self.last_asked = event
        elif (program := self.next_injected) is not None:
            self.injected.remove(program)
        else:
            raise JournalError(f"candidate {event.candidate} is an injected program, and none was injected")
        self.open[event.candidate] = OpenCandidate(event)
        self.asked = event.candidate + 1
        self.without_candidate = 0

    def _apply_repair(self, event: Asked) -> None:
        """Ask for a rejected candidate again; its rejection no longer counts."""
        before = self.open[event.candidate]
        if not isinstance(before.outcome, Rejected):
            raise JournalError(f"candidate {event.candidate} is asked for again and was not rejected")
        self.tally.take_repair(before.outcome)
        self.open[event.candidate] = OpenCandidate(event, repairs=before.repairs + 1)

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
            # the group's best may have been evicted; then the next program counts as an improvement
            best = None if group.improved_at is None else self.members.get(group.improved_at)
            group.add(member, best, event.evicted)
        self._register(candidate, name)
        if event.evicted:
            self._forget()

    def _register(self, candidate: CandidateId, name: GroupName | None) -> None:
        """Close a candidate: count it, add it to the digest, and forget what the archive does not keep."""
        opened = self._opened(candidate)
        # in the order of their numbers, not of arrival: decisions must not depend on timing
        if opened.outcome is None or candidate != self.registered:
            raise JournalError(f"candidate {candidate} is registered out of turn, or before it has an outcome")
        del self.open[candidate]
        self.registered = candidate + 1
        self.without_candidate = 0
        self._apply_readings()
        self.tally.recent.append(opened.is_feasible)
        score = None
        if isinstance(opened.outcome, Evaluated):
            member, score = self.member(opened), opened.outcome.score
            if self.best is None or member.utility > self.best.utility:
                self.best = member
                self.bests.append((candidate, score))
        # the group's position, not its name: a method may rename its groups without a change of the digest
        place = None if name is None else list(self.groups).index(name)
        self._digest.update(repr((candidate, opened.outcome.source, score is not None, score, place)).encode())

    def _apply_readings(self) -> None:
        while self.readings and self.readings[0].registered <= self.registered:
            self.active_s = self.readings.pop(0).active_s

    def _apply_regrouped(self, event: Regrouped) -> None:
        is_first = not self.islands
        self.without_candidate += 1
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
        """Drop members that are in no group and do not wait for one. The template stays."""
        held = {TEMPLATE, *self.ungrouped, *(m for group in self.groups.values() for m in group.members)}
        if len(held) < len(self.members):  # else the copy would cost time and change nothing
            self.members = {m: member for m, member in self.members.items() if m in held}
