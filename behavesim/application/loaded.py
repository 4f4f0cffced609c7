"""A run for scripts and notebooks: with its summary, its convergence and plots."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from behavesim.analysis.run import Run

if TYPE_CHECKING:
    from behavesim.analysis.convergence import Checkpoint
    from behavesim.analysis.summary import Summary
    from behavesim.reports.plots import Plots


class LoadedRun(Run):
    """A run with figures; a notebook shows it as its summary table. Its length is `state.asked`."""

    def __len__(self) -> int:
        """Return the number of candidates asked for, without the template."""
        return self.state.asked

    def __bool__(self) -> bool:
        """Return True: a run without candidates is a run."""
        return True

    @property
    def summary(self) -> Summary:
        """State, results and costs as `behavesim report` shows them; raises UsageError if its prices are invalid."""
        from behavesim.analysis.run_summary import summary

        return summary(self)

    @property
    def convergence(self) -> tuple[Checkpoint, ...]:
        """The best score, its gap and the mean gap of the ten best after up to fifty numbers of candidates."""
        from behavesim.analysis.convergence import convergence  # a slow import, as above

        return convergence(self)

    @property
    def plot(self) -> Plots:
        """The run's figures, such as `run.plot.convergence()`; they need the extra `figures`."""
        from behavesim.reports.plots import Plots  # a slow import, which a run without plots does not need

        return Plots(self)

    def _repr_html_(self) -> str:
        from behavesim.reports.markup import html_tables
        from behavesim.reports.summary_tables import summary_table

        return html_tables([summary_table(self.summary, {})])


def load_run(path: str | Path) -> LoadedRun:
    """Load a run, ended or going on, by its folder, or by its id (or the beginning of it) in the folder `runs`.

    Raises UsageError if no run matches, or several do, JournalError if its journal cannot be read.
    """
    return LoadedRun.load(path)
