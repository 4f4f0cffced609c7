"""The settings and the provenance of a run as its journal holds them, and the parts of a run that own settings."""

from __future__ import annotations

import asyncio
import copyreg
import hashlib
import inspect
import io
import json
import os
import pickle
import platform
import sys
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from functools import cached_property
from importlib.metadata import version
from operator import is_, itemgetter
from types import FunctionType
from typing import Any, TypeVar, cast, get_args

import numpy as np
from pydantic import ValidationError

from behavesim import __version__
from behavesim.base.config import OWN, RUN, Configurable, Options, Owner, Settings
from behavesim.base.errors import JournalError, TaskError, UsageError, nearest
from behavesim.base.plugins import Kind, file_hash, is_own
from behavesim.base.text import one_line, validation_message
from behavesim.task import Direction, Objective, Split, Task, TaskReference, further_instances, instances_of
from behavesim.task.calls import instances_made_anew
from behavesim.task.evaluated import EvaluatorTask

# Finds methods by the name of an entry point, or by the path of a `.py` file.
METHODS = Kind("method", UsageError)
# Finds proposers by the name of an entry point, or by the path of a `.py` file.
PROPOSERS = Kind("proposer", UsageError)
T = TypeVar("T", bound=Options)


def settings_from_journal(values: Mapping[str, Any]) -> Settings:
    """Return the settings from the plain values by name that a journal or a run's folder holds.

    If the method or proposer cannot be loaded any more, its own settings are left out. Raises UsageError that names a
    setting whose value does not fit or, if both can be loaded, one that the run does not have.
    """
    found = []
    for part, owner in (("method", _method_owner), ("proposer", _proposer_owner)):
        try:
            found.append(owner(name_of_part(values, part)))
        except UsageError:
            found.append(Owner(f"{part} {values.get(part)}", None))
    return settings_from_values(values, *found)


def owners(method: str | None = None, proposer: str | None = None) -> list[Owner]:
    """Return owners of settings: every run, then the method and the proposer that are named.

    If neither is named, those of all installed methods and proposers follow. Raises UsageError if one cannot be loaded.
    """
    if method is None and proposer is None:
        methods, proposers = METHODS.installed(), PROPOSERS.installed()
    else:
        methods = [] if method is None else [method]
        proposers = [] if proposer is None else [proposer]
    return [RUN, *map(_method_owner, methods), *map(_proposer_owner, proposers)]


def is_foreign(key: str, values: Mapping[str, Any]) -> bool:
    """Whether a setting belongs to installed methods or proposers, but not to a run with the plain settings `values`.

    It is False for a name that no setting has. Raises UsageError if a method or proposer cannot be loaded.
    """
    return all(key not in owner.settings for owner in owners_in(values)) and any(key in o.settings for o in owners())


def proposer_parts(text: str) -> tuple[str, str]:
    """Return name and argument of the setting `proposer`, `NAME` or `NAME:ARGUMENT`; the argument of `NAME` is ""."""
    name, colon, behind = text.partition(":")
    # `folder:my.py` names a folder, but `a:b.py` is the path of a proposer's file: `a` is no installed name
    is_path = text.endswith(".py") and not (colon and name in PROPOSERS.installed())
    return (text, "") if is_path else (name, behind)


def name_of_part(values: Mapping[str, Any], part: str) -> str:
    """Return the value of the setting `part`, "method" or "proposer", in plain settings, or its default if missing."""
    return str(values.get(part, Settings.model_fields[part].default))


def owners_in(values: Mapping[str, Any]) -> list[Owner]:
    """Return the owners of a run with these plain settings: every run, its method, its proposer.

    Raises UsageError if the method or the proposer cannot be loaded.
    """
    return owners(name_of_part(values, "method"), name_of_part(values, "proposer"))


