"""Charts: each is one Vega-Lite value, which pages, notebooks and files show; the extra `figures` writes files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from behavesim.analysis.behaviours import BehaviourMap, SharedMap
from behavesim.analysis.convergence import Checkpoint, DiversityAt, Improvement
from behavesim.analysis.groups import Ranks, RunGroup
from behavesim.analysis.held_out import HeldOut, course_table
from behavesim.analysis.portfolio import Portfolio
from behavesim.analysis.table import (
    COUNT,
    DISTANCE,
    FRACTION,
    PROGRAM,
    PROGRAMS,
    RATIO,
    SCORE,
    SCORE_AND_GAP,
    Column,
    Table,
    Unit,
)
from behavesim.base.errors import UsageError
from behavesim.reports.words import percent
from behavesim.similarity.clustering import Join
from behavesim.state.events import TEMPLATE
from behavesim.task import Objective

# A part of a specification, as JSON has it.
Spec = dict[str, Any]

# Colours of a page in the light, and what takes their place in the dark: a palette that colour-blind people can tell
# apart (Okabe and Ito 2008), each with a contrast of 4.5 or more.
INK, FAINT, RULE, PAPER = "#1b1f23", "#5b6570", "#dfe3e7", "#ffffff"
BEST, SECOND, THIRD = "#0072b2", "#c04f00", "#00795a"
GROUPS = ("#0067a3", "#b34a00", "#00755a", "#5a4fb0", "#9c3f74", "#7d5b00")
IN_THE_DARK: Mapping[str, str] = {
    **{INK: "#e4e7ea", FAINT: "#9aa5b1", RULE: "#30363d", PAPER: "#14171a"},
    **{BEST: "#56b4e8", SECOND: "#e69f01", THIRD: "#2fc39a"},
    **dict(zip(GROUPS, ("#56b4e9", "#f0893d", "#2fc39b", "#a9a1f0", "#df98c0", "#e0b040"), strict=True)),
}
# Dashes and symbols of groups. Some colours look alike to colour-blind readers, so they change with the colours, and
# they are five: where a colour comes again it has another dash, and colours of equal dash are far apart for all eyes.
DASHES = ([1, 0], [9, 4], [2, 3], [9, 3, 2, 3], [4, 2])
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross")
# Kinds of files that a chart can be written to.
FORMATS = (".png", ".svg", ".pdf")
# Width of a text column in a two-column paper, and of a chart in a notebook, in pixels (1/96 inch).
COLUMN, NOTEBOOK = 326, 640
# Height of a curve in a paper, in pixels.
LOW = 230
# Largest number of candidates drawn as dots; more would make a page slow.
DOTS = 2000
# Largest number of programs for which the cells of a heat map show their numbers: smaller cells have no room for them.
NUMBERED = 15
# The share of a run in which curves may leave the plot: the first programs may be so bad that the rest would look flat.
EARLY = 0.1

# How charts look; a page adds the colours of the dark.
_AXIS = {"labelColor": INK, "titleColor": INK, "gridColor": RULE, "domainColor": FAINT, "tickColor": FAINT}
CONFIG: Spec = {
    "font": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Liberation Sans', Arial, sans-serif",
    "axis": {**_AXIS, "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"}
    | {"labelOverlap": True, "labelSeparation": 6},
    "legend": {
        "labelColor": INK,
        "titleColor": INK,
        "orient": "bottom",
        "symbolOpacity": 1,
        "labelFontSize": 12,
        "labelLimit": 320,
    }
    | {"titleFontSize": 12, "titleFontWeight": "normal", "columns": 2, "symbolStrokeWidth": 2.5},
    "title": {"color": INK, "fontSize": 13, "fontWeight": "normal"},
    "view": {"stroke": None},
}
# Drag marks programs, the wheel zooms only with Ctrl so that it scrolls otherwise, and Shift with drag moves.
ZOOM: Spec = {
    "name": "zoom",
    "select": {
        "type": "interval",
        "translate": "[pointerdown[event.shiftKey], window:pointerup] > window:pointermove!",
        "zoom": "wheel![event.ctrlKey]",
    },
    "bind": "scales",
}
BRUSH: Spec = {
    "name": "brush",
    "select": {
        "type": "interval",
        "on": "[pointerdown[!event.shiftKey], window:pointerup] > window:pointermove!",
        "zoom": False,
    },
}
# Names of the programs that a reader marked, on whichever chart of a page: the page gives them to all.
CHOSEN: Spec = {"name": "chosen", "value": []}
# Where a rule begins and ends that is as wide as its chart.
WHOLE_WIDTH: Spec = {"x": {"value": 0}, "x2": {"value": "width"}}
IS_CHOSEN = "length(chosen) == 0 || indexof(chosen, datum.candidate) >= 0"


@dataclass(frozen=True)
class Chart:
    """A chart: `spec` is its Vega-Lite specification without size and style, `title` says in words what it shows.

    `table` has its numbers, for files and for readers without a pointer. `drawn` returns lines of characters for a
    terminal of that width; None if a terminal shows nothing. A notebook shows it as it is.
    """

    name: str
    title: str
    spec: Mapping[str, Any]
    table: Table | None = None
    height: int | None = 320
    drawn: Callable[[int], Sequence[str]] | None = None

    def sized(self, width: int | str | None, height: int | None = None) -> Spec:
        """Return the whole specification for a width in pixels, or "container"; None leaves the spec's own size."""
        size = {} if width is None or self.height is None else {"width": width, "height": height or self.height}
        return {"description": self.title, "background": PAPER, **self.spec, **size, "config": CONFIG}

    def write(self, path: Path | str) -> None:
        """Write the chart, as wide as a column of a paper, as the kind of file that the name's end says.

        Equal charts give equal files. Raises UsageError without vl-convert, or if the file cannot be written.
        """
        path = Path(path)
        check_figure(path)
        import vl_convert

        drawn = vl_convert.vegalite_to_svg(self.sized(COLUMN, LOW if self.height in (320, 340) else None))
        ids = list(dict.fromkeys(re.findall(r'id="(\w+)"', drawn)))  # which count up over all charts of the process
        names = {name: f"{name.rstrip('0123456789')}{place}" for place, name in enumerate(ids)}
        svg = re.sub(r'(?<=[#"])\w+(?=[")])', lambda found: names.get(found[0], found[0]), drawn)
        kind = path.suffix.lower()
        content = svg.encode() if kind == ".svg" else vl_convert.svg_to_pdf(svg) if kind == ".pdf" else None
        try:
            path.write_bytes(vl_convert.svg_to_png(svg, scale=3) if content is None else content)
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}") from None

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        spec = {"$schema": "https://vega.github.io/schema/vega-lite/v5.json", **self.sized(NOTEBOOK)}
        return {"application/vnd.vegalite.v5+json": spec, "text/plain": f"<{self.title}>"}


