"""How far a run is, at a glance: counted in the journal, without reading what its events say."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from behavesim.store.database import open_to_read, translated

_COUNT = "SELECT type, count(*) FROM events GROUP BY type"
_TOKENS = """
SELECT count(*),
       coalesce(sum(coalesce(call.value ->> 'prompt', call.value ->> 'estimated_prompt')), 0),
       coalesce(sum(coalesce(call.value ->> 'completion', call.value ->> 'estimated_completion')), 0)
FROM events, json_each(events.payload, '$.reply.calls') AS call WHERE events.type IN ('Responded', 'NoteReceived')
"""


@dataclass(frozen=True)
class Progress:
    """Candidates registered, whether a program is recommended, and requests answered with their tokens.

    Tokens that an endpoint did not count are estimated from the text.
    """

    registered: int
    recommended: bool
    calls: int
    prompt_tokens: int
    completion_tokens: int


def progress(journal: Path) -> Progress:
    """How far the run of a journal is; raises JournalError where there is none."""
    with translated(journal), closing(open_to_read(journal)) as db:
        counts = dict(db.execute(_COUNT).fetchall())
        calls, prompt, completion = db.execute(_TOKENS).fetchone()
    registered = counts.get("Added", 0) + counts.get("NotAdded", 0)
    return Progress(registered, counts.get("Recommended", 0) > 0, calls, prompt, completion)
