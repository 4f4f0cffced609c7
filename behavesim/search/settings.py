"""The settings in force: what every run has, what its method and its proposer bring, and who may be told what."""

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


def resolve(
    flags: Mapping[str, Any],
    assignments: list[str] | None = None,
    file: Path | None = None,
    task: Task | None = None,
    defaults: Mapping[str, Any] | None = None,
) -> Settings:
    """The settings in force: a flag beats `--set`, which beats the `--config` file, which beats the defaults.

    Flags that are None were not given. The task's own defaults and those of the method that depend on it come last but
    for `defaults`. Raises UsageError in one line, which names whose setting it is that does not fit.
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
    return owned(given)


def amended(settings: Settings, flags: Mapping[str, Any], assignments: list[str] | None = None) -> Settings:
    """Settings with some of them changed; flags that are None were not given. Raises UsageError in one line."""
    changes = dict(assignment(text) for text in assignments or [])
    changes |= {key: value for key, value in flags.items() if value is not None}
    return owned({**_without_those_gone(settings, changes), **changes})


def _without_those_gone(settings: Settings, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The settings by name, without those that only a method or proposer has in whose place another is put."""
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


def owned(values: Mapping[str, Any]) -> Settings:
    """Settings from plain values; raises UsageError that names the first that does not fit, and whose it is."""
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


def recorded(values: Mapping[str, Any]) -> Settings:
    """Settings as a journal or a run's folder holds them; those of a part that is gone are left out."""
    owners = []
    for part, owner in (("method", method_owner), ("proposer", proposer_owner)):
        try:
            owners.append(owner(_name(values, part)))
        except UsageError:
            owners.append(Owner(f"{part} {values.get(part)}", None))
    return validated(values, *owners)


def owners() -> Iterator[Owner]:
    """Everybody who has settings: every run, and each method and proposer that is installed."""
    yield RUN
    yield from map(method_owner, METHODS.installed())
    yield from map(proposer_owner, PROPOSERS.installed())


def owners_of(method: str | None = None, proposer: str | None = None) -> Iterator[Owner]:
    """Everybody whose settings a run of this method and this proposer has; of all where none is named."""
    if method is None and proposer is None:
        yield from owners()
        return
    yield RUN
    if method is not None:
        yield method_owner(method)
    if proposer is not None:
        yield proposer_owner(proposer)


def is_foreign(key: str, values: Mapping[str, Any]) -> bool:
    """Whether a setting belongs to methods or proposers other than those that `values` name."""
    parts = (RUN, method_owner(_name(values, "method")), proposer_owner(_name(values, "proposer")))
    if any(owner.options and key in owner.options.model_fields for owner in parts):
        return False
    return any(owner.options and key in owner.options.model_fields for owner in owners())


def _name(values: Mapping[str, Any], part: str) -> str:
    return str(values.get(part, Settings.model_fields[part].default))


def _meant(key: str, method: str, proposer: str) -> str:
    """What is wrong with a setting that the run does not have: whose it is, or which one may have been meant."""
    others = [owner.name for owner in owners() if owner.options and key in owner.options.model_fields]
    if others:
        return f"setting {key!r} belongs to {' and '.join(others)}; this run has method {method}, proposer {proposer}"
    parts = (method_owner(method), proposer_owner(proposer))
    known = {*OWN, *(name for part in parts if part.options for name in part.options.model_fields)}
    hint = nearest(key, sorted(known)) or "`behavesim settings` lists them all"
    return f"there is no setting {key!r}; {hint}"
