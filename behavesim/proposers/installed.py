"""From a proposer's name, or the path of its file, to the proposer."""

from __future__ import annotations

from typing import Any

from behavesim.base.config import Owner, Settings
from behavesim.base.errors import UsageError
from behavesim.base.plugins import Kind, failures_named
from behavesim.proposers.proposer import Errand, Proposer, ProposerSettings

PROPOSERS = Kind("proposer", UsageError)


def proposer_type(text: str) -> type[Proposer[Any]]:
    """The class of a proposer by its name, whatever its argument; raises UsageError where it cannot be had."""
    found = PROPOSERS.load(_name(text))
    if not (isinstance(found, type) and issubclass(found, Proposer)):
        raise UsageError(f"`proposer` of {text} must be a subclass of behavesim.Proposer, not {found!r}")
    return found


def proposer_owner(text: str) -> Owner:
    """The owner of a proposer's settings, by its name or file; raises UsageError where it cannot be had."""
    return Owner(f"proposer {_name(text)}", proposer_type(text).settings_type)


def models_asked(settings: Settings) -> tuple[str, ...]:
    """The models that a run may ask; none where its proposer asks none."""
    options = settings.of_proposer
    return options.models_asked() if isinstance(options, ProposerSettings) else ()


def keeps_requests(settings: Settings) -> bool:
    """Whether what was asked for outlives a process, and is found again by the next."""
    options = settings.of_proposer
    return isinstance(options, ProposerSettings) and options.keeps_requests


def argument(text: str) -> str:
    """What stands behind a proposer's name and a colon."""
    return _parts(text)[1]


def proposer(settings: Settings, errand: Errand) -> Proposer[Any]:
    """The proposer that the settings name, for one run, not entered yet; raises UsageError where it cannot be had."""
    chosen = proposer_type(settings.proposer)
    with failures_named(chosen, "proposer"):
        return chosen.of(settings.of_proposer, errand)


def _name(text: str) -> str:
    return _parts(text)[0]


def _parts(text: str) -> tuple[str, str]:
    """A name or a path, and an argument: `command:python ask.py` ends as a path does, and is none."""
    name, colon, behind = text.partition(":")
    is_path = text.endswith(".py") and not (colon and name in PROPOSERS.installed())
    return (text, "") if is_path else (name, behind)
