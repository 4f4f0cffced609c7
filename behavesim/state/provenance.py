"""Provenance: what a run's results depend on beside its settings. It shows on resume whether the task changed."""

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
"""The keys of a provenance that must not change within a run, because scores or decisions depend on them."""

OWN_TASK = "behavesim_task_"
"""The prefix of the module names under which task files are loaded."""


def provenance(task: Task, **parts: type) -> dict[str, str]:
    """Return the hashes of the task's file, instances and template, its objective, and the versions of software.

    `parts` are the classes of the method and of the proposer, by those names. They are hashed only if they come from a
    file of the user's. Raises TaskError as `instances_hash` does.
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
    """Return the keys in DECISIVE whose values differ, in that order; the older hash of the instances is accepted."""
    changed = [key for key in DECISIVE if then.get(key) != now.get(key)]
    if "instances" in changed and then.get("instances") == older_value_hash(instances_of(task, "search")):
        changed.remove("instances")
    return changed


def instances_hash(task: Task, split: Split, anew: bool = False) -> str:
    """Return the SHA-256 of a split's instances (64 hexadecimal digits), without the values of cached properties.

    If `anew`, the task makes the instances again. Raises TaskError if there are none, or if they cannot be pickled.
    """
    try:
        return value_hash(instances_made_anew(task, split) if anew else instances_of(task, split))
    except (pickle.PicklingError, TypeError, AttributeError, RecursionError) as error:
        raise TaskError(
            f"the {split} instances of task {task.name!r} cannot be pickled, by which a resumed run knows them again; "
            f"make them a list of arrays and plain values ({type(error).__name__}: {error})"
        ) from error


def value_hash(value: Any) -> str:
    """Return the SHA-256 of a value (64 hexadecimal digits); raises what pickle does if it cannot be pickled."""
    return _pickled_hash(_Pickler, value)


def older_value_hash(value: Any) -> str:
    """Return the hash of a value as older runs have it, in which the module of numpy's functions was included."""
    return _pickled_hash(_OlderPickler, value)


def _pickled_hash(pickler: type[pickle.Pickler], value: Any) -> str:
    written = io.BytesIO()
    pickler(written, protocol=4).dump(value)
    return hashlib.sha256(written.getvalue()).hexdigest()


class _OlderPickler(pickle.Pickler):
    """Leaves out the values of cached properties: an instance has the same hash before and after its first use."""

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
    """Writes arrays by their content. numpy's own pickles name modules, which move between versions of numpy."""

    def reducer_override(self, value: Any) -> Any:
        if type(value) is np.ndarray or isinstance(value, np.generic):
            return _array, (_described(value.dtype), value.shape, _content(np.asarray(value)))
        if isinstance(value, np.dtype):
            return _described, (_described(value),)
        if isinstance(value, type | FunctionType) and value.__module__.startswith(OWN_TASK):
            return _named, (value.__qualname__,)  # its module is named after the place of the task's file
        return super().reducer_override(value)


def _array(dtype: str, shape: tuple[int, ...], content: Any) -> NoReturn:
    """A marker for an array in the hashed bytes, which are never unpickled."""
    raise NotImplementedError


def _named(qualname: str) -> NoReturn:
    """A marker for a class or function of the task's file in the hashed bytes."""
    raise NotImplementedError


def _described(dtype: Any) -> str:
    """Return an element type as text that is the same in every version of numpy; records field by field."""
    if dtype.names is None:
        return str(dtype.str) if dtype.subdtype is None else f"{_described(dtype.base)}{dtype.shape}"
    fields = {name: (_described(found[0]), found[1]) for name, found in dtype.fields.items()}
    return f"{fields} of {dtype.itemsize}"


def _content(array: NDArray[Any]) -> Any:
    """Return the elements in C order as bytes; as nested lists if they contain Python objects."""
    return array.tolist() if array.dtype.hasobject else array.tobytes()


def _without(state: Any, names: set[str]) -> Any:
    """Return a pickled object's state without these attributes; (attributes, slots) if it has slots."""
    if isinstance(state, dict):
        return {name: held for name, held in state.items() if name not in names} or None
    if isinstance(state, tuple) and len(state) == 2:
        return _without(state[0], names), state[1]
    return state
