"""The parts of the live view: pure functions from a moment of a run to a renderable of rich."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from behavesim.analysis.table import SCORE
from behavesim.base.text import number
from behavesim.engine.caps import rejected_share
from behavesim.reports.curve import convergence
from behavesim.reports.live_islands import GAP, distance
from behavesim.reports.moment import Moment
from behavesim.reports.program import beside_template, worth
from behavesim.reports.spending import spending
from behavesim.reports.words import REJECTED, clock, frequency, percent, task_name
from behavesim.state.members import Mean
from behavesim.state.state import RunState
from behavesim.state.tally import RECENT

YEAR_S = 365 * 86400
NOTICES = 2
"""Number of messages in view, the latest ones; the log file has all of them."""
NOTICE_LENGTH = 240
"""Number of characters of a message in view, at most."""
NAMED = 8
"""Largest number of stuck islands that are named."""
NAME = 12
"""Smallest width of the names at the left, in characters: it aligns the values of all parts."""


def line(moment: Moment) -> str:
    """Return the progress of a run as one plain line, for logs and pipes."""
    state, best = moment.state, moment.state.best
    gap = None if best is None else state.objective.gap(best.score)
    known = "".join(f", {each}" for each in (*_rate(moment), *_left(moment)))
    return (
        f"{state.registered}/{moment.settings.budget} done, {state.tally.feasible} feasible, "
        f"{state.tally.rejected.total()} rejected, {_beside_template(state)}"
        f"{'' if gap is None else f' (gap {percent(gap)})'}{known}"
    )


def head(moment: Moment) -> Group:
    """Return the run's name and settings, its progress bar, and its latest messages."""
    return _head(moment, Text(f"{moment.run}  ", style="bold"))


def boxed_head(moment: Moment) -> Panel:
    """Return the same as `head` in a box, which needs two more lines."""
    return Panel(_head(moment, Text()), title=Text(f"behavesim · {moment.run}"), title_align="left")


def _head(moment: Moment, name: Text) -> Group:
    settings, state = moment.settings, moment.state
    models = settings.flat().get("models", ())
    model = f" ({', '.join(models)})" if models else ""
    about = Text.assemble(
        name,
        (settings.method, "bold cyan"),
        f" on {task_name(settings.task)}, proposer {settings.proposer}{model}, "
        f"seed {settings.seed}, isolation {state.isolation}",
        no_wrap=True,
        overflow="ellipsis",
    )
    notices = [Text(str(notice)[:NOTICE_LENGTH], style="yellow") for notice in moment.notices[-NOTICES:]]
    return Group(about, _progress(moment), *notices)


def _progress(moment: Moment) -> RenderableType:
    state, settings = moment.state, moment.settings
    grid = Table.grid(padding=(0, 1), expand=True)
    grid.add_column()
    grid.add_column(justify="right", no_wrap=True)
    done = f"{state.registered:,} / {settings.budget:,}"
    most = "" if settings.max_time_s is None else f" of {clock(settings.max_time_s)}"
    text = "   ".join([done, *_rate(moment), ", ".join([f"{clock(moment.active_s)}{most} gone", *_left(moment)])])
    grid.add_row(ProgressBar(total=settings.budget, completed=state.registered), Text(text))
    return grid


def figures(moment: Moment) -> Table:
    """Return a table of the best score, the work under way, what was spent, and the method's facts."""
    state, best = moment.state, moment.state.best
    rows = {
        "progress": _beside_template(state),
        "best": "none yet" if best is None else worth(best.candidate, best.score, state.objective.gap(best.score)),
        **({"comparison": "being loaded; compiled once a machine, about 10 s"} if moment.is_warming else {}),
        "in flight": f"{number(moment.waiting, 'prompt')}, {number(moment.evaluating, 'program')}",
        "feasible": _feasible(state),
        **spending(moment),
        **moment.facts,
        **_stuck(moment),
    }
    return _facts(rows)


