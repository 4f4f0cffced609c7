"""Reads an OpenEvolve configuration file (config.yaml): the values that are used here, and the keys ignored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from behavesim.base.errors import UsageError
from behavesim.base.text_file import read_text_file

_MEANINGS = {
    "max_iterations": "budget",
    "random_seed": "seed",
    "diff_based_evolution": "edits",
    "prompt.system_message": "description",
    "evaluator.timeout": "timeout_s",
    "evaluator.cascade_evaluation": "",
    "evaluator.cascade_thresholds": "thresholds",
}
"""Dotted keys that are read, and the field or setting that each gives; "" for one that only turns another key off."""
_USUAL_THRESHOLDS = (0.5, 0.75, 0.9)


@dataclass(frozen=True)
class Configuration:
    """Values of a config.yaml, by names of `EvaluatorFile` fields and settings; `ignored` are its other dotted keys."""

    values: Mapping[str, Any] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()

    @classmethod
    def usual(cls) -> Configuration:
        """Return what holds without a file: only `thresholds`, with OpenEvolve's defaults 0.5, 0.75 and 0.9."""
        return cls(_values({}))


def read_configuration(path: Path) -> Configuration:
    """Return what a config.yaml says.

    `thresholds` has OpenEvolve's defaults if the file gives none and does not turn stages off. A file without a mapping
    counts as empty. Raises UsageError if the file cannot be read, is not YAML, or a value has the wrong kind.
    """
    import yaml  # imported late: few runs have such a file

    try:
        said = yaml.safe_load(read_text_file(path, "configuration"))
    except yaml.YAMLError as error:
        raise UsageError(f"{path} is no YAML: {' '.join(str(error).split())}") from None
    flat = _flat(said if isinstance(said, dict) else {})
    try:
        return Configuration(_values(flat), tuple(key for key in flat if key not in _MEANINGS))
    except (TypeError, ValueError, OverflowError) as error:  # OverflowError: an infinite number of iterations
        raise UsageError(f"{path}: {error}") from None


def _values(flat: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if "max_iterations" in flat:
        found["budget"] = int(flat["max_iterations"])
    if flat.get("random_seed") is not None:
        found["seed"] = int(flat["random_seed"])
    if "diff_based_evolution" in flat:
        found["edits"] = "diff" if flat["diff_based_evolution"] else "full"
    if "prompt.system_message" in flat:
        found["description"] = str(flat["prompt.system_message"]).strip()
    if "evaluator.timeout" in flat:
        found["timeout_s"] = float(flat["evaluator.timeout"])
    if flat.get("evaluator.cascade_evaluation", True):
        found["thresholds"] = tuple(map(float, flat.get("evaluator.cascade_thresholds", _USUAL_THRESHOLDS)))
    return found


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in values.items():
        found |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return found
