"""The settings of a run: those of every run, of its method and of its proposer, from a person or from a journal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from behavesim.base.config import (
    OWN,
    Owner,
    Settings,
    UnknownSetting,
    assignment,
    lost_in_files,
    read_toml,
    validated,
)
from behavesim.base.errors import UsageError, nearest
from behavesim.base.plugins import resolved
from behavesim.methods.installed import METHODS, method_owner, method_type
from behavesim.prompts.wording import located
from behavesim.proposers.installed import PROPOSERS, proposer_owner
from behavesim.task import Task

RUN = Owner("every run", Settings)
"""The owner of the settings that every run has."""


def resolve(
    flags: Mapping[str, Any],
    assignments: list[str] | None = None,
    file: Path | None = None,
    task: Task | None = None,
    defaults: Mapping[str, Any] | None = None,
) -> Settings:
    """Return the settings of a new run: flags beat `--set`, then the `--config` file, then the defaults.

    Flags that are None were not given. `assignments` are texts "key=value". Among the defaults, the task's budget and
    time limit beat `defaults`, and these beat what the method suggests for the task. Raises UsageError with one line
    that names the setting that does not fit and its owner.
    """
    given = {
        **(defaults or {}),
        **({} if task is None else {"budget": task.budget, "timeout_s": task.timeout_s}),
        **(read_toml(file) if file else {}),
        **dict(assignment(text) for text in assignments or []),
        **{key: value for key, value in flags.items() if value is not None},
    }
    for part in ("method", "proposer"):
        if isinstance(given.get(part), str):
            given[part] = resolved(given[part])
    if isinstance(given.get("prompts"), str):
        given["prompts"] = located(given["prompts"])
    method = method_type(_name(given, "method"))
    budget = given.get("budget", Settings.model_fields["budget"].default)
    if task is not None and isinstance(budget, int) and budget > 0:  # another is refused by its own name
        given = {**method.settings_type.suited(task, budget), **given}
    return _from_person(given)


def changed_settings(settings: Settings, flags: Mapping[str, Any], assignments: list[str] | None = None) -> Settings:
    """Return settings with changes from flags and "key=value" texts; flags that are None were not given.

    If the method or proposer changes, settings that only the old one has are dropped. Raises UsageError as `resolve`.
    """
    changes = dict(assignment(text) for text in assignments or [])
    changes |= {key: value for key, value in flags.items() if value is not None}
    return _from_person({**_without_those_gone(settings, changes), **changes})


def _without_those_gone(settings: Settings, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings by name, without those that only a replaced method or proposer has."""
    values = settings.flat()
    for part, owner, own in (
        ("method", method_owner, settings.of_method),
        ("proposer", proposer_owner, settings.of_proposer),
    ):
        if part in changes and changes[part] != values[part]:
            options = owner(_name(changes, part)).options
            gone = type(own).model_fields.keys() - (options.model_fields.keys() if options else ())
            values = {key: value for key, value in values.items() if key not in gone}
    return values


def _from_person(values: Mapping[str, Any]) -> Settings:
    """Return settings from plain values by name; raises UsageError that names one that does not fit and its owner."""
    owners = method_owner(_name(values, "method")), proposer_owner(_name(values, "proposer"))
    try:
        settings = validated(values, *owners)
    except UnknownSetting as unknown:
        raise UsageError(_meant(unknown.key, _name(values, "method"), _name(values, "proposer"))) from None
    if (lost := lost_in_files(settings, *owners)) is not None:
        raise UsageError(
            f"setting {lost[0]} cannot be {lost[1]!r}, which the run's files would not give back; "
            "use a finite number, text, or a list or table of them"
        )
    return settings


def settings_from_journal(values: Mapping[str, Any]) -> Settings:
    """Return settings as a journal or a run's folder holds them.

    If the method or proposer is not installed any more, its own settings are left out. Raises UsageError that names a
    value that does not fit.
    """
    owners = []
    for part, owner in (("method", method_owner), ("proposer", proposer_owner)):
        try:
            owners.append(owner(_name(values, part)))
        except UsageError:
            owners.append(Owner(f"{part} {values.get(part)}", None))
    return validated(values, *owners)


def owners() -> Iterator[Owner]:
    """Yield all owners of settings: every run, then each installed method and each installed proposer."""
    yield RUN
    yield from map(method_owner, METHODS.installed())
    yield from map(proposer_owner, PROPOSERS.installed())


def owners_of(method: str | None = None, proposer: str | None = None) -> Iterator[Owner]:
    """Yield the owners of the settings of a run with this method and proposer; all owners if neither is named."""
    if method is None and proposer is None:
        yield from owners()
        return
    yield RUN
    if method is not None:
        yield method_owner(method)
    if proposer is not None:
        yield proposer_owner(proposer)


def is_foreign(key: str, values: Mapping[str, Any]) -> bool:
    """Whether a setting belongs only to methods or proposers other than those named in `values`."""
    parts = (RUN, method_owner(_name(values, "method")), proposer_owner(_name(values, "proposer")))
    if any(owner.options and key in owner.options.model_fields for owner in parts):
        return False
    return any(owner.options and key in owner.options.model_fields for owner in owners())


def _name(values: Mapping[str, Any], part: str) -> str:
    return str(values.get(part, Settings.model_fields[part].default))


def _meant(key: str, method: str, proposer: str) -> str:
    """Return a message for a setting that the run does not have: its owner, or the setting with the nearest name."""
    others = [owner.name for owner in owners() if owner.options and key in owner.options.model_fields]
    if others:
        return f"setting {key!r} belongs to {' and '.join(others)}; this run has method {method}, proposer {proposer}"
    parts = (method_owner(method), proposer_owner(proposer))
    known = {*OWN, *(name for part in parts if part.options for name in part.options.model_fields)}
    hint = nearest(key, sorted(known)) or "`behavesim settings` lists them all"
    return f"there is no setting {key!r}; {hint}"
