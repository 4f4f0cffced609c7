"""The HTML of pages: one file of a report that loads nothing else, and the list of runs."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import quote

from pydantic_core import to_json

from behavesim.analysis.behaviours import BehaviourMap, behaviour_map
from behavesim.analysis.candidates import Candidate, metric_names
from behavesim.analysis.comparison import RunComparison
from behavesim.analysis.difference import playback, with_pictures
from behavesim.analysis.provenance import without_folders
from behavesim.analysis.report import UNMEASURED, RunReport, try_or_note
from behavesim.analysis.run import Run
from behavesim.analysis.summary import Summary
from behavesim.analysis.table import Table
from behavesim.base.errors import UsageError
from behavesim.base.text import count_noun, short_name
from behavesim.reports.chart import IN_THE_DARK, Chart
from behavesim.reports.comparison_sections import COMPARISON, SeveralRuns, remarks
from behavesim.reports.markup import html_table, in_html
from behavesim.reports.sections import RUN, OneRun, Section
from behavesim.reports.tables import runs_table
from behavesim.reports.words import state_in_words
from behavesim.store.reading import read_texts

# Scripts of third parties, in the order in which they are loaded.
LIBRARIES = ("vega.js", "prism.js", "diff.js")
# Our own scripts, joined into one module in this order: separate modules would have to be fetched.
SCRIPTS = ("elements.js", "program.js", "table.js", "replay.js", "page.js")
# The sections of the page of a run, in order; scripts make replay and candidates, which no other view has.
RUN_PAGE = (
    *("summary", "code", "convergence", "top", "splits", "held_out", "shifted", "operators", "throughput", "map"),
    *("portfolio", "portfolio_scores", "metrics", "behaviour_vs_text", "replay", "islands", "clusters", "dendrogram"),
    *("genealogy", "candidates", "failures", "making"),
)
# What the page knows of every candidate: fields of `Candidate`, and its gap, a fraction.
COLUMNS = (
    *("candidate", "status", "score", "gap", "group", "operator", "parents", "model"),
    *("stage", "reason", "copy_of", "cpu_s", "counted_s"),
)


# A section of a page: its title, its HTML, and what tells one version of it from another.
Part = tuple[str, str, str]


@dataclass(frozen=True)
class Page:
    """A page: its head and its sections as HTML, by name and in order, and the data that its scripts draw.

    A section has its title, its HTML, and a version that changes with what it shows.

    `data` has charts as Vega-Lite specifications by name, columns of candidates, and their texts as JSON, gzipped, in
    base64, which are most of a run's size and are unpacked only when a program is opened: a list for the template and
    one for every candidate, of source, thought, message, scores, feedback, metrics, prompt and reply.
    """

    title: str
    head: str
    sections: Mapping[str, Part]
    data: Mapping[str, Any]

    def json(self) -> bytes:
        """Return the page as JSON, for a page that is open already."""
        return to_json(self)


def run_page(report: RunReport) -> Page:
    """Return the page of a run; parts that cannot be computed, for example without the task, are left out and named."""
    run, summary = report.run, report.summary
    sections, notes = {}, list(report.all_notes)
    for name in RUN_PAGE:
        if name in RUN:
            section, why = try_or_note(partial(RUN[name], OneRun(report)), Section(name, ""), UNMEASURED)
            sections[name] = section
            notes += why
    plain = playback(run, [program.candidate for program in report.top])
    scenes, why = try_or_note(lambda: with_pictures(run.task(), plain), plain, "the replay shows no pictures")
    notes += why
    charts = [chart for section in sections.values() for chart in section.charts]
    shown = {name: _section(section, open_candidates) for name, section in sections.items() if not section.is_empty}
    said = [report.distinct.sentence] if summary.feasible else []
    more = "".join(_note(without_folders(each)) for each in dict.fromkeys((*said, *notes)))
    shown["summary"] = _part(shown["summary"][0], shown["summary"][1] + more)
    known = _candidates(run)
    if summary.feasible:
        shown["replay"] = _part("replay", '<div data-script="replay"></div>', scenes)
    shown["candidates"] = _part("candidates", '<div data-script="candidates"></div>', known["candidates"])
    ordered = ["failures", *RUN_PAGE] if not summary.feasible else list(RUN_PAGE)  # first why nothing was found
    places = {name: shown[name] for name in dict.fromkeys(ordered) if name in shown}
    about = (
        *map(without_folders, (short_name(summary.task), summary.method, summary.proposer)),
        f"seed {summary.seed}",
    )
    state = in_html(without_folders(state_in_words(summary)))
    pill = f'<span class="state {summary.state}">{state}</span>'
    head = f'<h1>{in_html(summary.run)}</h1>{pill}<p class="what">{in_html(" · ".join(about))}</p>'
    data = {**known, "charts": {chart.name: chart.sized(None) for chart in charts}, "scenes": scenes}
    heights = {chart.name: chart.height for chart in charts}
    return Page(summary.run, head, places, {**data, "heights": heights, "dark": IN_THE_DARK})


def _candidates(run: Run) -> dict[str, Any]:
    """Return what the scripts know of a run's candidates."""
    places, _ = try_or_note(lambda: behaviour_map(run), BehaviourMap((), None), "")
    rows = [{**vars(each), "gap": run.gap(each.score)} for each in run.candidates]
    metrics = [each.metrics for each in run.candidates]
    texts = read_texts(run.folder.journal, [each.candidate for each in places.places])
    template = None if run.template is None else run.scored(run.template)
    near = {place.candidate: [[each.candidate, each.similarity] for each in place.nearest] for place in places.places}
    return {
        "candidates": {name: [row[name] for row in rows] for name in COLUMNS},
        "metrics": [{"name": name, "values": [each.get(name) for each in metrics]} for name in metric_names(metrics)],
        "template": None if template is None else {"score": template.score, "gap": template.gap},
        "nearest": near,
        "limit_s": run.settings.timeout_s,
        "texts": _packed([run.template, *run.candidates], texts),
    }


