"""The parts of the live view: pure functions from a run at one moment to a renderable of rich."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from behavesim.analysis.table import DISTANCE, SCORE
from behavesim.base.text import count_noun, printable, short_name
from behavesim.engine.caps import rejected_share
from behavesim.reports.characters import convergence, from_template
from behavesim.reports.live import COLUMN_GAP, LiveRun, islands_panel, spending
from behavesim.reports.words import REJECTED, clock, frequency, percent, progress, worth
from behavesim.state.members import Mean
from behavesim.state.race import gain_told_apart
from behavesim.state.settings import proposer_parts
from behavesim.state.state import RunState
from behavesim.state.views import RECENT

# A year in seconds. If more time is left, the view says "over a year left": so low a rate says nothing.
YEAR_S = 365 * 86400
# Largest number of messages in view, the latest ones; the log file has all of them.
NOTICES = 2
# Largest number of characters of a message in view: two lines of a wide terminal.
NOTICE_LENGTH = 240
# Largest number of stuck islands that are named, so that the line fits; "…" stands for the others.
NAMED = 8
# What the words of the live view mean, in the order in which they stand there.
WORDS: Mapping[str, str] = {
    "size": "programs",
    "scores": "different scores",
    "improved": "candidates since the island improved",
    "repeat": "a behaviour seen before",
    "copies": "a program seen before",
}
# Smallest width of the names at the left, in characters: it aligns the values of all parts.
NAME = 12


def line(live: LiveRun) -> str:
    """Return the progress of a run as one line without styles, for logs and pipes."""
    state, best = live.state, live.state.best
    gap = None if best is None else state.objective.gap(best.score)
    known = "".join(f", {each}" for each in (*_rate(live), *_time_left(live), *_waiting_for(live)))
    known += _source(state)
    return (
        f"{_tried(state)}/{live.settings.budget} tried, {state.tally.feasible} feasible, "
        f"{state.tally.rejected.total()} rejected, {_best_and_template(state)}"
        f"{'' if gap is None else f' (gap {percent(gap)})'}{known}"
    )


def _tried(state: RunState) -> int:
    """Return the number of outcomes without those of tuned candidates, which the budget does not count."""
    waiting = sum(each.outcome is not None and not each.is_tuned for each in state.open.values())
    return state.registered_questions + waiting


def head(live: LiveRun, is_boxed: bool = False) -> RenderableType:
    """Return the run's name and main settings, progress bar, the latest advice in force, and two latest messages.

    `is_boxed` draws a box around them, which takes two more lines.
    """
    settings, state = live.settings, live.state
    models = settings.flat().get("models", ())
    model = f" ({', '.join(models)})" if models else ""
    about = Text.assemble(
        ("" if is_boxed else f"{live.run}  ", "bold"),
        (settings.method, "bold cyan"),
        f" on {short_name(settings.task)}, proposer {settings.proposer}{model}, "
        f"seed {settings.seed}, isolation {state.isolation}{_source(state)}",
        no_wrap=True,  # so that the height does not depend on the width
        overflow="ellipsis",
    )
    notices = [Text(str(notice)[:NOTICE_LENGTH], style="yellow") for notice in live.notices[-NOTICES:]]
    body = Group(about, _progress(live), *_advice(state), *notices)
    return Panel(body, title=Text(f"behavesim · {live.run}"), title_align="left") if is_boxed else body


def _source(state: RunState) -> str:
    is_trusted = state.started is None or state.started.score_source == "trusted"
    return "" if is_trusted else ", scores self-reported"


def _advice(state: RunState) -> list[Text]:
    in_force = [each for each in state.advice if each.is_in_force(state.asked)]
    if not in_force:
        return []
    more = f" (the latest of {len(in_force)})" if len(in_force) > 1 else ""
    # the numbers come first, since a narrow terminal cuts off the end
    said = f"advice since candidate {in_force[-1].since}{more}: {printable(in_force[-1].text)}"
    return [Text(said, no_wrap=True, overflow="ellipsis")]


def _progress(live: LiveRun) -> RenderableType:
    state, settings = live.state, live.settings
    grid = Table.grid(padding=(0, 1), expand=True)
    grid.add_column()
    grid.add_column(justify="right", no_wrap=True)
    done = f"{_tried(state):,} / {settings.budget:,}"
    most = "" if settings.max_time_s is None else f" of {clock(settings.max_time_s)}"
    text = "   ".join([done, *_rate(live), ", ".join([f"{clock(live.active_s)}{most} gone", *_time_left(live)])])
    grid.add_row(ProgressBar(total=settings.budget, completed=_tried(state)), Text(text))
    return grid


def figures(live: LiveRun) -> Table:
    """Return a table of the best score, the work under way, what was spent, the method's facts and stuck islands."""
    state = live.state
    best = None if state.best is None else state.leader
    evaluating = f"{count_noun(live.evaluating, 'program')}"
    return _facts(
        {
            "progress": _best_and_template(state),
            "best": "none yet" if best is None else worth(best.candidate, best.score, state.objective.gap(best.score)),
            "comparison": "being loaded; compiled once a machine, about 10 s" if live.is_warming else None,
            "in flight": ", ".join([*(_waiting_for(live) or [count_noun(live.waiting, "prompt")]), evaluating]),
            "feasible": _feasible(state),
            "put off": _put_off(state),
            **spending(live),
            **live.facts,
            "stuck": _stuck(live),
        }
    )


