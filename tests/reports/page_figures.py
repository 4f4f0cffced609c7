"""The figures of two pages, drawn from the tables on them: `python -m tests.reports.page_figures` writes both SVGs."""

from __future__ import annotations

import re
from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure

from behavesim.reports.figures import COLOURS

DOCS = Path(__file__).parents[2] / "docs"
METHODS = {"Table 1": "TSP", "Table 2": "ASP", "Table 3": "CPP", "Table 4": "bin packing"}
SETS = {"cleared": "differ in behaviour", "by text": "differ as texts", "by score": "best by score"}
INTERVAL = re.compile(r"([\d.]+) ± [\d.]+ \[([\d.]+), ([\d.]+)\]")


def rows(page: str, heading: str) -> dict[str, list[str]]:
    """The rows of the first table below a heading of a page: the first cell and the others."""
    below = page.partition(heading)[2]
    table = re.search(r"(?:^\|.*\n)+", below, re.MULTILINE)
    assert table, heading
    lines = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in table[0].splitlines()[2:]]
    return {name: cells for name, *cells in lines}


def results(page: str) -> Figure:
    """The best gap of each method with its interval, a panel a task."""
    figure = Figure(figsize=(9, 2.6), layout="constrained")
    panels = figure.subplots(1, len(METHODS), sharey=True)
    for panel, (table, task) in zip(panels, METHODS.items(), strict=True):
        found = dict(reversed(rows(page, f"**{table}.").items()))
        for place, (method, cells) in enumerate(found.items()):
            numbers = INTERVAL.match(cells[0])
            assert numbers, cells
            mean, low, high = map(float, numbers.groups())
            colour = COLOURS["behavesim" in method]
            panel.plot([low, high], [place, place], color=colour, linewidth=1.5)
            panel.plot([mean], [place], "o", color=colour, markersize=4)
        panel.set_yticks(range(len(found)), [*found], fontsize=8)
        panel.set_title(task, fontsize=9)
        panel.set_xlabel("gap of the best, %", fontsize=8)
        panel.tick_params(axis="x", labelsize=7)
    return figure


def portfolios(page: str) -> Figure:
    """The loss of sets of k programs, a panel a task."""
    figure = Figure(figsize=(9, 2.6), layout="constrained")
    panels = figure.subplots(1, 3)
    for panel, task in zip(panels, ("TSP", "ASP", "CPP"), strict=True):
        found = rows(page, f"### {task}:")
        for colour, (name, label) in zip(COLOURS, SETS.items(), strict=False):
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
    for name, draw in (("results", results), ("portfolios", portfolios)):
        figure = draw((DOCS / f"explanation/{name}.md").read_text())
        with rc_context({"svg.hashsalt": name, "svg.fonttype": "none", "font.family": "sans-serif"}):
            figure.savefig(DOCS / f"explanation/{name}.svg", metadata={"Date": None})
