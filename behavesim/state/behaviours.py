"""The trajectories of a run's candidates, taken from its events and encoded for comparison."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from behavesim.base.config import Settings
from behavesim.base.errors import TrajectoryError
from behavesim.state.events import TEMPLATE, Added, CandidateId, Evaluated, Event, GroupName, NotAdded, Regrouped
from behavesim.state.ways import Way, Ways
from behavesim.task import Task
from behavesim.trajectory import AlgorithmRun

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from behavesim.similarity import Archive, BehaveSim
    from behavesim.similarity.niches import Niches, Preference

Algorithm = Sequence[AlgorithmRun]
"""What a program did: its trajectory, or samples of trajectories, on each instance."""


class Behaviours:
    """The trajectories of open candidates and of the archive's members, and the similarities between them.

    `measure` compares them, but its `clip` and `strict` are ignored: each method says whether similarities are clipped,
    and only `refusal` objects to distances above the normaliser. `ways` divides the registered programs by behaviour,
    for prompts; None if no prompt describes behaviour.
    """

    def __init__(self, measure: BehaveSim, ways: Ways | None = None) -> None:
        # two programs within distance d of the template can be 2d apart, and that must not make a later decision fail
        self._strict = replace(measure, clip=False, strict=True)
        self._raw = replace(self._strict, strict=False)
        self._clipped = replace(self._raw, clip=True)
        self._algorithms: dict[CandidateId, Algorithm] = {}
        self._rows: dict[CandidateId, int] = {}
        self._newcomers: list[CandidateId] = []
        self._archive: Archive | None = None
        self._template: Archive | None = None
        self._niches: Niches | None = None
        self._in_niches = 0
        self._ways = ways
        self._evaluated: dict[CandidateId, Evaluated] = {}  # not registered yet, where ways are told
        self._waiting: list[Evaluated] = []  # registered, and not divided into ways yet

    @classmethod
    def of_run(cls, settings: Settings, task: Task) -> Behaviours:
        """Return the behaviours of a run without members, compared by the measure of its settings."""
        from behavesim.similarity import BehaveSim

        measure = BehaveSim(**settings.measuring(task.normaliser))
        if settings.prompts == "paper" or settings.prompt_feedback != "behaviour":
            return cls(measure)
        sign = int(task.objective.utility(1.0))
        return cls(measure, Ways(replace(measure, clip=True, strict=False), task.niche_radius, sign))

    def warm(self) -> None:
        """Load or compile the kernels for comparisons, in 1 to 60 s; raises KeyError before the template is known."""
        from behavesim.similarity import Archive

        Archive([self._algorithms[TEMPLATE]]).warm()

    def apply(self, event: Event, alive: Collection[CandidateId]) -> None:
        """Keep the trajectories of an Evaluated event; forget those of programs that an event evicts or does not add.

        `alive` are the members of the archive after the event.
        """
        if self._ways is not None:
            self._hold(event)
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

    def ways(self) -> list[Way]:
        """Return the different behaviours of all registered feasible candidates, best first; [] without `Ways`."""
        if self._ways is None:
            return []
        while self._waiting:
            known = self._waiting.pop(0)
            self._ways.add(known.trajectories, known.score, known.thought)
        return self._ways.best()

    def _hold(self, event: Event) -> None:
        """Keep what an event says of a program until it is registered, and then until it is divided into ways."""
        match event:
            case Evaluated(candidate) if candidate != TEMPLATE:
                self._evaluated[candidate] = event
            case Added(candidate) | NotAdded(candidate) if candidate in self._evaluated:
                self._waiting.append(self._evaluated.pop(candidate))

    def algorithm(self, candidate: CandidateId) -> Algorithm:
        """Return the trajectories of a member, of a feasible open candidate, or of the template.

        Raises KeyError for any other program, and for a template that was a member and has been evicted.
        """
        return self._algorithms[candidate]

    def refusal(self, algorithm: Algorithm) -> str:
        """Return a line why an algorithm's trajectories cannot be compared with the template's; '' if they can.

        A distance above the normaliser is such a reason. Raises KeyError before the template's event was applied.
        """
        from behavesim.similarity import Archive

        if self._template is None:
            self._template = Archive([self._algorithms[TEMPLATE]])
        try:
            self._strict.refuse(algorithm, self._template)
        except TrajectoryError as error:
            return f"what the program does cannot be compared with what the template does: {error}"
        return ""

    def means(
        self, candidate: CandidateId, groups: Mapping[GroupName, Sequence[CandidateId]]
    ) -> dict[GroupName, float]:
        """Return the mean unclipped similarity of a candidate to the members of each group, by the group's name.

        This is the paper's "Register Algorithms". No group may be empty. Raises KeyError for a candidate without
        trajectories, or for a number that is no member's.
        """
        # unclipped, because clipping would hide which of several far groups is nearest
        similarity, row = self._to_all(self._raw, candidate).__getitem__, self._rows.__getitem__
        return {
            group: math.fsum(map(similarity, map(row, members))) / len(members) for group, members in groups.items()
        }

    def similarities(self, candidate: CandidateId, members: Sequence[CandidateId]) -> dict[CandidateId, float]:
        """Return the similarity in [0, 1] of a feasible candidate to each of these members, by their numbers."""
        similarity = self._to_all(self._clipped, candidate)
        return {member: similarity[self._rows[member]] for member in members}

    def matrix(self, members: Sequence[CandidateId]) -> NDArray[np.float64]:
        """Return the (N, N) similarities in [0, 1] between these members, in the given order."""
        archive = self._members()
        return self._clipped.matrix(archive.take([self._rows[member] for member in members]))

    def elites(self, preferences: Sequence[Preference], radius: float, count: int) -> list[CandidateId]:
        """Return the numbers of at most `count` members, best first, each far from all chosen before it.

        Two are far apart if their distance is at least `radius` times the median distance of behaviours, as `Niches`
        defines it. A member's preference is its sort key, the smallest for the best, and ends in its number.
        `preferences` must begin with those of the previous call, in the same order.
        """
        from behavesim.similarity.niches import Niches

        if self._niches is None:
            self._niches = Niches(self._clipped)
        for preference in preferences[self._in_niches :]:
            self._niches.add(self._algorithms[preference[-1]], preference)
        self._in_niches = len(preferences)
        return self._niches.clear(radius, count)

    def _to_all(self, measure: BehaveSim, candidate: CandidateId) -> list[float]:
        similarity: list[float] = measure.one_vs_many(self._algorithms[candidate], self._members()).tolist()
        return similarity

    def _members(self) -> Archive:
        """Return all members encoded. Those added since the last call are encoded here: many are evicted before it."""
        from behavesim.similarity import Archive

        if self._archive is None:
            self._archive = Archive()
        for candidate in self._newcomers:
            self._rows[candidate] = len(self._archive)
            self._archive.append(self._algorithms[candidate])
        self._newcomers.clear()
        return self._archive

    def _keep(self, alive: Collection[CandidateId]) -> None:
        """Forget the members that are not `alive`, so that a comparison costs no more than the present archive."""
        # equal counts mean that nothing was evicted: every living member is in one of the two
        if len(alive) == len(self._rows) + len(self._newcomers):
            return
        gone = {candidate for candidate in (*self._rows, *self._newcomers) if candidate not in alive}
        self._newcomers = [candidate for candidate in self._newcomers if candidate not in gone]
        if self._archive is not None and not gone.isdisjoint(self._rows):
            kept = [candidate for candidate in self._rows if candidate not in gone]
            self._archive = self._archive.take([self._rows[candidate] for candidate in kept])
            self._rows = {candidate: row for row, candidate in enumerate(kept)}
        self._algorithms = {c: algorithm for c, algorithm in self._algorithms.items() if c not in gone}