def _packed(candidates: Iterable[Candidate | None], texts: Mapping[int, tuple[str, str]]) -> str:
    known = [
        each
        and (
            *(each.source, each.thought, each.message, each.scores, each.feedback, tuple(each.metrics.items())),
            *texts.get(each.candidate, (None, None)),
        )
        for each in candidates
    ]
    packed = gzip.compress(json.dumps(known).encode(), compresslevel=6, mtime=0)  # equal runs, equal pages
    return base64.b64encode(packed).decode()


def comparison_page(found: RunComparison, home: str | None = None, folder: Path | None = None) -> Page:
    """Return the page of a comparison; `home` is the address of the list of runs, None if the page is a file.

    `folder` is that of the runs that are served there: the page then has a link to each of its runs.
    """
    shown = SeveralRuns(found)
    sections = {name: find(shown) for name, find in COMPARISON.items() if name != "next"}
    programs = [(each, task) for (task, _), one in zip(shown.tasks, shown.maps, strict=True) for each in one.programs]
    names = [f"{each.run} {each.candidate}" for each, _ in programs]
    # without those of namesakes on several tasks, of which a button would open the wrong one
    numbers = {in_html(name): place for place, name in enumerate(names) if names.count(name) == 1}

    def opened(text: str) -> str:
        return _button(numbers[text], text) if text in numbers else text

    links: list[str] = []
    if home is not None and folder is not None:
        below = [run.origin.folder.relative_to(folder).as_posix() for run in found.runs]
        links = [f'<a href="{escape(home)}runs/{quote(name)}">{in_html(name)}</a>' for name in below]
    places = {
        name: _section(each, opened, links if name == "runs" else ())
        for name, each in sections.items()
        if not each.is_empty
    }
    if not found.tasks:
        why = "There is nothing to compare: choose two runs or more on one task, with different settings or seeds."
        places = {"nothing": _part("nothing to compare", f"<p>{why}</p>"), **places}
    if notes := "".join(map(_note, remarks(found))):
        places |= {"notes": _part("notes", notes)}
    runs = {run.origin.folder: run.run for run in found.runs}
    groups = [task.groups[each.group].label for each, task in programs]
    columns = {
        "candidate": list(range(len(programs))),
        "group": groups,
        **{name: [getattr(each, name) for each, _ in programs] for name in ("score", "gap", "elsewhere")},
        "status": ["feasible"] * len(programs),
        "parents": [[] for _ in programs],
    }
    found_in = (runs[each.folder].candidate(each.candidate) for each, _ in programs)
    texts = [replace(candidate, candidate=number) for number, candidate in enumerate(found_in)]
    charts = [chart for section in sections.values() for chart in section.charts]
    labels = list(dict.fromkeys(group.label for group in found.groups))
    title = f"{', '.join(labels[:-1])} and {labels[-1]}" if 1 < len(labels) < 4 else f"{len(found.runs)} runs compared"
    back = "" if home is None else f'<a href="{escape(home)}">All runs</a>'
    head = f'<h1>{in_html(title)}</h1><p class="what">{back}</p>'
    data = {
        "candidates": columns,
        "names": names,
        "texts": _packed([None, *texts], {}),
        "charts": {chart.name: chart.sized(None) for chart in charts},
        "heights": {chart.name: chart.height for chart in charts},
        "dark": IN_THE_DARK,
    }
    return Page(title, head, places, data)