def check_charts() -> None:
    """Raise UsageError if charts cannot be written as files."""
    if find_spec("vl_convert") is None:
        raise UsageError(
            "figures need the package vl-convert-python, which is not installed; pip install 'behavesim[figures]'"
        )


def check_figure(path: Path) -> None:
    """Raise UsageError if charts cannot be written, without the path's folder, or for another ending than FORMATS."""
    check_charts()
    if path.suffix.lower() not in FORMATS:
        raise UsageError(f"a figure is a file ending in {', '.join(FORMATS)}; got {path}")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"there is no folder {path.absolute().parent} for the figure")


def write_charts(charts: Iterable[Chart], folder: Path) -> list[Path]:
    """Write charts as NAME.pdf and NAME.svg into a folder, made if missing, and return the files."""
    files = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write figures into {folder}: {error.strerror}") from None
    for chart in charts:
        for kind in (".pdf", ".svg"):
            files.append(folder / f"{chart.name}{kind}")
            chart.write(files[-1])
    return files


def _rows(table: Table) -> list[Spec]:
    """The rows of a table as a chart reads them, numbers in the column's unit: per cent for fractions."""
    return [
        {
            column.name: column.unit.factor * cell if isinstance(cell, float) and column.unit.factor != 1 else cell
            for column, cell in zip(table.columns, row, strict=True)
        }
        for row in table.rows
    ]


def _layer(mark: str, values: Sequence[Spec] | None = None, look: Spec | None = None, **more: Any) -> Spec:
    """A layer: `more` are its encodings, and `params` or `transform`."""
    parts: Spec = {name: more.pop(name) for name in ("params", "transform") if name in more}
    data = {} if values is None else {"data": {"values": values}}
    return {**data, **parts, "mark": {"type": mark, **(look or {})}, "encoding": more}


def _number(field: str, title: str | None = None, **more: Any) -> Spec:
    return {"field": field, "type": "quantitative", "title": title, **more}


def _name(field: str, **more: Any) -> Spec:
    return {"field": field, "type": "nominal", "title": None, **more}


def _said(**formats: str) -> list[Spec]:
    """A tooltip: the fields, each with a number's format, or "" for text."""
    named = ({"field": name, "title": name.replace("_", " ")} for name in formats)
    return [each | ({"format": how} if how else {}) for each, how in zip(named, formats.values(), strict=True)]


def _programs(values: Sequence[Spec] | None, opacity: float, look: Spec, **encoding: Any) -> Spec:
    """A layer of points that open their candidates, and of which a reader can mark some, on all charts of a page."""
    shown = {"condition": {"test": IS_CHOSEN, "value": opacity}, "value": opacity / 8}
    look = {"filled": True, "cursor": "pointer", **look}
    return _layer("point", values, look, params=[BRUSH, ZOOM], opacity=shown, **encoding)


def _span(values: Sequence[float]) -> list[float]:
    low, high = min(values), max(values)
    more = 0.05 * (high - low) or abs(high) / 10 or 1.0
    return [low - more, high + more]


def score_domain(values: Sequence[float], template: float | None, best: float | None, is_less: bool) -> list[float]:
    """Return the ends of an axis: the finest value or `best`, and half as far again as the template.

    If nine of ten values are nearer than that, the axis ends there: a few bad programs would flatten the rest.
    """
    sign = 1.0 if is_less else -1.0
    turned = sorted(sign * value for value in values)
    finest, tenth = turned[0], turned[min(len(turned) - 1, int(0.9 * len(turned)))]
    start = finest if best is None else min(sign * best, finest)
    beyond = tenth if template is None else sign * template + 0.5 * (sign * template - start)
    worst = min(max(beyond, finest), max(tenth, tenth if template is None else sign * template))
    low, high = _span([start, worst])
    return [start if worst > start else low, high] if is_less else [-high, -start if worst > start else -low]