def diversity(moment: Moment) -> Table:
    """Return a table of how many behaviours differ, and of the distances inside islands and between them."""
    tally = moment.state.tally
    different = tally.feasible - tally.repeated_behaviours
    rows = {
        "behaviours": f"{different:,} different; {_share(tally.repeated_behaviours, tally.feasible)} repeat"
        f"{_of_late(tally.recent_repeats)}; {_share(tally.repeated_programs, tally.feasible)} copies",
        **_distances(moment.state),
    }
    return _facts(rows)


def failures(moment: Moment) -> Group:
    """Return the six most frequent reasons for rejection, with the count and the share of all evaluated candidates."""
    tally = moment.state.tally
    most = tally.rejected.most_common(6)
    rows = {REJECTED.get(reason, reason): f"{n:,}  {100 * n / tally.outcomes:.0f} %" for reason, n in most}
    return Group(Text("why candidates fail", style="bold"), _facts(rows) if rows else Text("none has", style="dim"))


def curve(moment: Moment, width: int, height: int) -> Group:
    """Return the curve of the best score over candidates, upwards is better, `width` characters by `height` lines.

    The run must have a best program, and `height` must be at least 3.
    """
    lines = convergence(moment.state.bests, moment.state.registered, width, height - 1)
    return Group(Text("convergence", style="bold"), *(Text(line, style="cyan", no_wrap=True) for line in lines))


def _facts(rows: Mapping[str, str]) -> Table:
    table = Table.grid(padding=(0, GAP))
    table.add_column(min_width=NAME, no_wrap=True)
    table.add_column()
    for name, value in rows.items():
        table.add_row(Text(name, style="bold"), Text(value))
    return table


def _feasible(state: RunState) -> str:
    known = f"{state.tally.feasible:,} of {state.tally.outcomes:,}"
    is_told = len(state.tally.recent) == RECENT
    return known + (f"; of the last {RECENT} {100 * rejected_share(state):.0f} % rejected" if is_told else "")


def _stuck(moment: Moment) -> dict[str, str]:
    """Return a line on the islands without a better program for long; no line if there are no islands."""
    known, stuck = moment.state.islands, moment.stuck
    if not known:
        return {}
    named = ", ".join(stuck[:NAMED]) + (" …" if len(stuck) > NAMED else "")
    which = f"{len(stuck)} of {len(known)}: {named}" if stuck else f"none of {len(known)}"
    return {"stuck": f"{which} (no better program for {moment.long:,} candidates)"}


def _distances(state: RunState) -> dict[str, str]:
    """Return a line with the mean distances inside islands and between them; no line if none was measured."""
    inside = sum((group.inside for group in state.islands.values()), Mean())
    between = sum((group.between for group in state.islands.values()), Mean())
    known = {"inside islands": distance(inside), "between them": distance(between)}
    said = ", ".join(f"{value} {where}" for where, value in known.items() if value)
    return {"distance": said} if said else {}


def _share(count: int, of: int) -> str:
    return f"{100 * count / of:.0f} %" if of else "–"


def _of_late(seen: Sequence[bool]) -> str:
    """Return the share of True among the last RECENT values, as text in brackets; empty while there are fewer."""
    return f" ({100 * sum(seen) / RECENT:.0f} % of the last {RECENT})" if len(seen) == RECENT else ""


def _beside_template(state: RunState) -> str:
    """Return the template's score and the best score, as one line."""
    if state.template is None:
        return "nothing feasible yet"
    if state.best is None or state.gain is None:
        return f"template {SCORE.text(state.template.score)}, nothing feasible yet"
    return beside_template(state.template.score, state.best.score, state.gain)


def _rate(moment: Moment) -> list[str]:
    """Return the rate of candidates as text; no text at a rate of 0."""
    return [frequency(moment.rate)] if moment.rate > 0 else []


def _left(moment: Moment) -> list[str]:
    """Return the remaining time as text, or that the comparison is being loaded; no text if the time is unknown."""
    if moment.is_warming:
        return ["loading the comparison"]
    if moment.left_s is None:
        return []
    return ["over a year left" if moment.left_s > YEAR_S else f"{clock(moment.left_s)} left"]
