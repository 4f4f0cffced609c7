"""Provenance: what a run's results depend on beside its settings, by which a resumed run knows its task again."""

from __future__ import annotations

import hashlib
import inspect
import io
import pickle
import platform
import sys
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

from behavesim.task import Split, Task

DECISIVE = ("task", "instances", "template")
"""The parts that decide what programs are worth."""


def provenance(task: Task) -> dict[str, str]:
    """Hashes of the task's file, instances and template; what it measures; and what everything was run with."""
    module = sys.modules[type(task).__module__]
    source = Path(str(module.__file__)).read_bytes()
    return {
        "task": hashlib.sha256(source).hexdigest(),
        "instances": instances_hash(task, "search"),
        "template": hashlib.sha256(task.template.encode()).hexdigest(),
        "direction": task.objective.direction,
        "best_known": "" if task.objective.best_known is None else repr(task.objective.best_known),
        "behavesim": version("behavesim"),
        "numpy": version("numpy"),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
    }


def instances_hash(task: Task, split: Split) -> str:
    """64 hexadecimal digits of the SHA-256 of a split's instances; what they cache as properties does not count."""
    written = io.BytesIO()
    _Pickler(written, protocol=4).dump(task.instances(split))
    return hashlib.sha256(written.getvalue()).hexdigest()


class _Pickler(pickle.Pickler):
    """Leaves out what cached properties hold: an instance is the same before and after its first use."""

    def reducer_override(self, value: Any) -> Any:
        names = {name for name, found in inspect.getmembers_static(type(value)) if isinstance(found, cached_property)}
        if not names:
            return NotImplemented
        make, arguments, state, *rest = value.__reduce_ex__(4)
        return make, arguments, {name: held for name, held in state.items() if name not in names}, *rest
