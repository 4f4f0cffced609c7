"""Groups of runs: same task, same instances, same settings except the seed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from behavesim.analysis.report import RunReport
from behavesim.proposers.installed import models_asked

UNNAMED = {"seed", "proposer", "models", "task", "method"}
"""Settings that are never part of a group's label: runs of a group differ in the seed, and tables show the others."""

Family = tuple[str, str]
"""What runs must share to be compared: the task, and the hash of its instances, empty if that was not recorded."""


@dataclass(frozen=True)
class RunGroup:
    """Runs of one family that differ only in their seed; `label` is unlike that of any other group on the family."""

    family: Family
    label: str
    runs: tuple[RunReport, ...]

    @property
    def budget(self) -> int:
        """The number of candidates that each of the runs may ask for."""
        return _budget(self.runs[0])

    @property
    def finished(self) -> RunGroup:
        """The group with only those runs that have spent their budget, possibly none."""
        return replace(self, runs=tuple(run for run in self.runs if is_finished(run)))


def is_finished(run: RunReport) -> bool:
    """Whether the run has spent its budget."""
    return run.summary.state == "finished"


def family_of(run: RunReport) -> Family:
    """Return the task and the hash of the instances of a run."""
    return run.summary.task, run.origin.versions.get("instances") or ""


def repeats(runs: Sequence[RunReport]) -> list[int]:
    """Return the indices, ascending, of runs that repeat another run with equal settings and seed.

    Repeats are not independent samples. One run of each such set is not returned: a finished one is preferred, then
    the one that asked for the most candidates, then the first. A language model answers differently every time, so its
    runs are repeats only if they are copies, with equal digests.
    """
    alike: dict[tuple[str, int, str], list[int]] = {}
    for place, run in enumerate(runs):
        settings = run.origin.settings
        same = (_conditions(run), settings.seed, run.summary.digest if models_asked(settings) else "")
        alike.setdefault(same, []).append(place)

    def furthest(places: list[int]) -> int:
        return max(places, key=lambda place: (is_finished(runs[place]), runs[place].summary.asked, -place))

    return sorted(place for places in alike.values() for place in places if place != furthest(places))


def grouped(runs: Sequence[RunReport]) -> list[RunGroup]:
    """Group runs by family and by the settings that can change their results, in order of first appearance."""
    found: dict[str, list[RunReport]] = {}
    for run in runs:
        found.setdefault(_conditions(run), []).append(run)
    members = list(found.values())
    labels = _labels([alike[0] for alike in members])
    return [RunGroup(family_of(alike[0]), label, tuple(alike)) for alike, label in zip(members, labels, strict=True)]


def _conditions(run: RunReport) -> str:
    """Return a key that is equal for runs of one group: settings without the seed, budget and versions, as JSON."""
    kept = {name: value for name, value in _settings(run).items() if name != "seed"}
    kept["budget"] = _budget(run)
    return json.dumps([kept, run.origin.versions], sort_keys=True)


def _budget(run: RunReport) -> int:
    return max(run.origin.settings.budget, run.summary.asked)


def _labels(runs: Sequence[RunReport]) -> list[str]:
    """Return a label for each run: its own, or its method and the settings in which runs of that method differ.

    Labels that occur again on one family get a number: "niche", "niche (2)".
    """
    seen: Counter[tuple[Family, str]] = Counter()
    labels = []
    for run in runs:
        label = run.origin.settings.label or _described(run, runs)
        seen[family_of(run), label] += 1
        again = seen[family_of(run), label]
        labels.append(label if again == 1 else f"{label} ({again})")
    return labels


def _described(run: RunReport, runs: Sequence[RunReport]) -> str:
    ours, kind = _settings(run), (family_of(run), run.summary.method)
    others = [_settings(each) for each in runs if (family_of(each), each.summary.method) == kind]
    differing = [name for name in ours if any(other.get(name, ours[name]) != ours[name] for other in others)]
    shown = [name for name in differing if name not in UNNAMED]
    if "proposer" in differing or "models" in differing:
        shown.append("models" if ours.get("models") else "proposer")
    return " ".join([run.summary.method, *(f"{name}={_text(ours[name])}" for name in shown)])


def _settings(run: RunReport) -> dict[str, Any]:
    return run.origin.settings.decisive()


def _text(value: object) -> str:
    return "+".join(map(str, value)) if isinstance(value, Mapping | list) else str(value).lower()
