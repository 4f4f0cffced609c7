"""The plan of an experiment: which runs answer a question, written down before the first of them is made."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from behavesim.base.config import OWN, Settings, read_toml
from behavesim.base.errors import UsageError, nearest
from behavesim.search.settings import is_foreign, owners, resolve
from behavesim.task import TaskReference

Seeds = int | list[int]
"""So many seeds from 0 on, or the seeds named."""


class Variant(BaseModel):
    """Settings that set some runs apart, and what these are called."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^\S(.*\S)?$")
    settings: Mapping[str, Any] = {}


class Experiment(BaseModel):
    """Every task with every method, variant and seed; a variant that names a method stands for itself."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[\w][\w.+-]*$")
    tasks: list[str] = Field(min_length=1)
    methods: list[str] = []
    seeds: Seeds | Mapping[str, Seeds] = 3
    settings: Mapping[str, Any] = {}
    """Settings of all runs whose method and proposer have them."""
    task_settings: Mapping[str, Mapping[str, Any]] = {}
    """Settings of the runs on one task, before those of all."""
    variant: list[Variant] = []
    tests: list[tuple[str, str]] | None = None
    """Which groups' differences are tested, by their labels; all pairs unless said."""
    held_out: bool = True
    """Whether the report tries what was found on held-out instances."""
    metrics: list[str] = []
    """Files of metrics by which the runs are compared, besides those that are installed."""


@dataclass(frozen=True)
class Planned:
    """One run of an experiment: its name, the settings given for it, and all its settings as they will be."""

    name: str
    given: Mapping[str, Any]
    settings: Settings


@dataclass(frozen=True)
class Cell:
    """What a group of runs has in common: its label and the settings given for it, method included."""

    label: str
    given: Mapping[str, Any]


def read_experiment(path: Path) -> Experiment:
    """The experiment a file describes; raises UsageError in one line where it describes none."""
    try:
        experiment = Experiment.model_validate(read_toml(path))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            raise UsageError(f"the experiment {path} has no key {key!r}; {_meant(first['loc'])}") from None
        raise UsageError(f"the experiment {path}, {key}: {first['msg'].lower()}, not {first['input']!r}") from None
    for task in experiment.task_settings:
        if task not in experiment.tasks:
            raise UsageError(
                f"the experiment {path} has settings for task {task!r}; its tasks are {', '.join(experiment.tasks)}"
            )
    known = {cell.label for cell in cells(experiment)}
    for label in [label for pair in experiment.tests or [] for label in pair]:
        if label not in known:
            raise UsageError(f"the experiment {path} tests {label!r}; its groups are {', '.join(sorted(known))}")
    return experiment


def _meant(place: tuple[int | str, ...]) -> str:
    """What the writer of an unknown key may have meant; `place` is where it stands, as pydantic says it."""
    key, known = str(place[-1]), list(Experiment.model_fields if len(place) == 1 else Variant.model_fields)
    if key in OWN or any(owner.options and key in owner.options.model_fields for owner in owners()):
        return "a setting belongs in `settings`"
    return nearest(key, known) or f"there are {', '.join(known)}"


def plan(experiment: Experiment, proposer: str) -> list[Planned]:
    """All runs, seed by seed, so that an experiment cut short has some of everything.

    `proposer` stands where the experiment names none. Raises UsageError where a setting does not fit, or two runs would
    have the same name or be the same.
    """
    runs = [
        _planned(
            task, cell, seed, {"proposer": proposer, **experiment.settings, **experiment.task_settings.get(task, {})}
        )
        for seed in sorted({seed for task in experiment.tasks for seed in _seeds(experiment, task)})
        for task in experiment.tasks
        if seed in _seeds(experiment, task)
        for cell in cells(experiment)
    ]
    for key in experiment.settings:
        if runs and not any(key in run.given for run in runs):
            raise UsageError(
                f"no run of the experiment has a setting {key!r}: it belongs to other methods or proposers"
            )
    names = [run.name for run in runs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"two runs of the experiment would be called {twice}; give its variants different names")
    _refuse_twins(runs)
    return runs


def _refuse_twins(runs: Sequence[Planned]) -> None:
    """Two groups that differ in their names alone would be one group, with every sample in it twice."""
    seen: dict[str, str] = {}
    for run in runs:
        settings = run.settings
        first = seen.setdefault(json.dumps(settings.decisive(), sort_keys=True), settings.label)
        if first != settings.label:
            twins = f"the groups {first!r} and {settings.label!r} have the same settings"
            raise UsageError(f"{twins} on {settings.task}; leave one out")


def cells(experiment: Experiment) -> list[Cell]:
    """The groups of runs: every method with every variant, and every variant that names its method."""
    free = [variant for variant in experiment.variant if "method" not in variant.settings]
    bound = [variant for variant in experiment.variant if "method" in variant.settings]
    crossed = [_crossed(method, variant, experiment) for method in experiment.methods for variant in free]
    plain = [Cell(method, {"method": method}) for method in experiment.methods if not free]
    return [*plain, *crossed, *(Cell(variant.name, variant.settings) for variant in bound)]


def _crossed(method: str, variant: Variant, experiment: Experiment) -> Cell:
    label = variant.name if len(experiment.methods) == 1 else f"{method} {variant.name}"
    return Cell(label, {"method": method, **variant.settings})


def _seeds(experiment: Experiment, task: str) -> Sequence[int]:
    seeds = experiment.seeds
    if isinstance(seeds, Mapping):
        if task not in seeds:
            raise UsageError(f"the experiment {experiment.name} has no seeds for task {task!r}; say how many")
        seeds = seeds[task]
    return range(seeds) if isinstance(seeds, int) else seeds


def _planned(task: str, cell: Cell, seed: int, common: Mapping[str, Any]) -> Planned:
    reference = TaskReference(task).resolved()
    loaded = reference.load()
    named = {**common, **cell.given}
    fitting = {key: value for key, value in common.items() if not is_foreign(key, named)}
    given = {**fitting, **cell.given, "task": reference.text, "seed": seed, "label": cell.label}
    stem = re.sub(r"[^\w.+-]+", "-", f"{loaded.name}-{cell.label}")
    return Planned(f"{stem}-seed{seed}", given, resolve(given, task=loaded))
