"""Charts over the candidates of runs, and of groups of runs: curves, dots, boxes and ranks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from behavesim.analysis.convergence import Checkpoint, DiversityAt, Improvement
from behavesim.analysis.groups import Ranks, RunGroup
from behavesim.analysis.held_out import HeldOut, course_table
from behavesim.analysis.portfolio import Portfolio
from behavesim.analysis.table import (
    COUNT,
    DISTANCE,
    FRACTION,
    PROGRAM,
    RATIO,
    SCORE,
    SCORE_AND_GAP,
    Column,
    Table,
    Unit,
)
from behavesim.base.errors import UsageError
from behavesim.reports.chart import (
    BEST,
    CHOSEN,
    DASHES,
    FAINT,
    GROUPS,
    INK,
    SECOND,
    THIRD,
    WHOLE_WIDTH,
    ZOOM,
    Chart,
    Spec,
    layer_of,
    nominal,
    number,
    of_groups,
    programs_layer,
    rows_of,
    score_domain,
    span,
    thinned,
    tooltip,
)
from behavesim.reports.words import percent
from behavesim.task import Objective

# The share of a run in which curves may leave the plot: the first programs may be so bad that the rest would look flat.
EARLY = 0.1


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

    points = [used(each["candidate"] + 1, each[field], candidate=each["candidate"]) for each in thinned(dots)]
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
    said = tooltip(candidate="", **{field: ".5~g"})
    title = "gap to the best known, %" if by_gap else _score_title(objective.unit)
    x = number("x", across_title, scale={"nice": False}, axis={"grid": False})
    at = {"x": x, "y": number(field, title, **up)}
    colour = {"type": "nominal", "title": None, "scale": scale}
    layers = [programs_layer(points, 0.65, {"size": 18, "color": FAINT}, **at, tooltip=said)]
    for name, dash in (("template", [3, 3]), ("best known", [8, 3])):
        if rules[name] is not None:
            rule = {**WHOLE_WIDTH, "y": {"datum": rules[name]}, "color": {"datum": name, **colour}}
            layers.append(layer_of("rule", [{}], {"strokeDash": dash, "clip": True}, **rule))
    for name, dash in (("mean of the ten best", [5, 3]), ("best so far", [1, 0])):
        look = {"interpolate": "step-after", "strokeWidth": 2.25, "strokeDash": dash, "clip": True}
        series = {**at, "color": {"datum": name, **colour}}
        layers += [layer_of("line", lines[name], look, **series)] if lines[name] else []
    look = {"filled": True, "size": 45, "opacity": 1, "cursor": "pointer"}
    layers.append(layer_of("point", steps, look, **at, color={"datum": "best so far", **colour}, tooltip=said))
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
    values = [
        {"across": at, **{"at" if name == "asked" else name: cell for name, cell in row.items()}}
        for at, rows in found.items()
        for row in rows_of(replace(table, rows=rows))
    ]
    ends = _late_span(values, [0.0] if by_gap else [])
    reach = None if template is None else shown.factor * template
    if reach is not None and max(abs(reach - at) for at in ends) > 2 * (ends[1] - ends[0]):
        reach = None  # the template is too far off to be shown
    domain = ends if reach is None else [min(*ends, reach), max(*ends, reach)]
    title = "mean gap of the best so far, %" if by_gap else f"mean {_score_title(unit)} of the best so far"
    up = {"scale": {"domain": domain, "nice": False}, "axis": {"grid": True}, "title": title}
    ticks = {"tickMinStep": 1} if across_title == "candidates" else {}
    x = number("at", across_title, scale={"nice": False, "domainMin": 0}, axis={"grid": False, **ticks})
    as_lines = {"legend": {"symbolType": "stroke", "symbolSize": 800, "rowPadding": -10}}  # long enough for a dash
    colour, dashes = of_groups(labels) | as_lines, of_groups(labels, DASHES) | as_lines
    band = {"x": x, "y": number("low") | up, "y2": {"field": "high"}, "color": colour}
    said = tooltip(group="", runs="", at=",.5~g", mean=".5~g", low=".5~g", high=".5~g")
    line = {"x": x, "y": number("mean") | up, "color": colour, "strokeDash": dashes, "tooltip": said}
    known = [{"filter": "isValid(datum.low)"}]
    layers = [
        layer_of("area", None, {"opacity": 0.18, "clip": True}, transform=known, **band),
        layer_of("line", None, {"clip": True, "strokeWidth": 2.25}, params=[ZOOM], **line),
    ]
    if reach is not None:
        layers.append(layer_of("rule", [{}], {"strokeDash": [2, 3], "color": INK}, **WHOLE_WIDTH, y={"datum": reach}))
    last = {row["group"]: row["mean"] for row in rows_of(table)}
    sign = " %" if by_gap else ""
    ended = ", ".join(f"{label} {last[label]:{'.2f' if by_gap else '.6g'}}{sign}" for label in last)
    chosen = [{"filter": "datum.across == across"}]
    spec = {"params": [across], "data": {"values": values}, "transform": chosen, "layer": layers}
    return Chart(
        name, f"Mean best so far over {max(row[2] for row in rows)} candidates, in the end {ended}", spec, table, 340
    )


def _late_span(values: Sequence[Spec], more: Sequence[float]) -> list[float]:
    """The ends of an axis for curves behind the first tenth of each, and for `more`."""
    ends_at: dict[str, float] = {}
    for row in values:
        ends_at[row["across"]] = max(row["at"], ends_at.get(row["across"], 0.0))
    late = [row for row in values if row["at"] > EARLY * ends_at[row["across"]]]
    known = [row[at] for row in late for at in ("mean", "low", "high") if row[at] is not None]
    return span([*known, *more])


def dots_chart(name: str, title: str, unit: Unit, dots: Sequence[tuple[str, str, int, float]]) -> Chart:
    """A dot for each run, of (group, run, seed, value), and a bar at the mean of each group."""
    labels = list(dict.fromkeys(group for group, *_ in dots))
    columns = (Column("group"), Column("run"), Column("seed", COUNT), Column("value", unit, title))
    table = Table(name, title, columns, tuple(dots))
    values = rows_of(table)
    x = number("value", title, scale={"domain": span([each["value"] for each in values])}, axis={"grid": True})
    y = nominal("group", sort=labels, axis={"labelLimit": 160})
    look = {"filled": True, "size": 80, "opacity": 0.7, "stroke": INK, "strokeWidth": 0.75}
    colour = of_groups(labels) | {"legend": None}
    spec = {
        "data": {"values": values},
        "encoding": {"y": y, "color": colour},
        "layer": [
            layer_of("tick", None, {"thickness": 3, "size": 26}, x={**x, "aggregate": "mean"}),
            layer_of("point", None, look, x=x, tooltip=tooltip(run="", seed="", value=".5~g")),
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
    colour = of_groups(list(runs), GROUPS if len(runs) > 1 else (BEST,))
    beside = {"xOffset": {"field": "group"}} if len(runs) > 1 else {}
    box = {"size": 14 / len(runs), "opacity": 0.5, "outliers": {"size": 12}}
    said = tooltip(group="", registered=",", between=".3f")
    spec = {
        "encoding": {
            "x": {"field": "registered", "type": "ordinal", "title": "candidates"} | {"axis": {"labelAngle": 0}}
        },
        "layer": [
            layer_of("boxplot", inside, box, y=number("inside") | up, color=colour, **beside),
            layer_of("line", between, {"point": True}, y=number("between") | up, color=colour, tooltip=said),
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
    values = rows_of(Table("portfolio_curve", "", columns, rows))
    title = "gap of the best of them, %" if by_gap else "score of the best of them"
    steps = {"scale": {"nice": False, "zero": False}, "axis": {"tickMinStep": 1, "format": "d", "grid": False}}
    domain = {"domain": span([each["together"] for each in values]), "nice": True}
    encoding = {"x": number("programs", "programs", **steps), "y": number("together", title, scale=domain)}
    said = tooltip(programs="", candidate="", together=".5~g")
    spec = layer_of("line", values, {"point": {"size": 50}, "color": BEST}, **encoding, tooltip=said)
    what, show = ("gap", percent) if by_gap else ("score", SCORE.text)
    ends = f"{what} {show(worth[-1])}, of the first alone {show(worth[0])}"
    told = f"The best of {len(rows)} programs on each instance: {ends}"
    return Chart("portfolio", told, spec, None, 240)


def course_chart(found: HeldOut) -> Chart:
    """The best so far over the candidates: its gain on the template in the search, and on a split; two at least."""
    values = rows_of(course_table(found))
    names = {"search_gain": "in the search", "gain": f"on {found.split} instances"}
    scale = {"domain": list(names.values()), "range": [SECOND, BEST]}
    across = {"scale": {"type": "log", "nice": False}, "axis": {"grid": False, "format": "~s"}}
    x = number("asked", "candidates", **across)
    layers = []
    for field, name in names.items():
        shown = [each for each in values if each[field] is not None]
        look = {"point": {"filled": True, "size": 45}, "strokeDash": [1, 0] if field == "gain" else [5, 3]}
        series = {"x": x, "y": number(field, "gain on the template, %", scale={"zero": False})}
        colour = {"datum": name, "type": "nominal", "title": None, "scale": scale}
        said = tooltip(candidate="", **{field: ".4~g"})
        layers += [layer_of("line", shown, look, **series, color=colour, tooltip=said)] if shown else []
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
    low, rank = number("low", title, scale={"zero": False}), number("rank", title)
    look = {"filled": True, "size": 60, "color": BEST, "opacity": 1}
    spec = {
        "data": {"values": values},
        "encoding": {"y": nominal("group", sort=[label for label, _ in ordered])},
        "layer": [
            layer_of("rule", None, {"color": BEST}, x=low, x2={"field": "high"}),
            layer_of("point", None, look, x=rank, tooltip=tooltip(group="", rank=".2f")),
        ],
    }
    said = ", ".join(f"{label} {RATIO.text(mean)}" for label, mean in ordered)
    return Chart("ranks", f"Mean ranks: {said}", spec, None, 40 + 26 * len(values))