def settings_from_values(values: Mapping[str, Any], method: Owner, proposer: Owner) -> Settings:
    """Return settings from plain values by name, those of the method and the proposer among them.

    Raises UsageError that names a setting whose value does not fit, or one that no owner has. If an owner is not
    installed, unknown settings are ignored: they may be that owner's.
    """
    of_method = _valid(method.options or Options, values, method.settings)
    of_proposer = _valid(proposer.options or Options, values, proposer.settings)
    for key in values:
        if method.options and proposer.options and key not in OWN | method.settings | proposer.settings:
            raise UsageError(_meant(key, values))
    return _valid(Settings, values, OWN).model_copy(update={"of_method": of_method, "of_proposer": of_proposer})


def _method_owner(name: str) -> Owner:
    return Owner(f"method {name}", METHODS.load_type(name, Configurable).settings_type)


def _proposer_owner(text: str) -> Owner:
    name, _ = proposer_parts(text)
    return Owner(f"proposer {name}", PROPOSERS.load_type(name, Configurable).settings_type)


def _valid(options: type[T], values: Mapping[str, Any], names: frozenset[str]) -> T:
    try:
        return options.model_validate({name: value for name, value in values.items() if name in names})
    except ValidationError as error:
        raise UsageError(f"setting {validation_message(error)}") from None


def _meant(key: str, values: Mapping[str, Any]) -> str:
    """Return a message for a setting that the run does not have: whose it is, else the nearest name."""
    others = [owner.name for owner in owners() if key in owner.settings]
    if others:
        chosen = f"method {name_of_part(values, 'method')}, proposer {name_of_part(values, 'proposer')}"
        return f"setting {key!r} belongs to {' and '.join(others)}; this run has {chosen}"
    known = {name for owner in owners() for name in owner.settings}
    hint = nearest(key, sorted(known)) or "`behavesim list settings` lists them all"
    return f"there is no setting {key!r}; {hint}"


# Provenance: what a run's results depend on beside its settings. It shows on resume whether the task changed.


# Keys of a provenance whose values must stay the same within a run, because scores or decisions depend on them.
DECISIVE = ("task", "instances", "further instances", "template", "method", "proposer", "prompts")

# Most characters of an objective's unit; a longer one in a journal is cut, since a line has it and two scores.
LONGEST_UNIT = 40
# The prefix of the module names under which task files are loaded.
OWN_TASK = "behavesim_task_"


def provenance(task: Task, **parts: type) -> dict[str, str]:
    """Return hashes of the task's file, instances and template, its objective, who computes scores, and versions.

    All are texts by name. `parts` are the classes of the method and the proposer, by those names; the file of a class
    is hashed if it is not ours (`is_own`). Raises TaskError if the instances cannot be made or pickled, OSError if a
    file is gone.
    """
    return {
        **{name: file_hash(part) for name, part in parts.items() if is_own(part)},
        "task": task.evaluator_hash if isinstance(task, EvaluatorTask) else file_hash(type(task)),
        "instances": instances_hash(task, "search"),
        "template": hashlib.sha256(task.template.encode()).hexdigest(),
        "score_source": task.score_source,
        "direction": task.objective.direction,
        "best_known": "" if task.objective.best_known is None else repr(task.objective.best_known),
        "unit": task.objective.unit,
        "behavesim": __version__,
        "genai-prices": version("genai-prices"),
        "numpy": version("numpy"),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
    }


