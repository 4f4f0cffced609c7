"""A run for scripts and notebooks: with plots and a summary table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from behavesim.analysis.run import Run

if TYPE_CHECKING:
    from behavesim.reports.plots import Plots


class LoadedRun(Run):
    """A run with plots; a notebook shows it as its summary table."""

    @property
    def plot(self) -> Plots:
        """The run's figures, such as `run.plot.convergence()`; they need matplotlib."""
        from behavesim.reports.plots import Plots  # a slow import, which a run without plots does not need

        return Plots(self)

    def _repr_html_(self) -> str:
        from behavesim.analysis.standing import summary
        from behavesim.reports.markup import html
        from behavesim.reports.summary import summary_table

        return html([summary_table(summary(self), {})])


def load_run(path: str | Path) -> LoadedRun:
    """Load a run by its folder (`runs/<id>`), or by its id in the folder `runs` of the current directory.

    Raises UsageError if there is no such run, JournalError if its journal cannot be read.
    """
    return LoadedRun.load(path)