def _thinned(rows: Sequence[Any]) -> list[Any]:
    """Return at most DOTS of the rows, at even steps."""
    step = max(1.0, len(rows) / DOTS)
    return [rows[int(place * step)] for place in range(min(len(rows), DOTS))]


# What the axis across can show, as a reader chooses, and the field of it.
ACROSS = {
    **{"candidates": "asked", "requests": "requests", "tokens": "tokens"},
    **{"US dollars": "usd", "CPU seconds": "cpu_s", "hours": "hours"},
}


def _across(known: Mapping[str, str], axis: str | None) -> tuple[Spec, str | None]:
    """The parameter `across` and the title of its axis; if `axis` is None, a reader chooses among what is known.

    Raises UsageError if `axis` is not known.
    """
    if axis is not None and axis not in known:
        raise UsageError(f"how many {axis} were used is not known of every run; known: {', '.join(known)}")
    if axis is not None or len(known) == 1:
        name = axis or "candidates"
        return {"name": "across", "value": known[name]}, name
    choice = {"input": "select", "options": list(known.values()), "labels": list(known), "name": "across "}
    return {"name": "across", "value": "asked", "bind": choice}, None


def convergence_chart(
    improvements: Sequence[Improvement],
    checkpoints: Sequence[Checkpoint],
    objective: Objective,
    template: float | None = None,
    dots: Sequence[Mapping[str, Any]] = (),
    moments: Sequence[Mapping[str, Any]] = (),
    drawn: Callable[[int], Sequence[str]] | None = None,
    axis: str | None = None,
) -> Chart:
    """The best so far, the mean of the ten best, and a dot for each feasible candidate; gaps in % if all are known.

    `dots` have candidate, score and gap. `moments` have for each number of candidates, from 1, what had been used by
    then, as ACROSS names it; a reader chooses among what is known, unless it is `axis`. There must be an improvement.
    """
    by_gap = all(each.gap is not None for each in improvements)
    field, is_less = ("gap", True) if by_gap else ("score", objective.direction == "minimise")
    end = max(improvements[-1].asked, *(each.asked for each in checkpoints))
    columns = (Column("asked", COUNT, "candidates"), *SCORE_AND_GAP, Column("top10_gap", FRACTION, "top-10 gap"))
    rows = tuple((each.asked, each.score, each.gap, each.top10_gap) for each in checkpoints)
    table = Table("convergence", "the best so far", columns, rows)

    def used(asked: int, worth: float | None, **more: Any) -> Spec:
        worth = None if worth is None else 100 * worth if by_gap else worth
        return {**(moments[asked - 1] if moments else {}), "asked": asked, field: worth, **more}

    points = [used(each["candidate"] + 1, each[field], candidate=each["candidate"]) for each in _thinned(dots)]
    steps = [used(each.asked, getattr(each, field), candidate=each.candidate) for each in improvements]
    ten = [used(each.asked, each.top10_gap) for each in checkpoints if by_gap and each.top10_gap is not None]
    lines = {"mean of the ten best": ten, "best so far": [*steps, used(end, getattr(improvements[-1], field))]}
    gap = None if template is None else objective.gap(template)
    reach = template if not by_gap else None if gap is None else 100 * gap
    rules = {"template": reach, "best known": 0.0 if by_gap else objective.best_known}
    colours = {"best so far": BEST, "mean of the ten best": SECOND, "template": THIRD, "best known": INK}
    shown = [name for name in colours if lines.get(name) or rules.get(name) is not None]
    scale = {"domain": shown, "range": [colours[name] for name in shown]}
    domain = score_domain([each[field] for each in points or steps], reach, rules["best known"], is_less)
    up = {"scale": {"domain": domain, "clamp": True, "nice": False}, "axis": {"grid": True}}
    known = {name: at for name, at in ACROSS.items() if at == "asked" or (moments and moments[-1].get(at))}
    across, across_title = _across(known, axis)
    said = _said(candidate="", **{field: ".5~g"})
    title = "gap to the best known, %" if by_gap else _score_title(objective.unit)
    x = _number("x", across_title, scale={"nice": False}, axis={"grid": False})
    at = {"x": x, "y": _number(field, title, **up)}
    colour = {"type": "nominal", "title": None, "scale": scale}
    layers = [_programs(points, 0.65, {"size": 18, "color": FAINT}, **at, tooltip=said)]
    for name, dash in (("template", [3, 3]), ("best known", [8, 3])):
        if rules[name] is not None:
            rule = {**WHOLE_WIDTH, "y": {"datum": rules[name]}, "color": {"datum": name, **colour}}
            layers.append(_layer("rule", [{}], {"strokeDash": dash, "clip": True}, **rule))
    for name, dash in (("mean of the ten best", [5, 3]), ("best so far", [1, 0])):
        look = {"interpolate": "step-after", "strokeWidth": 2.25, "strokeDash": dash, "clip": True}
        series = {**at, "color": {"datum": name, **colour}}
        layers += [_layer("line", lines[name], look, **series)] if lines[name] else []
    look = {"filled": True, "size": 45, "opacity": 1, "cursor": "pointer"}
    layers.append(_layer("point", steps, look, **at, color={"datum": "best so far", **colour}, tooltip=said))
    for layer in layers:
        layer["transform"] = [{"calculate": "datum[across]", "as": "x"}]
    spec = {"params": [across, CHOSEN], "layer": layers}
    last = checkpoints[-1] if checkpoints else None
    words = f"gap {percent(improvements[-1].gap)}" if by_gap else f"best score {SCORE.text(improvements[-1].score)}"
    ten_best = f", ten best {percent(last.top10_gap)}" if ten and last else ""
    said_of_it = f"Convergence over {end} candidates, in the end {words}{ten_best}"
    return Chart("convergence", said_of_it, spec, table, 340, drawn)


