"""How much of what was found is different: programs that are not one text, behaviours that are not one."""

from __future__ import annotations

from dataclasses import dataclass

from behavesim.analysis.run import Run
from behavesim.analysis.scored import TOP


@dataclass(frozen=True)
class DistinctCounts:
    """Counts: feasible candidates, the programs among them, the behaviours among those.

    Programs are equal when their normal forms are, behaviours when all their trajectories are. `top` counts the
    behaviours among the ten best distinct programs.
    """

    feasible: int
    programs: int
    behaviours: int
    top: int

    @property
    def repeated_programs(self) -> float | None:
        """The share of feasible candidates that repeat a program; None where there is none."""
        return 1 - self.programs / self.feasible if self.feasible else None

    @property
    def repeated_behaviours(self) -> float | None:
        """The share of programs that repeat a behaviour; None where there is none."""
        return 1 - self.behaviours / self.programs if self.programs else None

    @property
    def sentence(self) -> str:
        """The counts in words."""
        return (
            f"{self.behaviours} different behaviours in {self.programs} different programs of {self.feasible} feasible "
            f"candidates; the ten best programs behave in {self.top} way{'' if self.top == 1 else 's'}"
        )


def distinct(run: Run) -> DistinctCounts:
    """The counts of a run as it stands."""
    programs = run.ranked()
    behaviours = [behaviour.packed for behaviour in run.trajectories([each.candidate for each in programs])]
    return DistinctCounts(len(run.feasible), len(programs), len(set(behaviours)), len(set(behaviours[:TOP])))
