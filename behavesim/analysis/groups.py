"""Groups of runs (same task, same instances, same settings except the seed), and their mean ranks (Demšar 2006)."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from behavesim.analysis.convergence import MeanCheckpoint, mean_convergence
from behavesim.analysis.metrics import Metric
from behavesim.analysis.report import RunReport
from behavesim.analysis.statistics import SIGNIFICANCE, mean_of_known
from behavesim.base.errors import UsageError
from behavesim.base.text import ScoreSource, short_name
from behavesim.proposers.proposer import proposer_type

# Names of settings that a group's label does not list as "name=value", even if groups differ in them.
#
# One exception: if groups of one method differ in proposer or models, the label ends with the models, or with the
# proposer if no model is set.
UNNAMED = {"seed", "proposer", "models", "task", "method"}

# Number of settings above which a label is too long for a chart, where two that begin alike would look the same.
MOST_NAMED = 2

# What runs must share to be compared: the task, the hash of its instances (empty if that was not recorded), and who
# computes the scores.
Family = tuple[str, str, ScoreSource]


@dataclass(frozen=True)
class RunGroup:
    """Runs of one task and its version with equal budget and settings that can change results, except the seed."""

    family: Family
    label: str
    runs: tuple[RunReport, ...]

    @property
    def budget(self) -> int:
        """The budget of the first run, in candidates, or the number that it asked for if that is larger."""
        return _budget(self.runs[0])

    @property
    def has_gaps(self) -> bool:
        """Whether the gap of every improvement of its runs is known."""
        return all(each.gap is not None for run in self.runs for each in run.improvements)

    def mean_convergence(self, by_gap: bool, across: str = "asked") -> tuple[MeanCheckpoint, ...]:
        """Return samples of its runs' best gaps or scores, up to the end of the shortest.

        `across` counts candidates, or what `RunReport.moments` has by that name; empty if a run does not know it.
        """
        runs = [run.improvements for run in self.runs]
        if across == "asked":
            # tuned candidates have numbers, too, which `summary.asked` does not count
            asked = [run.run.state.asked for run in self.runs]
            return mean_convergence(runs, min(asked), by_gap)
        costs = [[each[across] for each in run.moments] for run in self.runs]
        used = [[cost for cost in each if cost is not None] for each in costs]
        if any(not each or not each[-1] or len(each) < len(cost) for each, cost in zip(used, costs, strict=True)):
            return ()
        return mean_convergence(runs, min(each[-1] for each in used), by_gap, used)

    @property
    def finished(self) -> RunGroup:
        """The group with only those runs that have spent their budget, possibly none."""
        return replace(self, runs=tuple(run for run in self.runs if is_finished(run)))


def is_finished(run: RunReport) -> bool:
    """Whether the run ended because its budget was spent, and not because a cap or a person ended it."""
    return run.summary.state == "finished"


def family_of(run: RunReport) -> Family:
    """Return the task, the hash of the instances and the source of the scores of a run."""
    return run.summary.task, run.origin.versions.get("instances") or "", run.summary.score_source


def begins_by_seed(run: RunReport) -> bool:
    """Whether the run's seed decides its first programs: a model, or whatever a person's own proposer asks, does not.

    False, too, if the proposer cannot be loaded any more.
    """
    try:
        return proposer_type(run.origin.settings.proposer).is_pure
    except UsageError:
        return False


def repeats(runs: Sequence[RunReport]) -> list[int]:
    """Return the indices of runs that share candidates with another run of their group, which is kept instead.

    Those are forks of one beginning, and runs of one seed; if these need not begin alike (`begins_by_seed`), only if
    their digests are equal, too.
    A finished run is kept rather than another, then the one that asked for the most candidates, then the first.
    """
    alike: dict[tuple[object, ...], list[int]] = {}
    for place, run in enumerate(runs):
        settings, conditions = run.origin.settings, _conditions(run)
        answered = "" if begins_by_seed(run) else run.summary.digest
        alike.setdefault((conditions, settings.seed, answered), []).append(place)
        if run.origin.beginning is not None:
            alike.setdefault((conditions, run.origin.beginning), []).append(place)

    def furthest(places: list[int]) -> int:
        # -place: of runs that are alike in all else, the first
        return max(places, key=lambda place: (is_finished(runs[place]), runs[place].summary.asked, -place))

    return sorted({place for places in alike.values() for place in places if place != furthest(places)})


def group_runs(runs: Sequence[RunReport]) -> list[RunGroup]:
    """Group runs that differ at most in seed (see RunGroup), task after task; a run may be alone in a group.

    On each task groups of the same labels come in the same order, in which these first appeared.
    """
    found: dict[str, list[RunReport]] = {}
    for run in runs:
        found.setdefault(_conditions(run), []).append(run)
    members = list(found.values())
    labels = _labels(members)
    groups = [RunGroup(family_of(alike[0]), label, tuple(alike)) for alike, label in zip(members, labels, strict=True)]
    # else a group would change its colour, and a difference its sign, from task to task
    families, order = [group.family for group in groups], [group.label for group in groups]
    return sorted(groups, key=lambda group: (families.index(group.family), order.index(group.label)))


def _conditions(run: RunReport) -> str:
    """Return a key, as JSON, that is equal for runs of one group."""
    # settings that cannot change results, such as the number of workers, set no groups apart
    kept = {name: value for name, value in _decisive(run).items() if name != "seed"}
    return json.dumps([kept, run.origin.versions, run.summary.score_source], sort_keys=True)


def _decisive(run: RunReport) -> dict[str, Any]:
    return {**run.origin.settings.decisive(), "budget": _budget(run)}


def _budget(run: RunReport) -> int:
    return max(run.origin.settings.budget, run.summary.asked)


def _labels(members: Sequence[Sequence[RunReport]]) -> list[str]:
    # Groups can differ in versions alone, which no label shows.
    # A label that occurs again in a family gets a number: "niche", "niche (2)".
    seen: Counter[tuple[Family, str]] = Counter()
    runs, labels = [alike[0] for alike in members], []
    for run, *others in members:
        label = run.origin.settings.label or _describe(run, runs, is_alone=not others)
        seen[family_of(run), label] += 1
        again = seen[family_of(run), label]
        labels.append(label if again == 1 else f"{label} ({again})")
    return labels


def _describe(run: RunReport, runs: Sequence[RunReport], is_alone: bool) -> str:
    """Return a run's method, then the settings in which comparable runs of that method differ, as "name=value".

    If these are more than MOST_NAMED, a run that is a group by itself is called by its own name.
    """
    ours, kind = _decisive(run), (family_of(run), run.summary.method)
    others = [_decisive(each) for each in runs if (family_of(each), each.summary.method) == kind]
    differing = [name for name in ours if any(other.get(name, ours[name]) != ours[name] for other in others)]
    shown = [name for name in differing if name not in UNNAMED]
    if "proposer" in differing or "models" in differing:
        shown.append("models" if ours.get("models") else "proposer")
    if is_alone and len(shown) > MOST_NAMED:
        return run.summary.run
    return " ".join([short_name(run.summary.method), *(f"{name}={_text(ours[name])}" for name in shown)])


def _text(value: object) -> str:
    """Return a setting's value as text: lists, and the keys of mappings, joined by "+"; others in lower case."""
    return "+".join(map(str, value)) if isinstance(value, Mapping | list) else str(value).lower()


