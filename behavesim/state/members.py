"""The programs and groups of an archive, and the candidates and notes that are still open."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from behavesim.state.events import (
    TUNE,
    Asked,
    CandidateId,
    Compared,
    Evaluated,
    GoneOn,
    GroupName,
    NoteAsked,
    RaceEnded,
    Rejected,
    Reply,
    Responded,
    Tuning,
)
from behavesim.task import Metrics


@dataclass(frozen=True)
class Member:
    """A feasible program of the archive. `utility` is its score, negated if the task minimises: higher is better.

    `parents` are the programs that its prompt showed, `operator` is the kind of request, and `origin` is the group the
    parents were drawn from (None for no group). The template has no parents and the operator "template".
    `program_hash` is the hash of its normal form, '' if unknown. `scores` has the score of each instance. `similarity`
    holds BehaveSim in [0, 1] to single members it was compared with before it was registered, by number.
    """

    candidate: CandidateId
    source: str
    score: float
    utility: float
    thought: str = ""
    program_hash: str = ""
    parents: tuple[CandidateId, ...] = ()
    operator: str = "template"
    origin: GroupName | None = None
    scores: tuple[float, ...] = field(default=(), repr=False)
    # CPU seconds of its evaluation, for a copy the original's; None if unknown.
    cpu_s: float | None = None
    # Those of the CPU seconds that count towards the limit; None if unknown.
    counted_s: float | None = None
    similarity: Mapping[CandidateId, float] = field(default_factory=dict, repr=False)
    # What the task or the evaluator measured besides the score, by name; empty if nothing.
    metrics: Metrics = field(default_factory=dict, repr=False)
    # What the task or the evaluator said about the program in words; empty if nothing.
    feedback: str = field(default="", repr=False)
    # The scores on further instances, by number; empty without a race, or if it did not go on.
    raced: tuple[float, ...] = field(default=(), repr=False)
    # The event that gave it its score; None without a race, and for the template.
    race_ended: RaceEnded | None = field(default=None, repr=False)
    # What was tried to tune its numbers, if the machine did; else None.
    tuning: Tuning | None = field(default=None, repr=False)

    @property
    def all_scores(self) -> tuple[float, ...]:
        """The score on each instance that it was judged on."""
        return self.scores + self.raced

    @property
    def merit(self) -> tuple[float, int]:
        """Sort key: the better program is greater; of two equally good programs, the older is greater."""
        return self.utility, -self.candidate

    @classmethod
    def of(cls, evaluated: Evaluated, utility: float, opened: OpenCandidate | None = None) -> Member:
        """Return an evaluated program as a member; `opened` is its open candidate, None for the template."""
        template = cls(
            evaluated.candidate,
            evaluated.source,
            evaluated.score,
            utility,
            evaluated.thought,
            evaluated.program_hash,
            scores=evaluated.scores,
            cpu_s=evaluated.cpu_s or None,  # 0 where an older version did not measure it
            counted_s=evaluated.counted_s,
            metrics=evaluated.metrics,
            feedback=evaluated.feedback,
        )
        if opened is None:
            return template
        return replace(
            template,
            parents=opened.asked.parents,
            operator=opened.asked.prompt.operator,
            origin=opened.asked.group,
            similarity={} if opened.compared is None else opened.compared.to_members,
            raced=opened.raced,
            race_ended=opened.race_ended,
            tuning=opened.tuning,
        )

    @property
    def identity(self) -> str:
        """The hash of its normal form, or its text if the hash is unknown: equal for programs that are the same."""
        return self.program_hash or self.source


@dataclass
class OpenCandidate:
    """A candidate that was asked for and is not registered yet. What has not arrived yet is None."""

    # The event that asked for it; the last one if it was asked for again.
    asked: Asked
    reply: Reply | None = None
    outcome: Evaluated | Rejected | None = None
    compared: Compared | None = None
    # Number of times it was asked for again after a rejection.
    repairs: int = 0
    # The thought of its first rejected reply that had one, or "". Replies to repairs describe the fix instead. If its
    # numbers are tuned, it is that of its parent.
    idea: str = ""
    # The text of the program to which edits in a reply apply: of its last parent in the archive, else the template's.
    shown: str = ""
    # The utility of the best program that its first prompt showed; None if unknown.
    baseline_utility: float | None = None
    # The event that it is to be judged on further instances, until the result arrives; None at all other times.
    gone_on: GoneOn | None = None
    # Its scores on further instances, by number.
    raced: tuple[float, ...] = ()
    # The event that ended its race; None before, and without a race.
    race_ended: RaceEnded | None = None
    # What was tried to tune its numbers; None before its reply, and if the machine did not write that.
    tuning: Tuning | None = None
    # How many candidates were asked for before it, without those whose numbers the machine tunes.
    question: int = 0

    @property
    def is_tuned(self) -> bool:
        """Whether it is its parent with other numbers, which the machine tunes."""
        return self.asked.prompt.operator == TUNE

    @property
    def id(self) -> CandidateId:
        """The candidate's number."""
        return self.asked.candidate

    @property
    def latest(self) -> Asked | Responded:
        """The reply to its last question, as an event; that question if it has no reply yet."""
        return self.asked if self.reply is None else Responded(self.id, self.reply, self.tuning)

    @property
    def all_scores(self) -> tuple[float, ...]:
        """The score on each instance that it was judged on; empty if it is not feasible."""
        return self.outcome.scores + self.raced if isinstance(self.outcome, Evaluated) else ()

    @property
    def is_feasible(self) -> bool:
        """Whether its program was evaluated and has a score."""
        return isinstance(self.outcome, Evaluated)


