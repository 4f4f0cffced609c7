"""The journal's database: tables, views for people, read-only connections, and queries that decode no event.

Errors of SQLite and the system become JournalError here, with advice where it is known.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from behavesim.base.errors import JournalError
from behavesim.base.text import one_line

# The version of the tables, which SQLite keeps as the file's `user_version`; it changes with them.
#
# A further view needs no other version: only people read views, and older journals lack it.
VERSION = 7
EVENTS = """CREATE TABLE events (
    seq       INTEGER PRIMARY KEY,
    at        REAL NOT NULL,      -- seconds since 1970, UTC: the clock when the session began, and the seconds since
    candidate INTEGER,            -- NULL for events of the run; -1 is the template
    type      TEXT NOT NULL,
    payload   TEXT NOT NULL,      -- JSON
    data      BLOB,               -- trajectories of an Evaluated candidate; the text of a prompt, compressed
    seal      INTEGER             -- a hash of the other columns: a row without it is damaged, or another program's
) STRICT"""
_INDEX = "CREATE INDEX events_of_candidate ON events (candidate, type);"
TABLES = f"{EVENTS};\n{_INDEX}\n"
VIEWS = """
CREATE VIEW candidates AS
WITH latest AS (  -- a candidate that was repaired was asked, answered and rejected before; the last of each counts
    SELECT candidate, type, max(seq) AS seq, at, payload
    FROM events WHERE candidate >= 0 GROUP BY candidate, type
)
SELECT
    asked.candidate AS candidate,
    CASE WHEN raced.seq > evaluated.seq AND raced.payload ->> 'reason' != '' THEN 'rejected'  -- failed in a race
         WHEN evaluated.seq > asked.seq THEN 'feasible'
         WHEN rejected.seq > asked.seq THEN 'rejected'
         ELSE 'open' END AS status,
    CASE WHEN evaluated.seq > asked.seq THEN 'evaluation'
         WHEN rejected.seq > asked.seq THEN rejected.payload ->> 'stage' END AS stage,
    CASE WHEN rejected.seq > asked.seq THEN rejected.payload ->> 'reason'
         WHEN raced.seq > evaluated.seq THEN nullif(raced.payload ->> 'reason', '') END AS reason,
    coalesce(ended.payload ->> 'score', evaluated.payload ->> 'score') AS score,
    coalesce(evaluated.payload ->> 'source', rejected.payload ->> 'source') AS source,
    evaluated.payload ->> 'program_hash' AS program,
    asked.payload -> 'parents' AS parents,
    iif(added.payload ->> 'group' GLOB '[0-9]*', added.payload ->> 'group' + 0, added.payload ->> 'group') AS island,
    responded.payload ->> '$.reply.model' AS model,
    spent.prompt_tokens AS prompt_tokens,
    spent.completion_tokens AS completion_tokens,
    datetime(asked.at, 'unixepoch') AS asked_at,
    datetime(responded.at, 'unixepoch') AS responded_at,
    datetime(iif(evaluated.seq > asked.seq, evaluated.at, iif(rejected.seq > asked.seq, rejected.at, NULL)),
             'unixepoch') AS done_at,  -- UTC, as the others
    CASE WHEN evaluated.seq > asked.seq THEN evaluated.payload ->> 'feedback'
         WHEN rejected.seq > asked.seq THEN rejected.payload ->> 'feedback' END AS feedback
FROM latest AS asked
LEFT JOIN latest AS responded ON responded.candidate = asked.candidate AND responded.type = 'Responded'
LEFT JOIN latest AS evaluated ON evaluated.candidate = asked.candidate AND evaluated.type = 'Evaluated'
LEFT JOIN latest AS raced ON raced.candidate = asked.candidate AND raced.type = 'Raced'
LEFT JOIN latest AS ended ON ended.candidate = asked.candidate AND ended.type = 'RaceEnded'
LEFT JOIN latest AS rejected ON rejected.candidate = asked.candidate AND rejected.type = 'Rejected'
LEFT JOIN latest AS added ON added.candidate = asked.candidate AND added.type = 'Added'
LEFT JOIN (
    SELECT events.candidate, sum(call.value ->> 'prompt') AS prompt_tokens,
           sum(call.value ->> 'completion') AS completion_tokens
    FROM events, json_each(events.payload, '$.reply.calls') AS call
    WHERE events.type = 'Responded' GROUP BY events.candidate
) AS spent ON spent.candidate = asked.candidate
WHERE asked.type = 'Asked';

