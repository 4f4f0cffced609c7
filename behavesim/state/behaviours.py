"""The trajectories of a run's members, kept from its events and encoded for comparison."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from behavesim.base.config import Settings
from behavesim.base.errors import TrajectoryError
from behavesim.state.events import TEMPLATE, Added, CandidateId, Evaluated, Event, GroupName, NotAdded, Regrouped
from behavesim.task import Task
from behavesim.trajectory import AlgorithmRun

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from behavesim.similarity import Archive, BehaveSim
    from behavesim.similarity.niches import Niches, Preference

Algorithm = Sequence[AlgorithmRun]


class Behaviours:
    """The trajectories of open candidates and of the archive's members, and the similarities between them.

    `raw` does not clip similarities, because clipping would hide which group is nearest. `clipped` gives similarities
    in [0, 1]. Only comparisons with the template raise errors (`refusal`). Two programs within distance d of the
    template can be 2d apart, and that must not make a later decision fail.
    """

    def __init__(self, raw: BehaveSim, clipped: BehaveSim) -> None:
        self._strict = replace(raw, strict=True)
        self._raw = replace(raw, strict=False)
        self._clipped = replace(clipped, strict=False)
        self._algorithms: dict[CandidateId, Algorithm] = {}
        self._rows: dict[CandidateId, int] = {}
        self._newcomers: list[CandidateId] = []
        self._archive: Archive | None = None
        self._template: Archive | None = None
        self._niches: Niches | None = None
        self._in_niches = 0

    @classmethod
    def of_run(cls, settings: Settings, task: Task) -> Behaviours:
        """Return the behaviours of a run without members, compared by the measure of its settings."""
        from behavesim.similarity import BehaveSim

        def measure(clip: bool) -> BehaveSim:
            return BehaveSim(**settings.measuring(task.normaliser), clip=clip)

        return cls(raw=measure(clip=False), clipped=measure(clip=True))

    def warm(self) -> None:
        """Load the compiled kernels for comparisons. This takes a moment; the template must have been applied."""
        from behavesim.similarity import Archive

        Archive([self._algorithms[TEMPLATE]]).warm()

    def apply(self, event: Event, alive: Collection[CandidateId]) -> None:
        """Apply an event: keep or forget trajectories. `alive` are the members of the archive after the event."""
        match event:
            case Evaluated(candidate):
                self._algorithms[candidate] = event.trajectories
                if candidate == TEMPLATE:
                    self._template = None
                if candidate in alive:
                    self._newcomers.append(candidate)
            case Added(candidate):
                self._newcomers.append(candidate)
                if event.evicted:
                    self._keep(alive)
            case NotAdded(candidate):
                self._algorithms.pop(candidate, None)
            case Regrouped():
                self._keep(alive)

    def algorithm(self, candidate: CandidateId) -> Algorithm:
        """Return the trajectories of a member or of a feasible open candidate; raises KeyError for any other."""
        return self._algorithms[candidate]

    def refusal(self, algorithm: Algorithm) -> str:
        """Return why an algorithm's trajectories cannot be compared with the template's; '' if they can."""
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

        This is the paper's "Register Algorithms". No group may be empty.
        """
        similarity, row = self._to_all(self._raw, candidate).__getitem__, self._rows.__getitem__
        return {
            group: math.fsum(map(similarity, map(row, members))) / len(members) for group, members in groups.items()
        }

    def similarities(self, candidate: CandidateId, members: Sequence[CandidateId]) -> dict[CandidateId, float]:
        """Return the similarity in [0, 1] of an evaluated candidate to each of these members."""
        similarity = self._to_all(self._clipped, candidate)
        return {member: similarity[self._rows[member]] for member in members}

    def matrix(self, members: Sequence[CandidateId]) -> NDArray[np.float64]:
        """Return the (N, N) similarities in [0, 1] between these members."""
        archive = self._members()
        return self._clipped.matrix(archive.take([self._rows[member] for member in members]))

    def cluster(self, members: Sequence[CandidateId], count: int) -> list[list[CandidateId]]:
        """Divide members into at most `count` groups by average linkage on 1 − BehaveSim, as the paper does first."""
        from behavesim.similarity.linkage import average_linkage

        labels = average_linkage(1.0 - self.matrix(members), count)
        return [
            [m for m, label in zip(members, labels, strict=True) if label == wanted] for wanted in sorted(set(labels))
        ]

    def elites(self, members: Sequence[Preference], radius: float, count: int) -> list[CandidateId]:
        """Return at most `count` members, best first, each far from all chosen before it (see `Niches.clear`).

        Far means at least `radius` times the median distance. `members` must begin with those of the previous call.
        """
        from behavesim.similarity.niches import Niches

        if self._niches is None:
            self._niches = Niches(self._clipped)
        for preference in members[self._in_niches :]:
            self._niches.add(self._algorithms[preference[-1]], preference)
        self._in_niches = len(members)
        return self._niches.clear(radius, count)

    def _to_all(self, measure: BehaveSim, candidate: CandidateId) -> list[float]:
        similarity: list[float] = measure.one_vs_many(self._algorithms[candidate], self._members()).tolist()
        return similarity

    def _members(self) -> Archive:
        """Return all members encoded. New ones are encoded here, not on arrival: many leave again before any call."""
        from behavesim.similarity import Archive

        if self._archive is None:
            self._archive = Archive()
        for candidate in self._newcomers:
            self._rows[candidate] = len(self._archive)
            self._archive.append(self._algorithms[candidate])
        self._newcomers.clear()
        return self._archive

    def _keep(self, alive: Collection[CandidateId]) -> None:
        """Forget the trajectories of evicted members, so that a comparison costs no more than the present archive."""
        if len(alive) == len(self._rows) + len(self._newcomers):
            return
        gone = {candidate for candidate in (*self._rows, *self._newcomers) if candidate not in alive}
        self._newcomers = [candidate for candidate in self._newcomers if candidate not in gone]
        if self._archive is not None and not gone.isdisjoint(self._rows):
            kept = [candidate for candidate in self._rows if candidate not in gone]
            self._archive = self._archive.take([self._rows[candidate] for candidate in kept])
            self._rows = {candidate: row for row, candidate in enumerate(kept)}
        self._algorithms = {c: algorithm for c, algorithm in self._algorithms.items() if c not in gone}
