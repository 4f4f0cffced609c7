"""Make the page of a list of runs for a browser: all text is escaped, and the page loads nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from urllib.parse import quote

from behavesim.analysis.summary import Summary
from behavesim.reports.markup import html_table, in_html
from behavesim.reports.summary_tables import runs_table

ASK_AGAIN_S = 5
"""Seconds after which a browser asks again for a page that was still being made."""
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
    """Return the HTML page of a list of runs: each links to `runs/NAME`, and marked runs can be compared.

    `unreadable` maps the name of a run that cannot be read to the reason.
    """
    names = [_run(summary.run) for summary in summaries]  # these need markup, which a table's cells cannot hold
    rows = html_table(runs_table(summaries), names) if summaries else "<p>There are no runs here yet.</p>"
    damaged = "".join(f"<li>{in_html(name)}: {in_html(why)}</li>" for name, why in unreadable.items())
    rest = f"<h2>Cannot be read</h2><ul>{damaged}</ul>" if damaged else ""
    return _page("Runs", f'<form action="compare">{rows}<p><button>Compare those marked</button></p></form>{rest}')


def waiting_page() -> str:
    """Return the HTML page that stands for one that is still being made, and loads it again after ASK_AGAIN_S."""
    said = f"It is being made: a run with many candidates takes a while. This page asks again every {ASK_AGAIN_S} s."
    return _page("One moment", f"<p>{said}</p>", f'<meta http-equiv="refresh" content="{ASK_AGAIN_S}">')


def _run(name: str) -> str:
    """Return HTML with a run's checkbox and link; `name` is text, which is escaped here."""
    mark = f'<input type="checkbox" name="run" value="{escape(name)}" aria-label="Compare {in_html(name)}">'
    return f'{mark} <a href="runs/{quote(name)}">{in_html(name)}</a>'


def _page(title: str, body: str, head: str = "") -> str:
    """Return a whole HTML page; `body` and `head`, further elements of the head, are HTML, `title` is text."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
        f'content="width=device-width, initial-scale=1"><title>{in_html(title)} · behavesim</title>'
        f"{head}<style>{STYLE}</style></head><body><main><h1>{in_html(title)}</h1>{body}</main></body></html>"
    )