def _part(title: str, body: str, *drawn: object) -> Part:
    return title, body, hashlib.sha256(to_json([title, body, drawn])).hexdigest()[:16]


def _button(candidate: int, text: str) -> str:
    return f'<button type="button" class="link" data-candidate="{candidate}">{text}</button>'


def open_candidates(text: str) -> str:
    """Return a text in which each candidate's number, and "template", is a button that opens it."""
    return re.sub(
        r"-?\d+|template",
        lambda found: _button(-1, "template") if found[0] in ("-1", "template") else _button(int(found[0]), found[0]),
        text,
    )


def _note(text: str) -> str:
    return f'<p class="note">{in_html(text)}</p>'


def _section(section: Section, opened: Callable[[str], str], first: Sequence[str] = ()) -> Part:
    opens = "" if section.candidate is None else f' data-of="{section.candidate}"'
    parts = [_note(section.note)] if section.note else []
    if section.language == "python":
        parts.append(f"<pre data-code{opens}>{in_html(section.text)}</pre>")
    elif section.language:
        parts += map(_command, section.text.splitlines())
    elif section.text:
        parts.append(f"<ul>{''.join(f'<li>{in_html(line)}</li>' for line in section.text.splitlines())}</ul>")
    side = "pair" if section.name == "behaviour_vs_text" else "charts"
    drawn = (_figure(chart, len(section.charts) > 1, opened) for chart in section.charts)
    parts.append(f'<div class="{side}">{"".join(drawn)}</div>')
    for table in section.tables:
        shown = replace(table, title="" if table.title == section.title else table.title)
        is_facts = not any(column.heading for column in table.columns)
        parts.append(_facts(shown) if is_facts else html_table(shown, first, opened) if table.rows else "")
    title, specs = without_folders(section.title) or section.name, [chart.sized(None) for chart in section.charts]
    return _part(title, "".join(parts), specs)


def _command(line: str) -> str:
    if line.startswith("# "):  # whose command comes next
        return f"<h3>{in_html(line[2:])}</h3>"
    return f'<p class="command"><code>{in_html(line)}</code></p>'


def _figure(chart: Chart, is_named: bool, opened: Callable[[str], str]) -> str:
    """Return the place of a chart, and its numbers as a table for readers without a pointer."""
    caption = f"<figcaption>{in_html(chart.title)}</figcaption>" if is_named else ""
    numbers = "" if chart.table is None else html_table(replace(chart.table, title=""), opened=opened)
    table = f"<details><summary>As a table</summary>{numbers}</details>" if numbers else ""
    return f'<figure class="chart">{caption}<div data-chart="{escape(chart.name)}"></div>{table}</figure>'


def _facts(table: Table) -> str:
    """Return a table of facts as HTML, in which a candidate that is named can be opened."""
    rows = []
    for name, value in table.rows:
        what, said = in_html(f"{name}"), in_html(without_folders(f"{value}"))
        if name != "progress":  # which says "best candidate 560" of a score
            said = re.sub(r"candidate (\d+)", lambda found: _button(int(found[1]), found[0]), said)
        rows.append(f'<div data-fact="{what}"><dt>{what}</dt><dd>{said}</dd></div>')
    return f'<dl class="facts">{"".join(rows)}</dl>'


def write_page(report: RunReport, path: Path) -> None:
    """Write the HTML page of a run to the file `path`; raises UsageError if it cannot be written."""
    _write(html(run_page(report)), path)


def write_comparison(found: RunComparison, path: Path) -> None:
    """Write the HTML page of a comparison to the file `path`; raises as `write_page` does."""
    _write(html(comparison_page(found)), path)


def _write(text: str, path: Path) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}; choose another --html file") from None