def changed_parts(then: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return the keys in DECISIVE whose values differ between two provenances, or are missing in one, in that order."""
    return [key for key in DECISIVE if then.get(key) != now.get(key)]


def instances_hash(task: Task, split: Split, anew: bool = False) -> str:
    """Return the SHA-256 of a split's instances (64 hexadecimal digits), without the values of cached properties.

    If `anew`, the task makes the instances again. Raises TaskError if they cannot be made or pickled.
    """
    try:
        return value_hash(instances_made_anew(task, split) if anew else instances_of(task, split))
    except (pickle.PicklingError, TypeError, AttributeError, RecursionError) as error:
        raise TaskError(
            f"the {split} instances of task {task.name!r} cannot be pickled, by which a resumed run knows them again; "
            f"make them a list of arrays and plain values ({type(error).__name__}: {error})"
        ) from error


def value_hash(value: Any) -> str:
    """Return the SHA-256 (64 hexadecimal digits) of a value as it is pickled, without values of cached properties.

    Arrays count by their content; sets and dictionaries too, whatever the order in which they list what they hold.
    Raises what pickle raises if the value cannot be pickled.
    """
    written = io.BytesIO()
    # a fixed protocol: the default one changes with Python, and the hash with it
    _Pickler(written, protocol=4).dump(_ordered(value))
    return hashlib.sha256(written.getvalue()).hexdigest()


# Number of fresh instances that are looked at to see whether a task makes the same ones everywhere.
FRESH = 4


def fresh_hash(task: Task) -> str:
    """Return a hash of the first few validation instances beyond the split; "" if the task is not `endless`."""
    return value_hash(further_instances(task, "validation", FRESH)) if task.endless else ""


async def hashes_elsewhere(reference: TaskReference) -> dict[str, str]:
    """Return the `instances_hash` of each split as another process has it, one in which sets list texts otherwise.

    Under "fresh" is the `fresh_hash`.
    Raises TaskError if that process cannot load the task or make its instances.
    """
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-c", _PRINT_HASHES, reference.text),  # a person's random.py here is not Python's
        env={**os.environ, "PYTHONHASHSEED": seed},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    said, complaint = await process.communicate()
    if process.returncode != 0:
        last = complaint.decode(errors="replace").strip().rpartition("\n")[2]
        raise TaskError(f"another process cannot load the instances: {last}")
    found: dict[str, str] = json.loads(said.splitlines()[-1])
    return found


def differing_parts(split: str) -> str:
    """Return the message for an author whose task makes other instances of a split in another process."""
    return (
        f"another process has other {split} instances, so no run could be resumed; draw them from fixed seeds, and "
        "sort what comes out of sets"
    )


_PRINT_HASHES = """
import json, sys
from behavesim.state.settings import fresh_hash, instances_hash
from behavesim.task import TaskReference
task = TaskReference(sys.argv[1]).load()
print(json.dumps({**{split: instances_hash(task, split) for split in task.splits}, "fresh": fresh_hash(task)}))
"""


class _Pickler(pickle.Pickler):
    """A pickler that leaves out the values of cached properties, so that using an instance does not change its hash.

    It writes arrays by content, since numpy's own pickles name modules that versions of numpy move; and sets and
    dictionaries within objects in one order. It is given `_ordered` values: pickle itself writes plain containers and
    asks no pickler about them.
    """

    def reducer_override(self, value: Any) -> Any:
        if type(value) is np.ndarray or isinstance(value, np.generic):
            # the elements in C order
            elements = _ordered(value.tolist()) if value.dtype.hasobject else value.tobytes()
            return _array, (_described(value.dtype), value.shape, elements)
        if isinstance(value, np.dtype):
            return _described, (_described(value),)
        if isinstance(value, type | FunctionType):
            # the module of a task's file is named after the place of the file
            return (_named, (value.__qualname__,)) if value.__module__.startswith(OWN_TASK) else NotImplemented
        if type(value) in copyreg.dispatch_table:
            return NotImplemented
        reduced = value.__reduce_ex__(4)
        if isinstance(reduced, str):  # the name of a global
            return reduced
        make, arguments, state, items, pairs = (*reduced, None, None, None)[:5]
        # static, so that no property of the instance is computed
        members = inspect.getmembers_static(type(value))
        if names := {name for name, found in members if isinstance(found, cached_property)}:
            state = _without(state, names)
        if isinstance(value, set | frozenset):
            arguments = (_names(value),)
        elif make is copyreg.__newobj_ex__:  # type: ignore[attr-defined]  # whose keywords pickle wants as a dictionary
            arguments = (*arguments[:2], _ordered_state(arguments[2]))
        else:
            arguments = _ordered(arguments)
        if pairs is not None:
            listed = [(_name(key), _ordered(held)) for key, held in pairs]
            pairs = iter(listed if isinstance(value, OrderedDict) else sorted(listed, key=itemgetter(0)))
        return make, arguments, _ordered_state(state), items and map(_ordered, items), pairs


_ATOMS = frozenset({int, float, str, bytes, bool, type(None)})


def _ordered(value: Any) -> Any:
    """Return a value to be pickled in which sets and dictionaries, at any depth of plain containers, have one order."""
    # Python lists the texts of a set in another order in each process. A value without any comes back as it is.
    kind = type(value)
    if kind in (list, tuple):
        if _ATOMS.issuperset(map(type, value)):  # such as a long table of numbers
            return value
        parts = [_ordered(each) for each in value]
        # the same object where nothing changed: pickle writes what occurs twice in another way than two equals
        return value if all(map(is_, parts, value)) else kind(parts)
    if kind in (set, frozenset):
        return kind, _names(value)
    if kind is dict:
        return kind, sorted(((_name(key), _ordered(held)) for key, held in value.items()), key=itemgetter(0))
    return value


def _names(values: Iterable[Any]) -> list[str]:
    """Return the names of a set's members in one order."""
    return sorted(map(_name, values))


def _name(value: Any) -> str:
    """Return a text that equal members of sets, or keys, have in common: short for numbers and texts, else a hash."""
    if type(value) is int:
        return hex(value)  # unlike repr, of any size
    if type(value) is tuple:  # such as an edge
        return f"({', '.join(map(_name, value))})"
    return f"{type(value).__name__} {value!r}" if type(value) in _ATOMS else value_hash(value)


def _ordered_state(state: Any) -> Any:
    """Return a pickled object's state with `_ordered` values; its attributes stay in the order of their assignment."""
    if isinstance(state, dict):
        return {name: _ordered(held) for name, held in state.items()}
    if isinstance(state, tuple) and len(state) == 2:
        return _ordered_state(state[0]), _ordered_state(state[1])
    return _ordered(state)


def _array(dtype: str, shape: tuple[int, ...], content: Any) -> None:
    """Mark an array in the hashed bytes. It is never called, as they are never unpickled."""


def _named(qualname: str) -> None:
    """Mark a class or function of the task's file in the hashed bytes. It is never called."""


def _described(dtype: Any) -> str:
    """Return an element type as text that is the same in every version of numpy; records field by field."""
    if dtype.names is None:
        return str(dtype.str) if dtype.subdtype is None else f"{_described(dtype.base)}{dtype.shape}"
    fields = {name: (_described(found[0]), found[1]) for name, found in dtype.fields.items()}
    return f"{fields} of {dtype.itemsize}"


def _without(state: Any, names: set[str]) -> Any:
    """Return a pickled object's state without these attributes, (attributes, slots) if it has slots; None if empty."""
    if isinstance(state, dict):
        return {name: held for name, held in state.items() if name not in names} or None
    if isinstance(state, tuple) and len(state) == 2:
        return _without(state[0], names), state[1]
    return state


def objective_of_run(provenance: Mapping[str, str]) -> Objective:
    """Return the objective that a run recorded. An empty or missing best known score counts as unknown.

    Raises JournalError if the direction is missing or unknown, or if the best known score is not a number.
    """
    direction, best_known = provenance.get("direction"), provenance.get("best_known")
    if direction not in get_args(Direction):
        raise JournalError(f"the journal says {direction!r} where it should say which scores are better")
    try:
        known = float(best_known) if best_known else None
        return Objective(cast(Direction, direction), known, unit=one_line(provenance.get("unit", ""), LONGEST_UNIT))
    except ValueError:
        raise JournalError(f"the journal says {best_known!r} where the best known score should stand") from None
