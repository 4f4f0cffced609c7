"""Find a proposer by its name or by the path of its file."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from behavesim.base.config import Settings
from behavesim.base.errors import PartError
from behavesim.base.plugins import failures_named
from behavesim.proposers.proposer import Proposer, ProposerContext, ProposerSettings
from behavesim.state.settings import PROPOSERS, proposer_parts


def proposer_type(text: str) -> type[Proposer[Any]]:
    """Return the class of a proposer; `text` is the setting `proposer`, such as `command:CMD`, `openai` or `mine.py`.

    Raises UsageError if there is none of this name, if its file cannot be loaded, or if the object called `proposer` in
    the file is no subclass of Proposer.
    """
    return PROPOSERS.load_type(proposer_parts(text)[0], Proposer)


def models_asked(settings: Settings) -> tuple[str, ...]:
    """Return the names of the models that a run with these settings may ask; empty if its proposer names none."""
    return _options(settings).models_asked()


def keeps_requests(settings: Settings) -> bool:
    """Whether open requests outlive the process: a resumed run finds their replies and does not ask again."""
    return _options(settings).leaves_requests()


def takes_notes(settings: Settings) -> bool:
    """Whether a run's proposer answers requests for notes; raises UsageError if the proposer cannot be loaded."""
    return _options(settings).takes_notes() and proposer_type(settings.proposer).writes_text


def _options(settings: Settings) -> ProposerSettings:
    """Return the proposer's own settings; the defaults of ProposerSettings if they are of any other class."""
    # a user's proposer may have settings of another class, and the settings of an old run may have none
    options = settings.of_proposer
    return options if isinstance(options, ProposerSettings) else ProposerSettings()


def proposer_of(settings: Settings, context: ProposerContext) -> Proposer[Any]:
    """Return the proposer of a run, not entered yet; its `context.argument` is what `settings.proposer` says.

    Raises UsageError if it is not found, and any BehavesimError that its `of` raises. Raises PartError if `of` of a
    user's own proposer raises another exception, or returns no proposer, as where it does not override it.
    """
    chosen, (_, argument) = proposer_type(settings.proposer), proposer_parts(settings.proposer)
    with failures_named(chosen, "proposer"):
        found = chosen.of(settings.of_proposer, replace(context, argument=argument))
    if not isinstance(found, Proposer):
        raise PartError(f"`of` of the proposer {chosen.__name__} must return a proposer, not {found!r:.80}")
    return found
