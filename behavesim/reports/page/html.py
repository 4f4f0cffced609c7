"""Make the HTML of a page: styles, libraries, scripts and the document in one file that loads nothing else."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

from behavesim.analysis.comparison import RunComparison
from behavesim.analysis.report import RunReport
from behavesim.analysis.run import Run
from behavesim.base.errors import UsageError
from behavesim.reports.page.comparison import ComparisonDocument, comparison_document
from behavesim.reports.page.document import Document, document

LIBRARIES = ("d3.js", "plot.js", "prism.js", "diff.js")
"""Scripts of third parties, in the order in which they are loaded: Plot needs d3 before it."""
SCRIPTS = (
    *("elements.js", "code.js", "dialog.js", "program.js", "overview.js", "best.js", "convergence.js", "unseen.js"),
    *("portfolio.js", "metrics.js", "table.js", "map.js", "likeness.js", "diversity.js", "pictures.js", "replay.js"),
    *("genealogy.js", "lineage.js", "making.js", "page.js"),
)
"""Our own scripts, joined into one module in this order: separate modules would have to be fetched."""
COMPARISON_SCRIPTS = ("elements.js", "code.js", "dialog.js", "comparison.js", "comparison_page.js")
"""Our own scripts of the page of a comparison, in the order in which they are joined."""


def write_page(run: Run, found: RunReport, path: Path) -> None:
    """Write the HTML page of a run to the file `path`; `found` is the run's report.

    An existing file is replaced. Raises UsageError if it cannot be written, JournalError if the run's journal cannot be
    read.
    """
    _write(html(document(run, found)), path)


def write_comparison(found: RunComparison, runs: Sequence[Run], path: Path) -> None:
    """Write the HTML page of a comparison of these runs to the file `path`; raises as `write_page` does."""
    _write(comparison_html(comparison_document(found, runs)), path)


def _write(text: str, path: Path) -> None:
    """Write a page to a file; raises UsageError if that fails."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}; choose another --html file") from None


def html(shown: Document, script: str = "", connect: str = "'none'") -> str:
    """Return the HTML page that shows a document.

    `script` is an additional JavaScript module, "" for none, which can show a newer document with
    `behavesim.render(document)`. `connect` is the source from which the page may fetch one, as a content security
    policy writes it: `'self'` for the page's own server, `'none'` for none.
    """
    return _page(f"{shown.summary.run} · behavesim", shown.json(), SCRIPTS, [script] if script else [], connect)


def comparison_html(shown: ComparisonDocument) -> str:
    """Return the HTML page that shows a comparison; it loads nothing."""
    return _page(f"{shown.title} · behavesim", shown.json(), COMPARISON_SCRIPTS)


def _page(title: str, json: str, scripts: Sequence[str], more: Sequence[str] = (), connect: str = "'none'") -> str:
    """Return a page: a document (`json`), our `scripts` as one module, `more` modules; `connect` is as in `html`."""
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
    """Return a content security policy that allows these scripts, inline styles and `connect`, and nothing else.

    `scripts` are texts, which it names by their hashes: a script that a program smuggled in would have another.
    """
    hashes = " ".join(f"'sha256-{b64encode(hashlib.sha256(each.encode()).digest()).decode()}'" for each in scripts)
    allowed = f"script-src {hashes}; style-src 'unsafe-inline'; img-src data:; connect-src {connect}"
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"


@cache  # a server makes a page for each request
def _text(*path: str) -> str:
    """Return a file of this package as text."""
    return files("behavesim.reports.page").joinpath(*path).read_text(encoding="utf-8")
