"""What a journal's tables and views hold, from its SQL."""

from __future__ import annotations

import re
import sqlite3

from behavesim.store.database import new_journal
from tests.reference.tables import table

HOLDS = {
    "best": "the best program",
    "candidates": "a row for each candidate, as it stands; times are UTC",
    "convergence": "each feasible candidate and the best score so far",
    "islands": "the groups of the archive; `clusters` counts different scores",
    "events": "the journal: all that happened, in order; `payload` is JSON; the candidate -1 is the template",
}
COMMENT = re.compile(r"CREATE (?:TABLE|VIEW) (\w+) (?:AS|\() +-- (.*)")


def views() -> str:
    """Each view and table with its columns."""
    said = {**dict(COMMENT.findall(new_journal())), **HOLDS}
    with sqlite3.connect(":memory:") as made:
        made.executescript(new_journal())
        found = made.execute("SELECT type, name FROM sqlite_schema WHERE type != 'index' ORDER BY type DESC, name")
        rows = [(f"`{name}`", kind, said[name], _columns(made, name)) for kind, name in found.fetchall()]
    return table(("name", "is a", "holds", "columns"), rows)


def _columns(made: sqlite3.Connection, name: str) -> str:
    return ", ".join(f"`{column}`" for _, column, *_ in made.execute(f"PRAGMA table_info({name})"))