@dataclass(frozen=True)
class Mean:
    """A mean that is kept as a sum and a count, so that numbers can be added."""

    total: float = 0.0
    count: int = 0

    @property
    def value(self) -> float | None:
        """The mean; None if there are no numbers."""
        return self.total / self.count if self.count else None

    def __add__(self, other: Mean) -> Mean:
        return Mean(self.total + other.total, self.count + other.count)

    def including(self, numbers: Collection[float]) -> Mean:
        """Return a new mean, of the numbers so far and of these."""
        return Mean(self.total + sum(numbers), self.count + len(numbers))


@dataclass
class Group:
    """A group of the archive: its members, in the order of the last regrouping and then of arrival, and counts."""

    members: list[CandidateId] = field(default_factory=list)
    # Number of programs added since the last regrouping, evicted ones included.
    added: int = 0
    # Number of registered candidates at the last regrouping; 0 before the first.
    arranged_at: int = 0
    # Active seconds of the run at the last regrouping, by its clock readings; 0 before the first.
    arranged_at_s: float = 0.0
    # The program that last improved the group's best score, though it may be evicted; None if none ever joined.
    improved_at: CandidateId | None = None
    # The highest utility that a member has had since the last regrouping; None if there was no member.
    best: float | None = None
    # The best score at the last regrouping and each better one since: (candidates registered before it, score).
    bests: list[tuple[int, float]] = field(default_factory=list)
    # Mean similarity of the programs added since the last regrouping to this group or its members, where compared.
    inside: Mean = Mean()
    # Mean similarity of these programs to other groups, where the method compared them.
    between: Mean = Mean()
    # Whether the group only refers to programs that are members of other groups, and adds none to the archive.
    is_selection: bool = False

    @classmethod
    def arranged(cls, members: Sequence[Member], registered: int, active_s: float, is_selection: bool) -> Group:
        """Return a new group of these members; `registered` and `active_s` are the run's at this moment."""
        group = cls([member.candidate for member in members], 0, registered, active_s, is_selection=is_selection)
        if members:
            best = max(members, key=lambda member: member.merit)
            group.improved_at, group.best, group.bests = best.candidate, best.utility, [(registered, best.score)]
        return group

    def add(self, member: Member, evicted: Collection[CandidateId]) -> None:
        """Add a member and remove the evicted ones."""
        if self.best is None or member.utility > self.best:
            self.improved_at, self.best = member.candidate, member.utility
            self.bests.append((member.candidate, member.score))
        self.members.append(member.candidate)
        if evicted:
            self.members = [each for each in self.members if each not in evicted]
        self.added += 1

    def add_similarities(self, name: GroupName, compared: Compared) -> None:
        """Add the similarities of a program that joins this group, called `name`, to `inside` and `between`."""
        own = [similarity for group, similarity in compared.to_groups.items() if group == name]
        own += [similarity for member, similarity in compared.to_members.items() if member in self.members]
        self.inside = self.inside.including(own)
        self.between = self.between.including([s for group, s in compared.to_groups.items() if group != name])


@dataclass
class Note:
    """A text about programs that the method asked for; `reply` is None until it arrives."""

    asked: NoteAsked
    reply: Reply | None = None
    # The score of the last program that the note is about, which is the best of them; None if unknown.
    score: float | None = None
    # The scores of the candidates registered since whose parents were these programs; None for a rejected one. Empty if
    # the note is about one program; a later note about the same programs takes over from it.
    children: list[float | None] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text of the reply; '' until it arrives."""
        return "" if self.reply is None else self.reply.text
