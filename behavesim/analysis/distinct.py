"""How many different programs, and how many different behaviours, a run found."""

from __future__ import annotations

from dataclasses import dataclass

from behavesim.analysis.run import Run
from behavesim.analysis.scored import TOP
from behavesim.base.text import counted


@dataclass(frozen=True)
class DistinctCounts:
    """Numbers of feasible candidates, of distinct programs among them, and of distinct behaviours among those.

    Programs are equal if their normal forms are, behaviours if the trajectories on all instances are. `top` is the
    number of distinct behaviours among the ten best distinct programs.
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
        """The fraction of distinct programs that repeat another one's behaviour; None if there is no program.

        Of programs with one behaviour, all but one count as repeats.
        """
        return 1 - self.behaviours / self.programs if self.programs else None

    @property
    def sentence(self) -> str:
        """The counts as a sentence for people, without a capital letter and a full stop."""
        return (
            f"{counted(self.feasible, 'feasible candidate')}, {counted(self.programs, 'different program')}, "
            f"{counted(self.behaviours, 'different behaviour')}; the ten best programs have {self.top} of them"
        )


def distinct(run: Run) -> DistinctCounts:
    """Count the distinct programs and behaviours of a run so far; raises JournalError if its journal cannot be read."""
    programs = run.ranked()
    behaviours = [behaviour.packed for behaviour in run.trajectories([each.candidate for each in programs])]
    return DistinctCounts(len(run.feasible), len(programs), len(set(behaviours)), len(set(behaviours[:TOP])))
