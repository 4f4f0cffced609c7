"""Tables as a terminal shows them."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from behavesim.analysis.table import COUNT, FRACTION, SCORE, WORDS, Cell, Column, Estimate, Table, Unit
from behavesim.reports.terminal import fitting, rich_table, screen, show, show_heading, show_rows, width
from tests.reports.drawing import seen

GAP = Column("gap", FRACTION)


@pytest.mark.parametrize(
    ("unit", "value", "shown"),
    [
        (FRACTION, 0.12345, "12.35"),
        (FRACTION, 0, "0.00"),
        (SCORE, 1842.0, "1842"),
        (SCORE, 6.333333333, "6.33333"),
        (COUNT, 80, "80"),
        (WORDS, "words", "words"),
        (COUNT, None, ""),
        (Unit(".1f", "s"), 2.25, "2.2"),
    ],
)
def test_a_number_is_written_in_its_unit_and_the_unknown_is_empty(unit: Unit, value: Cell, shown: str) -> None:
    assert Column("name", unit).text(value) == shown


def test_a_pipe_gets_a_long_heading_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    said = "over_time: distance between islands / inside them on tsp, by share of the budget"
    show_heading(said)
    assert capsys.readouterr().out == f"{said} ───\n"


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A terminal of 60 columns."""
    for name, value in (("FORCE_COLOR", "1"), ("TERM", "xterm"), ("COLUMNS", "60")):
        monkeypatch.setenv(name, value)
    return monkeypatch


def test_a_heading_fills_a_terminal_unless_it_is_too_long_for_it(
    terminal: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    show_heading("short")
    show_heading("x" * 58)
    first, second = re.sub("\x1b\\[[0-9;]*m", "", capsys.readouterr().out).splitlines()
    assert (first, second) == (f"short {'─' * 54}", "x" * 58)


def test_a_dumb_terminal_has_the_width_that_it_has(terminal: pytest.MonkeyPatch) -> None:
    terminal.setenv("TERM", "dumb")
    assert (screen().width, width()) == (60, 60)


def test_a_heading_names_the_unit() -> None:
    assert (GAP.heading, Column("score", SCORE).heading) == ("gap %", "score")


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        (Estimate(0.5, None, None, None), "50.00"),
        (Estimate(0.5, 0.125, 0.25, 0.75), "50.00 ± 12.50\n[25.00, 75.00]"),
        (Estimate(0.5, None, 0.25, 0.75), "50.00 [25.00, 75.00]"),
        (Estimate(0.5, None, None, None, known=1), "of 1: 50.00"),
        (Estimate(0.5, None, None, None, unit=SCORE), "0.5"),
    ],
)
def test_an_estimate_is_written_with_what_is_known_of_it(cell: Estimate, shown: str) -> None:
    assert GAP.text(cell) == shown


def test_a_column_of_which_nothing_is_known_is_left_out() -> None:
    columns = (Column("name"), GAP, Column("score", SCORE))
    shown = seen([Table("t", "title", columns, (("a", None, 0), ("b", None, None)))])
    assert "gap" not in shown
    assert "score" in shown
    assert "gap %" in seen([Table("t", "title", columns, ())])


def test_words_stand_left_and_numbers_right() -> None:
    columns = (Column("name", title="a long heading"), Column("count", COUNT, title="a long number"))
    line = seen([Table("t", "", columns, (("x", 5),))]).splitlines()[2]
    assert line == "x                           5"


def test_a_cell_may_hold_anything() -> None:
    assert "[bold]x[/bold] [red" in seen([Table("t", "", (Column("a"),), (("[bold]x[/bold] [red",),))])


def test_rows_that_are_marked_are_bold() -> None:
    table = Table("t", "", (Column("a"),), (("x",), ("y",)), marked=frozenset({1}))
    assert [cell.style for cell in rich_table(table).columns[0].cells] == ["", "bold"]


def test_rows_of_two_lines_are_parted() -> None:
    spread, plain = Estimate(0.5, 0.125, 0.25, 0.75), Estimate(0.5, None, None, None)
    assert rich_table(Table("t", "", (GAP,), ((spread,), (plain,)))).show_lines
    assert not rich_table(Table("t", "", (GAP,), ((plain,),))).show_lines


def test_nothing_is_cut_on_a_narrow_terminal() -> None:
    table = Table("t", "title", (Column("name"), GAP), (("a-name-without-a-break-in-it", 0.5),))
    assert "…" not in seen([table], width=20)


def test_a_table_without_headings_has_none_and_its_first_column_is_bold() -> None:
    drawing = rich_table(
        Table("t", "title", (Column("what", title=""), Column("value", title="")), (("a", "b"),), "caption")
    )
    assert not drawing.show_header
    assert [column.style for column in drawing.columns] == ["bold", ""]
    assert (drawing.title, drawing.caption) == ("title", "caption")


