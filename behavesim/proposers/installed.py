"""Find a proposer by its name or by the path of its file."""

from __future__ import annotations

from typing import Any

from behavesim.base.config import Owner, Settings
from behavesim.base.errors import UsageError
from behavesim.base.plugins import Kind, failures_named
from behavesim.proposers.proposer import Errand, Proposer, ProposerSettings

PROPOSERS = Kind("proposer", UsageError)


def proposer_type(text: str) -> type[Proposer[Any]]:
    """Return the class of a proposer such as `command:CMD`; raises UsageError if it is not found or no proposer."""
    found = PROPOSERS.load(_name(text))
    if not (isinstance(found, type) and issubclass(found, Proposer)):
        raise UsageError(f"`proposer` of {text} must be a subclass of behavesim.Proposer, not {found!r}")
    return found


def proposer_owner(text: str) -> Owner:
    """Return the proposer as an owner of settings; raises UsageError if it is not found."""
    return Owner(f"proposer {_name(text)}", proposer_type(text).settings_type)


def models_asked(settings: Settings) -> tuple[str, ...]:
    """Return the names of the models that a run may ask; empty if its proposer asks none."""
    options = settings.of_proposer
    return options.models_asked() if isinstance(options, ProposerSettings) else ()


def keeps_requests(settings: Settings) -> bool:
    """Whether open requests outlive the process, so that a resumed run does not ask them again."""
    options = settings.of_proposer
    return isinstance(options, ProposerSettings) and options.keeps_requests


def argument(text: str) -> str:
    """Return the text after the colon of `name:argument`; '' if there is none."""
    return _parts(text)[1]


def proposer(settings: Settings, errand: Errand) -> Proposer[Any]:
    """Create the proposer of a run (not entered yet); raises UsageError if that fails."""
    chosen = proposer_type(settings.proposer)
    with failures_named(chosen, "proposer"):
        return chosen.of(settings.of_proposer, errand)


def _name(text: str) -> str:
    return _parts(text)[0]


def _parts(text: str) -> tuple[str, str]:
    """Split `name:argument`. A text that ends in `.py` is a path, unless it begins with an installed name."""
    name, colon, behind = text.partition(":")
    is_path = text.endswith(".py") and not (colon and name in PROPOSERS.installed())
    return (text, "") if is_path else (name, behind)