def _score_title(unit: str) -> str:
    return f"score ({unit})" if unit else "score"


def _of_groups(labels: Sequence[str], values: Sequence[Any] = GROUPS) -> Spec:
    """A scale that gives each group a colour, dash or symbol in turn."""
    shown = [values[place % len(values)] for place in range(len(labels))]
    return {"field": "group", "type": "nominal", "title": None, "scale": {"domain": list(labels), "range": shown}}


def groups_chart(
    name: str,
    groups: Sequence[RunGroup],
    template: float | None = None,
    unit: str = "",
    axis: str | None = None,
) -> Chart | None:
    """The mean best of each group's runs, with 95 % bands from six runs on; None if no group has a value.

    A curve ends where its shortest run ends. It is the gap in %, or the score if any run's gap is unknown. A reader
    chooses what is across, among what every run knows, unless it is `axis`.
    """
    by_gap = all(group.has_gaps for group in groups)
    labels = [group.label for group in groups]
    over = {at: [group.mean_convergence(by_gap, at) for group in groups] for at in ACROSS.values()}
    found = {
        at: tuple(
            (label, len(group.runs), each.at, each.best.mean, each.best.low, each.best.high)
            for label, group, means in zip(labels, groups, of_groups, strict=True)
            for each in means
        )
        for at, of_groups in over.items()
        if at == "asked" or all(of_groups)
    }
    rows = found["asked"]
    if not rows:
        return None
    across, across_title = _across({title: at for title, at in ACROSS.items() if at in found}, axis)
    shown = FRACTION if by_gap else SCORE
    names = Column("group"), Column("runs", COUNT), Column("asked", COUNT, "candidates")
    columns = (*names, *(Column(each, shown) for each in ("mean", "low", "high")))
    table = Table(name, "mean of the best so far", columns, rows)
    found = found if across_title is None else {across["value"]: found[across["value"]]}
    ends_at = {at: max(row[2] for row in rows) for at, rows in found.items()}
    values = [
        {"across": at, **{"at" if name == "asked" else name: cell for name, cell in row.items()}}
        for at, rows in found.items()
        for row in _rows(replace(table, rows=rows))
    ]
    # the first programs may be so bad that the rest of the curves would be flat lines
    is_late = [row for row in values if row["at"] > EARLY * ends_at[row["across"]]]
    late = [row[at] for row in is_late for at in ("mean", "low", "high")]
    ends = _span([value for value in late if value is not None] + ([0.0] if by_gap else []))
    reach = None if template is None else shown.factor * template
    is_near = reach is not None and max(abs(reach - at) for at in ends) <= 2 * (ends[1] - ends[0])
    domain = [min(*ends, reach), max(*ends, reach)] if is_near and reach is not None else ends
    title = "mean gap of the best so far, %" if by_gap else f"mean {_score_title(unit)} of the best so far"
    up = {"scale": {"domain": domain, "nice": False}, "axis": {"grid": True}, "title": title}
    ticks = {"tickMinStep": 1} if across_title == "candidates" else {}
    x = _number("at", across_title, scale={"nice": False, "domainMin": 0}, axis={"grid": False, **ticks})
    as_lines = {"legend": {"symbolType": "stroke", "symbolSize": 800, "rowPadding": -10}}  # long enough for a dash
    colour, dashes = _of_groups(labels) | as_lines, _of_groups(labels, DASHES) | as_lines
    band = {"x": x, "y": _number("low") | up, "y2": {"field": "high"}, "color": colour}
    said = _said(group="", runs="", at=",.5~g", mean=".5~g", low=".5~g", high=".5~g")
    line = {"x": x, "y": _number("mean") | up, "color": colour, "strokeDash": dashes, "tooltip": said}
    known = [{"filter": "isValid(datum.low)"}]
    layers = [
        _layer("area", None, {"opacity": 0.18, "clip": True}, transform=known, **band),
        _layer("line", None, {"clip": True, "strokeWidth": 2.25}, params=[ZOOM], **line),
    ]
    if is_near:
        layers.append(_layer("rule", [{}], {"strokeDash": [2, 3], "color": INK}, **WHOLE_WIDTH, y={"datum": reach}))
    last = {row["group"]: row["mean"] for row in _rows(table)}
    sign = " %" if by_gap else ""
    ended = ", ".join(
        f"{label} {shown.style and format(last[label], '.2f' if by_gap else '.6g')}{sign}" for label in last
    )
    chosen = [{"filter": "datum.across == across"}]
    spec = {"params": [across], "data": {"values": values}, "transform": chosen, "layer": layers}
    return Chart(
        name, f"Mean best so far over {max(row[2] for row in rows)} candidates, in the end {ended}", spec, table, 340
    )


