"""A metric: one number of a run's report, used to compare runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Literal, get_args

from behavesim.analysis.report import RunReport
from behavesim.analysis.table import Column, Unit
from behavesim.base.errors import UsageError
from behavesim.base.text import one_line

BetterEnd = Literal["lower", "higher", "task"]
"""Which values are better: lower ones, higher ones, or, for `task`, those that the task's objective prefers."""

About = Literal["search", "held-out", "behaviour"]
"""The table that shows a metric: results on search instances, on held-out instances, or diversity of behaviour."""


@dataclass(frozen=True)
class Metric:
    """One number of a run's report: `of(report)` returns it, or None if the run has none.

    `name`, a Python name, is its key in files; `title` and `unit` are for people. `direction` is None if neither lower
    nor higher values are better; then it is not tested. `about` is the table that shows it; None if only files have
    it. Tables leave it out if the metric named `instead_of` has values.

    Raises UsageError if a field other than `instead_of` has a wrong type or value.
    """

    name: str
    title: str
    unit: Unit
    direction: BetterEnd | None
    of: Callable[[RunReport], float | None]
    about: About | None = "search"
    instead_of: str | None = None

    def __post_init__(self) -> None:
        if not (isinstance(self.name, str) and self.name.isidentifier()):
            raise UsageError(f"a metric's name is a Python name, by which files call it, not {self.name!r}")
        self._check("title", isinstance(self.title, str), "text")
        self._check(
            "unit", _can_write_means(self.unit), 'a behavesim.Unit that can write 0.5, such as Unit(".2f", "s")'
        )
        self._check("direction", self.direction in (None, *get_args(BetterEnd)), "lower, higher, task or None")
        self._check("of", callable(self.of), "a function of a run's report")
        self._check("about", self.about in (None, *get_args(About)), "search, held-out, behaviour or None")

    def _check(self, part: str, fits: bool, expected: str) -> None:
        if not fits:
            raise UsageError(f"metric {self.name!r}: its {part} is to be {expected}, not {getattr(self, part)!r}")

    @property
    def column(self) -> Column:
        """The metric's column in a table."""
        return Column(self.name, self.unit, self.title)

    def value(self, run: RunReport) -> float | None:
        """Return `of(run)`: a finite int or float, or None if the run has no value.

        Raises UsageError, in one line, if `of` raises an exception or returns anything else, such as a bool.
        """
        try:
            found = self.of(run)
            is_finite = isinstance(found, Real) and math.isfinite(found)
        except Exception as error:  # `of` may be a user's own function
            raise self._failure(run, f"raised {type(error).__name__}: {error}") from error
        if found is None:
            return None
        if isinstance(found, bool) or not is_finite:
            raise self._failure(run, f"returned {found!r}")
        return int(found) if isinstance(found, Integral) else float(found)

    def _failure(self, run: RunReport, what: str) -> UsageError:
        expected = "it is to return a finite number, or None where a run has no such number"
        return UsageError(one_line(f"metric {self.name!r} {what} for run {run.summary.run}; {expected}"))

    def is_shown(self, known: Collection[str]) -> bool:
        """Whether tables show the metric: `known`, the names of metrics with values, has it and not `instead_of`."""
        return self.name in known and self.instead_of not in known


def measured(run: RunReport, metrics: Sequence[Metric]) -> RunReport:
    """Return a copy of the report with only these metrics in `metrics`; raises UsageError as `Metric.value` does."""
    return replace(run, metrics={metric.name: metric.value(run) for metric in metrics})


def _can_write_means(unit: object) -> bool:
    """Whether a unit can format a fraction: tables show means, even of counts."""
    try:
        return isinstance(unit, Unit) and bool(unit.text(0.5))
    except (TypeError, ValueError):
        return False
