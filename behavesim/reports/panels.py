"""The live view of a run: pure functions from its state to something rich can draw."""

from __future__ import annotations

from dataclasses import dataclass

from rich import box
from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from behavesim.analysis.summary import tokens
from behavesim.config import Settings
from behavesim.reports.summary import dollars, percent
from behavesim.state import RunState

FEW = 10
"""Candidates from which on a rate says something of the time that is left."""


@dataclass(frozen=True)
class Moment:
    """A run at one moment.

    `rate` is candidates told a second in this session, `cost_usd` None where a price is unknown; `is_warming` says that
    the comparison is being loaded, which includes compiling it where it is the first on a machine.
    """

    run: str
    settings: Settings
    state: RunState
    active_s: float
    rate: float
    cost_usd: float | None
    is_warming: bool = False

    @property
    def left_s(self) -> float | None:
        """Seconds until the budget is spent at the present rate; None while too few are told to speak of one."""
        if self.state.registered < FEW or self.rate <= 0:
            return None
        return (self.settings.budget - self.state.registered) / self.rate

    @property
    def waiting(self) -> int:
        """Candidates that wait for a reply."""
        return sum(candidate.reply is None for candidate in self.state.open.values())

    @property
    def evaluating(self) -> int:
        """Candidates whose reply has come and whose evaluation has not."""
        return sum(c.reply is not None and c.outcome is None for c in self.state.open.values())


def dashboard(moment: Moment) -> RenderableType:
    """The whole view: progress, what the run has found and costs, archive, failures; a small terminal cuts the end."""
    return Group(
        Panel(Group(_headline(moment), _progress(moment)), title=f"behavesim · {moment.run}", title_align="left"),
        Columns([_search(moment), _islands(moment)], padding=(0, 2)),
        _failures(moment.state),
    )


def line(moment: Moment) -> str:
    """The view in one plain line, for logs and pipes."""
    state, best = moment.state, moment.state.best
    found = "no feasible program yet" if best is None else f"best {best.score:.6g} ({_gap(moment)})"
    return (
        f"{state.registered}/{moment.settings.budget} done, {state.feasible} feasible, "
        f"{sum(state.rejected.values())} rejected, {found}, {moment.rate:.1f}/s, {_left(moment)}"
    )


def _headline(moment: Moment) -> Text:
    settings, state = moment.settings, moment.state
    models = settings.flat().get("models", ())
    model = f" ({', '.join(models)})" if models else ""
    return Text.assemble(
        (settings.method, "bold cyan"),
        f" on {settings.task}, proposer {settings.proposer}{model}, seed {settings.seed}, isolation {state.isolation}",
    )


def _progress(moment: Moment) -> RenderableType:
    state, settings = moment.state, moment.settings
    grid = Table.grid(padding=(0, 1), expand=True)
    grid.add_column(ratio=1)
    grid.add_column(justify="right", no_wrap=True)
    done = f"{state.registered:,} / {settings.budget:,}"
    text = f"{done}   {moment.rate:.1f}/s   {clock(moment.active_s)} gone, {_left(moment)}"
    grid.add_row(ProgressBar(total=settings.budget, completed=state.registered), text)
    return grid


def _islands(moment: Moment) -> Table:
    state = moment.state
    table = Table(title="islands", title_justify="left", header_style="bold", box=box.SIMPLE_HEAD, show_edge=False)
    for name in ("", "size", "clusters", "best", "gap", "improved"):
        table.add_column(name, justify="right", no_wrap=True)
    bests = [state.best_member(island.members) if island.members else None for island in state.islands.values()]
    top = max((best.utility for best in bests if best is not None), default=None)
    for (name, island), best in zip(state.islands.items(), bests, strict=True):
        if best is None:
            table.add_row(name, "0", "", "", "", "", style="dim")
            continue
        clusters = len({state.members[member].score for member in island.members})
        ago = (
            ""
            if island.improved_at is None or island.improved_at < 0
            else f"{state.registered - island.improved_at} ago"
        )
        style = "bold green" if best.utility == top else ""
        gap = percent(state.objective.gap(best.score))
        table.add_row(name, str(len(island.members)), str(clusters), f"{best.score:.6g}", gap, ago, style=style)
    if state.ungrouped:
        table.caption = f"{len(state.ungrouped)} initial programs are not in islands yet"
    return table


def _search(moment: Moment) -> Table:
    state = moment.state
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold")
    table.add_column()
    best = state.best
    rows = {
        "best": "none yet" if best is None else f"{best.score:.6g}, gap {_gap(moment)} (candidate {best.candidate})",
        "in flight": f"{moment.waiting} requests, {moment.evaluating} evaluations",
        "feasible": f"{state.feasible:,} of {state.feasible + sum(state.rejected.values()):,}",
        "repeats": f"{_share(state.repeated_programs, state)} a program known already, "
        f"{_share(state.repeated_behaviours, state)} a behaviour",
        "tokens": _tokens(state),
        "cost": dollars(moment.cost_usd),
    }
    for name, value in rows.items():
        table.add_row(name, value)
    return table


def _failures(state: RunState) -> Table:
    table = Table(title="why candidates fail", title_justify="left", show_header=False, box=None, min_width=30)
    for reason, count in state.rejected.most_common(6):
        table.add_row(reason, f"{count:,}")
    if not state.rejected:
        table.add_row("none has", style="dim")
    return table


def _share(count: int, state: RunState) -> str:
    return f"{100 * count / state.feasible:.0f} %" if state.feasible else "–"


def _tokens(state: RunState) -> str:
    used = tokens(state)
    prompt, completion = used["prompt"], used["completion"]
    return "unknown" if prompt is None or completion is None else f"{prompt:,} in, {completion:,} out"


def _gap(moment: Moment) -> str:
    best = moment.state.best
    return percent(None if best is None else moment.state.objective.gap(best.score))


def _left(moment: Moment) -> str:
    if moment.is_warming:
        return "preparing to compare (slow the first time)"
    return f"{clock(moment.left_s)} left"


def clock(seconds: float | None) -> str:
    """A duration as people read it, such as 2:05 or 1:00:00; a question mark where it is unknown."""
    if seconds is None:
        return "?"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
