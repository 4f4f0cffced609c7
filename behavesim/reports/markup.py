"""Turn tables into text for papers and pages: LaTeX with booktabs, Markdown and HTML."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from html import escape

from behavesim.analysis.table import Table
from behavesim.base.text import printable

# LaTeX source by character, for characters that are special in LaTeX or missing in its fonts.
_LATEX = {
    "\\": r"\textbackslash{}",
    **{sign: "\\" + sign for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "|": "$|$",
    "α": r"$\alpha$",
    "†": r"$\dagger$",
    "±": r"$\pm$",
    "−": "$-$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "×": r"$\times$",
    "→": r"$\rightarrow$",
    "–": "--",
    "…": r"\ldots{}",
}


def latex(tables: Sequence[Table]) -> str:
    """Return a floating LaTeX `table` for each table, after a comment that says which package they need.

    Labels are `tab:NAME`, with -2, -3 … appended if several tables have one name.
    """
    seen: Counter[str] = Counter()
    texts = ["% \\usepackage{booktabs}"]
    for table in tables:
        seen[table.name] += 1
        label = re.sub("[^a-z0-9]+", "-", table.name.lower()) + (f"-{seen[table.name]}" if seen[table.name] > 1 else "")
        texts.append(_latex(table.known, label))
    return "\n\n".join(texts)


def markdown(tables: Sequence[Table]) -> str:
    """Return headings, tables and captions in GitHub's dialect of Markdown, without columns that are all None."""
    return "\n\n".join(_markdown(table.known) for table in tables)


def html_tables(tables: Sequence[Table]) -> str:
    """Return an HTML fragment with all tables one below the other, for notebooks and pages; "" without tables."""
    return "\n".join(map(html_table, tables))


def html_table(table: Table, first: Sequence[str] = (), opened: Callable[[str], str] | None = None) -> str:
    """Return a table as HTML, its title above and its caption below; all text is escaped.

    `first`, if not empty, replaces the cells of the first column by HTML such as links, which is not escaped. `opened`
    returns the HTML of a text, escaped already, that names programs.
    """
    table = table.known
    heads, *rows = _cells(table, in_html, "<b>{}</b>".format)
    if opened is not None:
        named = [column.names_programs for column in table.columns]
        rows = [[opened(cell) if is_named else cell for cell, is_named in zip(row, named, strict=True)] for row in rows]
    rows = [[cell, *row[1:]] for cell, row in zip(first, rows, strict=True)] if first else rows
    kinds = ["" if column.is_left_aligned else ' class="number"' for column in table.columns]
    title = f"<caption>{in_html(table.title)}</caption>" if table.title else ""
    head = _html_row('th scope="col"', kinds, heads)
    body = "".join(_html_row("td", kinds, row) for row in rows)
    note = f'<p class="note">{in_html(table.caption)}</p>' if table.caption else ""
    return f'<div class="table"><table>{title}<thead>{head}</thead><tbody>{body}</tbody></table></div>{note}'


def in_html(text: str) -> str:
    """Return text escaped for HTML; control characters are shown as JSON escapes such as \\u001b."""
    return escape(printable(text))


def _html_row(tag: str, kinds: Sequence[str], cells: Sequence[str]) -> str:
    end = tag.split()[0]
    return f"<tr>{''.join(f'<{tag}{kind}>{cell}</{end}>' for kind, cell in zip(kinds, cells, strict=True))}</tr>"


def _latex(table: Table, label: str) -> str:
    header, *rows = _cells(table, _in_latex, r"\textbf{{{}}}".format)
    columns = "".join("l" if column.is_left_aligned else "r" for column in table.columns)
    return "\n".join(
        (
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{_in_latex(_sentences(table))}}}",
            rf"\label{{tab:{label}}}",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            rf"{' & '.join(header)} \\",
            r"\midrule",
            *(rf"{' & '.join(row)} \\" for row in rows),
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
        )
    )


def _markdown(table: Table) -> str:
    header, *rows = _cells(table, _in_markdown, "**{}**".format)
    rule = ["---" if column.is_left_aligned else "---:" for column in table.columns]
    lines = (f"| {' | '.join(cells)} |" for cells in (header, rule, *rows))
    heading = [f"### {_in_markdown(table.title)}", ""] if table.title else []
    caption = ["", _in_markdown(table.caption)] if table.caption else []
    return "\n".join((*heading, *lines, *caption))


def _cells(table: Table, escaped: Callable[[str], str], bold: Callable[[str], str]) -> list[list[str]]:
    rows = [[escaped(column.heading) for column in table.columns]]
    for place, row in enumerate(table.texts):
        cells = enumerate(map(escaped, row))
        rows.append([bold(text) if text and table.is_bold(place, at) else text for at, text in cells])
    return rows


def _sentences(table: Table) -> str:
    """Return title and caption as sentences, with capital letters and without the last full stop."""
    parts = (part.strip().rstrip(".") for part in (table.title, table.caption) if part.strip())
    return ". ".join(part[0].upper() + part[1:] for part in parts)


def _in_latex(text: str) -> str:
    escaped = "".join(_LATEX.get(sign, sign) for sign in _line(text))
    # first in a row it would be an argument of the line break before it
    return f"{{}}{escaped}" if escaped.startswith("[") else escaped


def _in_markdown(text: str) -> str:
    return re.sub(r"([\\`*_|<>\[\]])", r"\\\1", _line(text))


def _line(text: str) -> str:
    return " ".join(printable(text).split())