def _put_off(state: RunState) -> str | None:
    why = state.tally.put_off
    reasons = ", ".join(f"{n:,} {reason}" for reason, n in why.most_common())
    return f"{count_noun(why.total(), 'time')}, then tried alone: {reasons}" if why else None


def diversity(live: LiveRun) -> Table:
    """Return a table of how many behaviours differ, and how far newcomers are from their islands and from others."""
    tally = live.state.tally
    different = tally.feasible - tally.repeated_behaviours
    repeats = f"{_share(tally.repeated_behaviours, tally.feasible)} repeat{_of_late(tally.recent_repeats)}"
    copies = f"{_share(tally.repeated_programs, tally.feasible)} copies"
    return _facts({"behaviours": f"{different:,} different; {repeats}; {copies}", "newcomers": _distances(live.state)})


def failures(live: LiveRun) -> Group:
    """Return a list of the at most six most frequent reasons for rejection, with counts and shares of all outcomes."""
    tally = live.state.tally
    most = tally.rejected.most_common(6)
    rows = {REJECTED.get(reason, reason): f"{n:,}  {_share(n, tally.outcomes)}" for reason, n in most}
    return Group(Text("why candidates fail", style="bold"), _facts(rows) if rows else Text("none has", style="dim"))


def curve(live: LiveRun, width: int, height: int) -> Group:
    """Return the curve of the best score over candidates; there must be a best program, and 4 lines or more."""
    state = live.state
    bests = from_template(None if state.template is None else state.template.score, state.bests, state.gain)
    lines = convergence(bests, state.registered, width, height - 1)
    return Group(Text("convergence", style="bold"), *(Text(line, style="cyan", no_wrap=True) for line in lines))


def _facts(rows: Mapping[str, str | None]) -> Table:
    table = Table.grid(padding=(0, COLUMN_GAP))
    table.add_column(min_width=NAME, no_wrap=True)
    table.add_column()
    for name, value in rows.items():
        if value is not None:
            table.add_row(Text(name, style="bold"), Text(value))
    return table


def _feasible(state: RunState) -> str:
    known = f"{state.tally.feasible:,} of {state.tally.outcomes:,}"
    is_told = len(state.tally.recent) == RECENT  # a share of fewer changes too much
    return known + (f"; of the last {RECENT} {100 * rejected_share(state):.0f} % rejected" if is_told else "")


def _stuck(live: LiveRun) -> str | None:
    known, stuck = live.state.islands, live.stuck
    if not known:
        return None
    named = ", ".join(stuck[:NAMED]) + (" …" if len(stuck) > NAMED else "")
    which = f"{len(stuck)} of {len(known)}: {named}" if stuck else f"none of {len(known)}"
    return f"{which} (no gain or regrouping for {live.long:,} candidates)"


def _distances(state: RunState) -> str | None:
    """Return the mean distances of the programs that joined an island to it, and to the other islands."""
    # It is None if none was measured. A report compares all programs of an island instead.
    own = sum((group.inside for group in state.islands.values()), Mean()).value
    others = sum((group.between for group in state.islands.values()), Mean()).value
    known = {"their island": own, "the others": others}
    said = [f"{DISTANCE.text(1.0 - value)} from {what}" for what, value in known.items() if value is not None]
    return f"mean distance {', '.join(said)}" if said else None


def _share(count: int, of: int) -> str:
    return f"{100 * count / of:.0f} %" if of else "–"


def _of_late(seen: Sequence[bool]) -> str:
    return f" ({_share(sum(seen), RECENT)} of the last {RECENT})" if len(seen) == RECENT else ""


def _best_and_template(state: RunState) -> str:
    """Return the template's score and the best score as one line, or that nothing is feasible yet."""
    # A feasible program counts once it is registered: after all of smaller numbers, and if need be its comparison.
    none = "best not known yet" if state.tally.feasible else "nothing feasible yet"
    if state.template is None:
        return none
    if state.best is None or state.gain is None:
        return f"template {SCORE.text(state.template.score)}, {none}"
    apart = gain_told_apart(state.best, state.template)
    return progress(state.template.score, state.best.score, state.gain, state.objective.unit, told_apart=apart)