def dots_chart(name: str, title: str, unit: Unit, dots: Sequence[tuple[str, str, int, float]]) -> Chart:
    """A dot for each run, of (group, run, seed, value), and a bar at the mean of each group."""
    labels = list(dict.fromkeys(group for group, *_ in dots))
    columns = (Column("group"), Column("run"), Column("seed", COUNT), Column("value", unit, title))
    table = Table(name, title, columns, tuple(dots))
    values = _rows(table)
    x = _number("value", title, scale={"domain": _span([each["value"] for each in values])}, axis={"grid": True})
    y = _name("group", sort=labels, axis={"labelLimit": 160})
    look = {"filled": True, "size": 80, "opacity": 0.7, "stroke": INK, "strokeWidth": 0.75}
    colour = _of_groups(labels) | {"legend": None}
    spec = {
        "data": {"values": values},
        "encoding": {"y": y, "color": colour},
        "layer": [
            _layer("tick", None, {"thickness": 3, "size": 26}, x={**x, "aggregate": "mean"}),
            _layer("point", None, look, x=x, tooltip=_said(run="", seed="", value=".5~g")),
        ],
    }
    own = {label: [each["value"] for each in values if each["group"] == label] for label in labels}
    said = ", ".join(f"{label} {sum(of) / len(of):.5g}" for label, of in own.items())
    return Chart(name, f"{title}: {said}", spec, table, 60 + 36 * len(labels))


def diversity_chart(runs: Mapping[str, Sequence[DiversityAt]]) -> Chart:
    """The distances inside islands as boxes, and between islands as lines, of each run by name, over the run."""
    every = [(run, at) for run, moments in runs.items() for at in moments]
    inside = [
        {"group": run, "registered": at.registered, "inside": each}
        for run, at in every
        for each in at.intra
        if each is not None
    ]
    between = [{"group": run, "registered": at.registered, "between": at.inter} for run, at in every]
    between = [each for each in between if each["between"] is not None]
    title = "1 − BehaveSim (boxes: inside islands)"
    up = {"axis": {"grid": True}, "scale": {"zero": True, "nice": True}, "title": title}
    colour = _of_groups(list(runs), GROUPS if len(runs) > 1 else (BEST,))
    beside = {"xOffset": {"field": "group"}} if len(runs) > 1 else {}
    box = {"size": 14 / len(runs), "opacity": 0.5, "outliers": {"size": 12}}
    said = _said(group="", registered=",", between=".3f")
    spec = {
        "encoding": {
            "x": {"field": "registered", "type": "ordinal", "title": "candidates"} | {"axis": {"labelAngle": 0}}
        },
        "layer": [
            _layer("boxplot", inside, box, y=_number("inside") | up, color=colour, **beside),
            _layer("line", between, {"point": True}, y=_number("between") | up, color=colour, tooltip=said),
        ],
    }
    columns = (
        Column("registered", COUNT, title="candidates"),
        Column("intra", DISTANCE, title="distance inside islands"),
        Column("inter", DISTANCE, title="distance between islands"),
    )
    rows = tuple((at.registered, at.inside, at.inter) for _, at in every)
    last = DISTANCE.text(between[-1]["between"]) if between else "unknown"
    said_of_it = f"Diversity over time: in the end the mean distance between islands is {last}"
    return Chart("diversity", said_of_it, spec, Table("diversity", "diversity over time", columns, rows))


def leaves_of(joins: Sequence[Join], size: int) -> tuple[list[int], list[list[tuple[float, float]]]]:
    """Return the leaves of a tree in order, and for each join its four corners: (place among the leaves, distance)."""
    members = [[leaf] for leaf in range(size)]
    for join in joins:
        members.append([*members[join.one], *members[join.other]])
    at = {leaf: (float(place), 0.0) for place, leaf in enumerate(members[-1])}
    corners = []
    for number, join in enumerate(joins, size):
        (a, low), (b, high) = at[join.one], at[join.other]
        corners.append([(a, low), (a, join.distance), (b, join.distance), (b, high)])
        at[number] = (a + b) / 2, join.distance
    return members[-1], corners


def tree_chart(
    name: str,
    title: str,
    labels: Sequence[str],
    joins: Sequence[Join],
    candidates: Sequence[int] = (),
    branches: Sequence[int] = (),
    drawn: Callable[[int], Sequence[str]] | None = None,
) -> Chart:
    """The tree of two groups or more by average linkage; `joins`, nearest first, name them by their places in `labels`.

    A leaf opens its candidate on a page, and has the colour of its branch.
    """
    order, corners = leaves_of(joins, len(labels))
    lines = [
        {"join": number, "corner": corner, "place": place, "distance": distance}
        for number, each in enumerate(corners)
        for corner, (place, distance) in enumerate(each)
    ]
    leaves = [{"leaf": labels[leaf], "place": place, "colour": INK} for place, leaf in enumerate(order)]
    for leaf, each in zip(order, leaves, strict=True):
        each |= {"candidate": candidates[leaf]} if candidates else {}
        each |= {"colour": GROUPS[branches[leaf] % len(GROUPS)]} if branches else {}
    up = _number("place", axis=None, scale={"domain": [len(labels) - 0.5, -0.5], "nice": False})
    far = {"domain": [1.02 * max(0.01, joins[-1].distance), 0], "nice": False}
    across = _number("distance", "distance", scale=far, axis={"grid": False, "tickCount": 5})
    shown = {"condition": {"test": IS_CHOSEN, "value": 1}, "value": 0.15}
    colour = _name("colour", scale=None)
    look = {"align": "left", "dx": 5, "limit": 260, "cursor": "pointer"}
    path = {"detail": {"field": "join"}, "order": {"field": "corner"}, "x": across}
    spec = {
        "params": [CHOSEN],
        "encoding": {"y": up},
        "layer": [
            _layer("line", lines, {"color": FAINT, "strokeWidth": 1.25}, **path),
            _layer("text", leaves, look, x={"datum": 0}, text={"field": "leaf"}, color=colour, opacity=shown),
        ],
    }
    columns = (Column("joined", COUNT), Column("one", COUNT), Column("other", COUNT), Column("distance", DISTANCE))
    first = len(labels) + 1  # the first join of n groups makes group n + 1
    rows = tuple((first + step, join.one + 1, join.other + 1, join.distance) for step, join in enumerate(joins))
    return Chart(name, title, spec, Table("joins", "how they join", columns, rows), 30 + 17 * len(labels), drawn)


