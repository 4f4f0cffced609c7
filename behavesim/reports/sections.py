"""The sections of a report of one run: each is written once, and every view shows the same value.

A section is found by its name in RUN and computed when it is asked for; those of several runs are in
`comparison_sections`. Terminals (`terminal`), pages (`page`), files (`files`), papers and notebooks (`markup`) show
its tables, charts and text.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from itertools import accumulate
from types import MappingProxyType
from typing import Any, TypeVar

from behavesim.analysis.behaviours import (
    MEANINGS,
    behaviour_map,
    clusters_table,
    metrics_table,
    top_table,
)
from behavesim.analysis.candidate_details import failures_table, lineage
from behavesim.analysis.candidates import Candidate, metric_names
from behavesim.analysis.convergence import islands_table
from behavesim.analysis.difference import agreement, candidates_in_groups
from behavesim.analysis.held_out import HeldOut, course_table, held_out_table, splits_table
from behavesim.analysis.metrics import Metric
from behavesim.analysis.operators import operators, operators_table, throughput_table
from behavesim.analysis.provenance import provenance_of, without_folders
from behavesim.analysis.report import RunReport, try_or_note
from behavesim.analysis.run import Run
from behavesim.analysis.table import (
    COUNT,
    DISTANCE,
    PROGRAM,
    PROGRAMS,
    SCORE,
    SCORE_AND_GAP,
    SECONDS,
    USD,
    Cell,
    Column,
    Table,
    cells_of,
    facts_table,
)
from behavesim.base.errors import UsageError, nearest
from behavesim.base.text import count_noun, short_name
from behavesim.reports import curves, maps
from behavesim.reports.characters import convergence, dendrogram, from_template
from behavesim.reports.chart import DOTS, Chart
from behavesim.reports.markup import html_tables, in_html, markdown
from behavesim.reports.next_steps import next_steps
from behavesim.reports.tables import headline_table, summary_table
from behavesim.reports.words import program_name
from behavesim.similarity.clustering import average_linkage, joins
from behavesim.store.folder import RunFolder

# Lines of the convergence curve on a terminal.
HEIGHT = 8
# Most lines of the best program that the first screen shows, and rows of its table of the best behaviours: with them,
# results, code and commands have room on 45 lines of 80 columns.
LONGEST, FIRST_ROWS, ACROSS = 12, 5, 80
# Most ancestors that a genealogy shows, the nearest generations first.
ANCESTORS = 150
# Largest number of clusters into which the tree by behaviour is cut, and of pairs that disagree most.
BRANCHES, PAIRS = 6, 8
# Most programs that are compared by behaviour and by text: the time of syntax trees grows with its square.
COMPARED = 20
# Fraction of the distances that the plane of a map keeps, below which a reader is warned.
LITTLE = 0.2
# Names of the measures of source, for people.
MEASURES = {"codebleu": "CodeBLEU", "ast": "syntax trees", "rouge": "ROUGE"}

T = TypeVar("T")

# The run's values of the metrics that a person asked for; None for one that is unknown.
Chosen = Mapping[Metric, float | None]


@dataclass(frozen=True)
class Section:
    """A part of a report: tables, charts, and a text, which is a program or commands if `language` says so.

    `candidate` is the number of the program whose text it is.
    """

    name: str
    title: str
    note: str = ""
    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()
    text: str = ""
    language: str = ""
    candidate: int | None = None

    @property
    def is_empty(self) -> bool:
        """Whether the section says nothing, so that views leave it out."""
        return not (self.text or self.charts or any(table.rows for table in self.tables))

    @property
    def every_table(self) -> tuple[Table, ...]:
        """The tables, then those of the charts' numbers: what files hold."""
        return *self.tables, *(chart.table for chart in self.charts if chart.table is not None)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        tables = [
            replace(table, title="" if table.title == self.title else table.title)
            for table in self.tables
            if table.rows
        ]
        parts = (
            f"<h3>{in_html(self.title or self.name)}</h3>",
            f"<p>{in_html(self.note)}</p>" if self.note else "",
            html_tables(tables),
            f"<pre>{in_html(self.text)}</pre>" if self.text else "",
        )
        plain = (self.title or self.name, self.note, markdown(tables), self.text)
        return {"text/html": "".join(parts), "text/plain": "\n\n".join(filter(None, plain))}

    def _ipython_display_(self) -> None:
        display = import_module("IPython.display").display  # only a notebook calls this, which has it
        # one after the other: of several kinds in one output a notebook shows only the richest
        display(self._repr_mimebundle_(), raw=True)
        for chart in self.charts:
            display(chart)


