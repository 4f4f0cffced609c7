"""A run's summary without reading its journal, where nothing happened to the run since it was last summed up."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict
from hashlib import sha256
from typing import TYPE_CHECKING

from behavesim.analysis.scored import Scored
from behavesim.analysis.summary import RecommendedProgram, Summary
from behavesim.base.errors import JournalError
from behavesim.base.tokens import Spending
from behavesim.base.version import __version__
from behavesim.store.database import last_event
from behavesim.store.folder import RunFolder

if TYPE_CHECKING:
    from behavesim.analysis.run import Run

PARTS = {"template": Scored, "best": Scored, "recommended": RecommendedProgram, "estimated": Spending}
"""What a summary holds that is no plain value, where it is known."""


def glance(folder: RunFolder, is_kept: bool = True) -> Summary:
    """The summary of a run as it stands, kept in its folder; raises JournalError where its journal cannot be read.

    What takes a reader of 10 000 candidates a second is done once for as long as nothing is added to the journal. Where
    it is not to be kept, nothing is written.
    """
    seal, _, text = (folder.read_summary() or "").partition("\n")
    if seal == _seal(folder, last_event(folder.journal), text):
        return _summary(text)
    from behavesim.analysis.run import Run  # a slow import, needed only if the kept summary is out of date
    from behavesim.analysis.standing import summary

    run = Run.load(folder.path)
    return kept_summary(run) if is_kept else summary(run)


def kept_summary(run: Run) -> Summary:
    """The summary of a run as far as it has been read, kept in its folder for the next glance at it."""
    from behavesim.analysis.standing import summary

    found = summary(run)
    text = json.dumps(asdict(found))
    with suppress(JournalError):  # a full disk hides no run
        run.folder.write_summary(f"{_seal(run.folder, len(run.events_at), text)}\n{text}")
    return found


def _summary(text: str) -> Summary:
    values = json.loads(text)
    parts = {name: kind(**values[name]) for name, kind in PARTS.items() if values[name] is not None}
    return Summary(**{**values, **parts})


def _seal(folder: RunFolder, events: int, text: str) -> str:
    """What differs where a summary does not hold any more, or is not what was kept.

    A summary depends on the version, the run's name, its events, who holds the run, and the prices that it names.
    """
    parts = (__version__, *Summary.__annotations__, folder.run, events, folder.is_running(), text)
    settings = folder.settings.read_bytes() if folder.settings.is_file() else b""
    return sha256(repr(parts).encode() + settings).hexdigest()
