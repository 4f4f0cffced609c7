"""The state of a run: the fold of its events, and nothing that could not be had by folding them again."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from behavesim.events import (
    Asked,
    Clustered,
    Compared,
    Discarded,
    ElitesRenewed,
    Evaluated,
    Event,
    IslandsRestarted,
    Placed,
    Recommended,
    Rejected,
    Reply,
    Responded,
    RunForked,
    RunResumed,
    RunStarted,
    RunStopped,
    Ticket,
)
from behavesim.task import Objective

TEMPLATE: Ticket = -1
"""The template stands in the archive like any program; nobody asked for it, and no budget pays for it."""


@dataclass(frozen=True)
class Member:
    """A feasible program as the archive knows it; `utility` is its score turned so that higher is better.

    `fingerprint` names its normal form, `similarity` is what it was compared with on its way in.
    """

    candidate: Ticket
    source: str
    score: float
    utility: float
    thought: str = ""
    fingerprint: str = ""
    similarity: Mapping[int, float] = field(default_factory=dict, repr=False, compare=False)

    @property
    def identity(self) -> str:
        """What a program shares with those that differ from it in layout, comments and names alone."""
        return self.fingerprint or self.source


@dataclass
class OpenCandidate:
    """A candidate that has been asked for and not yet told to the method, with what has become of it so far."""

    asked: Asked
    reply: Reply | None = None
    outcome: Evaluated | Rejected | None = None
    compared: Compared | None = None
    repairs: int = 0


@dataclass
class Island:
    """One group of the archive: its members in order of arrival, and when it last got better."""

    members: list[Ticket] = field(default_factory=list)
    registrations: int = 0
    improved_at: Ticket | None = None


@dataclass
class Tokens:
    """Tokens of all requests so far; `unreported` counts the calls whose endpoint did not say what they took."""

    calls: int = 0
    prompt: int = 0
    cached: int = 0
    completion: int = 0
    reasoning: int = 0
    unreported: int = 0


class RunState:
    """Where a run stands; only `apply` changes it, and whoever holds a state may read it."""

    def __init__(self, objective: Objective) -> None:
        self.objective = objective
        self.started: RunStarted | None = None
        self.isolation = ""
        self.stopped: str | None = None
        self.asked = 0
        self.told = 0
        self.open: dict[Ticket, OpenCandidate] = {}
        self.last_asked: Asked | None = None
        self.template: Member | None = None
        self.members: dict[Ticket, Member] = {}
        self.nursery: list[Ticket] = []
        self.islands: list[Island] = []
        self.clustered = False
        self.regrouped_at: Ticket = 0
        self.elites: tuple[Ticket, ...] = ()
        self.elites_at: Ticket | None = None
        self.best: Member | None = None
        self.best_at: list[tuple[Ticket, float]] = []
        self.recommended: Recommended | None = None
        self.feasible = 0
        self.rejected: Counter[str] = Counter()
        self.copies = 0
        self.echoes = 0
        self.repairs = 0
        self.asked_again = 0
        self.tokens: dict[str, Tokens] = {}
        self.cpu_s = 0.0
        self._behaviours: set[int] = set()
        self._digest = hashlib.sha256()

    def digest(self) -> str:
        """SHA-256 over the candidates told so far, in ticket order: source, status, score and placement."""
        return self._digest.hexdigest()

    def apply(self, event: Event) -> None:
        """Take in one event; events must come in the order of the journal."""
        match event:
            case RunStarted():
                self.started, self.isolation = event, event.isolation
                self.islands = [Island() for _ in range(int(event.settings["islands"]))]
            case RunForked(_, settings, fingerprint):
                self.started, self.stopped = RunStarted(settings, fingerprint, self.isolation), None
            case RunResumed():
                self.stopped, self.isolation = None, event.isolation
                self.asked_again += len(event.asked_again)
            case RunStopped(reason):
                self.stopped = reason
            case Asked(candidate) if candidate in self.open:
                self._apply_repair(event)
            case Asked(candidate):
                self.open[candidate] = OpenCandidate(event)
                self.asked, self.last_asked = candidate + 1, event
            case Responded(candidate, reply):
                self.open[candidate].reply = reply
                self._count_tokens(reply)
            case Evaluated():
                self._apply_evaluated(event)
            case Rejected(candidate):
                self.open[candidate].outcome = event
                self.rejected[event.reason] += 1
                self.cpu_s += event.cpu_s
            case Compared(candidate):
                self.open[candidate].compared = event
            case Placed():
                self._apply_placed(event)
            case Discarded(candidate):
                self._tell(candidate, None)
            case Clustered(islands):
                self.clustered, self.nursery, self.regrouped_at = True, [], self.told
                self._regroup(dict(enumerate(islands)))
                self._hash("clustered", *islands)
            case IslandsRestarted(founders):
                self.regrouped_at = self.told
                self._regroup({island: (founder,) for island, founder in founders.items()})
            case ElitesRenewed(elites):
                self.elites, self.elites_at = elites, self.told
            case Recommended():
                self.recommended = event

    def best_member(self, members: Iterable[Ticket]) -> Member:
        """The best of some members, the oldest where several are as good; there must be one."""
        return max((self.members[m] for m in members), key=lambda member: (member.utility, -member.candidate))

    def _apply_repair(self, event: Asked) -> None:
        """A rejected candidate is asked for once more; its rejection no longer counts."""
        before = self.open[event.candidate]
        assert isinstance(before.outcome, Rejected), "only what was rejected is repaired"
        self.rejected[before.outcome.reason] -= 1
        self.rejected = +self.rejected
        self.repairs += 1
        self.open[event.candidate] = OpenCandidate(event, repairs=before.repairs + 1)

    def _apply_evaluated(self, event: Evaluated) -> None:
        self.cpu_s += event.cpu_s
        if event.candidate == TEMPLATE:
            self.template = self._member(event)
            self.members[TEMPLATE] = self.template
            return
        self.open[event.candidate].outcome = event
        self.feasible += 1
        self.copies += event.copy_of is not None
        behaviour = hash(event.trajectories)  # for a count that people read; decisions compare in full
        self.echoes += behaviour in self._behaviours
        self._behaviours.add(behaviour)

    def _apply_placed(self, event: Placed) -> None:
        candidate, asked = event.candidate, self.open[event.candidate]
        outcome, compared = asked.outcome, asked.compared
        assert isinstance(outcome, Evaluated), "only feasible candidates are placed"
        member = self.members[candidate] = self._member(outcome, compared)
        if event.island is None:
            self.nursery.append(candidate)
        else:
            island = self.islands[event.island]
            best = None if island.improved_at is None else self.members.get(island.improved_at)
            if best is None or member.utility > best.utility:
                island.improved_at = candidate
            island.members.append(candidate)
            if event.evicted:
                island.members = [m for m in island.members if m not in event.evicted]
            island.registrations += 1
        self._tell(candidate, event.island)
        if event.evicted:
            self._forget()

    def _tell(self, candidate: Ticket, island: int | None) -> None:
        """The one place where a candidate is closed: counted, hashed, and forgotten but for what the archive keeps."""
        outcome = self.open.pop(candidate).outcome
        self.told = candidate + 1
        assert outcome is not None, "a candidate is told once something has become of it"
        feasible = isinstance(outcome, Evaluated)
        if isinstance(outcome, Evaluated):
            member = self._member(outcome)
            if self.best is None or member.utility > self.best.utility:
                self.best = member
                self.best_at.append((candidate, member.score))
        self._hash(candidate, outcome.source, feasible, getattr(outcome, "score", None), island)

    def _regroup(self, islands: Mapping[int, tuple[Ticket, ...]]) -> None:
        for index, members in islands.items():
            self.islands[index] = Island(list(members), improved_at=self.best_member(members).candidate)
        self._forget()

    def _forget(self) -> None:
        """Drop members that no island, nursery or the template's seat holds any more."""
        held = {TEMPLATE, *self.nursery, *(m for island in self.islands for m in island.members)}
        if len(held) < len(self.members):
            self.members = {m: member for m, member in self.members.items() if m in held}

    def _member(self, event: Evaluated, compared: Compared | None = None) -> Member:
        utility = self.objective.utility(event.score)
        similarity = {} if compared is None else compared.similarity
        return Member(event.candidate, event.source, event.score, utility, event.thought, event.fingerprint, similarity)

    def _count_tokens(self, reply: Reply) -> None:
        tokens = self.tokens.setdefault(reply.model, Tokens())
        for usage in reply.calls:
            tokens.calls += 1
            tokens.unreported += usage.prompt is None or usage.completion is None
            for name in ("prompt", "cached", "completion", "reasoning"):
                setattr(tokens, name, getattr(tokens, name) + (getattr(usage, name) or 0))

    def _hash(self, *parts: Any) -> None:
        self._digest.update(repr(parts).encode())
