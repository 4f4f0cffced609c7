"""The programs of an archive and the groups that hold them, and the candidates and notes that are on their way."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from behavesim.state.events import Asked, CandidateId, Compared, Evaluated, GroupName, NoteAsked, Rejected, Reply


@dataclass(frozen=True)
class Member:
    """A feasible program as the archive knows it; `utility` is its score turned so that higher is better.

    `parents` are the programs its prompt showed, `operator` is what it asked for, and `origin` is the group it says the
    parents were drawn from; `program_hash` names its normal form; `similarity` holds BehaveSim in [0, 1] to the members
    it was compared with on its way in.
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
    cpu_s: float | None = field(default=None, repr=False)
    """CPU seconds it took; None if that is not known."""
    similarity: Mapping[CandidateId, float] = field(default_factory=dict, repr=False)

    @property
    def merit(self) -> tuple[float, int]:
        """What is greater of the better of two programs, and of two as good of the older."""
        return self.utility, -self.candidate

    @property
    def identity(self) -> str:
        """What a program shares with those that differ from it in layout, comments and names alone."""
        return self.program_hash or self.source


@dataclass
class OpenCandidate:
    """A candidate that has been asked for and is not registered yet, with what has become of it so far."""

    asked: Asked
    """The question, the last one where it was repaired."""
    reply: Reply | None = None
    outcome: Evaluated | Rejected | None = None
    compared: Compared | None = None
    repairs: int = 0
    """Times it was asked for again after it had been rejected."""

    @property
    def id(self) -> CandidateId:
        """The candidate's number."""
        return self.asked.candidate

    @property
    def is_feasible(self) -> bool:
        """Whether its program was evaluated and has a score."""
        return isinstance(self.outcome, Evaluated)


@dataclass(frozen=True)
class Mean:
    """The mean of numbers of which their sum and their count are kept."""

    total: float = 0.0
    count: int = 0

    @property
    def value(self) -> float | None:
        """The mean; None of no numbers."""
        return self.total / self.count if self.count else None

    def __add__(self, other: Mean) -> Mean:
        return Mean(self.total + other.total, self.count + other.count)

    def and_of(self, numbers: Collection[float]) -> Mean:
        """That of these numbers too."""
        return Mean(self.total + sum(numbers), self.count + len(numbers))


@dataclass
class Group:
    """Some programs of the archive under a name, in order of arrival."""

    members: list[CandidateId] = field(default_factory=list)
    added: int = 0
    """Programs added since the group was last arranged."""
    arranged_at: int = 0
    """Candidates registered when the group was last arranged."""
    arranged_at_s: float = 0.0
    """Active seconds of the run at that time, as decisions know them."""
    improved_at: CandidateId | None = None
    """The first of the group's members as good as its best."""
    bests: list[tuple[int, float]] = field(default_factory=list)
    """How its best score grew since it was last arranged: the candidates registered by then, and the score."""
    inside: Mean = Mean()
    """The similarity of programs to the group's members as they were added, where a decision had it measured."""
    between: Mean = Mean()
    """The same to the members of other groups."""

    is_selection: bool = False
    """Whether it only points out programs of other groups."""

    def add(self, member: Member, best: Member | None, evicted: Collection[CandidateId]) -> None:
        """Take in a member, for which others may go; `best` is the best of those that are there, if it is known."""
        if best is None or member.utility > best.utility:
            self.improved_at = member.candidate
            self.bests.append((member.candidate, member.score))
        self.members.append(member.candidate)
        if evicted:
            self.members = [each for each in self.members if each not in evicted]
        self.added += 1

    def take_similarities(self, name: GroupName, compared: Compared) -> None:
        """Take in how alike a program was to the members of this group, of that name, and to others as it joined."""
        alike = [similarity for group, similarity in compared.to_groups.items() if group == name]
        alike += [similarity for member, similarity in compared.to_members.items() if member in self.members]
        self.inside = self.inside.and_of(alike)
        self.between = self.between.and_of([s for group, s in compared.to_groups.items() if group != name])


@dataclass
class Note:
    """A text about programs that the method asked for; `reply` is None while it is awaited."""

    asked: NoteAsked
    reply: Reply | None = None

    @property
    def text(self) -> str:
        """What was answered; empty while it is awaited."""
        return "" if self.reply is None else self.reply.text
