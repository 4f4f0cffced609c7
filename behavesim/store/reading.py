"""Reading a run's journal without writing, while the run goes on or after it: its events, and its active time.

All functions raise JournalError if the journal, or what is asked of it, cannot be read.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, TypeVar

from behavesim.base.errors import JournalError
from behavesim.state.events import (
    AFTER_A_PAUSE,
    Asked,
    CandidateId,
    ClockRead,
    Evaluated,
    Event,
    FreshScored,
    Raced,
    Recommended,
    Rejected,
    Responded,
)
from behavesim.store.codec import decode
from behavesim.store.database import check_time, open_database, unreadable
from behavesim.trajectory import Behaviour

E = TypeVar("E", Asked, Responded)
_READ = "SELECT seq, at, type, payload, data FROM events WHERE seq > ? ORDER BY seq"


def read_events(
    path: Path, after: int = 0, only: Sequence[type] = ()
) -> Generator[tuple[int, float, Event], None, None]:
    """Yield (number, time, event) of a journal in order, from the event after number `after`; times since 1970 in s.

    If `only` is not empty, yield only events of these types; without it, a gap in the numbers raises JournalError.
    """
    query = _READ
    if only:
        query = _READ.replace("WHERE", f"WHERE type IN ({', '.join(repr(kind.__name__) for kind in only)}) AND")
        if not any(field.name == "candidate" for kind in only for field in fields(kind)):  # which the index finds
            query = query.replace("WHERE", "WHERE candidate IS NULL AND")
    with open_database(path) as connection:
        for expected, (seq, at, kind, payload, data) in enumerate(connection.execute(query, (after,)), after + 1):
            if seq != expected and not only:
                missing = f"{path}: events {expected} to {seq - 1} are missing"
                raise JournalError(f"{missing}; the file is damaged, `behavesim verify` says where")
            try:
                time, event = check_time(at), decode(kind, payload, data)
            except ValueError as error:
                raise unreadable(path, seq, error) from error
            yield seq, time, event


# Query for the last outcome of a candidate's program; its parameters are the candidate, the program's text, and the
# number of the event before which it stands. It has several if it was asked for again and answered with the same text.
OUTCOME = """
SELECT seq, type, payload, data FROM events
WHERE candidate = ? AND type IN ('Evaluated', 'Rejected') AND payload ->> 'source' = ? AND seq < ?
ORDER BY seq DESC LIMIT 1
"""


def read_outcome(path: Path, candidate: CandidateId, source: str, before: int) -> Evaluated | Rejected:
    """Return the last outcome of a candidate's program with the text `source` that stands before event `before`."""
    with open_database(path) as connection:
        return outcome_of(path, connection.execute(OUTCOME, (candidate, source, before)))


def outcome_of(path: Path, rows: Iterable[Sequence[Any]]) -> Evaluated | Rejected:
    """Return the outcome that the query `OUTCOME` found in the journal at `path`; JournalError if there is none."""
    for row in rows:
        event = event_of(path, row)
        assert isinstance(event, Evaluated | Rejected), "the query asks for no others"
        return event
    raise JournalError(f"{path} has no outcome of a program that was tried; `behavesim verify` lists what is damaged")


def read_last(path: Path, candidate: CandidateId, kind: type[E]) -> E | None:
    """Return a candidate's last event of a type, `Asked` with its prompt or `Responded`; None if it has none."""
    query = "SELECT seq, type, payload, data FROM events WHERE candidate = ? AND type = ? ORDER BY seq DESC"
    with open_database(path) as connection:
        row = connection.execute(query, (candidate, kind.__name__)).fetchone()
        event = None if row is None else event_of(path, row)
    return event if isinstance(event, kind) else None


def event_of(path: Path, row: Sequence[Any]) -> Event:
    """Return the event of a row (number, type, payload, blob); JournalError if it cannot be read."""
    seq, kind, payload, data = row
    try:
        return decode(kind, payload, data)
    except ValueError as error:
        raise unreadable(path, seq, error) from error


_TEXTS = """
SELECT candidate, seq, events.type, payload, data FROM json_each(?) AS wanted CROSS JOIN events
ON candidate = wanted.value WHERE events.type IN ('Asked', 'Responded') ORDER BY seq
"""


def read_texts(path: Path, candidates: Sequence[CandidateId]) -> dict[CandidateId, tuple[str, str]]:
    """Return the last prompt and the last reply of each of these candidates; "" for one that there is not."""
    found: dict[CandidateId, tuple[str, str]] = {}
    with open_database(path) as connection:
        for candidate, *row in connection.execute(_TEXTS, (json.dumps(candidates),)):
            event, (prompt, reply) = event_of(path, row), found.get(candidate, ("", ""))
            if isinstance(event, Asked):
                found[candidate] = event.prompt.text, reply
            elif isinstance(event, Responded):
                found[candidate] = prompt, event.reply.text
    return found


_BEHAVIOURS = """
SELECT candidate, data FROM json_each(?) AS wanted CROSS JOIN events ON candidate = wanted.value
WHERE events.type = 'Evaluated'
"""


def read_trajectories(path: Path, candidates: Sequence[CandidateId]) -> list[Behaviour]:
    """Return the trajectories of feasible candidates, one item for each; JournalError if one has none."""
    # they are unpacked at first use, which raises TrajectoryError if they are damaged
    with open_database(path) as connection:
        found = dict(connection.execute(_BEHAVIOURS, (json.dumps(candidates),)))
    try:
        return [Behaviour(found.get(candidate)) for candidate in candidates]
    except ValueError as error:
        raise JournalError(f"{path}: a program's behaviour cannot be read: {error}") from error


class Activity:
    """Adds up the seconds between a run's events, which `take` is given in order.

    `seconds` is never less than the last reading of the run's own clock: a recovered run continues from that reading.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._last: float | None = None

    def take(self, at: float, event: Event) -> None:
        """Add the time since the previous event; `at` is the time of the commit, in seconds since 1970."""
        # neither pauses between sessions count, nor the gap before an event appended later, such as a recommendation
        if self._last is not None and not isinstance(event, AFTER_A_PAUSE):
            self.seconds += at - self._last
        self._last = at
        if isinstance(event, ClockRead):
            self.seconds = max(self.seconds, event.active_s)


# What may be under way in a run: requests without a reply, programs that are evaluated, both, or neither.
UnderWay = Literal["requests", "evaluations", "both", "neither"]


class Waits:
    """Adds up the seconds of a run by what was under way in them; `take` is given its events in order."""

    def __init__(self) -> None:
        self.seconds: dict[UnderWay, float] = {"requests": 0.0, "evaluations": 0.0, "both": 0.0, "neither": 0.0}
        self._requests: set[CandidateId] = set()
        self._evaluations: set[CandidateId] = set()

    def take(self, seconds: float, event: Event) -> None:
        """Count the active seconds since the previous event."""
        # the template, races and recommendations are evaluated without a request before it
        is_evaluating = bool(self._evaluations) or isinstance(event, Evaluated | Raced | FreshScored | Recommended)
        is_asking = bool(self._requests)
        under_way: UnderWay = "both" if is_asking else "evaluations"
        self.seconds[under_way if is_evaluating else "requests" if is_asking else "neither"] += seconds
        match event:
            case Asked(candidate):
                self._requests.add(candidate)
            case Responded(candidate):
                self._requests.discard(candidate)
                self._evaluations.add(candidate)
            case Evaluated(candidate) | Rejected(candidate):
                self._requests.discard(candidate)
                self._evaluations.discard(candidate)
