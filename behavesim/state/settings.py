"""The settings of a run as its journal holds them, and the parts of a run that own settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import ValidationError

from behavesim.base.config import OWN, RUN, Configurable, Options, Owner, Settings
from behavesim.base.errors import UsageError, nearest
from behavesim.base.misfit import misfit
from behavesim.base.plugins import Kind

METHODS = Kind("method", UsageError)
"""Finds methods by the name of an entry point, or by the path of a `.py` file."""
PROPOSERS = Kind("proposer", UsageError)
"""Finds proposers by the name of an entry point, or by the path of a `.py` file."""
T = TypeVar("T", bound=Options)

BEFORE: Mapping[str, Any] = {"ask_once": False, "ask_each_once": False}
"""Values of settings that older journals lack: their runs worked so, and the defaults would change them on resume."""


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
    return checked_settings({**BEFORE, **values}, *found)


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
    """Return name and argument of the setting `proposer`, `NAME` or `NAME:ARGUMENT`; the argument of `NAME` is "".

    A text that ends in `.py` is a path without an argument, unless it begins with an installed name and a colon.
    """
    name, colon, behind = text.partition(":")
    # `folder:my.py` names a folder, but `a:b.py` is the path of a proposer's file.
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


def checked_settings(values: Mapping[str, Any], method: Owner, proposer: Owner) -> Settings:
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
        raise UsageError(f"setting {misfit(error)}") from None


def _meant(key: str, values: Mapping[str, Any]) -> str:
    """Return a message for a setting that the run does not have: whose it is, else the nearest name."""
    others = [owner.name for owner in owners() if key in owner.settings]
    if others:
        chosen = f"method {name_of_part(values, 'method')}, proposer {name_of_part(values, 'proposer')}"
        return f"setting {key!r} belongs to {' and '.join(others)}; this run has {chosen}"
    known = {name for owner in owners() for name in owner.settings}
    hint = nearest(key, sorted(known)) or "`behavesim settings` lists them all"
    return f"there is no setting {key!r}; {hint}"
