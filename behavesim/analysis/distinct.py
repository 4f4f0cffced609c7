"""How many different programs, and how many different behaviours, a run found."""

from __future__ import annotations

from dataclasses import dataclass

from behavesim.analysis.run import Run
from behavesim.analysis.scored import TOP


@dataclass(frozen=True)
class DistinctCounts:
    """Numbers of feasible candidates, of distinct programs among them, and of distinct behaviours among those.

    Programs are equal if their normal forms are, behaviours if all their trajectories are. `top` is the number of
    distinct behaviours among the ten best distinct programs.
    """

    feasible: int
    programs: int
    behaviours: int
    top: int

    @property
    def repeated_programs(self) -> float | None:
        """The fraction of feasible candidates that repeat an earlier program; None if no candidate is feasible."""
        return 1 - self.programs / self.feasible if self.feasible else None

    @property
    def repeated_behaviours(self) -> float | None:
        """The fraction of distinct programs that repeat a behaviour; None if there is no program."""
        return 1 - self.behaviours / self.programs if self.programs else None

    @property
    def sentence(self) -> str:
        """The counts as a sentence for people."""
        return (
            f"{self.behaviours} different behaviours in {self.programs} different programs of {self.feasible} feasible "
            f"candidates; the ten best programs behave in {self.top} way{'' if self.top == 1 else 's'}"
        )


def distinct(run: Run) -> DistinctCounts:
    """Count the distinct programs and behaviours of a run so far."""
    programs = run.ranked()
    behaviours = [behaviour.packed for behaviour in run.trajectories([each.candidate for each in programs])]
    return DistinctCounts(len(run.feasible), len(programs), len(set(behaviours)), len(set(behaviours[:TOP])))
