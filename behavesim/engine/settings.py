"""The settings of a run as a person gives them: flags, `--set`, a file and the defaults."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic_core import from_json, to_json

from behavesim.base.config import Owner, Settings, read_toml
from behavesim.base.errors import UsageError
from behavesim.base.plugins import absolute
from behavesim.methods.installed import method_type
from behavesim.prompts.wording import absolute_wording
from behavesim.state.settings import checked_settings, name_of_part, owners_in
from behavesim.task import Task


def settings_from_person(
    flags: Mapping[str, Any],
    assignments: list[str] | None = None,
    file: Path | None = None,
    task: Task | None = None,
    defaults: Mapping[str, Any] | None = None,
) -> Settings:
    """Return the settings of a new run: flags beat `--set`, then the `--config` file, then the defaults.

    flags: settings by name; those that are None were not given. assignments: texts "key=value". file: a TOML file.
    Among the defaults, the task's budget and time limit beat `defaults`, and these beat what the method suggests for
    the task.

    Raises UsageError for a setting that does not fit or that the run does not have, and for a text without "=". It is
    also raised if a file cannot be read, or a method or proposer cannot be loaded.
    """
    given = {
        **(defaults or {}),
        **({} if task is None else {"budget": task.budget, "timeout_s": task.timeout_s}),
        **(read_toml(file) if file else {}),
        **_changes(flags, assignments),
    }
    for part in ("method", "proposer"):
        if isinstance(given.get(part), str):
            given[part] = absolute(given[part])
    if isinstance(given.get("prompts"), str):
        given["prompts"] = absolute_wording(given["prompts"])
    budget = given.get("budget", Settings.model_fields["budget"].default)
    if task is not None and isinstance(budget, int) and budget > 0:  # another is refused by its own name
        given = {**method_type(name_of_part(given, "method")).settings_type.suited(task, budget), **given}
    return _from_person(given)


def changed_settings(settings: Settings, flags: Mapping[str, Any], assignments: list[str] | None = None) -> Settings:
    """Return settings with changes from flags and "key=value" texts; flags that are None were not given.

    Settings that only a replaced method or proposer has are dropped. Raises UsageError for a setting that does not fit
    or that the run does not have, a text without "=", or a method or proposer that cannot be loaded.
    """
    changes = _changes(flags, assignments)
    before = settings.flat()
    known = {name for owner in owners_in({**before, **changes}) for name in owner.settings}
    return _from_person({**{name: value for name, value in before.items() if name in known}, **changes})


def _changes(flags: Mapping[str, Any], assignments: list[str] | None) -> dict[str, Any]:
    given = {key: value for key, value in flags.items() if value is not None}
    return {**dict(map(_assignment, assignments or ())), **given}


def _assignment(text: str) -> tuple[str, Any]:
    """Return a setting and its value from `key=value`; a value that is no TOML is text. Raises UsageError without =."""
    key, separator, value = text.partition("=")
    if not separator:
        raise UsageError(f"--set takes key=value, not {text!r}")
    try:
        return key.strip(), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return key.strip(), value.strip()


def _from_person(values: Mapping[str, Any]) -> Settings:
    """Return settings from plain values by name; raises UsageError for one that is wrong or that files cannot keep.

    A user's method or proposer may declare any name and type, and pydantic does not check defaults.
    """
    owners = owners_in(values)
    _refuse_shared_names(owners)
    _, *parts = owners
    settings = checked_settings(values, *parts)
    kept = {name: value for name, value in settings.flat().items() if _is_kept(value)}
    again = checked_settings(kept, *parts).named()
    for name, value in settings.named().items():
        if again[name] != value or (value is not None and name not in kept):  # the files leave out None
            raise UsageError(
                f"setting {name} cannot be {value!r}, which the run's files would not give back; "
                "use a finite number, text, or a list or table of them"
            )
    return settings


def _refuse_shared_names(owners: Sequence[Owner]) -> None:
    """Raise UsageError if two owners of a run's settings have one of the same name.

    Names are flat, in files and on the command line: one value would set both, and the journal would hold one of two.
    """
    taken: dict[str, str] = {}
    for owner in owners:
        for name in owner.options.model_fields if owner.options else ():
            if name in taken:
                raise UsageError(
                    f"{owner.name} has a setting {name!r}, as {taken[name]} has; rename it in the file that is yours, "
                    "so that one value does not set both"
                )
            taken[name] = owner.name


def _is_kept(value: Any) -> bool:
    """Whether TOML and JSON both give a value back as it is: None, NaN, infinity and lone surrogates are lost."""
    import tomli_w

    try:
        text = tomli_w.dumps({"value": value}).encode().decode()
        return bool(tomllib.loads(text)["value"] == value == from_json(to_json(value), allow_inf_nan=False))
    except (TypeError, ValueError):
        return False
