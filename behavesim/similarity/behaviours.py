"""The behaviours of a run's members: a fold of its events that keeps their trajectories encoded for comparison."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from behavesim.events import Clustered, Discarded, Evaluated, Event, IslandsRestarted, Placed, Ticket
from behavesim.trajectory import Trajectory

if TYPE_CHECKING:
    from behavesim.similarity import Archive, BehaveSim
    from behavesim.similarity.niches import Niches, Preference

Algorithm = tuple[Trajectory, ...]


class Behaviours:
    """What each living member does; the only place where a run holds trajectories for longer than a candidate is open.

    `registration` measures a newcomer: by the raw formula where the nearest island is sought, which clipping would
    hide, and clipped where EoH counts dissimilarity; `clipped` is for distances (clustering, niches).
    """

    def __init__(self, registration: BehaveSim, clipped: BehaveSim) -> None:
        self._registration = registration
        self._clipped = clipped
        self._algorithms: dict[Ticket, Algorithm] = {}
        self._rows: dict[Ticket, int] = {}
        self._archive: Archive | None = None
        self._niches: Niches | None = None
        self._in_niches = 0

    def warm(self) -> None:
        """Load what comparing and grouping need, which takes a moment."""
        if self._archive is not None:
            self._archive.warm()
        import_module("scipy.cluster.hierarchy")

    def apply(self, event: Event, alive: Collection[Ticket]) -> None:
        """Take in an event; `alive` are the members of the archive after it."""
        match event:
            case Evaluated(candidate):
                self._algorithms[candidate] = event.trajectories
                if candidate in alive:
                    self._admit(candidate)
            case Placed(candidate):
                self._admit(candidate)
                if event.evicted:
                    self._keep(alive)
            case Discarded(candidate):
                self._algorithms.pop(candidate, None)
            case Clustered() | IslandsRestarted():
                self._keep(alive)

    def means(self, candidate: Ticket, groups: Mapping[int, Sequence[Ticket]]) -> dict[int, float]:
        """The mean similarity of an evaluated candidate to all members of each group (paper, "Register Algorithms")."""
        assert self._archive is not None, "there is a member to be compared with"
        similarity = self._registration.one_vs_many(self._algorithms[candidate], self._archive).tolist()
        return {
            group: math.fsum(similarity[self._rows[member]] for member in members) / len(members)
            for group, members in groups.items()
        }

    def group(self, members: Sequence[Ticket], count: int) -> list[list[Ticket]]:
        """Members in at most `count` groups: average linkage on 1 − BehaveSim, the paper's initial clustering."""
        from behavesim.similarity.linkage import average_linkage

        assert self._archive is not None, "there are members to be grouped"
        distances = 1.0 - self._clipped.matrix(self._archive.take([self._rows[member] for member in members]))
        labels = average_linkage(distances, count)
        return [
            [m for m, label in zip(members, labels, strict=True) if label == wanted] for wanted in sorted(set(labels))
        ]

    def elites(self, members: Sequence[Preference], radius: float, count: int) -> list[Ticket]:
        """The best of each niche, best first; `members` are those of the last time, and then some."""
        from behavesim.similarity.niches import Niches

        if self._niches is None:
            self._niches = Niches(self._clipped)
        for preference in members[self._in_niches :]:
            self._niches.add(self._algorithms[preference[-1]], preference)
        self._in_niches = len(members)
        return self._niches.clear(radius, count)

    def _admit(self, candidate: Ticket) -> None:
        from behavesim.similarity import Archive

        algorithm = self._algorithms[candidate]
        if self._archive is None:
            self._archive = Archive([algorithm])
        else:
            self._archive.append(algorithm)
        self._rows[candidate] = len(self._archive) - 1

    def _keep(self, alive: Collection[Ticket]) -> None:
        """Forget the behaviours of members that are gone, so that comparing costs what the living archive costs."""
        if self._archive is None or len(alive) == len(self._rows):
            return
        kept = [candidate for candidate in self._rows if candidate in alive]
        self._archive = self._archive.take([self._rows[candidate] for candidate in kept])
        gone = self._rows.keys() - set(kept)
        self._rows = {candidate: row for row, candidate in enumerate(kept)}
        self._algorithms = {c: algorithm for c, algorithm in self._algorithms.items() if c not in gone}
