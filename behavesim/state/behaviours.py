"""The trajectories of a run's candidates, taken from its events and encoded for comparison."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from behavesim.base.config import Settings
from behavesim.base.errors import PartError, TrajectoryError
from behavesim.state.events import (
    TEMPLATE,
    Added,
    CandidateId,
    Compared,
    Evaluated,
    Event,
    GroupName,
    NotAdded,
    Raced,
    RaceEnded,
    Regrouped,
)
from behavesim.state.members import OpenCandidate
from behavesim.state.views import BehaviourGroup, BehaviourGroups
from behavesim.task import Task
from behavesim.trajectory import AlgorithmRun

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from behavesim.similarity import Archive, BehaveSim
    from behavesim.similarity.clustering import DiverseBest, Preference

# What a program did: its trajectory, or samples of trajectories, on each instance.
Algorithm = Sequence[AlgorithmRun]


class Behaviours:
    """What programs did: the trajectories of open candidates and of members, and the similarities between them.

    It follows from the run's events alone, which `apply` takes; all other methods only read. Decisions get it, and may
    read of the members and of the candidate that they register. Without a `measure` it keeps nothing: neither the
    method's decisions nor the prompts need behaviour, and a decision that reads it all the same raises PartError.
    """

    def __init__(self, measure: BehaveSim | None = None, behaviour_groups: BehaviourGroups | None = None) -> None:
        """Begin without programs.

        Args:
            measure: compares them. Its `clip` and `strict` are ignored: `means` does not clip, the others do, and only
                `why_incomparable` is strict.
            behaviour_groups: divides the registered programs by behaviour, for prompts; None if no prompt describes
                behaviour.
        """
        self._measure = measure
        if measure is not None:
            # two programs within distance d of the template can be 2d apart, and no later decision may fail for that
            self._strict = replace(measure, clip=False, strict=True)
            self._raw = replace(self._strict, strict=False)
            self._clipped = replace(self._raw, clip=True)
        self._algorithms: dict[CandidateId, Algorithm] = {}
        self._rows: dict[CandidateId, int] = {}
        self._newcomers: list[CandidateId] = []
        self._archive: Archive | None = None
        self._template: Archive | None = None
        self._niches: DiverseBest | None = None
        self._in_niches = 0
        self._behaviour_groups = behaviour_groups
        self._evaluated: dict[CandidateId, Evaluated] = {}  # not registered yet, where groups are told
        self._waiting: list[Evaluated] = []  # registered, and not in one of the groups yet
        # similarities to all members, of the candidate compared last: a decision may be taken twice, or read twice
        self._last: tuple[BehaveSim, CandidateId, list[float]] | None = None
        self._recorded: Compared | None = None  # what the journal holds of the candidate that is being registered
        self._read: Compared | None = None  # what was read of that candidate

    @classmethod
    def of_run(cls, settings: Settings, task: Task, is_read: bool) -> Behaviours:
        """Return the behaviours of a run without members, compared by the measure of its settings.

        `is_read` is whether the method's decisions read them (`Method.uses_behaviour`).
        """
        is_told = settings.prompt_feedback == "behaviour"
        if not (is_read or is_told):
            return cls()
        from behavesim.similarity import BehaveSim

        measure = BehaveSim(**settings.measuring(task.normaliser))
        if settings.prompts == "paper" or not is_told:
            return cls(measure)
        sign = int(task.objective.utility(1.0))
        return cls(measure, BehaviourGroups(replace(measure, clip=True, strict=False), task.niche_radius, sign))

    @property
    def are_kept(self) -> bool:
        """Whether the run needs behaviours, for decisions or for prompts."""
        return self._measure is not None

    def warm(self) -> None:
        """Load or compile the kernels for comparisons, in 1 to 60 s; raises KeyError before the template is known."""
        from behavesim.similarity import Archive

        Archive([self._algorithms[TEMPLATE]]).warm()

    def apply(self, event: Event, alive: Collection[CandidateId]) -> None:
        """Keep the trajectories of an Evaluated event; forget those of programs that an event evicts or does not add.

        `alive` are the members of the archive after the event.
        """
        if self._measure is None:
            return
        if self._behaviour_groups is not None:
            self._hold(event)
        if isinstance(event, Evaluated | Added | NotAdded | Regrouped):
            self._last = None
        match event:
            case Evaluated(candidate):
                self._algorithms[candidate] = event.trajectories
                if candidate in alive:
                    self._newcomers.append(candidate)
            case Added(candidate):
                self._newcomers.append(candidate)
                if event.evicted:
                    self._keep(alive)
            case NotAdded(candidate):  # a rejected candidate has no trajectories
                self._algorithms.pop(candidate, None)
            case Regrouped():
                self._keep(alive)

    def behaviour_groups(self) -> list[BehaviourGroup]:
        """Return the groups of equal behaviour of all registered feasible candidates, best first; [] without them."""
        if self._behaviour_groups is None:
            return []
        while self._waiting:
            known = self._waiting.pop(0)
            self._behaviour_groups.add(known.trajectories, known.score, known.thought)
        return self._behaviour_groups.best()

    def _hold(self, event: Event) -> None:
        """Keep what an event says of a program until it is registered, and then until it is in one of the groups."""
        match event:
            case Evaluated(candidate) if candidate != TEMPLATE:
                self._evaluated[candidate] = event
            case RaceEnded(candidate, score):
                self._evaluated[candidate] = replace(self._evaluated[candidate], score=score)
            case Raced(candidate, reason=reason) if reason:
                del self._evaluated[candidate]
            case Added(candidate) | NotAdded(candidate) if candidate in self._evaluated:
                self._waiting.append(self._evaluated.pop(candidate))

    def algorithm(self, candidate: CandidateId) -> Algorithm:
        """Return the trajectories of a member, of a feasible open candidate, or of the template.

        Raises KeyError for any other program, and for a template that was a member and has been evicted.
        """
        self._refuse_unkept()
        return self._algorithms[candidate]

    def why_incomparable(self, algorithm: Algorithm) -> str:
        """Return a line why an algorithm's trajectories cannot be compared with the template's; '' if they can.

        A distance above the normaliser is such a reason. It is '' too if behaviours are not kept. Raises KeyError
        before the template's event was applied.
        """
        if self._measure is None:
            return ""
        from behavesim.similarity import Archive

        if self._template is None:
            self._template = Archive([self._algorithms[TEMPLATE]])
        try:
            self._strict.check_algorithm(algorithm, self._template)
        except TrajectoryError as error:
            return f"what the program does cannot be compared with what the template does: {error}"
        return ""

    def means(
        self, candidate: CandidateId, groups: Mapping[GroupName, Sequence[CandidateId]]
    ) -> dict[GroupName, float]:
        """Return the mean unclipped similarity of a program to the members of each group, by the group's name.

        This is the paper's "Register Algorithms". Raises TypeError if `groups` is no mapping, ValueError if a group is
        empty, and PartError for a number that is no feasible program's: the method has asked for it.
        """
        if not isinstance(groups, Mapping):
            raise TypeError(f"groups maps the name of each group to its programs' numbers; got {groups!r:.100}")
        if empty := [name for name, programs in groups.items() if not programs]:
            raise ValueError(f"a candidate cannot be compared with the empty group {empty[0]!r}")
        recorded = self._recorded
        known = recorded.to_groups if recorded is not None and recorded.candidate == candidate else {}
        found = {name: known[name] for name in groups if name in known}
        missing = {name: members for name, members in groups.items() if name not in found}
        if missing:
            self._refuse_unkept()
            # unclipped, because clipping would hide which of several far groups is nearest
            similarity = self._to_members(self._raw, candidate, missing.values())
            for name, members in missing.items():
                found[name] = math.fsum(map(similarity.__getitem__, members)) / len(members)
        means = {name: found[name] for name in groups}
        if self._read is not None and candidate == self._read.candidate:
            self._read = replace(self._read, to_groups={**self._read.to_groups, **means})
        return means

    def similarities(self, candidate: CandidateId, members: Sequence[CandidateId]) -> dict[CandidateId, float]:
        """Return the similarity in [0, 1] of a feasible program to each of these members, by their numbers.

        Raises PartError for a number that is no feasible program's: the method has asked for it.
        """
        recorded = self._recorded
        known = recorded.to_members if recorded is not None and recorded.candidate == candidate else {}
        found = {member: known[member] for member in members if member in known}
        missing = [member for member in members if member not in found]
        if missing:
            self._refuse_unkept()
            found |= self._to_members(self._clipped, candidate, [missing])
        similarities = {member: found[member] for member in members}
        if self._read is not None and candidate == self._read.candidate:
            self._read = replace(self._read, to_members={**self._read.to_members, **similarities})
        return similarities

    def begin_registration(self, candidate: OpenCandidate) -> None:
        """Note from now on what a decision reads of a candidate, for `what_was_read`.

        What its Compared event holds already is read from there, and not measured again: on another machine the last
        digit could differ, and a decision follows from what was recorded.
        """
        self._recorded = candidate.compared
        self._read = Compared(candidate.id)

    def what_was_read(self) -> Compared | None:
        """Return the similarities read since `begin_registration`, of its candidate; None if none were."""
        read, self._read, self._recorded = self._read, None, None
        return read if read is not None and (read.to_groups or read.to_members) else None

    def matrix(self, members: Sequence[CandidateId]) -> NDArray[np.float64]:
        """Return the (N, N) similarities in [0, 1] between these members, in the given order."""
        self._refuse_unkept()
        archive = self._members()
        return self._clipped.matrix(archive.take([self._rows[member] for member in members]))

    def elites(self, preferences: Sequence[Preference], radius: float, count: int) -> list[CandidateId]:
        """Return the numbers of at most `count` members, best first, each far from all chosen before it.

        Two are far apart if their distance is at least `radius` times the median distance of behaviours, as
        `DiverseBest` defines it. A member's preference is its sort key, the smallest for the best, and ends in its
        number. `preferences` must begin with those of the previous call, in the same order.
        """
        self._refuse_unkept()
        from behavesim.similarity.clustering import DiverseBest

        if self._niches is None:
            self._niches = DiverseBest(self._clipped)
        for preference in preferences[self._in_niches :]:
            self._niches.add(self._algorithms[preference[-1]], preference)
        self._in_niches = len(preferences)
        return self._niches.select(radius, count)

    def _to_members(
        self, measure: BehaveSim, candidate: CandidateId, groups: Iterable[Sequence[CandidateId]]
    ) -> dict[CandidateId, float]:
        """Return the similarity of a program to each member of some groups."""
        try:
            if self._last is None or self._last[:2] != (measure, candidate):
                found: list[float] = measure.one_vs_many(self._algorithms[candidate], self._members()).tolist()
                self._last = measure, candidate, found
            similarity = self._last[2]
            return {member: similarity[self._rows[member]] for members in groups for member in members}
        except KeyError as unknown:
            raise PartError(
                f"the method compares candidate {candidate} with candidate {unknown}, which is no feasible program of "
                "this run; mend it, and go on with --fork NEW-ID"
            ) from unknown

    def _refuse_unkept(self) -> None:
        if self._measure is None:
            raise PartError(
                "the method reads behaviours: say `uses_behaviour = True` in its class, so that they are kept"
            )

    def _members(self) -> Archive:
        """Return all members encoded, brought up to date."""
        # Here, in the decisions' thread, and not where events are applied: at a restart this takes some 40 ms, in which
        # the event loop would commit no reply. And many newcomers are evicted before anything is compared.
        from behavesim.similarity import Archive

        if self._archive is None:
            self._archive = Archive()
        # some are gone: without a copy of the others, each comparison would still take their time
        if len(self._archive) > len(self._rows):
            self._archive = self._archive.take(self._rows.values())
            self._rows = {candidate: row for row, candidate in enumerate(self._rows)}
        for candidate in self._newcomers:
            self._rows[candidate] = len(self._archive)
            self._archive.append(self._algorithms[candidate])
        self._newcomers.clear()
        return self._archive

    def _keep(self, alive: Collection[CandidateId]) -> None:
        """Forget the members that are not `alive`."""
        # equal counts mean that nothing was evicted: every living member is in one of the two
        if len(alive) == len(self._rows) + len(self._newcomers):
            return
        gone = {candidate for candidate in (*self._rows, *self._newcomers) if candidate not in alive}
        self._newcomers = [candidate for candidate in self._newcomers if candidate not in gone]
        self._rows = {candidate: row for candidate, row in self._rows.items() if candidate not in gone}
        self._algorithms = {c: algorithm for c, algorithm in self._algorithms.items() if c not in gone}
