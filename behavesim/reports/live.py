"""A run as the live view shows it at one moment, its islands, and the progress of other long work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import TypeVar

from rich.console import Console
from rich.table import Table
from rich.text import Text

from behavesim.analysis.convergence import IslandSummary, islands
from behavesim.analysis.table import SCORE
from behavesim.base.config import Settings
from behavesim.base.notices import Notice
from behavesim.base.text import dollars
from behavesim.base.tokens import NO_TOKENS, Tokens
from behavesim.reports.characters import area, at_the_end_of
from behavesim.reports.terminal import screen
from behavesim.reports.words import percent
from behavesim.state.events import TEMPLATE, GroupName
from behavesim.state.state import RunState

# Number of candidates from which the remaining time and means per reply are shown: earlier they change too much.
FEW = 10
# Number of candidates without a better program after which an island counts as stuck, if the budget is 800 or more.
#
# With a smaller budget it is a quarter of the budget.
LONG = 200


@dataclass(frozen=True)
class LiveRun:
    """A run as it is at one moment; `run` is its name.

    `active_s` is without pauses between sessions. `rate` is the recent number of candidates registered per second, 0 if
    unknown. `cost_usd` includes estimates; None if a price is unknown. `facts` are the method's own lines for the live
    view. `is_warming` is true while the comparison of behaviours is being loaded. `notices` are those of this session,
    oldest first.
    """

    run: str
    settings: Settings
    state: RunState
    active_s: float
    rate: float
    cost_usd: float | None
    facts: Mapping[str, str] = field(default_factory=dict)
    is_warming: bool = False
    notices: tuple[Notice, ...] = ()

    @property
    def left_s(self) -> float | None:
        """Seconds until the budget is spent at the present rate; None before FEW candidates, or at a rate of 0."""
        if self.state.registered < FEW or self.rate <= 0:
            return None
        return max(0, self.settings.budget - self.state.registered_questions) / self.rate

    @property
    def waiting(self) -> int:
        """Number of open candidates that wait for a reply; notes do not count."""
        return len(self.state.unanswered)

    @property
    def evaluating(self) -> int:
        """Number of candidates that have a reply, and whose evaluation has not ended."""
        return sum(c.reply is not None and c.outcome is None for c in self.state.open.values())

    @property
    def answered(self) -> int:
        """Number of candidates that the budget counts and that do not wait for a reply."""
        return self.state.questions - self.waiting

    @property
    def long(self) -> int:
        """Number of candidates without a better program after which an island counts as stuck; at least 1."""
        return max(1, min(LONG, self.settings.budget // 4))

    @property
    def stuck(self) -> list[GroupName]:
        """Names of the islands with programs but without a better one for `long` candidates or more."""
        bests = {name: group.bests for name, group in self.state.islands.items() if group.members}
        return [name for name, best in bests.items() if best and self.state.registered - best[-1][0] >= self.long]


def spending(live: LiveRun) -> dict[str, str | None]:
    """Return facts on requests, tokens and cost, with their caps; no facts if no request was answered.

    What nobody knows is "unknown", and what holds estimates is marked with "about".
    """
    used, settings = live.state.tally.tokens.values(), live.settings
    whole = sum((each.with_estimates() for each in used), NO_TOKENS)
    if not whole.calls:
        return {}
    is_estimated = any(each.estimated_prompt or each.estimated_completion for each in used)
    return {
        "requests": None if settings.max_calls is None else f"{whole.calls:,} of {settings.max_calls:,}",
        "tokens": _tokens(live, whole, is_estimated),
        "cost": f"{'about ' if is_estimated and live.cost_usd is not None else ''}{_cost(live)}",
    }


def _tokens(live: LiveRun, whole: Tokens, is_estimated: bool) -> str:
    if whole.unreported == whole.calls and not is_estimated:
        return "unknown"
    most = live.settings.max_tokens
    known = f"{whole.prompt:,} in, {whole.completion:,} out{'' if most is None else f' of {most:,}'}"
    known = f"about {known}, estimated from the text" if is_estimated else known
    a_reply = _a_reply(live, whole.prompt + whole.completion)
    return known if a_reply is None or not live.rate else f"{known}; {60 * a_reply * live.rate:,.0f}/min"


def _cost(live: LiveRun) -> str:
    most = live.settings.max_cost_usd
    known = f"{dollars(live.cost_usd)}{'' if most is None else f' of {dollars(most)}'}"
    a_reply = _a_reply(live, live.cost_usd)
    if a_reply is None:
        return known
    an_hour = f"{dollars(3600 * a_reply * live.rate)}/h, " if live.rate else ""
    return f"{known}; {an_hour}{dollars(a_reply * live.settings.budget)} for the whole budget"


def _a_reply(live: LiveRun, amount: float | None) -> float | None:
    return amount / live.answered if amount is not None and live.answered >= FEW else None


# Show on stderr how far a long computation has come: a bar on a terminal, plain lines elsewhere.


Item = TypeVar("Item")

# Called with how many things are done, and of how many.
OnProgress = Callable[[int, int], None]
# Seconds between two plain lines, which also come while nothing is done: a log shows that the work goes on.
LINE_S = 30.0


@contextmanager
def progress(doing: str, total: int | None = None) -> Iterator[OnProgress]:
    """Show `doing` on stderr during the block, and how much of `total` the yielded function was told of."""
    console = screen(stderr=True)
    with (_bar if console.is_terminal else _lines)(console, doing, total) as report_progress:
        yield report_progress


def count_progress(items: Iterable[Item], total: int, doing: str) -> Iterator[Item]:
    """Yield the items, and show on stderr, beside the text `doing`, how many of `total` the caller has dealt with."""
    with progress(doing, total) as report_progress:
        for done, item in enumerate(items, 1):
            yield item
            report_progress(done, total)


@contextmanager
def _bar(console: Console, doing: str, total: int | None) -> Iterator[OnProgress]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn  # slow to import

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeRemainingColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True) as bars:
        bar = bars.add_task(doing, total=total)
        yield lambda done, total: bars.update(bar, completed=done, total=total)


@contextmanager
def _lines(console: Console, doing: str, total: int | None) -> Iterator[OnProgress]:
    """Print a line at once, and then every LINE_S seconds, by a thread: the computation holds this one."""
    line, is_over = [doing if total is None else f"{doing}: 0 of {total:,}"], Event()

    def report_progress(done: int, total: int) -> None:
        line[0] = f"{doing}: {done:,} of {total:,}"

    def print_lines() -> None:
        while not is_over.wait(LINE_S):
            console.print(line[0], soft_wrap=True)

    console.print(line[0], soft_wrap=True)
    printing = Thread(target=print_lines, daemon=True)
    printing.start()
    try:
        yield report_progress
    finally:
        is_over.set()
        printing.join()


# Lay out the islands of a run that goes on in a table that fits the room on the terminal.


# Largest width of a sparkline, in characters: enough to compare islands by, and lines stay easy to follow.
TREND = 40
# Smallest width of a sparkline, in characters; a narrower one would be unreadable and is left out.
FEWEST = 8
# Characters between two columns of a table.
COLUMN_GAP = 2
# Columns that are left out in this order until there is room for a sparkline.
OMITTED = ("gap", "mean", "scores")
# The utility of an empty island: below that of any program.
NO_PROGRAM = float("-inf")


def islands_panel(live: LiveRun, width: int, room: int) -> Table | None:
    """Return a table of the islands for `width` characters and `room` lines; None without islands.

    If there are too many islands, the best are shown. Columns that are too wide together are left out: those of OMITTED
    until a sparkline of the best score fits, and then the sparkline.
    """
    state, found = live.state, islands(live.state)
    # Two lines are for the headings and for how many islands are left out.
    shown = found if len(found) < room else _best_of(found, state, max(1, room - 2))
    if not shown:
        return None
    columns = _columns(state, shown)
    widths = {name: max(map(len, (name, *cells))) + COLUMN_GAP for name, cells in columns.items()}
    left = width - sum(widths.values())
    for name in OMITTED:
        if left < FEWEST and name in columns:
            left += widths[name]
            del columns[name]
    if left >= FEWEST:
        columns["trend"] = _trend(state, shown, min(left, TREND))
    return _drawn(state, shown, columns, len(found) - len(shown))


def _columns(state: RunState, shown: Sequence[IslandSummary]) -> dict[str, list[str]]:
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
    """Return a sparkline of each island's best score over the registered candidates, `width` characters wide."""
    # Higher columns are better, in either direction of the objective. Each island has a scale of its own.
    utility = state.objective.utility
    steps = ([(place, utility(score)) for place, score in state.groups[each.name].bests] for each in shown)
    return [area(at_the_end_of(of_one, width, state.registered), 1)[0] for of_one in steps]


def _drawn(state: RunState, shown: Sequence[IslandSummary], columns: Mapping[str, Sequence[str]], more: int) -> Table:
    # `more` is the number of islands that are left out, which the table says.
    table = Table(box=None, header_style="bold", padding=(0, COLUMN_GAP, 0, 0), pad_edge=False)
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
    return NO_PROGRAM if island.best is None else state.objective.utility(island.best.score)


def _best_of(found: Sequence[IslandSummary], state: RunState, count: int) -> list[IslandSummary]:
    ranked = sorted(found, key=lambda each: -_utility(each, state))
    return sorted(ranked[:count], key=lambda each: each.island)


def _ago(island: IslandSummary, state: RunState) -> str:
    """Return how many candidates ago an island's best score improved, such as "12 ago"; empty if it never did."""
    if island.improved_at in (None, TEMPLATE):
        return ""
    return f"{state.registered - island.improved_at:,} ago"
