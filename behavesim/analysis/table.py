"""Tables with units, which terminals, pages and files show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from behavesim.base.text import without_exponent


@dataclass(frozen=True)
class Unit:
    """How numbers are shown to people: multiplied by `factor`, then formatted with `style`, such as ".2f".

    `symbol` stands in the column's heading, such as "%".
    """

    style: str = ""
    symbol: str = ""
    factor: float = 1.0

    def text(self, value: float | str | None) -> str:
        """Return the number as text without the symbol; "" for None, and text unchanged.

        Raises ValueError if `style` does not suit the number, as "d" does not suit 0.5.
        """
        if value is None or isinstance(value, str):
            return value or ""
        much = value if self.factor == 1 else self.factor * value  # "d" takes no float, as 1.0 * 5 is
        return without_exponent(format(much, self.style))


# The unit of a column of text, which is left-aligned.
WORDS = Unit()
# The unit of a column of preformatted numbers, right-aligned. It equals WORDS, so alignment compares identities.
WRITTEN = Unit()
# The unit of a column of text that names candidates by their numbers, which a page opens; -1 is the template.
PROGRAMS = Unit()
# The units of all tables: two decimals where a difference of less means nothing, four for p-values.
COUNT = Unit("d")
# The unit of a column of candidates' numbers, -1 for the template: a page opens them. It equals COUNT, as WRITTEN does.
PROGRAM = Unit("d")
MEAN_COUNT = Unit(".1f")
SCORE = Unit(".6g")  # six digits tell good programs apart; files have all
ERROR = Unit(".2g")
FRACTION = Unit(".2f", "%", 100.0)
POINTS = Unit(".2f", "(points)", 100.0)  # differences of fractions, which "%" would make look relative
DISTANCE = Unit(".3f")
RATIO = Unit(".2f")
PROBABILITY = Unit(".4f")
SECONDS = Unit(".3f")
USD = Unit(".4f", "$")


@dataclass(frozen=True)
class Column:
    """A column: `name` is its name in files, `title` its title for people, None if it is the name."""

    name: str
    unit: Unit = WORDS
    title: str | None = None
    is_whole: bool = False  # whether cells are never wrapped to a second line, so that people can copy them

    @property
    def heading(self) -> str:
        """The heading for people: the title with the unit's symbol."""
        return f"{self.name if self.title is None else self.title} {self.unit.symbol}".strip()

    @property
    def is_left_aligned(self) -> bool:
        """Whether the column holds text; numbers are right-aligned."""
        return self.unit is WORDS or self.unit is PROGRAMS

    @property
    def names_programs(self) -> bool:
        """Whether the column names candidates, which a page opens."""
        return self.unit is PROGRAM or self.unit is PROGRAMS

    def text(self, cell: Cell) -> str:
        """Return a cell as text for people; an estimate with a standard deviation has its interval on a second line."""
        if not isinstance(cell, Estimate):
            return self.unit.text(cell)
        unit = cell.unit or self.unit
        mean = unit.text(cell.mean) if cell.known is None else f"of {cell.known}: {unit.text(cell.mean)}"
        spread = "" if cell.sd is None else f" ± {unit.text(cell.sd)}"
        interval = "" if cell.low is None else f"[{unit.text(cell.low)}, {unit.text(cell.high)}]"
        return f"{mean}{spread}\n{interval}" if spread and interval else f"{mean}{spread} {interval}".rstrip()


@dataclass(frozen=True)
class Estimate:
    """A mean with its standard deviation and 95 % interval, `low` to `high`; None if unknown.

    `known` is the number of runs with a value, None if all runs have one. `unit` replaces the column's unit if given.
    """

    mean: float
    sd: float | None
    low: float | None
    high: float | None
    known: int | None = None
    unit: Unit | None = None


# Content of a cell; None is unknown, which every view shows as empty and never as 0.
Cell = str | int | float | Estimate | None


