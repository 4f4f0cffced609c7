"""Tables as LaTeX and as Markdown."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from behavesim.analysis.table import COUNT, FRACTION, Cell, Column, Estimate, Table
from behavesim.reports.markup import latex, markdown

COLUMNS = (Column("group"), Column("runs", COUNT), Column("gap", FRACTION), Column("none", FRACTION))
ROWS: tuple[tuple[Cell, ...], ...] = (
    ("a_b & 50 %", 2, Estimate(0.5, 0.125, 0.25, 0.75), None),
    ("c", 3, Estimate(-0.25, None, None, None), None),
)
TABLE = Table("groups_search", "what was found", COLUMNS, ROWS, "by ± the rest.", best=frozenset({(1, 2)}))
DOCUMENT = "\\documentclass{article}\n\\usepackage{booktabs}\n\\begin{document}\n%s\n\\end{document}\n"
TEXT = st.text(st.characters(codec="ascii") | st.sampled_from("±−≥≤×→–…é"), max_size=20)


def test_a_table_for_a_paper() -> None:
    assert latex([TABLE]).splitlines() == [
        "% \\usepackage{booktabs}",
        "",
        "\\begin{table}",
        "\\centering",
        "\\caption{What was found. By $\\pm$ the rest}",
        "\\label{tab:groups-search}",
        "\\begin{tabular}{lrr}",
        "\\toprule",
        "group & runs & gap \\% \\\\",
        "\\midrule",
        "a\\_b \\& 50 \\% & 2 & 50.00 $\\pm$ 12.50 [25.00, 75.00] \\\\",
        "c & 3 & \\textbf{-25.00} \\\\",
        "\\bottomrule",
        "\\end{tabular}",
        "\\end{table}",
    ]


def test_a_table_for_a_page() -> None:
    assert markdown([TABLE]).splitlines() == [
        "### what was found",
        "",
        "| group | runs | gap % |",
        "| --- | ---: | ---: |",
        "| a\\_b & 50 % | 2 | 50.00 ± 12.50 \\[25.00, 75.00\\] |",
        "| c | 3 | **-25.00** |",
        "",
        "by ± the rest.",
    ]


def test_no_row_begins_with_what_latex_takes_for_an_argument() -> None:
    table = Table("t", "By α † [", (Column("[a]"), Column("b")), (("[c]", "[d]"),))
    lines = latex([table]).splitlines()
    assert ("{}[a] & b \\\\" in lines, "{}[c] & {}[d] \\\\" in lines) == (True, True)
    assert "\\caption{By $\\alpha$ $\\dagger$ [}" in lines


def test_tables_of_one_name_have_labels_of_their_own() -> None:
    assert [line for line in latex([TABLE, TABLE]).splitlines() if "label" in line] == [
        "\\label{tab:groups-search}",
        "\\label{tab:groups-search-2}",
    ]


@given(st.lists(TEXT, min_size=1, max_size=3))
def test_no_text_breaks_out_of_its_cell(cells: list[str]) -> None:
    table = Table("t", "", (Column("a"), Column("b")), tuple((cell, "x") for cell in cells))
    *_, rows = markdown([table]).partition("| --- | --- |\n")
    assert [line.replace("\\|", "").count("|") for line in rows.splitlines()] == [3] * len(cells)


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex is installed")
def test_what_is_written_can_be_set(tmp_path: Path) -> None:
    every = "".join(map(chr, range(32, 127))) + "±−≥≤×→–…éα†"
    awkward = Table("awkward", every, (Column(every), Column("x")), ((every, "a\tb\nc"), ("[x]", "y")), every)
    (tmp_path / "paper.tex").write_text(DOCUMENT % latex([TABLE, awkward]))
    command = ("pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "paper.tex")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "paper.pdf").exists()
