"""A run as a script or a notebook holds it: with its plots, and a summary of itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from behavesim.analysis.run import Run

if TYPE_CHECKING:
    from behavesim.reports.plots import Plots


class LoadedRun(Run):
    """A run that can be drawn."""

    @property
    def plot(self) -> Plots:
        """Its figures, such as `run.plot.convergence()`, by matplotlib."""
        from behavesim.reports.plots import Plots  # which a session that only ends has no use for

        return Plots(self)

    def _repr_html_(self) -> str:
        from behavesim.analysis.standing import summary
        from behavesim.reports.markup import html
        from behavesim.reports.summary import summary_table

        return html([summary_table(summary(self), {})])


def load_run(path: str | Path) -> LoadedRun:
    """A run by its folder (`runs/<id>`), or by its id below the folder `runs` here.

    Raises UsageError where there is no run, JournalError where its journal cannot be read.
    """
    return LoadedRun.load(path)
