"""Which scores are better, and the best one known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from behavesim.base.errors import TaskError

Direction = Literal["minimise", "maximise"]
_AMERICAN = {"minimize": "minimise", "maximize": "maximise"}


@dataclass(frozen=True)
class Objective:
    """Which way a score is better, and the best score known; raises TaskError for a direction that is neither."""

    direction: Direction
    best_known: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "direction", _AMERICAN.get(self.direction, self.direction))
        if self.direction not in get_args(Direction):
            raise TaskError(f"an objective is to 'minimise' or to 'maximise', not to {self.direction!r}")

    def utility(self, score: float) -> float:
        """The score turned so that higher is better."""
        return score if self.direction == "maximise" else -score

    def gap(self, score: float) -> float | None:
        """How far the score is from the best known, as a fraction of it, positive where worse.

        None where no best is known, or where it is 0, of which nothing is a fraction.
        """
        if not self.best_known:
            return None
        return (self.utility(self.best_known) - self.utility(score)) / abs(self.best_known)
