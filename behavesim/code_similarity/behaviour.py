"""BehaveSim as a metric with the same protocol as the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from behavesim.code_similarity.metric import Observed
from behavesim.similarity import BehaveSim


@dataclass(frozen=True)
class OfBehaviour:
    """The mean over instances of the similarity of two programs' trajectories; `measures` has one for each instance."""

    measures: Sequence[BehaveSim]
    name: str = "behavesim"

    def similarity(self, a: Observed, b: Observed) -> float:
        """Return the mean similarity of the trajectories, in [0, 1].

        Raises TrajectoryError if two trajectories cannot be compared, ValueError if one is missing.
        """
        runs = zip(self.measures, a.trajectories, b.trajectories, strict=True)
        return sum(measure.similarity(x, y) for measure, x, y in runs) / len(self.measures)
