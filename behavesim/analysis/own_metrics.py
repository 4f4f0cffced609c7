"""Users' own metrics, from installed packages and from files."""

from __future__ import annotations

from collections.abc import Sequence

from behavesim.analysis.metric import Metric
from behavesim.analysis.metrics import BY_NAME, reaching
from behavesim.base.errors import UsageError, nearest
from behavesim.base.plugins import Kind

KIND = Kind("metric", UsageError)


def known_metrics(given: Sequence[str] = ()) -> tuple[Metric, ...]:
    """Return the built-in metrics, then those of installed packages, then those that `given` adds.

    Each text in `given` is the path of a metric file (`.py`), a name such as `candidates_to_5` (`reaching`), or the
    name of a known metric, which adds nothing. Raises UsageError, in one line, if a metric cannot be loaded, is no
    `Metric`, shares its name with another, or if a name is unknown.
    """
    known = dict(BY_NAME)
    files = dict.fromkeys(text for text in given if text.endswith(".py"))
    for text in (*KIND.installed(), *files):
        metric = _loaded(text)
        if known.setdefault(metric.name, metric) != metric:  # the same metric twice is no conflict
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
