"""The state of a run: the fold of its events, and nothing that could not be had by folding them again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, assert_never

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
    """Where a run stands; only `apply` changes it, and whoever holds a state may read it."""

    def __init__(self, objective: Objective) -> None:
        self.objective = objective
        """Which scores are better, and the best one known."""
        self.started: RunStarted | None = None
        """The settings and the provenance in force: those the run began or was last forked with."""
        self.isolation = ""
        """How closed the sandbox is: strong+, strong, partial or process."""
        self.stopped: str | None = None
        """Why the run ended; None while it goes on, or when it was killed."""
        self.under_way: int | None = None
        """Requests that were under way when the run was stopped; None where that is not known, or it goes on."""
        self.asked = 0
        """Candidates asked for."""
        self.registered = 0
        """Candidates registered with the method, in the order in which they were asked for."""
        self.open: dict[CandidateId, OpenCandidate] = {}
        """Candidates asked for and not registered, in that order."""
        self.without_candidate = 0
        """Rearrangements and notes asked for since a candidate was last asked for or registered."""
        self.last_asked: Asked | None = None
        """The last question for a new candidate, what people put in left out."""
        self.injected: list[Injected] = []
        """Programs that people put in, and that wait for their turn."""
        self.injected_names: set[str] = set()
        """The names of all programs that people put in, those tried already included."""
        self.active_s = 0.0
        """Seconds the run has been active, as decisions know them: by the last reading whose turn has come."""
        self.readings: list[ClockRead] = []
        """Readings of the clock that no decision knows of yet, in the order in which they will be known."""
        self.template: Member | None = None
        """The program that the search starts from; None until it was evaluated, before the first candidate."""
        self.members: dict[CandidateId, Member] = {}
        """The archive: every program that a group holds, that waits for a group, and the template."""
        self.groups: dict[GroupName, Group] = {}
        """The groups of the archive, in the order in which they were first named."""
        self.ungrouped: list[CandidateId] = []
        """Programs of the archive that wait to be given a group."""
        self.notes: dict[int, Note] = {}
        """The texts that the method asked for."""
        self.best: Member | None = None
        """The best program registered, the first of several as good."""
        self.bests: list[tuple[CandidateId, float]] = []
        """Every candidate that was the best when it was registered, and its score."""
        self.recommended: Recommended | None = None
        """The program chosen last on validation instances, with the scores of all that were tried there."""
        self.portfolio: PortfolioChosen | None = None
        """The programs chosen last because they behave differently."""
        self.tally = Tally()
        """What candidates came to and what requests took, counted."""
        self._digest = hashlib.sha256()  # fed as candidates are registered, or a report would have to keep them all

    @property
    def budget(self) -> int:
        """Candidates the run was begun or forked for; raising it later changes no decision."""
        if self.started is None:
            raise JournalError("a run that has not started has no budget")
        return int(self.started.settings["budget"])

    @property
    def leader(self) -> Member | None:
        """The best program there is: the template until a candidate is better; None before it is evaluated."""
        template, best = self.template, self.best
        if template is None or best is None:
            return template or best
        return best if best.utility > template.utility else template

    @property
    def gain(self) -> float | None:
        """How much better than the template the best candidate is, in the task's unit; None while one is missing."""
        if self.best is None or self.template is None:
            return None
        return self.best.utility - self.template.utility

    @property
    def islands(self) -> dict[GroupName, Group]:
        """The groups that hold programs of their own: all but selections."""
        return {name: group for name, group in self.groups.items() if not group.is_selection}

    @property
    def read_s(self) -> float:
        """What the clock said when it was last read."""
        return self.readings[-1].active_s if self.readings else self.active_s

    @property
    def next_injected(self) -> Injected | None:
        """The program that takes the place of the next question; None where none does."""
        return next((program for program in self.injected if program.not_before <= self.asked), None)

    @property
    def awaited_notes(self) -> list[Note]:
        """The notes asked for and not answered yet."""
        return [note for note in self.notes.values() if note.reply is None]

    @property
    def waiting(self) -> int:
        """Questions that wait for a reply."""
        return sum(candidate.reply is None for candidate in self.open.values()) + len(self.awaited_notes)

    def digest(self) -> str:
        """SHA-256 over the candidates registered so far, in order: source, status, score and placement."""
        return self._digest.hexdigest()

    def best_member(self, members: Iterable[CandidateId]) -> Member:
        """The best of some members, the oldest where several are as good; there must be one."""
        return max((self.members[m] for m in members), key=lambda member: member.merit)

    def members_of(self, group: GroupName) -> list[Member]:
        """The programs of a group in order of arrival; none of one that is not there yet."""
        return [self.members[member] for member in self.groups[group].members] if group in self.groups else []

    def member(self, candidate: OpenCandidate) -> Member:
        """A feasible open candidate as the archive would know it."""
        outcome, compared = candidate.outcome, candidate.compared
        if not isinstance(outcome, Evaluated):
            raise JournalError(f"candidate {candidate.id} is not feasible, and cannot be a member of the archive")
        similarity = {} if compared is None else compared.to_members
        return self._member(outcome, candidate.asked, similarity)

    def apply(self, event: Event) -> None:
        """Take in one event; raises JournalError where it cannot follow those before it."""
        match event:  # those first of which a run has most
            case Asked(candidate) if candidate in self.open:
                self._apply_repair(event)
            case Asked():
                self._apply_asked(event)
            case Responded(candidate, reply):
                self._opened(candidate).reply = reply
                self.tally.take_reply(reply)
            case Evaluated(candidate) if candidate == TEMPLATE:
                self.template = self.members[TEMPLATE] = self._member(event)
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
                self._let_time_pass()
            case RunStarted():
                self.started, self.isolation = event, event.isolation
            case RunForked(_, settings, provenance):
                # from here on a fork is like any run: whoever asks what is in force need not know where it came from
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
            raise JournalError(f"candidate {candidate} came to something before it was answered")
        return opened

    def _apply_asked(self, event: Asked) -> None:
        if event.prompt.operator != INJECTED:
            self.last_asked = event
        elif (program := self.next_injected) is not None:
            self.injected.remove(program)
        else:
            raise JournalError(f"nobody put in the program that candidate {event.candidate} is")
        self.open[event.candidate] = OpenCandidate(event)
        self.asked = event.candidate + 1
        self.without_candidate = 0

    def _apply_repair(self, event: Asked) -> None:
        """A rejected candidate is asked for once more; its rejection no longer counts."""
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
                group.take_similarities(name, opened.compared)
            # the group's best may have been evicted; then whoever comes next is an improvement on what is left
            best = None if group.improved_at is None else self.members.get(group.improved_at)
            group.add(member, best, event.evicted)
        self._register(candidate, name)
        if event.evicted:
            self._forget()

    def _register(self, candidate: CandidateId, group: GroupName | None) -> None:
        """The one place where a candidate is closed: counted, hashed, and forgotten but for what the archive keeps."""
        opened = self._opened(candidate)
        # in the order of their numbers, whatever arrived first: nothing that a method decides may depend on timing
        if opened.outcome is None or candidate != self.registered:
            raise JournalError(f"candidate {candidate} is registered out of turn, or before anything became of it")
        del self.open[candidate]
        self.registered = candidate + 1
        self.without_candidate = 0
        self._let_time_pass()
        self.tally.recent.append(opened.is_feasible)
        outcome, score = opened.outcome, None
        if isinstance(outcome, Evaluated):
            score, utility = outcome.score, self.objective.utility(outcome.score)
            if self.best is None or utility > self.best.utility:
                self.best = self.member(opened)
                self.bests.append((candidate, score))
        # the group by its place, so that a digest stays what it was where a method calls its groups otherwise
        place = None if group is None else list(self.groups).index(group)
        self._hash(candidate, outcome.source, score is not None, score, place)

    def _let_time_pass(self) -> None:
        while self.readings and self.readings[0].registered <= self.registered:
            self.active_s = self.readings.pop(0).active_s

    def _apply_regrouped(self, event: Regrouped) -> None:
        is_first = not self.islands
        self.without_candidate += 1
        for name, members in event.groups.items():
            unknown = [member for member in members if member not in self.members]
            if unknown:
                raise JournalError(f"group {name!r} holds candidate {unknown[0]}, which is not in the archive")
            group = self.groups[name] = Group(
                list(members),
                arranged_at=self.registered,
                arranged_at_s=self.active_s,
                is_selection=event.selection,
            )
            if members:
                best = self.best_member(members)
                group.improved_at, group.bests = best.candidate, [(self.registered, best.score)]
        if is_first and not event.selection:  # later ones follow from what is hashed already
            self._hash("clustered", *event.groups.values())
        if not event.selection:
            self.ungrouped = []
            self._forget()

    def _forget(self) -> None:
        """Drop members that nothing holds any more: no group, nor those that wait for one, nor the template's seat."""
        held = {TEMPLATE, *self.ungrouped, *(m for group in self.groups.values() for m in group.members)}
        if len(held) < len(self.members):  # or a dictionary as large as the archive would be copied for nothing
            self.members = {m: member for m, member in self.members.items() if m in held}

    def _member(
        self, event: Evaluated, asked: Asked | None = None, similarity: Mapping[CandidateId, float] | None = None
    ) -> Member:
        return Member(
            event.candidate,
            event.source,
            event.score,
            utility=self.objective.utility(event.score),
            thought=event.thought,
            program_hash=event.program_hash,
            parents=() if asked is None else asked.parents,
            operator="template" if asked is None else asked.prompt.operator,
            origin=None if asked is None else asked.group,
            scores=event.scores,
            cpu_s=event.cpu_s or None,
            similarity=similarity or {},
        )

    def _hash(self, *parts: Any) -> None:
        self._digest.update(repr(parts).encode())