@dataclass(frozen=True)
class Table:
    """A table: each row has one cell per column. `name` is its name in files, `title` its title for people.

    `caption` is a sentence below the table. `marked` has the indices of highlighted rows, `best` (row, column) of
    highlighted cells. The first `keys` columns say what a row is about: they begin each part of a table that is split.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""
    marked: frozenset[int] = frozenset()
    keys: int = 1
    best: frozenset[tuple[int, int]] = frozenset()

    @property
    def texts(self) -> list[list[str]]:
        """The cells as text for people, row by row."""
        return [[column.text(cell) for column, cell in zip(self.columns, row, strict=True)] for row in self.rows]

    @property
    def known(self) -> Table:
        """The table without columns whose cells are None in every row; unchanged if it has no rows."""
        places = range(len(self.columns))
        return self._of(
            [place for place in places if not self.rows or any(row[place] is not None for row in self.rows)]
        )

    @property
    def turned(self) -> Table:
        """The transposed table, for a table with one key column: a row per column and a column per row.

        Its cells are texts already, since a column of it holds numbers of several units.
        """
        key, *others = self.columns
        columns = (key, *(Column(key.text(row[0]), WRITTEN) for row in self.rows))
        rows = tuple(
            (column.heading, *(column.text(row[place]) or None for row in self.rows))
            for place, column in enumerate(others, 1)
        )
        cells = product(range(len(self.rows)), range(len(others)))
        best = frozenset((place, row + 1) for row, place in cells if self.is_bold(row, place + 1))
        return replace(self, columns=columns, rows=rows, best=best, marked=frozenset())

    def is_bold(self, row: int, column: int) -> bool:
        """Whether a cell stands out: its row is marked, or it is one of the best; both are indices from 0."""
        return row in self.marked or (row, column) in self.best

    def part(self, start: int, stop: int) -> Table:
        """Return the table with only the key columns and those from index `start` up to but without `stop`."""
        return self._of([*range(self.keys), *range(max(start, self.keys), stop)])

    def without(self, *names: str) -> Table:
        """Return the table without the columns of these names."""
        return self._of([place for place, column in enumerate(self.columns) if column.name not in names])

    def _of(self, kept: Sequence[int]) -> Table:
        rows = tuple(tuple(row[place] for place in kept) for row in self.rows)
        best = frozenset((row, kept.index(place)) for row, place in self.best if place in kept)
        return replace(self, columns=tuple(self.columns[place] for place in kept), rows=rows, best=best)


def cells_of(value: object, columns: Iterable[Column]) -> tuple[Cell, ...]:
    """Return the attributes of `value` that have the columns' names."""
    return tuple(getattr(value, column.name) for column in columns)


def facts_table(name: str, title: str, facts: Mapping[str, str | None]) -> Table:
    """Return a table without headings, with a row for each of the `facts` that is not None."""
    rows = tuple((what, fact) for what, fact in facts.items() if fact is not None)
    return Table(name, title, (Column("what", title=""), Column("value", title="")), rows)


# Number of best distinct programs that reports show and average.
TOP = 10
# The columns of a table for the score and the gap of a program.
SCORE_AND_GAP = (Column("score", SCORE), Column("gap", FRACTION))


@dataclass(frozen=True)
class Scored:
    """A feasible candidate: its number, -1 for the template, its score in the task's unit, and its gap.

    The gap is a fraction; None if the best known score is missing or 0. The score has a standard
    error, that of the difference to the template, on so many `instances`; both are None if it is unknown.
    """

    candidate: int
    score: float
    gap: float | None
    standard_error: float | None = field(default=None, kw_only=True)
    instances: int | None = field(default=None, kw_only=True)

    @property
    def cells(self) -> tuple[int, float, float | None]:
        """The number, score and gap, as cells of a row and as the first fields of a subclass."""
        return self.candidate, self.score, self.gap

    @property
    def certainty(self) -> dict[str, Any]:
        """The standard error and the number of instances, as the keyword arguments of a subclass."""
        return {"standard_error": self.standard_error, "instances": self.instances}
