"""A run as a script or a notebook holds it: with its plots, and a summary of itself."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from behavesim.analysis.run import Run
from behavesim.analysis.standing import summary
from behavesim.reports.markup import html
from behavesim.reports.plots import Plots
from behavesim.reports.summary import summary_table


class LoadedRun(Run):
    """A run that can be drawn."""

    @classmethod
    def of(cls, run: Run) -> Self:
        """A run that has been read already, which takes a long one a moment."""
        loaded = cls.__new__(cls)
        vars(loaded).update(vars(run))
        return loaded

    @property
    def plot(self) -> Plots:
        """Its figures, such as `run.plot.convergence()`, by matplotlib."""
        return Plots(self)

    def _repr_html_(self) -> str:
        return html([summary_table(summary(self), {})])


def load_run(path: str | Path) -> LoadedRun:
    """A run by its folder (`runs/<id>`), or by its id below the folder `runs` here.

    Raises UsageError where there is no run, JournalError where its journal cannot be read.
    """
    return LoadedRun.load(path)
