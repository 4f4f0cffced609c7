"""Runs put together: those on one task, under equal settings, that differ in their seeds alone."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from behavesim.analysis.report import RunReport
from behavesim.proposers.installed import models_asked

UNNAMED = {"seed", "proposer", "models", "task", "method"}
"""Settings that do not stand in a group's label: they are the same, or shown elsewhere."""


@dataclass(frozen=True)
class RunGroup:
    """Runs on one task that differ in their seeds alone."""

    task: str
    label: str
    runs: tuple[RunReport, ...]

    @property
    def budget(self) -> int:
        """The candidates that each of the runs may ask for."""
        return _budget(self.runs[0])


def repeats(runs: Sequence[RunReport]) -> list[int]:
    """The places of runs that repeat an earlier one, of equal settings and seed: they are no samples of their own.

    A model answers differently every time, so that of its runs only copies are repeats.
    """
    seen: set[tuple[str, int, str]] = set()
    found = []
    for place, run in enumerate(runs):
        settings = run.origin.settings
        same = (_conditions(run), settings.seed, run.summary.digest if models_asked(settings) else "")
        if same in seen:
            found.append(place)
        seen.add(same)
    return found


def grouped(runs: Sequence[RunReport]) -> list[RunGroup]:
    """The runs by task and by settings that could change what they find, in order of first appearance."""
    found: dict[str, list[RunReport]] = {}
    for run in runs:
        found.setdefault(_conditions(run), []).append(run)
    members = list(found.values())
    labels = _labels([alike[0] for alike in members])
    return [RunGroup(alike[0].summary.task, label, tuple(alike)) for alike, label in zip(members, labels, strict=True)]


def _conditions(run: RunReport) -> str:
    """What runs of one group have in common."""
    kept = {name: value for name, value in _settings(run).items() if name != "seed"}
    kept["budget"] = _budget(run)
    return json.dumps([kept, run.origin.versions], sort_keys=True)


def _budget(run: RunReport) -> int:
    return max(run.origin.settings.budget, run.summary.asked)


def _labels(runs: Sequence[RunReport]) -> list[str]:
    """The label a run was given, or its method with the settings that set it apart from others of that method."""
    seen: Counter[tuple[str, str]] = Counter()
    labels = []
    for run in runs:
        label = run.origin.settings.label or _described(run, runs)
        seen[run.summary.task, label] += 1
        again = seen[run.summary.task, label]
        labels.append(label if again == 1 else f"{label} ({again})")
    return labels


def _described(run: RunReport, runs: Sequence[RunReport]) -> str:
    ours, kind = _settings(run), (run.summary.task, run.summary.method)
    others = [_settings(each) for each in runs if (each.summary.task, each.summary.method) == kind]
    differing = [name for name in ours if any(other.get(name, ours[name]) != ours[name] for other in others)]
    shown = [name for name in differing if name not in UNNAMED]
    if "proposer" in differing or "models" in differing:
        shown.append("models" if ours.get("models") else "proposer")
    return " ".join([run.summary.method, *(f"{name}={_text(ours[name])}" for name in shown)])


def _settings(run: RunReport) -> dict[str, Any]:
    return run.origin.settings.decisive()


def _text(value: object) -> str:
    return "+".join(map(str, value)) if isinstance(value, Mapping | list) else str(value).lower()
