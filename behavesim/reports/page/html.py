"""The HTML of pages: one file of a report that loads nothing else, and the list of runs."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from urllib.parse import quote

from behavesim.analysis.comparison import RunComparison
from behavesim.analysis.report import RunReport
from behavesim.analysis.run import Run
from behavesim.analysis.summary import Summary
from behavesim.base.errors import UsageError
from behavesim.reports.markup import html_table, in_html
from behavesim.reports.page.comparison import ComparisonDocument, comparison_document
from behavesim.reports.page.document import Document, document
from behavesim.reports.tables import runs_table

# Scripts of third parties, in the order in which they are loaded: Plot needs d3 before it.
LIBRARIES = ("d3.js", "plot.js", "prism.js", "diff.js")
# Our own scripts, joined into one module in this order: separate modules would have to be fetched.
SCRIPTS = (
    *("elements.js", "code.js", "dialog.js", "program.js", "overview.js", "best.js", "convergence.js", "unseen.js"),
    *(
        "portfolio.js",
        "metrics.js",
        "table.js",
        "map.js",
        "behaviour_vs_text.js",
        "diversity.js",
        "pictures.js",
        "replay.js",
    ),
    *("genealogy.js", "lineage.js", "making.js", "page.js"),
)
# Our own scripts of the page of a comparison, in the order in which they are joined.
COMPARISON_SCRIPTS = ("elements.js", "code.js", "dialog.js", "comparison.js", "comparison_page.js")


def write_page(run: Run, found: RunReport, path: Path) -> None:
    """Write the HTML page of a run to the file `path`; raises UsageError if it cannot be written."""
    _write(html(document(run, found)), path)


def write_comparison(found: RunComparison, runs: Sequence[Run], path: Path) -> None:
    """Write the HTML page of a comparison of these runs to the file `path`; raises as `write_page` does."""
    _write(comparison_html(comparison_document(found, runs)), path)


def _write(text: str, path: Path) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}; choose another --html file") from None


def html(shown: Document, script: str = "", connect: str = "'none'") -> str:
    """Return the HTML page that shows a document.

    `script` is an additional JavaScript module, which can show a newer document with `behavesim.render(document)`.
    `connect` is the source from which it may fetch one, as a content security policy writes it.
    """
    return _page(f"{shown.summary.run} · behavesim", shown.json(), SCRIPTS, [script] if script else [], connect)


def comparison_html(shown: ComparisonDocument) -> str:
    """Return the HTML page that shows a comparison; it loads nothing."""
    return _page(f"{shown.title} · behavesim", shown.json(), COMPARISON_SCRIPTS)


def _page(title: str, json: str, scripts: Sequence[str], more: Sequence[str] = (), connect: str = "'none'") -> str:
    libraries = [_text("vendor", name) for name in LIBRARIES]
    modules = ["\n".join(_text("scripts", name) for name in scripts), *more]
    return Template(_text("page.html")).substitute(
        policy=escape(_policy([*libraries, *modules], connect), quote=True),
        title=escape(title),
        style=_text("page.css"),
        document=json.replace("<", "\\u003c"),  # otherwise a program's `</script>` would end the element
        libraries="\n".join(f"<script>{each}</script>" for each in libraries),
        modules="\n".join(f'<script type="module">{each}</script>' for each in modules),
    )


def _policy(scripts: list[str], connect: str) -> str:
    """Return a content security policy that allows these scripts, inline styles and `connect`, and nothing else."""
    # `scripts` are texts, which it names by their hashes: a script that a program smuggled in would have another.
    hashes = " ".join(f"'sha256-{b64encode(hashlib.sha256(each.encode()).digest()).decode()}'" for each in scripts)
    allowed = f"script-src {hashes}; style-src 'unsafe-inline'; img-src data:; connect-src {connect}"
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"


@cache  # a server makes a page for each request
def _text(*path: str) -> str:
    return files("behavesim.reports.page").joinpath(*path).read_text(encoding="utf-8")


# Make the page of a list of runs for a browser: all text is escaped, and the page loads nothing.


# Seconds after which a browser asks again for a page that was still being made.
ASK_AGAIN_S = 5
STYLE = """
:root { color-scheme: light dark; }
body { margin: 0 auto; padding: 1rem 1.5rem 4rem; max-width: 96rem; font: 16px/1.5 system-ui, sans-serif;
       font-variant-numeric: tabular-nums; background: light-dark(#fff, #14171a); color: light-dark(#1b1f23, #e4e7ea); }
a { color: light-dark(#0b62a4, #64b5f6); }
h1 { font-size: 1.75rem; } caption { text-align: left; font-weight: 600; padding: .5rem 0; }
.table { overflow-x: auto; } table { border-collapse: collapse; margin-top: 1rem; }
th, td { text-align: left; padding: .25rem .75rem; border-bottom: 1px solid light-dark(#dfe3e7, #30363d); }
.number { text-align: right; } td { white-space: pre-line; }
td:first-child { overflow-wrap: anywhere; min-width: 14rem; }
td:nth-child(3), td:nth-child(4) { overflow-wrap: anywhere; min-width: 5rem; }
.note { color: light-dark(#5b6570, #9aa5b1); }
"""


def runs_page(summaries: Sequence[Summary], unreadable: Mapping[str, str]) -> str:
    """Return the HTML page of a list of runs; `unreadable` has the reason for each run that cannot be read."""
    names = [_run(summary.run) for summary in summaries]  # these need markup, which a table's cells cannot hold
    rows = html_table(runs_table(summaries), names) if summaries else "<p>There are no runs here yet.</p>"
    damaged = "".join(f"<li>{in_html(name)}: {in_html(why)}</li>" for name, why in unreadable.items())
    rest = f"<h2>Cannot be read</h2><ul>{damaged}</ul>" if damaged else ""
    return _runs_page("Runs", f'<form action="compare">{rows}<p><button>Compare those marked</button></p></form>{rest}')


def waiting_page() -> str:
    """Return the HTML page that stands for one that is still being made, and loads it again after ASK_AGAIN_S."""
    said = f"A run with many candidates takes longer. The page reloads by itself every {ASK_AGAIN_S} s."
    return _runs_page("Preparing this page", f"<p>{said}</p>", f'<meta http-equiv="refresh" content="{ASK_AGAIN_S}">')


def _run(name: str) -> str:
    mark = f'<input type="checkbox" name="run" value="{escape(name)}" aria-label="Compare {in_html(name)}">'
    return f'{mark} <a href="runs/{quote(name)}">{in_html(name)}</a>'


def _runs_page(title: str, body: str, head: str = "") -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
        f'content="width=device-width, initial-scale=1"><title>{in_html(title)} · behavesim</title>'
        f"{head}<style>{STYLE}</style></head><body><main><h1>{in_html(title)}</h1>{body}</main></body></html>"
    )