@dataclass(frozen=True)
class OneRun:
    """A run as its sections see it: its report, and the values of metrics that a person asked for."""

    report: RunReport
    metrics: Chosen = field(default_factory=lambda: MappingProxyType({}))
    is_full: bool = True

    @property
    def run(self) -> Run:
        """The run itself."""
        return self.report.run


def table_section(name: str, table: Table, *shown: Chart, note: str = "") -> Section:
    """Return a section of one table, with its title."""
    return Section(name, table.title, note, (table,), shown)


def _summary(of: OneRun) -> Section:
    return table_section("summary", summary_table(of.report.summary, of.metrics))


def _code(of: OneRun) -> Section:
    if not of.report.top:
        return Section("code", "")
    best, folder = of.report.top[0], RunFolder(of.report.origin.folder)
    where = f" ({folder.best})" if folder.best.exists() else ""
    title = f"the best program: {program_name(best.candidate)}{where}"
    if not of.report.summary.beats_template:  # then best.py holds the template
        title = f"the best candidate: {program_name(best.candidate)}, which is no better than the template"
    return Section("code", title, text=best.source.strip("\n"), language="python", candidate=best.candidate)


def _convergence(of: OneRun) -> Section:
    report, run = of.report, of.run
    if not report.improvements:
        return Section("convergence", "")
    template = None if report.summary.template is None else report.summary.template.score
    new = [(each.candidate, each.score) for each in report.improvements]
    bests, asked = from_template(template, new, report.summary.gain), report.convergence[-1].asked
    dots = [{"candidate": c.candidate, "score": c.score, "gap": run.gap(c.score)} for c in run.feasible]
    chart = curves.convergence_chart(
        *(report.improvements, report.convergence, run.state.objective, template, dots, report.moments),
        drawn=lambda across: convergence(bests, asked, across, HEIGHT),
    )
    counted = "tokens" if report.summary.estimated is None else "tokens, estimates included"
    used = (
        Column("requests", COUNT),
        Column("tokens", COUNT, counted),
        Column("usd", USD, "cost"),
        Column("cpu_s", SECONDS, "CPU s"),
        Column("hours", SECONDS),
    )
    columns = (Column("asked", COUNT, title="candidates"), Column("candidate", PROGRAM), *SCORE_AND_GAP, *used)
    kept = {each.name for each in used if report.moments[-1][each.name]}  # what is 0 in the end tells nothing
    rows = tuple(
        (
            each.asked,
            *each.cells,
            *(report.moments[each.asked - 1][of.name] if of.name in kept else None for of in used),
        )
        for each in report.improvements
    )
    shown = "" if len(dots) <= DOTS else f" ({DOTS:,} of {len(dots):,} are drawn)"
    note = f"A dot is a feasible candidate{shown}; one beyond the axis stands on its edge."
    table = Table("improvements", "each new best, and what the run had used by then", columns, rows)
    return Section("convergence", "the best score so far", note, (table,), (chart,))


def _top(of: OneRun) -> Section:
    clusters = [each.members for each in of.report.clusters]
    return table_section("top", top_table(of.report.top, clusters, f"{of.report.distinct.sentence}; {MEANINGS}"))


def _metrics(of: OneRun) -> Section:
    table, run = metrics_table(of.report.top), of.run
    if not table.rows:
        return table_section("metrics", table)
    found = run.feasible
    senses = {"score": 1 if run.state.objective.direction == "maximise" else -1, "CPU time (s)": -1}
    metrics: dict[str, list[Any]] = {"score": [each.score for each in found]}
    for name in metric_names(each.metrics for each in found):
        values = [each.metrics.get(name) for each in found]
        if values != metrics["score"]:  # an evaluator's `combined_score` against the score is a line
            metrics[f"metric {name}" if name in senses else name] = values
    metrics["CPU time (s)"] = [each.cpu_s for each in found]
    chart = maps.scatter_chart("metrics", [each.candidate for each in found], metrics, senses)
    note = (
        "The dashed line is the Pareto front: no other program is better in one metric and as good in the other. "
        "Where the task does not say which end of a metric is better, choose it below the chart."
    )
    return table_section("metrics", table, chart, note=note)


