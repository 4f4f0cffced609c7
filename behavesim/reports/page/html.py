"""Make the HTML of a page: styles, libraries, scripts and the document in one file that loads nothing else."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

from behavesim.analysis.report import RunReport
from behavesim.analysis.run import Run
from behavesim.base.errors import UsageError
from behavesim.reports.page.document import Document, document

LIBRARIES = ("d3.js", "plot.js", "prism.js", "diff.js")
"""Scripts of third parties, in the order in which they are loaded: Plot needs d3 before it."""
SCRIPTS = (
    *("elements.js", "code.js", "program.js", "overview.js", "portfolio.js", "table.js"),
    *("map.js", "likeness.js", "diversity.js", "pictures.js", "replay.js", "lineage.js", "page.js"),
)
"""Our own scripts, joined into one module in this order: separate modules would have to be fetched."""


def page(run: Run, found: RunReport | None = None) -> str:
    """Return the HTML page of a run as it stands; `found` is its report if it has been made already."""
    return html(document(run, found))


def write_page(run: Run, found: RunReport, path: Path) -> None:
    """Write the HTML page of a run; `found` is its report. Raises UsageError if the file cannot be written."""
    try:
        path.write_text(page(run, found), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}; choose another --html file") from None


def html(shown: Document, script: str = "", connect: str = "'none'") -> str:
    """Return the HTML page that shows a document.

    `script` is an additional JavaScript module, which can show a newer document with `behavesim.render(document)`.
    `connect` is the source from which the page may fetch one, as in a content security policy, such as `'self'`.
    """
    libraries = [_text("vendor", name) for name in LIBRARIES]
    modules = ["\n".join(_text("scripts", name) for name in SCRIPTS), *([script] if script else [])]
    return Template(_text("page.html")).substitute(
        policy=escape(_policy([*libraries, *modules], connect), quote=True),
        title=escape(f"{shown.summary.run} · behavesim"),
        style=_text("page.css"),
        document=shown.json().replace("<", "\\u003c"),  # otherwise a program's `</script>` would end the element
        libraries="\n".join(f"<script>{each}</script>" for each in libraries),
        modules="\n".join(f'<script type="module">{each}</script>' for each in modules),
    )


def _policy(scripts: list[str], connect: str) -> str:
    """Return a content security policy that allows these scripts, inline styles and `connect`, and nothing else."""
    hashes = " ".join(f"'sha256-{b64encode(hashlib.sha256(each.encode()).digest()).decode()}'" for each in scripts)
    allowed = f"script-src {hashes}; style-src 'unsafe-inline'; img-src data:; connect-src {connect}"
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"


@cache
def _text(*path: str) -> str:
    return files("behavesim.reports.page").joinpath(*path).read_text(encoding="utf-8")
