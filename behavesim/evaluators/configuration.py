"""Reads an OpenEvolve configuration file (config.yaml): the values that are used here, and the keys ignored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from behavesim.base.errors import UsageError
from behavesim.base.misfit import misfit
from behavesim.base.text_file import read_text_file


class _Read(BaseModel):
    """The keys of the file that are read, dotted, as fields with the names that they have here.

    Null counts as missing.
    """

    model_config = ConfigDict(allow_inf_nan=False)

    budget: int | None = Field(None, alias="max_iterations")
    seed: int | None = Field(None, alias="random_seed")
    is_diff: bool | None = Field(None, alias="diff_based_evolution")
    description: str | None = Field(None, alias="prompt.system_message")
    timeout_s: float | None = Field(None, alias="evaluator.timeout")
    has_stages: bool = Field(True, alias="evaluator.cascade_evaluation")
    thresholds: tuple[float, ...] = Field((0.5, 0.75, 0.9), alias="evaluator.cascade_thresholds")

    def values(self, thresholds: int) -> dict[str, Any]:
        """Return the values that are known, by names of `EvaluatorFile` fields and settings.

        Of the thresholds they have at most so many as the evaluator uses, and none of them if it has no stages.
        """
        found = {
            "budget": self.budget,
            "seed": self.seed,
            "edits": None if self.is_diff is None else "diff" if self.is_diff else "full",
            "description": None if self.description is None else self.description.strip(),
            "timeout_s": self.timeout_s,
            "thresholds": (self.has_stages and self.thresholds[:thresholds]) or None,
        }
        return {name: value for name, value in found.items() if value is not None}


@dataclass(frozen=True)
class Configuration:
    """Values of a config.yaml, by names of `EvaluatorFile` fields and settings.

    `ignored` are its other dotted keys; among them that of the thresholds, with those that are not used.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()

    @classmethod
    def usual(cls, thresholds: int) -> Configuration:
        """Return what holds without a file: only so many of OpenEvolve's thresholds 0.5, 0.75 and 0.9."""
        return cls(_Read.model_validate({}).values(thresholds))


def read_configuration(path: Path, thresholds: int) -> Configuration:
    """Return what a config.yaml says; `thresholds` is the largest number of them that the evaluator uses.

    They are OpenEvolve's defaults if the file gives none and does not turn stages off. A file without a mapping counts
    as empty. Raises UsageError if the file cannot be read, is not YAML, or a value has the wrong kind.
    """
    import yaml  # imported late: few runs have such a file

    try:
        said = yaml.safe_load(read_text_file(path, "configuration"))
    except yaml.YAMLError as error:
        raise UsageError(f"{path} is no YAML: {' '.join(str(error).split())}") from None
    flat = _flat(said if isinstance(said, dict) else {})
    read = {known.alias for known in _Read.model_fields.values()}
    try:
        found = _Read.model_validate(flat)
    except ValidationError as error:
        raise UsageError(f"{path}: {misfit(error)}") from None
    values, given = found.values(thresholds), found.thresholds if "thresholds" in found.model_fields_set else ()
    unused = "/".join(map(str, given[len(values.get("thresholds", ())) :]))
    others = tuple(key for key in flat if key not in read)
    return Configuration(values, (f"evaluator.cascade_thresholds {unused}", *others) if unused else others)


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in values.items():
        found |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return found