def _operators(of: OneRun) -> Section:
    note, known = "", of.run.settings.flat()
    turns = list(known.get("operators", ()))
    if len(turns) > 1:
        fewer = f"--set 'operators={json.dumps(turns[:-1])}'"
        note = f"Operators take turns. To leave one out, name the others, such as {fewer}."
    elif first := known.get("n_init"):
        note = f"The first {first} candidates come from the template alone; --set n_init=0 leaves them out."
    return table_section("operators", operators_table(operators(of.run)), note=note)


def _islands(of: OneRun) -> Section:
    table, over_time = islands_table(of.report.islands, of.report.diversity), of.report.diversity_over_time
    return table_section(
        "islands", table, *([curves.diversity_chart({of.report.summary.run: over_time})] if over_time else [])
    )


def _dendrogram(of: OneRun) -> Section:
    title = "how the clusters join, and at which distance (average linkage)"
    found, clusters = of.report.joins, list(enumerate(of.report.clusters, 1))
    if not found:
        return Section("dendrogram", title)
    labels = [f"cluster {k}: {count_noun(c.size, 'program')}, best {SCORE.text(c.best.score)}" for k, c in clusters]
    bests = [each.best.candidate for _, each in clusters]
    chart = maps.tree_chart("dendrogram", title, labels, found, bests, drawn=partial(dendrogram, labels, found))
    return Section("dendrogram", title, charts=(chart,))


def _portfolio(of: OneRun) -> Section:
    chosen = of.report.portfolio
    has_curve = len(chosen.members) > 1 and len(chosen.members[0].scores) > 1
    return table_section("portfolio", chosen.table(), *([curves.portfolio_chart(chosen)] if has_curve else []))


def _portfolio_scores(of: OneRun) -> Section:
    tables = of.report.portfolio.tables()[1:]
    return Section("portfolio_scores", tables[0].title if tables else "", tables=tables)


def _unseen(name: str, found: HeldOut | None, of: OneRun) -> Section:
    recommended = None if of.report.summary.recommended is None else of.report.summary.recommended.candidate
    if found is None:
        return Section(name, "")
    section = table_section(name, held_out_table(found, recommended))
    if len(found.course) < 2:  # one program is no course
        return section
    return replace(section, tables=(*section.tables, course_table(found)), charts=(curves.course_chart(found),))


def _map(of: OneRun) -> Section:
    found, recommended = behaviour_map(of.run), of.run.recommended
    if len(found.places) < 3:
        return Section("map", "")
    chart = maps.map_chart(found, of.run.state.objective, None if recommended is None else recommended.candidate)
    about = "The best programs, and others at even steps of their rank. Near points behave alike"
    note = f"{about} (classical scaling of 1 − BehaveSim). {kept_share(found.kept)}"
    return Section("map", "map of behaviours", note, charts=(chart,))


def kept_share(kept: float | None) -> str:
    """Return how much of the differences a map keeps, as a sentence; `kept` is None if there are none."""
    if kept is None:
        return "All of them behave the same."
    care = ": near points need not behave alike" if kept < LITTLE else ""
    return f"The plane keeps {100 * kept:.0f} % of their differences{care}."


def _behaviour_vs_text(of: OneRun) -> Section:
    if len(candidates_in_groups(of.run)) < 2:
        return Section("behaviour_vs_text", "")
    found = agreement(of.run, most=COMPARED)
    labels, measure = list(map(str, found.candidates)), MEASURES[found.metric]
    branches = average_linkage(1.0 - found.behaviour, BRANCHES)
    shown = []
    for name, said, similar in (
        ("behaviour", "behaviour: BehaveSim", found.behaviour),
        ("text", f"code: {measure}", found.source),
    ):
        merged = joins(1.0 - similar, list(range(len(labels))))
        order, _ = maps.leaves_of(merged, len(labels))
        shown.append(maps.tree_chart(f"tree_{name}", f"By {said}", labels, merged, found.candidates, branches))
        shown.append(maps.heat_chart(f"heat_{name}", f"By {said}", labels, similar.tolist(), order))
    columns = (
        *(Column("a", PROGRAM), Column("b", PROGRAM)),
        *(Column("behaviour", DISTANCE, title="BehaveSim"), Column("source", DISTANCE, title=measure)),
    )
    rows = tuple(cells_of(each, columns) for each in found.disagreements()[:PAIRS])
    pairs = Table("pairs", "where they disagree most", columns, rows, keys=2)
    note = (
        f"{len(labels)} programs of the archive, by behaviour and by source. Colours are the branches of the tree by "
        "behaviour: where they are scattered in the other, programs of similar behaviour have different source."
    )
    return Section("behaviour_vs_text", "behaviour versus text", note, (pairs,), tuple(shown))


