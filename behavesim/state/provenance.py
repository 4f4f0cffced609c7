"""Provenance: what a run's results depend on beside its settings, by which a resumed run knows its task again."""

from __future__ import annotations

import hashlib
import inspect
import io
import pickle
import platform
from collections.abc import Mapping
from functools import cached_property
from importlib.metadata import version
from types import FunctionType
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from behavesim.base.errors import TaskError
from behavesim.base.plugins import file_hash, is_own
from behavesim.base.version import __version__
from behavesim.task import Split, Task, instances_made_anew, instances_of

DECISIVE = ("task", "instances", "template", "method", "proposer", "prompts")
"""The parts that decide what programs are worth."""

OWN_TASK = "behavesim_task_"
"""How the names of modules begin that task files are loaded as."""


def provenance(task: Task, **parts: type) -> dict[str, str]:
    """Hashes of the task's file, instances and template; what it measures; and what everything was run with.

    `parts` are the classes of the method and the proposer by those words; only files of one's own are hashed.
    """
    return {
        **{name: file_hash(part) for name, part in parts.items() if is_own(part)},
        "task": file_hash(type(task)),
        "instances": instances_hash(task, "search"),
        "template": hashlib.sha256(task.template.encode()).hexdigest(),
        "direction": task.objective.direction,
        "best_known": "" if task.objective.best_known is None else repr(task.objective.best_known),
        "behavesim": __version__,
        "genai-prices": version("genai-prices"),
        "numpy": version("numpy"),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
    }


def changed_parts(then: Mapping[str, str], now: Mapping[str, str], task: Task) -> list[str]:
    """Return the decisive parts of a run's provenance that are others now; runs of before may have an older hash."""
    changed = [key for key in DECISIVE if then.get(key) != now.get(key)]
    if "instances" in changed and then.get("instances") == older_value_hash(instances_of(task, "search")):
        changed.remove("instances")
    return changed


def instances_hash(task: Task, split: Split, anew: bool = False) -> str:
    """64 hexadecimal digits of the SHA-256 of a split's instances; what they cache as properties does not count.

    `anew` has the task make them once more. Raises TaskError where there are none, or where they cannot be pickled.
    """
    try:
        return value_hash(instances_made_anew(task, split) if anew else instances_of(task, split))
    except (pickle.PicklingError, TypeError, AttributeError, RecursionError) as error:
        raise TaskError(
            f"the {split} instances of task {task.name!r} cannot be pickled, by which a resumed run knows them again; "
            f"make them a list of arrays and plain values ({type(error).__name__}: {error})"
        ) from error


def value_hash(value: Any) -> str:
    """The same of any value; raises what pickle does for one that cannot be pickled."""
    return _pickled_hash(_Pickler, value)


def older_value_hash(value: Any) -> str:
    """The hash that runs have whose instances were known by where numpy kept the code that reads arrays."""
    return _pickled_hash(_OlderPickler, value)


def _pickled_hash(pickler: type[pickle.Pickler], value: Any) -> str:
    written = io.BytesIO()
    pickler(written, protocol=4).dump(value)
    return hashlib.sha256(written.getvalue()).hexdigest()


class _OlderPickler(pickle.Pickler):
    """Leaves out what cached properties hold: an instance is the same before and after its first use."""

    def reducer_override(self, value: Any) -> Any:
        names = {name for name, found in inspect.getmembers_static(type(value)) if isinstance(found, cached_property)}
        if not names:
            return NotImplemented
        reduced = value.__reduce_ex__(4)
        if isinstance(reduced, str) or len(reduced) < 3:
            return reduced
        make, arguments, state, *rest = reduced
        return make, arguments, _without(state, names), *rest


class _Pickler(_OlderPickler):
    """Writes what an instance holds, and not where code stands that reads it: numpy's moves with its versions."""

    def reducer_override(self, value: Any) -> Any:
        if type(value) is np.ndarray or isinstance(value, np.generic):
            return _array, (_described(value.dtype), value.shape, _content(np.asarray(value)))
        if isinstance(value, np.dtype):
            return _described, (_described(value),)
        if isinstance(value, type | FunctionType) and value.__module__.startswith(OWN_TASK):
            return _named, (value.__qualname__,)  # its module is named after the place of the task's file
        return super().reducer_override(value)


def _array(dtype: str, shape: tuple[int, ...], content: Any) -> NoReturn:
    """What stands for an array in what is hashed, which nobody reads back."""
    raise NotImplementedError


def _named(qualname: str) -> NoReturn:
    """What stands for a class or function of the task's own file in what is hashed."""
    raise NotImplementedError


def _described(dtype: Any) -> str:
    """The kind of an array's elements in words that every version of numpy has; of records field by field."""
    if dtype.names is None:
        return str(dtype.str) if dtype.subdtype is None else f"{_described(dtype.base)}{dtype.shape}"
    fields = {name: (_described(found[0]), found[1]) for name, found in dtype.fields.items()}
    return f"{fields} of {dtype.itemsize}"


def _content(array: NDArray[Any]) -> Any:
    """The elements in C order, as bytes; as a list where they are objects or hold any."""
    return array.tolist() if array.dtype.hasobject else array.tobytes()


def _without(state: Any, names: set[str]) -> Any:
    """What an object holds, without the attributes named; (attributes, slots) where it has slots."""
    if isinstance(state, dict):
        return {name: held for name, held in state.items() if name not in names} or None
    if isinstance(state, tuple) and len(state) == 2:
        return _without(state[0], names), state[1]
    return state
