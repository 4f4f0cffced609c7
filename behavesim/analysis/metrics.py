"""Metrics: numbers of a report by which runs are compared; built-in ones, and users' own from packages and files."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Literal, get_args

from behavesim.analysis.convergence import Diversity
from behavesim.analysis.held_out import HeldOut, HeldOutMean
from behavesim.analysis.report import RunReport
from behavesim.analysis.table import DISTANCE, FRACTION, MEAN_COUNT, RATIO, SCORE, Column, Scored, Unit
from behavesim.base.errors import RAISED, UsageError, nearest
from behavesim.base.plugins import Kind
from behavesim.base.text import one_line

# Which values are better: lower ones, higher ones, or, for `task`, those that the task's objective prefers.
BetterEnd = Literal["lower", "higher", "task"]

# The table that shows a metric: results on search instances, on held-out instances, or diversity of behaviour.
About = Literal["search", "held-out", "behaviour"]


@dataclass(frozen=True)
class Metric:
    """One number of a run's report: `of(report)` returns it, or None if the run has none.

    `name`, a Python name, is its key in files; `title` and `unit` are for people. `direction` None is not tested.
    `about` is the table that shows it; None if only files have it. Tables leave it out if the metric named `instead_of`
    has values. Raises UsageError if a field has a wrong type or value.
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

        Raises UsageError, in one line, if `of` raises or returns anything else, such as a bool.
        """
        try:
            found = self.of(run)
            is_finite = isinstance(found, Real) and math.isfinite(found)
        except RAISED as error:  # of a user's own function: else no message would name metric and run
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


def add_metrics(run: RunReport, metrics: Sequence[Metric]) -> RunReport:
    """Return a copy of the report with the values of these metrics; raises as `Metric.value` does."""
    return replace(run, metrics={metric.name: metric.value(run) for metric in metrics})


def _can_write_means(unit: object) -> bool:
    """Whether a unit can format a fraction: tables show means, even of counts."""
    try:
        return isinstance(unit, Unit) and bool(unit.text(0.5))
    except (TypeError, ValueError):
        return False


def _gap(program: Scored | None) -> float | None:
    return None if program is None else program.gap


def _score(program: Scored | None) -> float | None:
    return None if program is None else program.score


def _last(of: Callable[[Diversity], float | None]) -> Callable[[RunReport], float | None]:
    # The diversity now is not used: a restart may just have emptied islands.
    return lambda run: of(run.diversity_over_time[-1]) if run.diversity_over_time else None


def _untested_metric(
    name: str, title: str, unit: Unit, of: Callable[[RunReport], float | None], about: About | None = "behaviour"
) -> Metric:
    return Metric(name, title, unit, None, of, about)


def _held_out_metric(
    name: str,
    title: str,
    direction: BetterEnd,
    of: Callable[[HeldOut], float | None],
    about: About | None = None,
    instead_of: str | None = None,
) -> Metric:

    def value(run: RunReport) -> float | None:
        return None if run.held_out is None else of(run.held_out)

    return Metric(name, title, FRACTION, direction, value, about, instead_of)


def _gap_and_gain_metrics(
    name: str, title: str, of: Callable[[HeldOut], HeldOutMean], about: About | None = "held-out"
) -> tuple[Metric, Metric]:
    # `title` names the programs for people. `about` is the table that shows the metrics; None if only files have them.
    gap, gain = f"held_out_{name}_gap", f"held_out_{name}_gain"
    return (
        _held_out_metric(gap, f"held-out gap of {title}", "lower", lambda found: of(found).gap, about),
        _held_out_metric(gain, f"held-out gain of {title}", "higher", lambda found: of(found).improvement, about, gap),
    )


# Pairs of metrics on held-out instances, gap and gain: of the search's best, its ten best, and the recommended program.
# Only files have those of the ten best (`about` is None), and no table.
HELD_OUT = (
    _gap_and_gain_metrics("best", "best", lambda found: found.best),
    _gap_and_gain_metrics("top10", "top 10", lambda found: found.top10, None),
    _gap_and_gain_metrics("recommended", "recommended", lambda found: found.recommended),
)
# How much better the recommended program is than the search's best on held-out instances: by gap, and by gain. Both are
# fractions, positive if the recommended program is better, None if a value is unknown.
RECOMMENDED_GAP_ADVANTAGE = _held_out_metric(
    "held_out_gap_advantage", "gap", "higher", lambda found: found.recommended_gap_advantage
)
RECOMMENDED_GAIN_ADVANTAGE = _held_out_metric(
    "held_out_gain_advantage", "gain on the template", "higher", lambda found: found.recommended_gain_advantage
)


def reaching(name: str) -> Metric | None:
    """Return the metric of a name such as `candidates_to_gap_5` or `candidates_to_gap_2_5`; None for any other name.

    Its value is the number of candidates up to the first one with a gap of 5 % (2.5 %) or less; None if there is none.
    Its `direction` is None, so it is not tested: means would leave out runs without a value.
    """
    found = re.fullmatch(r"candidates_to_gap_(\d+)(?:_(\d+))?", name)
    if found is None:
        return None
    per_cent = float(f"{found[1]}.{found[2] or 0}")

    def asked(run: RunReport) -> int | None:
        near = (each.asked for each in run.improvements if each.gap is not None and 100 * each.gap <= per_cent)
        return next(near, None)

    return Metric(name, f"candidates to a gap of {per_cent:g} %", MEAN_COUNT, None, asked, "search")


# All built-in metrics, in the order of tables and files; users' own metrics follow them (`available_metrics`).
METRICS = (
    Metric("best_gap", "best gap", FRACTION, "lower", lambda run: _gap(run.summary.best)),
    Metric("top10_gap", "top-10 gap", FRACTION, "lower", lambda run: run.summary.top10_gap),
    Metric("recommended_gap", "recommended gap", FRACTION, "lower", lambda run: _gap(run.summary.recommended)),
    Metric("best_score", "best score", SCORE, "task", lambda run: _score(run.summary.best), instead_of="best_gap"),
    Metric("portfolio_gap", "portfolio-10 gap", FRACTION, "lower", lambda run: run.portfolio.together_gap),
    *(gap for gap, _ in HELD_OUT),
    *(gain for _, gain in HELD_OUT),
    RECOMMENDED_GAP_ADVANTAGE,
    RECOMMENDED_GAIN_ADVANTAGE,
    _untested_metric("intra_distance", "distance inside islands", DISTANCE, _last(lambda then: then.inside)),
    _untested_metric("inter_distance", "distance between islands", DISTANCE, _last(lambda then: then.inter), None),
    _untested_metric("separation", "between / inside", RATIO, _last(lambda then: then.separation)),
    _untested_metric("repeated_programs", "repeated programs", FRACTION, lambda run: run.distinct.repeated_programs),
    _untested_metric(
        "repeated_behaviours",
        "programs that repeat a behaviour",
        FRACTION,
        lambda run: run.distinct.repeated_behaviours,
    ),
    _untested_metric("top10_behaviours", "behaviours of the top 10", MEAN_COUNT, lambda run: run.distinct.top),
)

# The built-in metrics by name.
BY_NAME: Mapping[str, Metric] = {metric.name: metric for metric in METRICS}
# The kind of plug-in that a metric is: an entry point, or a file with a variable `metric`.
KIND = Kind("metric", UsageError)


def available_metrics(given: Sequence[str] = ()) -> tuple[Metric, ...]:
    """Return the built-in metrics, then those of installed packages, then those that `given` adds.

    Each text in `given` is the path of a metric file (`.py`), a name such as `candidates_to_gap_5` (`reaching`), or the
    name of a known metric. Raises UsageError, in one line, if a metric cannot be loaded, shares its name with another,
    or is unknown.
    """
    # a metric must not replace another of its name: files of two people would not mean the same
    known = dict(BY_NAME)
    files = dict.fromkeys(text for text in given if text.endswith(".py"))
    for text in (*KIND.installed(), *files):
        metric = _load(text)
        if known.setdefault(metric.name, metric) != metric:  # the same metric twice is no conflict
            raise UsageError(f"the metric of {text} is called {metric.name!r}, as another is; give it another name")
    known |= {name: of_gap for name in given if (of_gap := reaching(name)) is not None}
    for name in given:
        if not name.endswith(".py") and name not in known:
            written = name.replace(".", "_")  # as `reaching` takes "2.5"
            meant = f"did you mean {written!r}?" if reaching(written) else nearest(name, known)
            hint = meant or f"there are {', '.join(known)}, or give the path of a metric file"
            raise UsageError(f"no metric {name!r}; {hint}")
    return tuple(known.values())


def _load(text: str) -> Metric:
    found = KIND.load(text)
    if not isinstance(found, Metric):
        raise UsageError(f"`metric` of {text} must be a behavesim.Metric, not {found!r}")
    return found