def test_tables_are_printed_on_stdout_one_below_the_other(capsys: pytest.CaptureFixture[str]) -> None:
    tables = [
        Table(name, name.title(), (Column("k", COUNT),), ((value,),)) for name, value in [("ones", 1), ("twos", 2)]
    ]
    show(tables)
    printed = capsys.readouterr()
    assert [word for word in printed.out.split() if word in ("Ones", "1", "Twos", "2")] == ["Ones", "1", "Twos", "2"]
    assert printed.err == ""


WIDE = Table(
    "wide",
    "groups",
    (Column("group"), Column("runs", COUNT), *(Column(f"metric {k}", FRACTION) for k in range(5))),
    (("a", 3, 0.5, None, 0.25, 0.125, 1.0), ("b", 4, 0.5, None, 0.75, 0.5, 1.0)),
    best=frozenset({(1, 4)}),
)


def test_a_table_with_more_columns_than_rows_is_turned_where_it_is_too_wide() -> None:
    (whole,) = fitting(WIDE, Console(width=120))
    assert [column.header for column in whole.columns][:2] == ["group", "runs"]
    (turned,) = fitting(WIDE, Console(width=40))
    assert [column.header for column in turned.columns] == ["group", "a", "b"]
    rows = list(zip(*(map(str, column.cells) for column in turned.columns), strict=True))
    assert rows[:2] == [("runs", "3", "4"), ("metric 0 %", "50.00", "50.00")]
    assert rows[2] == ("metric 2 %", "25.00", "75.00")
    assert [cell.style for cell in turned.columns[2].cells][2] == "bold"


def test_no_number_is_broken_where_a_column_of_words_can_give_way() -> None:
    columns = (Column("name"), Column("where it is best"), *(Column(name, SCORE) for name in ("one", "two", "three")))
    numbers = -6.01334e-07, -1.43098e12, -3.08618e14
    console = Console(width=66, file=io.StringIO())
    (whole,) = fitting(Table("t", "", columns, (("a", "1, 2, 3", *numbers),) * 5), console)
    with console.capture() as shown:
        console.print(whole)
    assert [shown.get().count(number) for number in ("-6.01334e-07", "-1.43098e+12", "-3.08618e+14")] == [5, 5, 5]


def test_a_name_too_long_for_a_terminal_is_shortened_in_its_middle(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "40")
    table = Table("t", "", (Column("run"), GAP), (("study/funsearch+behavesim-tsp-seed-7", 0.5),))
    show_rows(table, ())
    assert "study/funsearch+…vesim-tsp-seed-7  50.00" in capsys.readouterr().out
    monkeypatch.delenv("FORCE_COLOR")
    show_rows(table, ())
    assert table.rows[0][0] in capsys.readouterr().out.split()


def test_in_a_pipe_each_row_is_a_line_as_wide_as_its_content(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    show([replace(WIDE, columns=tuple(replace(each, title=f"{each.name} of each group") for each in WIDE.columns))])
    title, heading, rule, *rows = capsys.readouterr().out.splitlines()
    assert (title, [row.split()[0] for row in rows]) == ("groups", ["a", "b"])
    assert len(heading) == len(rule) > 80 and rule.count("─") > 80


def test_a_table_with_many_rows_is_parted_and_not_turned() -> None:
    long = replace(WIDE, rows=WIDE.rows * 4)
    assert all(part.columns[0].header == "group" for part in fitting(long, Console(width=40)))


def test_a_wide_table_goes_on_below_and_says_so_with_its_title_or_without_one() -> None:
    columns = tuple(Column(f"column {number}") for number in range(8))
    rows, console = (("incomprehensibilities",) * 8,) * 9, Console(width=80)
    assert fitting(Table("t", "title", columns, rows), console)[1].title == "title, continued"
    assert fitting(Table("t", "", columns, rows), console)[1].title == "continued"


@pytest.mark.parametrize("width", range(30, 81, 5))
def test_a_row_has_one_line_and_no_cell_is_cut_however_narrow_a_terminal_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: int
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(width))
    columns = Column("run"), Column("state"), Column("method"), Column("asked", COUNT), Column("gap", FRACTION)
    rows = (("one", "stopped: interrupted", "funsearch+behavesim", 12345, 0.12345), ("two", "finished", "eoh", 5, 0.5))
    show_rows(Table("t", "", columns, rows), ("asked", "method"))
    lines = re.sub("\x1b[^m]*m", "", capsys.readouterr().out).splitlines()
    assert [line.split()[0] for line in lines if line[0].isalpha()] == ["run", "one", "two"]
    assert all(re.search("stopped: interrupted .*12.35|finished .*50.00", line) for line in lines[2:])
    assert all(len(line.rstrip()) <= width for line in lines) or (width < 35 and "method" not in lines[0])
