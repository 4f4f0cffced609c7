"""The objective of a task: which scores are better, and the best score known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from behavesim.base.errors import TaskError

Direction = Literal["minimise", "maximise"]
"""Which scores are better: the lower or the higher ones."""
_AMERICAN = {"minimize": "minimise", "maximize": "maximise"}


@dataclass(frozen=True)
class Objective:
    """Whether scores are minimised or maximised, and the best score known.

    American spelling is accepted. Raises TaskError for any other direction.
    """

    direction: Direction
    best_known: float | None = None
    """The best score known, from which gaps are measured; None if none is known."""
    source: str = ""
    """Where `best_known` is from, such as "optimal, by branch and cut"; empty if that is not said."""
    unit: str = ""
    """What scores are numbers of, such as "mean tour length"; screens show it. Empty if that is not said."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "direction", _AMERICAN.get(self.direction, self.direction))
        if self.direction not in get_args(Direction):
            raise TaskError(f"an objective is to 'minimise' or to 'maximise', not to {self.direction!r}")

    def utility(self, score: float) -> float:
        """Return the score if the objective is to maximise, else its negative: higher is always better."""
        return score if self.direction == "maximise" else -score

    def gap(self, score: float) -> float | None:
        """Return how much worse the score is than `best_known`, as a fraction of it: 0.1 is 10 % worse, -0.1 better.

        None if no best score is known or if it is 0.
        """
        if not self.best_known:
            return None
        return (self.utility(self.best_known) - self.utility(score)) / abs(self.best_known)