def html(page: Page, script: str = "", connect: str = "'none'") -> str:
    """Return a page as HTML.

    `script` is an additional JavaScript module, which can show a newer page with `behavesim.render(page)`. `connect` is
    the source from which it may fetch one, as a content security policy writes it.
    """
    libraries = [_text("vendor", name) for name in LIBRARIES]
    modules = ["\n".join(_text("scripts", name) for name in SCRIPTS), *([script] if script else [])]
    return Template(_text("page.html")).substitute(
        policy=escape(_policy([*libraries, *modules], connect), quote=True),
        title=escape(f"{page.title} · behavesim"),
        style=_text("page.css"),
        head=page.head,
        contents="".join(f'<a href="#{name}">{link_text(name)}</a>' for name in page.sections),
        main="".join(map(_outer, page.sections.items())),
        document=to_json(page.data).decode().replace("<", "\\u003c"),  # `</script>` in a program would end the element
        libraries="\n".join(f"<script>{each}</script>" for each in libraries),
        modules="\n".join(f'<script type="module">{each}</script>' for each in modules),
    )


def link_text(name: str) -> str:
    """Return the name of a section as its link says it."""
    return name.replace("_", " ").replace("-", " ")


def _outer(named: tuple[str, Part]) -> str:
    name, (title, body, version) = named
    heading = f'<h2 id="{name}-title">{in_html(f"{title[:1].upper()}{title[1:]}")}</h2>'
    about = f'id="{name}" data-version="{version}" aria-labelledby="{name}-title"'
    return f"<section {about}>{heading}<div>{body}</div></section>"


def _policy(scripts: list[str], connect: str) -> str:
    """Return a content security policy that allows these scripts, inline styles and `connect`, and nothing else."""
    # `scripts` are texts, which it names by their hashes: a script that a program smuggled in would have another.
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(each.encode()).digest()).decode()}'" for each in scripts
    )
    allowed = f"script-src {hashes}; style-src 'unsafe-inline'; img-src data:; connect-src {connect}"
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"


@cache  # a server makes a page for each request
def _text(*path: str) -> str:
    return files("behavesim.reports.page").joinpath(*path).read_text(encoding="utf-8")


# The page of a list of runs: all text is escaped, and it loads nothing.


# Seconds after which a browser asks again for a page that was still being made.
ASK_AGAIN_S = 5
RELOADS = f"The page reloads by itself every {ASK_AGAIN_S} s."
RELOAD = f'<meta http-equiv="refresh" content="{ASK_AGAIN_S}">'


def runs_page(summaries: Sequence[Summary], unreadable: Mapping[str, str], unread: int = 0) -> str:
    """Return the HTML page of a list of runs; `unreadable` has the reason for each run that cannot be read.

    While `unread` runs are still to be read, the page says so and loads again after ASK_AGAIN_S.
    """
    names = [_run(summary.run) for summary in summaries]  # these need markup, which a table's cells cannot hold
    rows = html_table(runs_table(summaries), names) if summaries else "<p>There are no runs here yet.</p>"
    damaged = "".join(f"<li>{in_html(name)}: {in_html(why)}</li>" for name, why in unreadable.items())
    rest = f"<h2>Cannot be read</h2><ul>{damaged}</ul>" if damaged else ""
    if unread:
        more = f"<p>{count_noun(unread, 'older run')} still to be read. {RELOADS}</p>"
        return _runs_page("Runs", f"{more}{rows if summaries else ''}{rest}", RELOAD)
    if summaries:
        script = "\n".join(_text("scripts", name) for name in ("elements.js", "runs.js"))
        rest += f'<script type="module">{script}</script>'
    return _runs_page("Runs", f'<form action="compare">{rows}<p><button>Compare those marked</button></p></form>{rest}')


def waiting_page() -> str:
    """Return the HTML page that stands for one that is still being made, and loads it again after ASK_AGAIN_S."""
    return _runs_page("Preparing this page", f"<p>A run with many candidates takes longer. {RELOADS}</p>", RELOAD)


def _run(name: str) -> str:
    mark = f'<input type="checkbox" name="run" value="{escape(name)}" aria-label="Compare {in_html(name)}">'
    experiment, _, own = name.rpartition("/")
    link = f'<a href="compare?run={quote(experiment)}/">{in_html(experiment)}</a>/' if experiment else ""
    return f'{mark} {link}<a href="runs/{quote(name)}">{in_html(own)}</a>'


def _runs_page(title: str, body: str, head: str = "") -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
        f'content="width=device-width, initial-scale=1"><title>{in_html(title)} · behavesim</title>'
        f'{head}<style>{_text("page.css")}</style></head><body class="runs">'
        f"<main><h1>{in_html(title)}</h1>{body}</main></body></html>"
    )