def _genealogy(of: OneRun) -> Section:
    run, line = of.run, lineage(of.run, of.run.best)
    named = Column("candidate", PROGRAM), *SCORE_AND_GAP, Column("operator"), Column("island")
    rows: list[tuple[Cell, ...]] = []
    for each, before in zip(line, [None, *(each.candidate for each in line)], strict=False):
        others = " ".join(str(parent) for parent in dict.fromkeys(each.parents) if parent != before)
        rows.append((*each.cells, each.operator, each.group, others or None))
    columns = (*named, Column("others", PROGRAMS, title="its other parents"))
    table = Table("genealogy", "the line of the best, each from the better of its parents", columns, tuple(rows))
    people = {} if run.best is None else _ancestors(run, run.best)
    if len(people) < 2:
        return Section("genealogy", "genealogy", tables=(table,))
    family = tuple((*run.scored(each).cells, each.operator, each.group) for each in people.values())
    ties = [(up, each.candidate) for each in people.values() for up in dict.fromkeys(each.parents) if up in people]
    ancestors = count_noun(len(people) - 1, "ancestor")
    note = f"The best and {ancestors}: the programs that prompts showed, and those behind them."
    chart = maps.genealogy_chart(note, Table("ancestors", "", named, family), ties)
    return Section("genealogy", "genealogy", note, (table,), (chart,))


def _ancestors(run: Run, candidate: Candidate) -> dict[int, Candidate]:
    """Return a candidate and its feasible ancestors by number, the nearest generations first."""
    found, queue = {candidate.candidate: candidate}, [candidate]
    for each in queue:  # which grows
        for parent in map(run.candidate, each.parents):
            if parent.candidate not in found and parent.score is not None and len(found) < ANCESTORS:
                found[parent.candidate] = parent
                queue.append(parent)
    return found


def _making(of: OneRun) -> Section:
    made, why = try_or_note(lambda: provenance_of(of.run), None, "unknown")
    if made is None:
        return Section("making", "how it was made", text="\n".join(why))
    objective, workers = of.run.state.objective, made.workers
    best = "" if objective.best_known is None else f", best known {SCORE.text(objective.best_known)}"
    score = f"score ({objective.unit})" if objective.unit else "score"
    rate = None if workers is None or workers.per_minute is None else f"{workers.per_minute:.1f}"
    facts = {
        "task": f"{without_folders(short_name(of.report.summary.task))}: {objective.direction} the {score}{best}",
        "begun": _moment(made.began_at),
        "last event": _moment(made.last_at),
        "versions": ", ".join(f"{name} {version}" for name, version in made.versions.items()),
        "behaviour": made.behaviour or None,
        "workers": None if workers is None else f"{workers.serving}, since {_moment(workers.since)}",
        "candidates a minute": rate,
    }
    settings = tuple((each.name, each.value, each.default or None) for each in made.settings)
    columns = Column("name", title="setting"), Column("value"), Column("default")
    changes = () if workers is None else tuple((_moment(each.at.timestamp()), each.text) for each in workers.changes)
    tables = (
        facts_table("making", "", facts),
        Table("settings", "settings that differ from their defaults", columns, settings),
        Table("workers", "workers of the cluster", (Column("time"), Column("what", title="what happened")), changes),
    )
    return Section("making", "how it was made", "", tables, (), "\n".join(made.commands), "sh")


