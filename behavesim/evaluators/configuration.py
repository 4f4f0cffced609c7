"""Reads an OpenEvolve configuration file (config.yaml): the values that are used here, and the keys ignored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from behavesim.base.errors import UsageError
from behavesim.base.text_file import read_text_file

_READ: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "max_iterations": ("budget", int),
    "random_seed": ("seed", int),
    "diff_based_evolution": ("edits", lambda is_diff: "diff" if is_diff else "full"),
    "prompt.system_message": ("description", lambda said: str(said).strip()),
    "evaluator.timeout": ("timeout_s", float),
}
"""For each dotted key that is read: the field or setting that it gives, and how its value is read. Null counts as
missing."""
_STAGES, _THRESHOLDS = "evaluator.cascade_evaluation", "evaluator.cascade_thresholds"
"""Dotted keys for the field `thresholds`: the first says whether there are any."""
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
        return Configuration(_values(flat), tuple(key for key in flat if key not in (*_READ, _STAGES, _THRESHOLDS)))
    except (TypeError, ValueError, OverflowError) as error:  # OverflowError: an infinite number of iterations
        raise UsageError(f"{path}: {error}") from None


def _values(flat: Mapping[str, Any]) -> dict[str, Any]:
    found = {name: read(flat[key]) for key, (name, read) in _READ.items() if flat.get(key) is not None}
    if flat.get(_STAGES, True):
        found["thresholds"] = tuple(map(float, flat.get(_THRESHOLDS, _USUAL_THRESHOLDS)))
    return found


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in values.items():
        found |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return found