@dataclass(frozen=True)
class Ranks:
    """The mean rank of each group in a metric over tasks, by label; rank 1 is the best (Demšar 2006).

    `p` is that of Friedman's test that all groups rank alike; None for two groups, or if all are equal. Two groups
    whose mean ranks differ by more than `critical` differ at the 0.05 level (Nemenyi).
    """

    metric: str
    means: Mapping[str, float]
    tasks: int
    p: float | None
    critical: float


def ranks(groups: Sequence[RunGroup], metric: Metric) -> Ranks | None:
    """Return the mean ranks of the groups by a metric; None for fewer than two groups with values, or shared tasks.

    The reports must hold its values (`add_metrics`). Groups of one label on different tasks count as one.
    """
    means: dict[str, dict[Family, float]] = {}
    for group in groups:
        if (mean := mean_of_known([run.metrics[metric.name] for run in group.runs])) is not None:
            means.setdefault(group.label, {})[group.family] = mean
    # a group without a value on a task would be ranked by chance there: only tasks that all groups share count
    shared = sorted(set.intersection(*map(set, means.values()))) if means else []
    if len(means) < 2 or len(shared) < 2:
        return None
    sign = -1 if metric.direction == "higher" else 1  # rank 1 goes to the lowest value
    # seeds of one task are no further data sets: a row is a task, its cells the groups' means there
    table = np.array([[sign * of_group[task] for of_group in means.values()] for task in shared])
    return _ranks(metric.name, list(means), table)


def _ranks(metric: str, labels: Sequence[str], table: np.ndarray) -> Ranks:
    from scipy.stats import friedmanchisquare, rankdata, studentized_range

    tasks, size = table.shape
    means = rankdata(table, axis=1).mean(axis=0).tolist()
    differ = size > 2 and bool((table != table[:, :1]).any())
    # Nemenyi: if all groups are alike, the difference of two mean ranks has variance size (size + 1) / (6 tasks). The
    # studentized range counts in deviations of one value, and the difference of two has √2 times that.
    spread = float(studentized_range.ppf(1 - SIGNIFICANCE, size, np.inf)) / math.sqrt(2)
    return Ranks(
        metric=metric,
        means=dict(zip(labels, means, strict=True)),
        tasks=tasks,
        p=float(friedmanchisquare(*table.T).pvalue) if differ else None,
        critical=spread * math.sqrt(size * (size + 1) / (6 * tasks)),
    )
