"""The behaviours of a run's members: a fold of its events that keeps their trajectories encoded for comparison."""

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
    """What each living member does; the only place where a run holds trajectories for longer than a candidate is open.

    `raw` is the measure without clipping, which would hide which group is nearest; `clipped` is for similarities in
    [0, 1] and for distances. They are strict towards the template alone (`refusal`): two programs that are both within
    the normaliser of it are within twice that of one another, and no decision may fail because they are beyond it.
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
        """Those of a run that has no member yet, by the run's own measure."""
        from behavesim.similarity import BehaveSim

        def measure(clip: bool) -> BehaveSim:
            return BehaveSim(**settings.measuring(task.normaliser), clip=clip)

        return cls(raw=measure(clip=False), clipped=measure(clip=True))

    def warm(self) -> None:
        """Load what comparing needs, which takes a moment."""
        from behavesim.similarity import Archive

        Archive([self._algorithms[TEMPLATE]]).warm()

    def apply(self, event: Event, alive: Collection[CandidateId]) -> None:
        """Take in an event; `alive` are the members of the archive after it."""
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
        """What a living member does, or a candidate that is not registered yet."""
        return self._algorithms[candidate]

    def refusal(self, algorithm: Algorithm) -> str:
        """Why a behaviour cannot be compared with the template's, and so with no other; '' where it can."""
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
        """The mean similarity of an evaluated candidate to all members of each group (paper, "Register Algorithms")."""
        similarity, row = self._to_all(self._raw, candidate).__getitem__, self._rows.__getitem__
        return {
            group: math.fsum(map(similarity, map(row, members))) / len(members) for group, members in groups.items()
        }

    def similarities(self, candidate: CandidateId, members: Sequence[CandidateId]) -> dict[CandidateId, float]:
        """The similarity in [0, 1] of an evaluated candidate to each of some members."""
        similarity = self._to_all(self._clipped, candidate)
        return {member: similarity[self._rows[member]] for member in members}

    def matrix(self, members: Sequence[CandidateId]) -> NDArray[np.float64]:
        """The (N, N) similarities in [0, 1] of some members."""
        archive = self._members()
        return self._clipped.matrix(archive.take([self._rows[member] for member in members]))

    def cluster(self, members: Sequence[CandidateId], count: int) -> list[list[CandidateId]]:
        """Members in at most `count` groups: average linkage on 1 − BehaveSim, the paper's initial clustering."""
        from behavesim.similarity.linkage import average_linkage

        labels = average_linkage(1.0 - self.matrix(members), count)
        return [
            [m for m, label in zip(members, labels, strict=True) if label == wanted] for wanted in sorted(set(labels))
        ]

    def elites(self, members: Sequence[Preference], radius: float, count: int) -> list[CandidateId]:
        """The best of each niche, best first; `members` are those of the last time, and then some."""
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
        """All members, encoded; those that came last only now, for of a journal's most are gone again by then."""
        from behavesim.similarity import Archive

        if self._archive is None:
            self._archive = Archive()
        for candidate in self._newcomers:
            self._rows[candidate] = len(self._archive)
            self._archive.append(self._algorithms[candidate])
        self._newcomers.clear()
        return self._archive

    def _keep(self, alive: Collection[CandidateId]) -> None:
        """Forget the behaviours of members that are gone, so that comparing costs what the living archive costs."""
        if len(alive) == len(self._rows) + len(self._newcomers):
            return
        gone = {candidate for candidate in (*self._rows, *self._newcomers) if candidate not in alive}
        self._newcomers = [candidate for candidate in self._newcomers if candidate not in gone]
        if self._archive is not None and not gone.isdisjoint(self._rows):
            kept = [candidate for candidate in self._rows if candidate not in gone]
            self._archive = self._archive.take([self._rows[candidate] for candidate in kept])
            self._rows = {candidate: row for row, candidate in enumerate(kept)}
        self._algorithms = {c: algorithm for c, algorithm in self._algorithms.items() if c not in gone}