def heat_chart(
    name: str, title: str, labels: Sequence[str], similarities: Sequence[Sequence[float]], order: Sequence[int]
) -> Chart:
    """The heat map of an (N, N) symmetric similarity matrix, rows and columns in the given order of places."""
    names = [labels[place] for place in order]
    cells = [{"a": labels[i], "b": labels[j], "similarity": similarities[i][j]} for i in order for j in order]
    axis = {
        "sort": names,
        "scale": {"padding": 0},
        "axis": {"labelFontSize": 10, "ticks": False, "labelOverlap": False},
    }
    colours = {"scheme": "viridis", "domain": [min(0.0, *(min(row) for row in similarities)), 1]}
    colour = _number("similarity", "similarity", scale=colours)
    layers = [_layer("rect", None, {}, color=colour, tooltip=_said(a="", b="", similarity=".3f"))]
    if len(order) <= NUMBERED:  # above 0.6 viridis is light
        ink = {"condition": {"test": "datum.similarity > 0.6", "value": "black"}, "value": "white"}
        layers.append(_layer("text", None, {"fontSize": 9}, text={"field": "similarity", "format": ".2f"}, color=ink))
    encoding = {"x": _name("a", **axis), "y": _name("b", **axis)}
    spec = {"data": {"values": cells}, "encoding": encoding, "layer": layers}
    return Chart(name, title, spec, None, max(220, min(560, 22 * len(order))))


def below(name: str, title: str, *charts: Chart) -> Chart:
    """Charts one below the other, as one."""
    parts = [{**chart.spec, "width": COLUMN, "height": chart.height} for chart in charts]
    params = {"params": [CHOSEN]}
    for part in parts:
        part.pop("params", None)
    spec = {**params, "vconcat": parts, "resolve": {"scale": {"color": "independent"}}}
    return Chart(name, title, spec, None, None)


def _square(points: Sequence[tuple[float, float]]) -> Spec:
    """Axes across and up of equal lengths, with room for all points and the names above some."""
    sides = list(zip(*points, strict=True))
    reach = 1.25 * max((max(each) - min(each)) / 2 for each in sides) or 1.0
    centres = [(min(each) + max(each)) / 2 for each in sides]
    scales = ({"domain": [at - reach, at + reach], "nice": False, "zero": False} for at in centres)
    return {name: _number(name, axis=None, scale=scale) for name, scale in zip("xy", scales, strict=True)}


def map_chart(found: BehaviourMap, objective: Objective, recommended: int | None) -> Chart:
    """The programs of a map, coloured by their rank in score; the best, the recommended and the template are named."""
    ranking = sorted(found.places, key=lambda place: (-objective.utility(place.score), place.candidate))
    columns = (
        *(Column("rank", COUNT), Column("candidate", PROGRAM), *SCORE_AND_GAP, Column("x", DISTANCE)),
        *(Column("y", DISTANCE), Column("nearest", PROGRAMS, title="nearest in behaviour")),
    )
    near = [" ".join(str(other.candidate) for other in place.nearest) for place in ranking]
    rows = tuple(
        (rank, *each.cells, each.x, each.y, like)
        for rank, (each, like) in enumerate(zip(ranking, near, strict=True), 1)
    )
    table = Table("map", "the programs of the map", columns, rows, keys=2)
    named: dict[tuple[float, float], list[str]] = {}
    for candidate, name in ((found.places[0].candidate, "best"), (recommended, "recommended"), (TEMPLATE, "template")):
        for place in found.places:
            if place.candidate == candidate:
                named.setdefault((place.x, place.y), []).append(name)
    # the recommended program is often near the best: its name stands below
    marks = [
        {"x": at[0], "y": at[1], "name": ", ".join(names), "dy": 26 if names[0] == "recommended" else -18}
        for at, names in named.items()
    ]
    scale = {"scheme": "viridis", "reverse": True, "domain": [1, max(2, len(rows))]}
    colour = _number("rank", "rank: yellow is the best", scale=scale, legend={"tickCount": 5, "format": "d"})
    look = {"size": 85, "stroke": INK, "strokeOpacity": 0.5, "strokeWidth": 0.75}
    said = _said(candidate="", rank="", score=".6~g", gap=".2f")
    text = {"dy": {"expr": "datum.dy"}, "fontSize": 13, "fontWeight": 600, "opacity": 1, "color": INK}
    spec = {
        "params": [CHOSEN],
        "encoding": _square([(place.x, place.y) for place in found.places]),
        "layer": [
            _programs(_rows(table)[::-1], 1.0, look, color=colour, tooltip=said),  # the best is drawn on top
            _layer("point", marks, {"size": 320, "color": INK, "strokeWidth": 1.75, "opacity": 1}),
            _layer("text", marks, text, text={"field": "name"}),
        ],
    }
    return Chart("map", f"Map of {len(rows)} programs by behaviour", spec, table, 560)


