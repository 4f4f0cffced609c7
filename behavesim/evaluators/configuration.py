"""Reads an OpenEvolve configuration file (config.yaml): the values that are used here, and the keys ignored."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from behavesim.base.errors import UsageError
from behavesim.base.text import read_text_file, validation_message
from behavesim.evaluators.conventions import convention_named
from behavesim.task.evaluated import EvaluatorFile


class _Read(BaseModel):
    """The keys of the file that are read, dotted, as fields with the names that they have here."""

    # Null counts as missing.

    model_config = ConfigDict(allow_inf_nan=False)

    budget: int | None = Field(None, alias="max_iterations")
    seed: int | None = Field(None, alias="random_seed")
    is_diff: bool | None = Field(None, alias="diff_based_evolution")
    description: str | None = Field(None, alias="prompt.system_message")
    timeout_s: float | None = Field(None, alias="evaluator.timeout")
    best_known: float | None = None
    has_stages: bool = Field(True, alias="evaluator.cascade_evaluation")
    thresholds: tuple[float, ...] = Field((0.5, 0.75, 0.9), alias="evaluator.cascade_thresholds")

    def values(self, thresholds: int, is_minimised: bool) -> dict[str, Any]:
        """Return the known values, by names of `EvaluatorFile` fields and settings, with `thresholds` thresholds at
        most.
        """
        # Of the thresholds they have at most so many as the evaluator uses, and none of them if it has no stages.
        # OpenEvolve's own are least scores; for costs, nobody has said where a stage stops, so that none does.
        is_usual = "thresholds" not in self.model_fields_set
        known = (math.inf,) * thresholds if is_usual and is_minimised else self.thresholds[:thresholds]
        found = {
            "budget": self.budget,
            "seed": self.seed,
            "edits": None if self.is_diff is None else "diff" if self.is_diff else "full",
            "description": None if self.description is None else self.description.strip(),
            "timeout_s": self.timeout_s,
            "best_known": self.best_known,
            "thresholds": (self.has_stages and known) or None,
        }
        return {name: value for name, value in found.items() if value is not None}


class Configuration(NamedTuple):
    """Values of a config.yaml, by names of `EvaluatorFile` fields and settings; `ignored` are its other dotted keys."""

    values: Mapping[str, Any]
    ignored: tuple[str, ...]


def read_configuration(path: Path | None, thresholds: int, is_minimised: bool = False) -> Configuration:
    """Return what a config.yaml says; `thresholds` is the largest number of them that the evaluator uses.

    If there is no file, or it gives none and does not turn stages off, as many of OpenEvolve's thresholds 0.5, 0.75 and
    0.9 hold as are used; where lower scores are better, infinite ones, so that no stage is left out. Raises UsageError
    if the file cannot be read, is not YAML, or a value has the wrong kind.
    """
    said: Any = None
    if path is not None:
        import yaml  # imported late: few runs have such a file

        try:
            said = yaml.safe_load(read_text_file(path, "configuration"))
        except yaml.YAMLError as error:
            raise UsageError(f"{path} is no YAML: {' '.join(str(error).split())}") from None
    # OpenEvolve ignores what it does not know: those keys are named to the person, and refuse nothing
    flat = _flat(said if isinstance(said, dict) else {})
    read = {known.alias or name for name, known in _Read.model_fields.items()}
    try:
        found = _Read.model_validate({name: value for name, value in flat.items() if value is not None})
    except ValidationError as error:
        raise UsageError(f"{path}: {validation_message(error)}") from None
    values = found.values(thresholds, is_minimised)
    given = found.thresholds if "thresholds" in found.model_fields_set else ()
    unused = "/".join(map(str, given[len(values.get("thresholds", ())) :]))
    others = tuple(key for key in flat if key not in read)
    return Configuration(values, (f"evaluator.cascade_thresholds {unused}", *others) if unused else others)


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in values.items():
        found |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return found


def refuse_unused_thresholds(file: EvaluatorFile) -> None:
    """Raise UsageError if a task's file has more thresholds than its evaluator uses."""
    most = convention_named(file.convention).most_thresholds(file.evaluator) if file.thresholds else 0
    if len(file.thresholds) > most:
        used = f"uses {most} of them: one for each stage but the last" if most else "has no stages, so it uses none"
        raise UsageError(f"there are {len(file.thresholds)} thresholds, and the evaluator {used}; delete the others")
