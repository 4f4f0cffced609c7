"""Lay out the islands of a run that goes on in a table that fits the room on the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.table import Table
from rich.text import Text

from behavesim.analysis.islands import IslandSummary, islands
from behavesim.analysis.table import SCORE
from behavesim.reports.live_run import LiveRun
from behavesim.reports.text_drawings import area, at_the_end_of
from behavesim.reports.words import percent
from behavesim.state.events import TEMPLATE
from behavesim.state.state import RunState

TREND = 40
"""Largest width of a sparkline, in characters: enough to compare islands by, and lines stay easy to follow."""
FEWEST = 8
"""Smallest width of a sparkline, in characters; a narrower one would be unreadable and is left out."""
GAP = 2
"""Characters between two columns of a table."""
OMITTED = ("gap", "mean", "scores")
"""Columns that are left out in this order until there is room for a sparkline."""
NO_PROGRAM = float("-inf")
"""The utility of an empty island: below that of any program."""


def islands_panel(live: LiveRun, width: int, room: int) -> Table | None:
    """Return a table of the islands for `width` characters and `room` lines; None without islands.

    If there are too many islands, the best are shown, at least one. If the columns are too wide together, those of
    OMITTED are left out until a sparkline of the best score fits, and then the sparkline. The rest may be wider.
    """
    state, found = live.state, islands(live.state)
    # Two lines are for the headings and for how many islands are left out.
    shown = found if len(found) < room else _best_of(found, state, max(1, room - 2))
    if not shown:
        return None
    columns = _columns(state, shown)
    widths = {name: max(map(len, (name, *cells))) + GAP for name, cells in columns.items()}
    left = width - sum(widths.values())
    for name in OMITTED:
        if left < FEWEST and name in columns:
            left += widths[name]
            del columns[name]
    if left >= FEWEST:
        columns["trend"] = _trend(state, shown, min(left, TREND))
    return _drawn(state, shown, columns, len(found) - len(shown))


def _columns(state: RunState, shown: Sequence[IslandSummary]) -> dict[str, list[str]]:
    """Return the cells of each column by its name, as text; columns without any text are left out."""
    bests = [each.best for each in shown]
    columns = {
        "island": [each.name for each in shown],
        "size": [str(each.size) for each in shown],
        "scores": [str(each.score_levels or "") for each in shown],
        "best": ["" if best is None else SCORE.text(best.score) for best in bests],
        "gap": ["" if best is None or best.gap is None else percent(best.gap) for best in bests],
        "mean": [SCORE.text(each.mean) for each in shown],
        "improved": [_ago(each, state) for each in shown],
    }
    return {name: cells for name, cells in columns.items() if any(cells)}


def _trend(state: RunState, shown: Sequence[IslandSummary], width: int) -> list[str]:
    """Return a sparkline of each island's best score over the registered candidates, `width` characters wide.

    Higher columns are better, in either direction of the objective. Each island has a scale of its own.
    """
    utility = state.objective.utility
    steps = ([(place, utility(score)) for place, score in state.groups[each.name].bests] for each in shown)
    return [area(at_the_end_of(of_one, width, state.registered), 1)[0] for of_one in steps]


def _drawn(state: RunState, shown: Sequence[IslandSummary], columns: Mapping[str, Sequence[str]], more: int) -> Table:
    """Return the table of islands: the best ones are green, empty ones dim.

    `more` is the number of islands that are left out, which the table says.
    """
    table = Table(box=None, header_style="bold", padding=(0, GAP, 0, 0), pad_edge=False)
    for name in columns:
        table.add_column(name, justify="left" if name == "trend" else "right", no_wrap=True)
    utilities = [_utility(each, state) for each in shown]
    for utility, *cells in zip(utilities, *columns.values(), strict=True):
        style = "dim" if utility == NO_PROGRAM else "bold green" if utility == max(utilities) else ""
        table.add_row(*map(Text, cells), style=style)
    if more:
        table.caption, table.caption_justify = f"{more:,} more, none of them better", "left"
    return table


def _utility(island: IslandSummary, state: RunState) -> float:
    """Return the best score of an island, turned so that higher is better; NO_PROGRAM for an empty one."""
    return NO_PROGRAM if island.best is None else state.objective.utility(island.best.score)


def _best_of(found: Sequence[IslandSummary], state: RunState, count: int) -> list[IslandSummary]:
    """Return the `count` best islands, in the order of creation."""
    ranked = sorted(found, key=lambda each: -_utility(each, state))
    return sorted(ranked[:count], key=lambda each: each.island)


def _ago(island: IslandSummary, state: RunState) -> str:
    """Return how many candidates ago an island's best score improved, such as "12 ago"; empty if it never did."""
    if island.improved_at in (None, TEMPLATE):
        return ""
    return f"{state.registered - island.improved_at:,} ago"