def shared_map_chart(name: str, found: SharedMap, labels: Sequence[str], first: int = 0) -> Chart:
    """The programs of groups on one map; `first` is the number of the first of them on its page."""
    columns = (
        *(Column("program", PROGRAMS), Column("group"), *SCORE_AND_GAP),
        *(
            Column("elsewhere", DISTANCE, title="distance to other groups"),
            Column("x", DISTANCE),
            Column("y", DISTANCE),
        ),
    )
    rows = tuple(
        (f"{each.run} {each.candidate}", labels[each.group], each.score, each.gap, each.elsewhere, each.x, each.y)
        for each in found.programs
    )
    table = Table(name, "the programs of the map", columns, rows)
    places = [{**row, "candidate": first + place} for place, row in enumerate(_rows(table))]
    bests = list({place["group"]: place for place in reversed(places)}.values())
    look = {"size": 80, "stroke": INK, "strokeWidth": 0.6}
    shape = _of_groups(labels, SHAPES)
    said = _said(program="", group="", score=".6~g", gap=".2f")
    spec = {
        "params": [CHOSEN],
        "encoding": _square([(each.x, each.y) for each in found.programs]),
        "layer": [
            _programs(places[::-1], 0.8, look, color=_of_groups(labels), shape=shape, tooltip=said),
            _layer("point", bests, {"size": 320, "color": INK, "strokeWidth": 1.75, "opacity": 1}),
        ],
    }
    return Chart(name, f"Map of the best behaviours of {len(labels)} groups", spec, table, 560)


def portfolio_chart(chosen: Portfolio) -> Chart:
    """How good the first k programs are together, over k: the gap in %, or the score if one is unknown."""
    by_gap = all(each.together_gap is not None for each in chosen.members)
    worth = [each.together_gap if by_gap else each.together for each in chosen.members]
    columns = (
        Column("programs", COUNT),
        Column("candidate", PROGRAM),
        Column("together", FRACTION if by_gap else SCORE),
    )
    rows = tuple((k, each.candidate, of) for k, (each, of) in enumerate(zip(chosen.members, worth, strict=True), 1))
    values = _rows(Table("portfolio_curve", "", columns, rows))
    title = "gap of the best of them, %" if by_gap else "score of the best of them"
    steps = {"scale": {"nice": False, "zero": False}, "axis": {"tickMinStep": 1, "format": "d", "grid": False}}
    domain = {"domain": _span([each["together"] for each in values]), "nice": True}
    encoding = {"x": _number("programs", "programs", **steps), "y": _number("together", title, scale=domain)}
    said = _said(programs="", candidate="", together=".5~g")
    spec = _layer("line", values, {"point": {"size": 50}, "color": BEST}, **encoding, tooltip=said)
    what, show = ("gap", percent) if by_gap else ("score", SCORE.text)
    ends = f"{what} {show(worth[-1])}, of the first alone {show(worth[0])}"
    told = f"The best of {len(rows)} programs on each instance: {ends}"
    return Chart("portfolio", told, spec, None, 240)


def course_chart(found: HeldOut) -> Chart:
    """The best so far over the candidates: its gain on the template in the search, and on a split; two at least."""
    values = _rows(course_table(found))
    names = {"search_gain": "in the search", "gain": f"on {found.split} instances"}
    scale = {"domain": list(names.values()), "range": [SECOND, BEST]}
    across = {"scale": {"type": "log", "nice": False}, "axis": {"grid": False, "format": "~s"}}
    x = _number("asked", "candidates", **across)
    layers = []
    for field, name in names.items():
        shown = [each for each in values if each[field] is not None]
        look = {"point": {"filled": True, "size": 45}, "strokeDash": [1, 0] if field == "gain" else [5, 3]}
        series = {"x": x, "y": _number(field, "gain on the template, %", scale={"zero": False})}
        colour = {"datum": name, "type": "nominal", "title": None, "scale": scale}
        said = _said(candidate="", **{field: ".4~g"})
        layers += [_layer("line", shown, look, **series, color=colour, tooltip=said)] if shown else []
    last = found.course[-1]
    ends = f"in the end {percent(last.search_gain)} in the search, {percent(last.gain)} on {found.split} instances"
    title = f"Gain of the best so far on the template: {ends}"
    return Chart(f"course_{found.split.replace('-', '_')}", title, {"layer": layers}, None, 260)


