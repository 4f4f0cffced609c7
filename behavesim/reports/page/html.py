"""The HTML of a page: styles, libraries, scripts and the document in one file, which may load and call nothing."""

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
"""Of others; in this order, for Plot takes d3 from the page."""
SCRIPTS = (
    *("elements.js", "code.js", "program.js", "overview.js", "portfolio.js", "table.js"),
    *("map.js", "likeness.js", "diversity.js", "pictures.js", "replay.js", "lineage.js", "page.js"),
)
"""Ours; joined to one module, so that none has to be fetched."""


def page(run: Run, found: RunReport | None = None) -> str:
    """The page of a run as it stands; `found` is its report, where that is known already."""
    return html(document(run, found))


def write_page(run: Run, found: RunReport, path: Path) -> None:
    """Write the page of a run, whose report is known; raises UsageError where it cannot be written."""
    try:
        path.write_text(page(run, found), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}; choose another --html file") from None


def html(shown: Document, script: str = "", connect: str = "'none'") -> str:
    """The page of a document.

    `script` is a further module, which may give the page a newer document by `behavesim.render(document)`; `connect`
    says from where it may ask for one, as a source of a content security policy: `'self'`, say.
    """
    libraries = [_text("vendor", name) for name in LIBRARIES]
    modules = ["\n".join(_text("scripts", name) for name in SCRIPTS), *([script] if script else [])]
    return Template(_text("page.html")).substitute(
        policy=escape(_policy([*libraries, *modules], connect), quote=True),
        title=escape(f"{shown.summary.run} · behavesim"),
        style=_text("page.css"),
        document=shown.json().replace("<", "\\u003c"),  # no `</script>` of a program ends the element
        libraries="\n".join(f"<script>{each}</script>" for each in libraries),
        modules="\n".join(f'<script type="module">{each}</script>' for each in modules),
    )


def _policy(scripts: list[str], connect: str) -> str:
    """What the page may do: run the scripts that it was made with, style itself, and nothing else."""
    hashes = " ".join(f"'sha256-{b64encode(hashlib.sha256(each.encode()).digest()).decode()}'" for each in scripts)
    allowed = f"script-src {hashes}; style-src 'unsafe-inline'; img-src data:; connect-src {connect}"
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"


@cache
def _text(*path: str) -> str:
    return files("behavesim.reports.page").joinpath(*path).read_text(encoding="utf-8")
