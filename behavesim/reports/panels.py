"""The live view of a run: pure functions from its state to something rich can draw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rich import box
from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from behavesim.analysis.islands import IslandSummary, islands
from behavesim.analysis.summary import tokens
from behavesim.analysis.table import SCORE
from behavesim.config import Settings
from behavesim.events import TEMPLATE
from behavesim.notices import Notice
from behavesim.reports.summary import beside_template, dollars, percent, worth
from behavesim.state import RunState
from behavesim.tokens import Tokens

FEW = 10
"""Candidates from which on a rate says something of the time that is left."""
YEAR_S = 365 * 86400
NOTICES = 2
"""What was said last stays in view; the log has all of it."""
NOTICE_LENGTH = 240


@dataclass(frozen=True)
class Moment:
    """A run at one moment.

    `rate` is candidates registered a second in this session; `cost_usd`, estimates included, is None where a price is
    unknown; `facts` is what the method has to say of itself; `is_warming` says that the comparison is being loaded,
    which includes compiling it where it is the first on a machine. `notices` is what was said of the run in this
    session, in order.
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
        """Seconds until the budget is spent at the present rate; None while too few are registered to speak of one."""
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
        Panel(
            Group(_headline(moment), _progress(moment), *_latest_notices(moment)),
            title=f"behavesim · {moment.run}",
            title_align="left",
        ),
        Columns([_search(moment), _islands(moment)], padding=(0, 2)),
        _failures(moment.state),
    )


def line(moment: Moment) -> str:
    """The view in one plain line, for logs and pipes."""
    state, best = moment.state, moment.state.best
    gap = "" if best is None or state.objective.gap(best.score) is None else f" (gap {_gap(moment)})"
    return (
        f"{state.registered}/{moment.settings.budget} done, {state.feasible} feasible, "
        f"{sum(state.rejected.values())} rejected, {_beside_template(state)}{gap}, {moment.rate:.1f}/s, {_left(moment)}"
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
    grid.add_column()
    grid.add_column(justify="right", no_wrap=True)
    done = f"{state.registered:,} / {settings.budget:,}"
    text = f"{done}   {moment.rate:.1f}/s   {clock(moment.active_s)} gone, {_left(moment)}"
    grid.add_row(ProgressBar(total=settings.budget, completed=state.registered), text)
    return grid


def _latest_notices(moment: Moment) -> list[Text]:
    return [Text(str(notice)[:NOTICE_LENGTH], style="yellow") for notice in moment.notices[-NOTICES:]]


def _islands(moment: Moment) -> Table:
    state = moment.state
    table = Table(title="islands", title_justify="left", header_style="bold", box=box.SIMPLE_HEAD, show_edge=False)
    has_gaps = bool(state.objective.best_known)
    for name in ("", "size", "clusters", "best", *(["gap"] if has_gaps else []), "improved"):
        table.add_column(name, justify="right", no_wrap=True)
    found = islands(state)
    utilities = {each.name: state.objective.utility(each.best.score) for each in found if each.best is not None}
    for each in found:
        if each.best is None:
            table.add_row(each.name, "0", style="dim")
            continue
        style = "bold green" if utilities[each.name] == max(utilities.values()) else ""
        gaps = [percent(each.best.gap)] if has_gaps else []
        worth = (SCORE.text(each.best.score), *gaps, _ago(each, state))
        table.add_row(each.name, str(each.size), str(each.clusters), *worth, style=style)
    if state.ungrouped:
        table.caption = f"{len(state.ungrouped)} initial programs are not in islands yet"
    return table


def _ago(island: IslandSummary, state: RunState) -> str:
    """How many candidates ago an island got better; nothing where it never did."""
    if island.improved_at in (None, TEMPLATE):
        return ""
    return _plural(state.registered - island.improved_at, "candidate") + " ago"


def _search(moment: Moment) -> Table:
    state = moment.state
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold")
    table.add_column()
    best = state.best
    rows = {
        "progress": _beside_template(state),
        "best": "none yet" if best is None else worth(best.candidate, best.score, state.objective.gap(best.score)),
        "in flight": f"{_plural(moment.waiting, 'request')}, {_plural(moment.evaluating, 'evaluation')}",
        "feasible": f"{state.feasible:,} of {state.feasible + sum(state.rejected.values()):,}",
        "duplicates": f"{_share(state.repeated_programs, state)} same program, "
        f"{_share(state.repeated_behaviours, state)} same behaviour",
        "tokens": _tokens(state),
        "cost": _cost(moment),
        **moment.facts,
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


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _share(count: int, state: RunState) -> str:
    return f"{100 * count / state.feasible:.0f} %" if state.feasible else "–"


def _tokens(state: RunState) -> str:
    if _is_estimated(state):
        whole = sum((each.with_estimates() for each in state.tokens.values()), Tokens())
        return f"about {whole.prompt:,} in, {whole.completion:,} out, estimated from the text"
    used = tokens(state)
    prompt, completion = used["prompt"], used["completion"]
    return "unknown" if prompt is None or completion is None else f"{prompt:,} in, {completion:,} out"


def _cost(moment: Moment) -> str:
    return f"{'about ' if _is_estimated(moment.state) else ''}{dollars(moment.cost_usd)}"


def _is_estimated(state: RunState) -> bool:
    return any(each.estimated_prompt or each.estimated_completion for each in state.tokens.values())


def _beside_template(state: RunState) -> str:
    """What has been reached, beside what the search started from."""
    if state.template is None or state.best is None or state.gain is None:
        return "nothing feasible yet"
    return beside_template(state.template.score, state.best.score, state.gain)


def _gap(moment: Moment) -> str:
    best = moment.state.best
    return percent(None if best is None else moment.state.objective.gap(best.score))


def _left(moment: Moment) -> str:
    if moment.is_warming:
        return "loading the comparison (compiled once a machine, about 10 s)"
    if moment.left_s is not None and moment.left_s > YEAR_S:
        return "over a year left"
    return f"{clock(moment.left_s)} left"


def clock(seconds: float | None) -> str:
    """A duration as people read it, such as 2:05 or 1:00:00; a question mark where it is unknown."""
    if seconds is None:
        return "?"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