CREATE VIEW metrics AS  -- what tasks and evaluators told besides the score; text where it is no finite number
SELECT
    outcome.candidate AS candidate,
    metric.key AS metric,
    iif(metric.type = 'text', NULL, metric.value) AS value,
    iif(metric.type = 'text', metric.value, NULL) AS text
FROM events AS outcome, json_each(outcome.payload, '$.metrics') AS metric
WHERE outcome.seq IN (SELECT max(seq) FROM events WHERE type IN ('Evaluated', 'Rejected') GROUP BY candidate)
ORDER BY outcome.candidate;

CREATE VIEW ranked AS  -- every feasible candidate; the lowest cost is the best, whichever way the task goes
WITH objective AS (
    SELECT iif(payload ->> '$.provenance.direction' = 'maximise', -1, 1) AS sign
    FROM events WHERE type = 'RunStarted' LIMIT 1
)
SELECT candidates.*, score * sign AS cost, sign FROM candidates, objective WHERE status = 'feasible';

CREATE VIEW best AS SELECT candidate, score, island, source FROM ranked ORDER BY cost, candidate LIMIT 1;

CREATE VIEW top AS  -- the ten best programs, each with the first candidate that wrote it
SELECT min(candidate) AS candidate, score, island, count(*) AS copies, source
FROM ranked GROUP BY program ORDER BY cost, candidate LIMIT 10;

CREATE VIEW convergence AS
SELECT candidate, score, sign * min(cost) OVER (ORDER BY candidate) AS best, done_at FROM ranked ORDER BY candidate;

CREATE VIEW islands AS
WITH founded AS (
    SELECT seq, grouped.key AS island, member.value AS candidate
    FROM events, json_each(events.payload, '$.groups') AS grouped, json_each(grouped.value) AS member
    WHERE events.type = 'Regrouped' AND NOT events.payload ->> 'selection'
    UNION ALL
    SELECT seq, payload ->> 'group', candidate
    FROM events WHERE events.type = 'Added' AND payload ->> 'group' IS NOT NULL
),
begun AS (
    SELECT island, max(seq) AS seq FROM founded
    WHERE seq IN (SELECT events.seq FROM events WHERE events.type = 'Regrouped')
    GROUP BY island
),
evicted AS (
    SELECT seq, member.value AS candidate
    FROM events, json_each(events.payload, '$.evicted') AS member
    WHERE events.type = 'Added'
)
SELECT
    iif(founded.island GLOB '[0-9]*', founded.island + 0, founded.island) AS island,
    count(*) AS size,
    count(DISTINCT evaluated.payload ->> 'score') AS clusters,
    min(evaluated.payload ->> 'score') AS lowest_score,
    max(evaluated.payload ->> 'score') AS highest_score,
    max(founded.candidate) AS newest
FROM founded
LEFT JOIN begun ON begun.island = founded.island
JOIN events AS evaluated ON evaluated.candidate = founded.candidate AND evaluated.type = 'Evaluated'
WHERE founded.seq >= coalesce(begun.seq, 0) AND NOT EXISTS (
    SELECT 1 FROM evicted WHERE evicted.candidate = founded.candidate AND evicted.seq >= founded.seq
)
GROUP BY founded.island ORDER BY island;

CREATE VIEW spend AS  -- a proposer that asks nobody, such as the offline one, makes no calls, and they cost nothing
SELECT
    events.payload ->> '$.reply.model' AS model,
    call.value ->> 'tier' AS tier,
    count(DISTINCT events.seq) AS replies,
    count(call.value) AS calls,
    sum(call.value ->> 'prompt') AS prompt_tokens,
    sum(call.value ->> 'cached') AS cached_tokens,
    sum(call.value ->> 'cache_write') AS cache_write_tokens,
    sum(call.value ->> 'completion') AS completion_tokens,
    sum(call.value ->> 'reasoning') AS reasoning_tokens,
    iif(count(call.value), sum(call.value ->> 'cost_usd'), 0) AS cost_usd,
    count(call.value) - count(call.value ->> 'cost_usd') AS unpriced