def ranks_chart(found: Ranks) -> Chart:
    """The groups' mean ranks, the best on top, with bars as long as the critical difference."""
    ordered = sorted(found.means.items(), key=lambda entry: entry[1])
    reach = found.critical / 2
    values = [{"group": name, "rank": mean, "low": mean - reach, "high": mean + reach} for name, mean in ordered]
    title = "mean rank; groups whose bars do not overlap differ significantly"
    low, rank = _number("low", title, scale={"zero": False}), _number("rank", title)
    look = {"filled": True, "size": 60, "color": BEST, "opacity": 1}
    spec = {
        "data": {"values": values},
        "encoding": {"y": _name("group", sort=[label for label, _ in ordered])},
        "layer": [
            _layer("rule", None, {"color": BEST}, x=low, x2={"field": "high"}),
            _layer("point", None, look, x=rank, tooltip=_said(group="", rank=".2f")),
        ],
    }
    said = ", ".join(f"{label} {RATIO.text(mean)}" for label, mean in ordered)
    return Chart("ranks", f"Mean ranks: {said}", spec, None, 40 + 26 * len(values))


def scatter_chart(
    name: str, candidates: Sequence[int], metrics: Mapping[str, Sequence[Any]], senses: Mapping[str, int]
) -> Chart:
    """Two metrics of programs against each other, as a reader chooses, and the Pareto front of those drawn.

    Each metric has a value for each candidate. `senses` has 1 for a metric whose higher end is better, and −1 where the
    lower one is. For others a reader chooses, and until then there is no front.
    """
    # an evaluator chooses the names, which must not become a part of an expression
    fields = [f"metric{place}" for place in range(len(metrics))]
    rows = [dict(zip(fields, row, strict=True)) for row in zip(*metrics.values(), strict=True)]
    points = [{"candidate": candidate, **row} for candidate, row in zip(candidates, rows, strict=True)]
    known = json.dumps({field: senses.get(metric, 0) for field, metric in zip(fields, metrics, strict=True)})
    params: list[Spec] = []
    for param, words, field in (("up", "up", fields[0]), ("along", "across", fields[1])):
        metric = {"input": "select", "options": fields, "labels": list(metrics), "name": f"{words} "}
        ends = {"input": "select", "options": [0, 1, -1], "labels": ["as the task says", "higher", "lower"]}
        params.append({"name": param, "value": field, "bind": metric})
        params.append({"name": f"{param}_end", "value": 0, "bind": {**ends, "name": f"better {words} "}})
    axis: Spec = {"scale": {"zero": False, "padding": 12}, "axis": {"grid": True}}
    at = {"x": _number("x", **axis), "y": _number("y", **axis), "tooltip": _said(candidate="", x=".5~g", y=".5~g")}
    order = [{"field": name, "order": "descending"} for name in ("across", "high")]
    # from the best across on, the front has each program that is better up than all before it
    front = [
        {"calculate": f"(along_end || {known}[along]) * datum.x", "as": "across"},
        {"calculate": f"(up_end || {known}[up]) * datum.y", "as": "high"},
        {"filter": f"(along_end || {known}[along]) && (up_end || {known}[up])"},
        {"window": [{"op": "max", "field": "high", "as": "best"}], "frame": [None, 0], "sort": order},
        {"window": [{"op": "lag", "field": "best", "as": "before"}], "sort": order},
        {"filter": "!isValid(datum.before) || datum.high > datum.before"},
    ]
    look = {"filled": True, "size": 70, "color": SECOND, "opacity": 1, "cursor": "pointer"}
    spec = {
        "params": [*params, CHOSEN],
        "data": {"values": _thinned(points)},
        "transform": [
            {"calculate": "datum[along]", "as": "x"},
            {"calculate": "datum[up]", "as": "y"},
            {"filter": "isNumber(datum.x) && isNumber(datum.y)"},
        ],
        "layer": [
            _programs(None, 0.6, {"size": 30, "color": BEST}, **at),
            _layer("line", None, {"color": SECOND, "strokeDash": [5, 3]}, transform=front, **at),
            _layer("point", None, look, transform=front, **at),
        ],
    }
    return Chart(name, f"Metrics of {len(points)} programs", spec, None, 360)


def genealogy_chart(title: str, table: Table, ties: Sequence[tuple[int, int]]) -> Chart:
    """The programs of a table, of candidate, score, gap and more, over their numbers; `ties` are (parent, child)."""
    values = _rows(table)
    field = "gap" if all(each["gap"] is not None for each in values) else "score"
    worth = {each["candidate"]: each[field] for each in values}
    lines = [{"candidate": a, field: worth[a], "child": b, "worth": worth[b]} for a, b in ties]
    up = {"scale": {"zero": False, "padding": 12}, "axis": {"grid": True}}
    said = _said(candidate="", operator="", score=".6~g", gap=".2f")
    look = {"size": 90, "color": BEST, "stroke": PAPER}
    spec = {
        "params": [CHOSEN],
        "encoding": {
            "x": _number(
                "candidate", "candidate", scale={"nice": False, "padding": 12}, axis={"grid": False, "tickMinStep": 1}
            ),
            "y": _number(field, "gap to the best known, %" if field == "gap" else "score", **up),
        },
        "layer": [
            _layer("rule", lines, {"color": FAINT, "opacity": 0.5}, x2={"field": "child"}, y2={"field": "worth"}),
            _programs(values, 1.0, look, tooltip=said),
        ],
    }
    return Chart("genealogy", title, spec)
