"""A chart: one Vega-Lite value, which pages, notebooks and files show, and the parts that specifications share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from behavesim.analysis.table import (
    Table,
)
from behavesim.base.errors import UsageError

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


def rows_of(table: Table) -> list[Spec]:
    """The rows of a table as a chart reads them, numbers in the column's unit: per cent for fractions."""
    return [
        {
            column.name: column.unit.factor * cell if isinstance(cell, float) and column.unit.factor != 1 else cell
            for column, cell in zip(table.columns, row, strict=True)
        }
        for row in table.rows
    ]


def layer_of(mark: str, values: Sequence[Spec] | None = None, look: Spec | None = None, **more: Any) -> Spec:
    """A layer: `more` are its encodings, and `params` or `transform`."""
    parts: Spec = {name: more.pop(name) for name in ("params", "transform") if name in more}
    data = {} if values is None else {"data": {"values": values}}
    return {**data, **parts, "mark": {"type": mark, **(look or {})}, "encoding": more}


def number(field: str, title: str | None = None, **more: Any) -> Spec:
    """An encoding of a field with numbers."""
    return {"field": field, "type": "quantitative", "title": title, **more}


def nominal(field: str, **more: Any) -> Spec:
    """An encoding of a field with names."""
    return {"field": field, "type": "nominal", "title": None, **more}


def tooltip(**formats: str) -> list[Spec]:
    """A tooltip: the fields, each with a number's format, or "" for text."""
    named = ({"field": name, "title": name.replace("_", " ")} for name in formats)
    return [each | ({"format": how} if how else {}) for each, how in zip(named, formats.values(), strict=True)]


def programs_layer(values: Sequence[Spec] | None, opacity: float, look: Spec, **encoding: Any) -> Spec:
    """A layer of points that open their candidates, and of which a reader can mark some, on all charts of a page."""
    shown = {"condition": {"test": IS_CHOSEN, "value": opacity}, "value": opacity / 8}
    look = {"filled": True, "cursor": "pointer", **look}
    return layer_of("point", values, look, params=[BRUSH, ZOOM], opacity=shown, **encoding)


def span(values: Sequence[float]) -> list[float]:
    """The ends of an axis that has room for values."""
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
    low, high = span([start, worst])
    return [start if worst > start else low, high] if is_less else [-high, -start if worst > start else -low]


def thinned(rows: Sequence[Any]) -> list[Any]:
    """Return at most DOTS of the rows, at even steps."""
    step = max(1.0, len(rows) / DOTS)
    return [rows[int(place * step)] for place in range(min(len(rows), DOTS))]


def of_groups(labels: Sequence[str], values: Sequence[Any] = GROUPS) -> Spec:
    """A scale that gives each group a colour, dash or symbol in turn."""
    shown = [values[place % len(values)] for place in range(len(labels))]
    return {"field": "group", "type": "nominal", "title": None, "scale": {"domain": list(labels), "range": shown}}