FROM events LEFT JOIN json_each(events.payload, '$.reply.calls') AS call
WHERE events.type IN ('Responded', 'NoteReceived')
GROUP BY model, tier;
"""
# Makes an empty file a journal without events, in one transaction.
NEW_JOURNAL = f"BEGIN IMMEDIATE; {TABLES} {VIEWS} PRAGMA user_version = {VERSION}; COMMIT;"


@contextmanager
def open_database(path: Path) -> Iterator[sqlite3.Connection]:
    """Yield a read-only connection to a journal.

    Raises JournalError if the file is missing, something else or of another version, or if SQLite or the system fails.
    """
    refuse_missing(path)
    with translate_errors(path), closing(open_unchecked(path)) as connection:
        [(version,)] = connection.execute("PRAGMA user_version")
        if not is_journal(path, version):
            raise JournalError(f"{path} holds no journal of a run; it ended before it began, or is something else")
        if not holds_events(connection):
            raise JournalError(f"{path} is a database, but its table of events is not that of a run")
        yield connection


def open_unchecked(path: Path) -> sqlite3.Connection:
    """Return a read-only connection to a journal as it is, of whatever version; the caller closes it."""
    # SQLite makes files beside the journal to read it. If the folder forbids that and there is no write-ahead log, it
    # is told that nobody writes. With a log there may be a writer, and `immutable` would ignore what it commits.
    uri = f"{path.absolute().as_uri()}?mode=ro"
    if not os.access(path.parent, os.W_OK) and not path.with_name(f"{path.name}-wal").exists():
        uri += "&immutable=1"
    return sqlite3.connect(uri, uri=True)


def refuse_missing(path: Path) -> None:
    """Raise JournalError if there is no regular file at `path`."""
    if not path.is_file():
        raise JournalError(f"there is no journal at {path}")


def is_journal(path: Path, version: int) -> bool:
    """Return whether `user_version` is a journal's, not 0; JournalError if another behavesim wrote the file."""
    # 0: an empty file, or another program's database
    if version in (0, VERSION):
        return version == VERSION
    whose, advice = ("a newer", "upgrade behavesim") if version > VERSION else ("an older", "read it with that one")
    said = f"{path} was written by {whose} behavesim (schema {version}, this one reads {VERSION})"
    raise JournalError(f"{said}; {advice}")


def holds_events(db: sqlite3.Connection) -> bool:
    """Whether `events` is exactly the table of a journal."""
    # a view in its place could yield rows without end
    found = db.execute("SELECT type, sql FROM sqlite_schema WHERE name = 'events'").fetchall()
    return found == [("table", EVENTS)]


# Exceptions that reading a damaged file raises; UnicodeDecodeError comes from SQLite messages that are not UTF-8.
UNREADABLE = (sqlite3.DatabaseError, UnicodeDecodeError)
_DAMAGED = "the file is damaged, `behavesim verify` says where"
_READ_ONLY = "check that the folder is yours to write"
_FULL = "make room on the disk, then resume the run"
# Advice about an error of SQLite or the system, by words in its message; the first that occur in it count.
_ADVICE = {
    "full": _FULL,
    "No space": _FULL,
    "No such file": "its folder was moved, or emptied, while the run went on: resume the run where it is now",
    "locked": "another process holds the database, close it, then resume the run",
    "readonly": _READ_ONLY,
    "unable to open": _READ_ONLY,
    "malformed": _DAMAGED,
    "not a database": _DAMAGED,
    "decode": _DAMAGED,
}


@contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Raise errors of SQLite, OSErrors and undecodable text of the block as JournalError, with advice where known."""
    try:
        yield
    except (*UNREADABLE, OSError) as error:
        said = one_line(str(error))
        advice = next((f"; {advice}" for sign, advice in _ADVICE.items() if sign in said), "")
        raise JournalError(f"{path}: {said}{advice}") from error


def unreadable(path: Path, seq: int, error: ValueError) -> JournalError:
    """Return, not raise, the error for event number `seq` that cannot be decoded; `error` says why."""
    why = f"event {seq} cannot be read: {error}"
    return JournalError(f"{path}: {why}; `behavesim verify` lists what is damaged")


# The end of the year 9999, in seconds since 1970: Python's dates go no further.
LATEST = 253402300800.0


def check_time(at: object) -> float:
    """Return the time of a row, in seconds since 1970; ValueError if it is no float, negative, or beyond LATEST."""
    if not isinstance(at, float) or not 0 <= at < LATEST:
        raise ValueError(f"its time is {at!r:.40}")
    return at


def copy_journal(path: Path, to: Path) -> None:
    """Copy a journal's present content to the file `to`; its run may go on. Raises sqlite3.Error or OSError."""
    draft = to.with_suffix(".draft")  # `to` appears only when it is complete: a killed process leaves no half journal
    os.close(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))  # else SQLite would let everybody read it
    with closing(open_unchecked(path)) as db, closing(sqlite3.connect(draft)) as copy:
        db.backup(copy)
    draft.replace(to)


@dataclass(frozen=True)
class Progress:
    """Counts of a run: registered candidates, requests that an endpoint answered (`calls`), and their tokens.

    `recommended`: whether the choice on validation instances was made among all of these candidates, even if none was
    chosen. Tokens that an endpoint did not count are estimates.
    """

    registered: int
    recommended: bool
    calls: int
    prompt_tokens: int
    completion_tokens: int


_COUNT = "SELECT type, count(*) FROM events GROUP BY type"
# rows are numbered in the order of the commits: a choice counts if it is behind all that it could have chosen from
_RECOMMENDED = """
SELECT coalesce(max(seq), 0) > (
    SELECT coalesce(max(seq), 0) FROM events WHERE type IN ('Added', 'NotAdded', 'RunForked')
) FROM events WHERE type = 'Recommended'
"""
_TOKENS = """
SELECT count(*),
       coalesce(sum(coalesce(call.value ->> 'prompt', call.value ->> 'estimated_prompt')), 0),
       coalesce(sum(coalesce(call.value ->> 'completion', call.value ->> 'estimated_completion')), 0)
FROM events, json_each(events.payload, '$.reply.calls') AS call WHERE events.type IN ('Responded', 'NoteReceived')
"""


def progress(journal: Path) -> Progress:
    """Return the counts of a run; raises JournalError, as all queries here do, if the journal cannot be read."""
    with open_database(journal) as db:
        counts = dict(db.execute(_COUNT).fetchall())
        [(recommended,)] = db.execute(_RECOMMENDED)
        calls, prompt, completion = db.execute(_TOKENS).fetchone()
    registered = counts.get("Added", 0) + counts.get("NotAdded", 0)
    return Progress(registered, bool(recommended), calls, prompt, completion)


def count_registered(path: Path) -> int:
    """Return the number of registered candidates, feasible or rejected."""
    [(count,)] = _rows(path, "SELECT count(*) FROM events WHERE type IN ('Added', 'NotAdded')")
    return int(count)


def read_first_time(path: Path) -> float | None:
    """Return the time of the first event, in seconds since 1970; None if the journal has no event."""
    for seq, at in _rows(path, "SELECT seq, at FROM events ORDER BY seq LIMIT 1"):
        try:
            return check_time(at)
        except ValueError as error:
            raise unreadable(path, seq, error) from error
    return None


def read_last_event(path: Path) -> int:
    """Return the number of the last event, 0 if there is none."""
    [(last,)] = _rows(path, "SELECT coalesce(max(seq), 0) FROM events")
    return int(last)


def origin(path: Path) -> tuple[object, ...]:
    """Return an identity of a journal, to notice another one made later under the same path."""
    # the file's inode and the first event, if any: inodes are given again, and a copied journal has the same event
    first = _rows(path, "SELECT at, type, payload FROM events ORDER BY seq LIMIT 1")
    with translate_errors(path):
        return path.stat().st_ino, *first


def _rows(path: Path, query: str) -> list[Any]:
    with open_database(path) as connection:
        return connection.execute(query).fetchall()
