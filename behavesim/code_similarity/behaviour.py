"""BehaveSim as one metric among the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from behavesim.code_similarity.metric import Observed
from behavesim.similarity import BehaveSim


@dataclass(frozen=True)
class OfBehaviour:
    """The mean over instances of the similarity of trajectories, each by the measure of its instance."""

    measures: Sequence[BehaveSim]
    name: str = "behavesim"

    def similarity(self, a: Observed, b: Observed) -> float:
        """How alike the trajectories are; raises TrajectoryError where they cannot be compared."""
        runs = zip(self.measures, a.trajectories, b.trajectories, strict=True)
        return sum(measure.similarity(x, y) for measure, x, y in runs) / len(self.measures)
