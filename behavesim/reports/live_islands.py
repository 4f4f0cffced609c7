"""Lay out the islands of a run that goes on in a table that fits the room on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from behavesim.analysis.islands import IslandSummary, islands
from behavesim.analysis.table import DISTANCE, SCORE
from behavesim.reports.curve import area, at_the_end_of
from behavesim.reports.moment import Moment
from behavesim.reports.words import percent
from behavesim.state.events import TEMPLATE
from behavesim.state.members import Mean
from behavesim.state.state import RunState

TREND = 40
"""Largest width of a sparkline, in characters."""
FEWEST = 8
"""Smallest width of a sparkline, in characters; a narrower one would be unreadable and is left out."""
GAP = 2
"""Characters between two columns of a table."""


def islands_panel(moment: Moment, width: int, room: int) -> Table | None:
    """Return a table of the islands, at most `width` characters wide and `room` lines high; None without islands.

    If there are too many islands, the best are shown, at least one. If the columns are too wide together, they are left
    out in this order until a sparkline of the best score fits: gap, mean, inside, clusters. The sparkline goes last.
    """
    state, found = moment.state, islands(moment.state)
    shown = found if len(found) < room else _best_of(found, state, max(1, room - 2))
    if not shown:
        return None
    columns = _columns(state, shown)
    left = width - sum(column.width + GAP for column in columns)
    for name in ("gap", "mean", "inside", "clusters"):
        if left >= FEWEST:
            break
        left += sum(column.width + GAP for column in columns if column.name == name)
        columns = [column for column in columns if column.name != name]
    if left >= FEWEST:
        columns.append(_trend(state, shown, min(left, TREND)))
    return _drawn(state, shown, columns, len(found) - len(shown))


@dataclass(frozen=True)
class _Column:
    """A column of the table: its name and its cells as text."""

    name: str
    cells: Sequence[str]

    @property
    def width(self) -> int:
        return max(map(len, (self.name, *self.cells)))


def _columns(state: RunState, shown: Sequence[IslandSummary]) -> list[_Column]:
    bests = [each.best for each in shown]
    columns = {
        "island": [each.name for each in shown],
        "size": [str(each.size) for each in shown],
        "clusters": [str(each.clusters or "") for each in shown],
        "best": ["" if best is None else SCORE.text(best.score) for best in bests],
        "gap": ["" if best is None or best.gap is None else percent(best.gap) for best in bests],
        "mean": [SCORE.text(each.mean) for each in shown],
        "inside": [distance(state.groups[each.name].inside) for each in shown],
        "better": [_ago(each, state) for each in shown],
    }
    return [_Column(name, cells) for name, cells in columns.items() if any(cells)]


def _trend(state: RunState, shown: Sequence[IslandSummary], width: int) -> _Column:
    """Return a column of sparklines `width` characters wide: each island's best score over time, upwards is better."""
    utility = state.objective.utility
    steps = ([(place, utility(score)) for place, score in state.groups[each.name].bests] for each in shown)
    return _Column("trend", [area(at_the_end_of(of_one, width, state.registered), 1)[0] for of_one in steps])


def _drawn(state: RunState, shown: Sequence[IslandSummary], columns: Sequence[_Column], more: int) -> Table:
    table = Table(box=None, header_style="bold", padding=(0, GAP, 0, 0), pad_edge=False)
    for column in columns:
        table.add_column(column.name, justify="left" if column.name == "trend" else "right", no_wrap=True)
    utilities = [None if each.best is None else state.objective.utility(each.best.score) for each in shown]
    greatest = max((utility for utility in utilities if utility is not None), default=None)
    for place, utility in enumerate(utilities):
        style = "dim" if utility is None else "bold green" if utility == greatest else ""
        table.add_row(*(Text(column.cells[place]) for column in columns), style=style)
    if more:
        table.caption, table.caption_justify = f"{more:,} more, none of them better", "left"
    return table


def _best_of(found: Sequence[IslandSummary], state: RunState, count: int) -> list[IslandSummary]:
    """Return the `count` islands with the best score, in their original order."""
    worth = {each.name: state.objective.utility(each.best.score) for each in found if each.best is not None}
    ranked = sorted(found, key=lambda each: -worth.get(each.name, float("-inf")))
    kept = {each.name for each in ranked[:count]}
    return [each for each in found if each.name in kept]


def _ago(island: IslandSummary, state: RunState) -> str:
    """Return how many candidates ago an island got better, such as "12 ago"; empty if it never did."""
    if island.improved_at in (None, TEMPLATE):
        return ""
    return f"{state.registered - island.improved_at:,} ago"


def distance(similarity: Mean) -> str:
    """Return the text of the mean distance, 1 − mean similarity; empty if no similarity was measured."""
    return "" if similarity.value is None else DISTANCE.text(1.0 - similarity.value)
