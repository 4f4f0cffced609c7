"""The plan of an experiment: its file, and the runs that follow from it."""

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
from behavesim.engine.settings import is_foreign, owners, resolve
from behavesim.task import TaskReference

Seeds = int | list[int]
"""A number of seeds, counted from 0, or a list of seeds."""


class Variant(BaseModel):
    """A named set of settings that distinguishes a group of runs."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^\S(.*\S)?$")
    settings: Mapping[str, Any] = {}


class Experiment(BaseModel):
    """An experiment file: every task is run with every method, variant and seed.

    A variant that names a method is not combined with `methods`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[\w][\w.+-]*$")
    tasks: list[str] = Field(min_length=1)
    methods: list[str] = []
    seeds: Seeds | Mapping[str, Seeds] = 3
    settings: Mapping[str, Any] = {}
    """Settings for all runs; each run takes those that its method and proposer have."""
    task_settings: Mapping[str, Mapping[str, Any]] = {}
    """Settings for the runs on one task, keyed by task; they override `settings`."""
    variant: list[Variant] = []
    tests: list[tuple[str, str]] | None = None
    """Pairs of group labels whose difference is tested; None tests all pairs."""
    tests_unfinished: bool = False
    """Whether runs that a cap or a person ended before their budget was spent are tested beside the others."""
    held_out: bool = True
    """Whether the report evaluates the programs found on held-out instances."""
    metrics: list[str] = []
    """Paths of metric files, used beside the installed metrics."""


@dataclass(frozen=True)
class Planned:
    """One run of an experiment: its name, the settings given for it, and its complete settings."""

    name: str
    given: Mapping[str, Any]
    settings: Settings


@dataclass(frozen=True)
class Cell:
    """A group of runs: its label and the settings they share, including the method."""

    label: str
    given: Mapping[str, Any]


def read_experiment(path: Path) -> Experiment:
    """Read an experiment file; raises UsageError with one line if it is not valid."""
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
    """Suggest what an unknown key was meant to be; `place` is pydantic's location of the key."""
    key, known = str(place[-1]), list(Experiment.model_fields if len(place) == 1 else Variant.model_fields)
    if key in OWN or any(owner.options and key in owner.options.model_fields for owner in owners()):
        return "a setting belongs in `settings`"
    return nearest(key, known) or f"there are {', '.join(known)}"


def plan(experiment: Experiment, proposer: str) -> list[Planned]:
    """Return all runs, ordered by seed, so that an interrupted experiment has runs of every group.

    `proposer` is used if the experiment names none. Raises UsageError if a setting belongs to no run, or if two runs
    would have the same name or the same settings.
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
    """Raise UsageError if two groups have equal settings: each sample would be counted twice."""
    seen: dict[str, str] = {}
    for run in runs:
        settings = run.settings
        first = seen.setdefault(json.dumps(settings.decisive(), sort_keys=True), settings.label)
        if first != settings.label:
            twins = f"the groups {first!r} and {settings.label!r} have the same settings"
            raise UsageError(f"{twins} on {settings.task}; leave one out")


def cells(experiment: Experiment) -> list[Cell]:
    """Return the groups of runs: every method with every variant, then every variant that names its method."""
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
