"""The figure of the page of portfolios, from its tables; `python -m tests.reports.page_figures` writes the SVG."""

from __future__ import annotations

import re
from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure

from behavesim.reports.chart import GROUPS

DOCS = Path(__file__).parents[2] / "docs"
SETS = {"cleared": "differ in behaviour", "by text": "differ as texts", "by score": "best by score"}


def rows(page: str, heading: str) -> dict[str, list[str]]:
    """The rows of the first table below a heading of a page: the first cell and the others."""
    below = page.partition(heading)[2]
    table = re.search(r"(?:^\|.*\n)+", below, re.MULTILINE)
    assert table, heading
    lines = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in table[0].splitlines()[2:]]
    return {name: cells for name, *cells in lines}


def portfolios(page: str) -> Figure:
    """The loss of sets of k programs, a panel a task."""
    figure = Figure(figsize=(9, 2.6), layout="constrained")
    panels = figure.subplots(1, 3)
    for panel, task in zip(panels, ("TSP", "ASP", "CPP"), strict=True):
        found = rows(page, f"### {task}:")
        for colour, (name, label) in zip(GROUPS, SETS.items(), strict=False):
            panel.plot(
                range(1, 11), [float(cell) for cell in found[name]], "o-", color=colour, markersize=3, label=label
            )
        panel.set_title(task, fontsize=9)
        panel.set_xlabel("programs in the set", fontsize=8)
        panel.set_ylim(bottom=0)
        panel.tick_params(labelsize=7)
    panels[0].set_ylabel("loss on new instances, %", fontsize=8)
    panels[0].legend(fontsize=7)
    return figure


if __name__ == "__main__":
    page = DOCS / "explanation/portfolios.md"
    with rc_context({"svg.hashsalt": "portfolios", "svg.fonttype": "none", "font.family": "sans-serif"}):
        portfolios(page.read_text()).savefig(page.with_suffix(".svg"), metadata={"Date": None})
