"""A run's summary from a cache in its folder, valid until the run changes."""

from __future__ import annotations

from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from behavesim.analysis.summary import Summary
from behavesim.base.errors import JournalError
from behavesim.base.version import __version__
from behavesim.store.database import last_event
from behavesim.store.folder import SUMMARY, RunFolder

if TYPE_CHECKING:
    from behavesim.analysis.run import Run

# Turns a summary into the JSON text of the cache, and back.
JSON = TypeAdapter(Summary)

# Version of what a summary's fields mean: it grows when a field changes its meaning, so that older caches are not read.
FORMAT = 3


def load_summary(folder: RunFolder, is_kept: bool = True) -> Summary:
    """Return the summary of a run, from the cache in its folder if the run has not changed since.

    Otherwise it reads the journal, about 1 s for 10 000 candidates, and writes the cache unless `is_kept` is False.
    Raises JournalError if the journal cannot be read, UsageError if recorded settings cannot be read or are invalid.
    """
    seal, _, text = (folder.kept(SUMMARY) or "").partition("\n")
    is_held = folder.is_running()  # before the journal is read, as in `Run`
    if seal == _seal(folder, is_held, last_event(folder.journal), text):
        return JSON.validate_json(text)
    from behavesim.analysis.run import Run  # a slow import, needed only if the kept summary is out of date
    from behavesim.analysis.run_summary import summary

    run = Run.load(folder.path)
    return save_summary(run) if is_kept else summary(run)


def save_summary(run: Run) -> Summary:
    """Return the summary of a loaded run, and write it to the cache if the folder allows that."""
    from behavesim.analysis.run_summary import summary

    found = summary(run)
    text = JSON.dump_json(found).decode()
    with suppress(JournalError):  # the summary can be shown even if the disk is full
        run.folder.keep(SUMMARY, f"{_seal(run.folder, run.is_held, len(run.events_at), text)}\n{text}")
    return found


def _seal(folder: RunFolder, is_held: bool, events: int, text: str) -> str:
    """Return a hash of the cached text and of everything that a summary depends on; a cache with another is invalid."""
    parts = (__version__, FORMAT, *Summary.__annotations__, folder.run, events, is_held, text)
    settings = folder.settings.read_bytes() if folder.settings.is_file() else b""
    return sha256(repr(parts).encode() + settings).hexdigest()