def _rate(live: LiveRun) -> list[str]:
    return [frequency(live.rate)] if live.rate > 0 else []


def _waiting_for(live: LiveRun) -> list[str]:
    name, argument = proposer_parts(live.settings.proposer)
    prompts = count_noun(live.waiting, "prompt")
    said = {"folder": f"{prompts} in {argument} without NAME.reply.md", "command": f"{prompts} at the command"}
    return [said[name]] if name in said and live.waiting else []


def legend(live: LiveRun) -> Text:
    """Return a text that explains the words of islands and behaviours (WORDS); empty if there are no islands."""
    islands = "; ".join(f"{name}: {what}" for name, what in WORDS.items()) if live.state.islands else ""
    return Text(islands, style="dim")


def _time_left(live: LiveRun) -> list[str]:
    if live.is_warming:
        return ["loading the comparison"]
    if live.left_s is None:
        return []
    return ["over a year left" if live.left_s > YEAR_S else f"{clock(live.left_s)} left"]


# Lay out the live view of a run for a terminal of any size.


# Lines of text on the terminal, each of pieces with their styles.
Lines = list[list[Segment]]
# Function that turns a part of the view and a width in characters into lines, padded to this width; None gives no
# lines.
Draw = Callable[[RenderableType | None, int], Lines]

# Width of a terminal, in characters, from which the islands are drawn beside the rest.
SIDE_BY_SIDE = 150
# Fraction of the width for the left side, if islands are drawn beside it: their table needs more than half.
LEFT = 0.44
# Characters between the left side and the islands.
GAP = 3
# Smallest and largest height of the convergence curve, in lines.
CURVE = (5, 12)


class Dashboard:
    """Renderable of the live view of a run at one moment; it fills at most all but one line of the terminal.

    A small terminal shows fewer parts. These go one after another: the box, the curve, why candidates fail, the
    distances of behaviours. Then islands go, the worst first, and then the last lines of the rest.
    """

    def __init__(self, live: LiveRun) -> None:
        self._live = live

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        unbounded = options.update(height=None)  # else rich would pad or cut every part to the terminal's height

        def draw(part: RenderableType | None, width: int) -> Lines:
            return [] if part is None else console.render_lines(part, unbounded.update(width=width))

        for line in _lay_out(self._live, draw, options.max_width, options.size.height - 1):
            yield from line
            yield Segment.line()
        yield Segment("")  # the cursor waits on an empty line: there an echoed ^C has room, and moves no other line


def _lay_out(live: LiveRun, draw: Draw, width: int, room: int) -> Lines:
    """Return the lines of all parts that `room` lines have room for; the curve and the box take what is left."""
    # The meanings of words are shown only where they leave room for the curve.
    top = draw(head(live), width)
    body, is_whole = (_lay_out_beside if width >= SIDE_BY_SIDE else _lay_out_below)(live, draw, width, room - len(top))
    words = draw(legend(live), width) if is_whole and live.state.islands else []
    left = room - len(top) - len(body)
    if left < len(words) + CURVE[0]:
        words = []
    left -= len(words)
    if is_whole and live.state.bests and left >= CURVE[0]:
        body += draw(curve(live, width, min(left, CURVE[1])), width)
        boxed = draw(head(live, is_boxed=True), width)
        if len(boxed) + len(body) + len(words) <= room:
            top = boxed
    return [*top, *body, *words][:room]


def _lay_out_beside(live: LiveRun, draw: Draw, width: int, room: int) -> tuple[Lines, bool]:
    across = int(LEFT * width)
    left, is_whole = _take_fitting([draw(part(live), across) for part in (figures, diversity, failures)], room)
    right = draw(islands_panel(live, width - across - GAP, room), width - across - GAP)
    blank, gap = [Segment(" " * across)], Segment(" " * GAP)
    return [[*(one or blank), gap, *(other or ())] for one, other in zip_longest(left, right)], is_whole


def _lay_out_below(live: LiveRun, draw: Draw, width: int, room: int) -> tuple[Lines, bool]:
    first = draw(figures(live), width)
    islands = draw(islands_panel(live, width, room - len(first)), width)
    return _take_fitting([first, islands, *(draw(part(live), width) for part in (diversity, failures))], room)


def _take_fitting(parts: Sequence[Lines], room: int) -> tuple[Lines, bool]:
    """Return the first part and those after it that `room` lines have room for, and whether that is all of them."""
    lines = list(parts[0])
    for part in parts[1:]:
        if len(lines) + len(part) > room:
            return lines, False
        lines += part
    return lines, True
