"""Rows and columns with their units: what every view of a report draws, be it a terminal or a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Unit:
    """How people read a number: multiplied by `factor` and formatted by `style`; `symbol` names what it counts."""

    style: str = ""
    symbol: str = ""
    factor: float = 1.0

    def text(self, value: float | str | None) -> str:
        """The number without its symbol; empty where it is unknown, and words as they are."""
        if value is None or isinstance(value, str):
            return value or ""
        return format(value if self.factor == 1 else self.factor * value, self.style)


WORDS = Unit()
WRITTEN = Unit()
"""Of numbers that are text already, which stand at the right where words stand at the left."""
COUNT = Unit("d")
MEAN_COUNT = Unit(".1f")
SCORE = Unit(".6g")
FRACTION = Unit(".2f", "%", 100.0)
POINTS = Unit(".2f", "(points)", 100.0)
DISTANCE = Unit(".3f")
RATIO = Unit(".2f")
PROBABILITY = Unit(".4f")
SECONDS = Unit(".3f")


@dataclass(frozen=True)
class Column:
    """What stands in a column: its name in files, the unit of its numbers, and its title for people if another."""

    name: str
    unit: Unit = WORDS
    title: str | None = None
    is_whole: bool = False
    """Whether its cells are never broken, as those that people copy."""

    @property
    def heading(self) -> str:
        """What people read above it, with the unit's symbol."""
        return f"{self.name if self.title is None else self.title} {self.unit.symbol}".strip()

    def text(self, cell: Cell) -> str:
        """What people read in a cell of this column; nothing where it is unknown, an interval in a line of its own."""
        if not isinstance(cell, Estimate):
            return self.unit.text(cell)
        unit = cell.unit or self.unit
        mean = unit.text(cell.mean) if cell.known is None else f"of {cell.known}: {unit.text(cell.mean)}"
        spread = "" if cell.sd is None else f" ± {unit.text(cell.sd)}"
        interval = "" if cell.low is None else f"[{unit.text(cell.low)}, {unit.text(cell.high)}]"
        return f"{mean}{spread}\n{interval}" if spread else f"{mean} {interval}".rstrip()


@dataclass(frozen=True)
class Estimate:
    """A mean, its standard deviation and 95 % interval where they are known, in the column's unit or one of its own.

    `known` is how many runs it is of, where others have no value.
    """

    mean: float
    sd: float | None
    low: float | None
    high: float | None
    known: int | None = None
    unit: Unit | None = None


Cell = str | int | float | Estimate | None
"""None is what is not known: empty in every view, and never 0."""


@dataclass(frozen=True)
class Table:
    """One table; each row has a cell a column, `marked` are rows that stand out and `best` cells that do, by place.

    The first `keys` columns say what a row is about: where a table is too wide, each of its parts begins with them.
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
    def known(self) -> Table:
        """The table without the columns of which nothing is known."""
        places = range(len(self.columns))
        return self._of(
            [place for place in places if not self.rows or any(row[place] is not None for row in self.rows)]
        )

    @property
    def turned(self) -> Table:
        """The same with a row for each column, and a column for each row; of a table with one key."""
        key, *others = self.columns
        columns = (key, *(Column(key.text(row[0]), WRITTEN) for row in self.rows))
        rows = tuple(
            (column.heading, *(column.text(row[place]) or None for row in self.rows))
            for place, column in enumerate(others, 1)
        )
        best = {(place - 1, row + 1) for row, place in self.best if place}
        best |= {(place, row + 1) for row in self.marked for place in range(len(others))}
        return replace(self, columns=columns, rows=rows, best=frozenset(best), marked=frozenset())

    def part(self, start: int, stop: int) -> Table:
        """The keys and the columns from `start` up to `stop`."""
        return self._of([*range(self.keys), *range(max(start, self.keys), stop)])

    def _of(self, kept: Sequence[int]) -> Table:
        """The columns at these places."""
        rows = tuple(tuple(row[place] for place in kept) for row in self.rows)
        best = frozenset((row, kept.index(place)) for row, place in self.best if place in kept)
        return replace(self, columns=tuple(self.columns[place] for place in kept), rows=rows, best=best)
