"""Metrics of one's own: those of installed packages, and those of files that are named."""

from __future__ import annotations

from collections.abc import Sequence

from behavesim.analysis.metric import Metric
from behavesim.analysis.metrics import BY_NAME, reaching
from behavesim.base.errors import UsageError, nearest
from behavesim.base.plugins import Kind

KIND = Kind("metric", UsageError)


def known_metrics(given: Sequence[str] = ()) -> tuple[Metric, ...]:
    """Ours, those of all installed packages, and those of the files given, and those of gaps; a name given must be one.

    Raises UsageError, in one line, where a metric cannot be had or is none, or two share a name.
    """
    known = dict(BY_NAME)
    files = dict.fromkeys(text for text in given if text.endswith(".py"))
    for text in (*KIND.installed(), *files):
        metric = _loaded(text)
        if known.setdefault(metric.name, metric) != metric:
            raise UsageError(f"the metric of {text} is called {metric.name!r}, as another is; give it another name")
    known |= {name: of_gap for name in given if (of_gap := reaching(name)) is not None}
    for name in given:
        if not name.endswith(".py") and name not in known:
            hint = nearest(name, known) or f"there are {', '.join(known)}, or give the path of a metric file"
            raise UsageError(f"no metric {name!r}; {hint}")
    return tuple(known.values())


def _loaded(text: str) -> Metric:
    found = KIND.load(text)
    if not isinstance(found, Metric):
        raise UsageError(f"`metric` of {text} must be a behavesim.Metric, not {found!r}")
    return found
