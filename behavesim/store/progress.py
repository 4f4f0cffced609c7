"""The progress of a run, counted by SQLite: fast, because no event is decoded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from behavesim.store.database import opened

_COUNT = "SELECT type, count(*) FROM events GROUP BY type"
_TOKENS = """
SELECT count(*),
       coalesce(sum(coalesce(call.value ->> 'prompt', call.value ->> 'estimated_prompt')), 0),
       coalesce(sum(coalesce(call.value ->> 'completion', call.value ->> 'estimated_completion')), 0)
FROM events, json_each(events.payload, '$.reply.calls') AS call WHERE events.type IN ('Responded', 'NoteReceived')
"""


@dataclass(frozen=True)
class Progress:
    """Counts of a run: registered candidates, requests that an endpoint answered (`calls`), and their tokens.

    `recommended` says whether the choice of a program on validation instances was made, even if none was chosen.
    Tokens that an endpoint did not count are estimates.
    """

    registered: int
    recommended: bool
    calls: int
    prompt_tokens: int
    completion_tokens: int


def progress(journal: Path) -> Progress:
    """Return the counts of the run of a journal; raises JournalError if there is none or it cannot be read."""
    with opened(journal) as db:
        counts = dict(db.execute(_COUNT).fetchall())
        calls, prompt, completion = db.execute(_TOKENS).fetchone()
    registered = counts.get("Added", 0) + counts.get("NotAdded", 0)
    return Progress(registered, counts.get("Recommended", 0) > 0, calls, prompt, completion)