def _moment(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"


def list_commands(steps: Mapping[str, str]) -> str:
    """Return commands with what each is for, a line each."""
    column = max(map(len, steps), default=0)
    said = [f"behavesim {each:<{column}}{f'  # {what}' if what else ''}".rstrip() for each, what in steps.items()]
    return "\n".join(f"{'next:' if place == 0 else '     '} {line}" for place, line in enumerate(said))


def _next(of: OneRun) -> Section:
    steps = next_steps(of.report, RunFolder(of.report.origin.folder).argument, of.is_full)
    return Section("next", "", text=list_commands(steps), language="sh")


# The sections of one run, in the order in which views show them.
RUN: Mapping[str, Callable[[OneRun], Section]] = {
    "summary": _summary,
    "splits": lambda of: table_section("splits", splits_table(of.report.splits)),
    "code": _code,
    "convergence": _convergence,
    "top": _top,
    "metrics": _metrics,
    "operators": _operators,
    "throughput": lambda of: table_section("throughput", throughput_table(of.run)),
    "islands": _islands,
    "clusters": lambda of: table_section("clusters", clusters_table(of.report.clusters)),
    "dendrogram": _dendrogram,
    "portfolio": _portfolio,
    "portfolio_scores": _portfolio_scores,
    "failures": lambda of: table_section("failures", failures_table(of.report.failures)),
    "held_out": lambda of: _unseen("held_out", of.report.held_out, of),
    "shifted": lambda of: _unseen("shifted", of.report.shifted, of),
    "map": _map,
    "behaviour_vs_text": _behaviour_vs_text,
    "genealogy": _genealogy,
    "making": _making,
    "next": _next,
}
# Sections of one run that are shown only on a page, or where somebody asks for them by name.
ASKED_FOR = ("map", "behaviour_vs_text", "genealogy", "making")


def run_sections(report: RunReport, metrics: Chosen, names: Iterable[str] = ()) -> Iterator[Section]:
    """Yield the sections of a run that say something: those named, or all that need not be asked for."""
    chosen = set(names) or RUN.keys() - set(ASKED_FOR)
    return without_empty(find(OneRun(report, metrics)) for name, find in RUN.items() if name in chosen)


def section_named(name: str, known: Mapping[str, Callable[[T], Section]], of: T) -> Section:
    """Return the section of a run or of a comparison with this name; raises UsageError if there is none."""
    if name not in known:
        raise UsageError(f"unknown section {name!r}; {nearest(name, known) or ', '.join(known)}")
    return known[name](of)


def without_empty(sections: Iterable[Section]) -> Iterator[Section]:
    """Yield the sections that say something."""
    return (each for each in sections if not each.is_empty)


def first_screen(report: RunReport, metrics: Chosen) -> Iterator[Section]:
    """Yield what a report says first; without a feasible program, why candidates fail."""
    shown = OneRun(report, metrics, is_full=False)
    clusters = [each.members for each in report.clusters]
    sizes = ", ".join(str(len(members)) for members in clusters)
    best = report.top[:FIRST_ROWS]
    captions = [
        *(["equal ranks: the difference may be chance"] if len({each.rank for each in best}) < len(best) else []),
        *([f"clusters: {len(clusters)} groups that behave alike, of {sizes} programs"] if len(clusters) > 1 else []),
    ]
    top = replace(top_table(best, clusters, "; ".join(captions)), title="the best behaviours")
    return without_empty(
        [
            table_section("summary", headline_table(report.summary, report.distinct, metrics)),
            *([] if report.top else [RUN["failures"](shown)]),  # what else could be said of such a run
            _shortened(_code(shown), report),
            RUN["splits"](shown),
            table_section("top", top.without("programs", "island", "operator", "model", "parents")),
            _next(shown),
        ]
    )


def _shortened(code: Section, report: RunReport) -> Section:
    """Return the section of the best program cut after LONGEST lines, unless that saves only one."""
    lines = code.text.splitlines()
    ends = list(accumulate(max(1, math.ceil(len(line) / ACROSS)) for line in lines))  # as a terminal wraps them
    if not ends or ends[-1] <= LONGEST + 1:
        return code
    count = bisect_right(ends, LONGEST)
    show = f"behavesim show {RunFolder(report.origin.folder).argument} {report.top[0].candidate}"
    more = f"… {count_noun(len(lines) - count, 'more line')}: {show}"
    return replace(code, text="\n".join(lines[:count]), note=more)
