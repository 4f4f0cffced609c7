"""Charts of programs among one another: trees, heat maps, maps of behaviours, metrics and genealogies."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from behavesim.analysis.behaviours import BehaviourMap, SharedMap
from behavesim.analysis.table import (
    COUNT,
    DISTANCE,
    PROGRAM,
    PROGRAMS,
    SCORE_AND_GAP,
    Column,
    Table,
)
from behavesim.reports.chart import (
    BEST,
    CHOSEN,
    COLUMN,
    FAINT,
    GROUPS,
    INK,
    IS_CHOSEN,
    PAPER,
    SECOND,
    SHAPES,
    Chart,
    Spec,
    layer_of,
    nominal,
    number,
    of_groups,
    programs_layer,
    rows_of,
    thinned,
    tooltip,
)
from behavesim.similarity.clustering import Join
from behavesim.state.events import TEMPLATE
from behavesim.task import Objective

# Largest number of programs for which the cells of a heat map show their numbers: smaller cells have no room for them.
NUMBERED = 15


def leaves_of(joins: Sequence[Join], size: int) -> tuple[list[int], list[list[tuple[float, float]]]]:
    """Return the leaves of a tree in order, and for each join its four corners: (place among the leaves, distance)."""
    members = [[leaf] for leaf in range(size)]
    for join in joins:
        members.append([*members[join.one], *members[join.other]])
    at = {leaf: (float(place), 0.0) for place, leaf in enumerate(members[-1])}
    corners = []
    for joined, join in enumerate(joins, size):
        (a, low), (b, high) = at[join.one], at[join.other]
        corners.append([(a, low), (a, join.distance), (b, join.distance), (b, high)])
        at[joined] = (a + b) / 2, join.distance
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
    up = number("place", axis=None, scale={"domain": [len(labels) - 0.5, -0.5], "nice": False})
    far = {"domain": [1.02 * max(0.01, joins[-1].distance), 0], "nice": False}
    across = number("distance", "distance", scale=far, axis={"grid": False, "tickCount": 5})
    shown = {"condition": {"test": IS_CHOSEN, "value": 1}, "value": 0.15}
    colour = nominal("colour", scale=None)
    look = {"align": "left", "dx": 5, "limit": 260, "cursor": "pointer"}
    path = {"detail": {"field": "join"}, "order": {"field": "corner"}, "x": across}
    spec = {
        "params": [CHOSEN],
        "encoding": {"y": up},
        "layer": [
            layer_of("line", lines, {"color": FAINT, "strokeWidth": 1.25}, **path),
            layer_of("text", leaves, look, x={"datum": 0}, text={"field": "leaf"}, color=colour, opacity=shown),
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
    colour = number("similarity", "similarity", scale=colours)
    layers = [layer_of("rect", None, {}, color=colour, tooltip=tooltip(a="", b="", similarity=".3f"))]
    if len(order) <= NUMBERED:  # above 0.6 viridis is light
        ink = {"condition": {"test": "datum.similarity > 0.6", "value": "black"}, "value": "white"}
        layers.append(layer_of("text", None, {"fontSize": 9}, text={"field": "similarity", "format": ".2f"}, color=ink))
    encoding = {"x": nominal("a", **axis), "y": nominal("b", **axis)}
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
    return {name: number(name, axis=None, scale=scale) for name, scale in zip("xy", scales, strict=True)}


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
    colour = number("rank", "rank: yellow is the best", scale=scale, legend={"tickCount": 5, "format": "d"})
    look = {"size": 85, "stroke": INK, "strokeOpacity": 0.5, "strokeWidth": 0.75}
    said = tooltip(candidate="", rank="", score=".6~g", gap=".2f")
    text = {"dy": {"expr": "datum.dy"}, "fontSize": 13, "fontWeight": 600, "opacity": 1, "color": INK}
    spec = {
        "params": [CHOSEN],
        "encoding": _square([(place.x, place.y) for place in found.places]),
        "layer": [
            programs_layer(rows_of(table)[::-1], 1.0, look, color=colour, tooltip=said),  # the best is drawn on top
            layer_of("point", marks, {"size": 320, "color": INK, "strokeWidth": 1.75, "opacity": 1}),
            layer_of("text", marks, text, text={"field": "name"}),
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
    places = [{**row, "candidate": first + place} for place, row in enumerate(rows_of(table))]
    bests = list({place["group"]: place for place in reversed(places)}.values())
    look = {"size": 80, "stroke": INK, "strokeWidth": 0.6}
    shape = of_groups(labels, SHAPES)
    said = tooltip(program="", group="", score=".6~g", gap=".2f")
    spec = {
        "params": [CHOSEN],
        "encoding": _square([(each.x, each.y) for each in found.programs]),
        "layer": [
            programs_layer(places[::-1], 0.8, look, color=of_groups(labels), shape=shape, tooltip=said),
            layer_of("point", bests, {"size": 320, "color": INK, "strokeWidth": 1.75, "opacity": 1}),
        ],
    }
    return Chart(name, f"Map of the best behaviours of {len(labels)} groups", spec, table, 560)


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
    at = {"x": number("x", **axis), "y": number("y", **axis), "tooltip": tooltip(candidate="", x=".5~g", y=".5~g")}
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
        "data": {"values": thinned(points)},
        "transform": [
            {"calculate": "datum[along]", "as": "x"},
            {"calculate": "datum[up]", "as": "y"},
            {"filter": "isNumber(datum.x) && isNumber(datum.y)"},
        ],
        "layer": [
            programs_layer(None, 0.6, {"size": 30, "color": BEST}, **at),
            layer_of("line", None, {"color": SECOND, "strokeDash": [5, 3]}, transform=front, **at),
            layer_of("point", None, look, transform=front, **at),
        ],
    }
    return Chart(name, f"Metrics of {len(points)} programs", spec, None, 360)


def genealogy_chart(title: str, table: Table, ties: Sequence[tuple[int, int]]) -> Chart:
    """The programs of a table, of candidate, score, gap and more, over their numbers; `ties` are (parent, child)."""
    values = rows_of(table)
    field = "gap" if all(each["gap"] is not None for each in values) else "score"
    worth = {each["candidate"]: each[field] for each in values}
    lines = [{"candidate": a, field: worth[a], "child": b, "worth": worth[b]} for a, b in ties]
    up = {"scale": {"zero": False, "padding": 12}, "axis": {"grid": True}}
    said = tooltip(candidate="", operator="", score=".6~g", gap=".2f")
    look = {"size": 90, "color": BEST, "stroke": PAPER}
    spec = {
        "params": [CHOSEN],
        "encoding": {
            "x": number(
                "candidate", "candidate", scale={"nice": False, "padding": 12}, axis={"grid": False, "tickMinStep": 1}
            ),
            "y": number(field, "gap to the best known, %" if field == "gap" else "score", **up),
        },
        "layer": [
            layer_of("rule", lines, {"color": FAINT, "opacity": 0.5}, x2={"field": "child"}, y2={"field": "worth"}),
            programs_layer(values, 1.0, look, tooltip=said),
        ],
    }
    return Chart("genealogy", title, spec)
