"""A journal that was damaged or made up is refused with one line that says where, whatever is in it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from behavesim.audit.damage import list_damages, read_damaged
from behavesim.base.errors import JournalError
from behavesim.state.events import Added, Asked, Compared, Evaluated, NotAdded, NoteReceived, Regrouped, Responded
from behavesim.state.state import RunState
from behavesim.store.codec import decode_whole, encode
from behavesim.store.database import progress, read_first_time
from behavesim.store.reading import read_events, read_last, read_outcome, read_trajectories
from behavesim.task import Objective
from behavesim.trajectory import Trajectory, pack
from tests.fuzz.seeds import journal
from tests.store.loose import anything_goes
from tests.store.test_journal import EVENTS, TOURS

EVALUATED = encode(EVENTS[1])
DEEP = "[" * 100_000


@pytest.mark.parametrize(
    ("kind", "payload", "blob", "said"),
    [
        (None, "{}", None, "no event of type None"),
        (b"Added", "{}", None, "no event of type b'Added'"),
        (["Added"], "{}", None, "no event of type"),
        ("Odd" * 100, "{}", None, "no event of type 'OddOdd"),
        ("Added", None, None, "payload is NoneType, not text"),
        ("Added", b"{}", None, "payload is bytes, not text"),
        ("Added", 7.5, None, "payload is float, not text"),
        ("Added", "", None, "EOF"),
        ("Added", "[]", None, "no JSON object"),
        ("Added", "null", None, "no JSON object"),
        ("Added", DEEP, None, "recursion"),
        ("Added", '{"candidate": "\\ud800"}', None, "hex escape"),
        ("Added", '{"candidate": "one", "group": "0"}', None, "candidate: Input should be a valid integer"),
        ("Added", f'{{"candidate": {"9" * 5000}, "group": "0"}}', None, "number out of range|candidate"),
        ("Added", '{"candidate": 1}', None, "group: Field required"),
        ("Compared", '{"candidate": 1, "to_groups": {"0": NaN}}', None, "line 1"),
        ("Compared", '{"candidate": 1, "to_members": {"\\u001b[2J": 1}}', None, r"to_members.\\u001b\[2J"),
        (*EVALUATED[:2], None, "trajectories are missing"),
        (*EVALUATED[:2], "text", "trajectories are missing"),
        (*EVALUATED[:2], b"\xff\xff\xff\xff", "cut off"),
        ("Evaluated", "{}", pack(TOURS), "Field required"),
        ("Evaluated", EVALUATED[1].replace("7.0", '"x"'), EVALUATED[2], "score"),
    ],
)
def test_a_row_that_holds_no_event_is_a_value_error_of_one_line(kind: Any, payload: Any, blob: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said) as caught:
        decode_whole(kind, payload, blob)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) <= 500


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A journal to be damaged."""
    found = tmp_path / "run.db"
    found.write_bytes(journal(EVENTS, 4096))
    return found


READERS: list[Callable[[Path], Any]] = [
    *(lambda path: list(read_events(path)), lambda path: read_outcome(path, 0, "abc", 9), read_first_time),
    *(lambda path: read_trajectories(path, [0, -1, 77]), progress),
]


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE events SET at = 'noon' WHERE seq = 5", "event 5 cannot be read: its time is 'noon'"),
        ("UPDATE events SET at = 9e999 WHERE seq = 5", "event 5 cannot be read: its time is inf"),
        ("UPDATE events SET at = -1.0 WHERE seq = 5", "event 5 cannot be read: its time is -1.0"),
        ("UPDATE events SET type = x'ff' WHERE seq = 5", "event 5 cannot be read: there is no event of type"),
        ("UPDATE events SET payload = x'7b7d' WHERE seq = 5", "event 5 cannot be read: its payload is bytes"),
        ("UPDATE events SET payload = 5 WHERE seq = 5", "event 5 cannot be read"),
        ("UPDATE events SET payload = '[1' WHERE seq = 5", "event 5 cannot be read"),
        ("UPDATE events SET payload = CAST(x'ff' AS TEXT) WHERE seq = 5", "UTF-8"),
        ("UPDATE events SET data = 'text' WHERE seq = 2", "event 2 cannot be read: its trajectories are missing"),
        ("UPDATE events SET seq = seq + 100", "events 1 to 100 are missing"),
    ],
)
def test_whatever_is_in_the_columns_of_a_journal_readers_say_which_event_cannot_be_read(
    path: Path, statement: str, said: str
) -> None:
    with anything_goes(path) as db:
        db.execute(statement)
    with pytest.raises(JournalError, match=said) as caught:
        list(read_events(path))
    assert "behavesim verify" in str(caught.value)
    for reader in READERS:
        try:
            reader(path)
        except JournalError as error:
            caught.value.args = error.args
        assert "\n" not in str(caught.value)
    assert list_damages(path)
    assert all(line.isprintable() for line in list_damages(path))


@pytest.mark.parametrize("kind", [Asked, Responded])
def test_what_is_read_of_one_candidate_is_an_event_or_damage(path: Path, kind: type[Any]) -> None:
    assert (read_last(path, 0, kind) is None, read_last(path, 77, kind)) == (False, None)
    with anything_goes(path) as db:
        db.execute("UPDATE events SET payload = '[1' WHERE candidate = 0 AND type = ?", (kind.__name__,))
    with pytest.raises(JournalError, match=r"event \d+ cannot be read: .*behavesim verify"):
        read_last(path, 0, kind)


@pytest.mark.parametrize("damaged", ["zeroblob(20)", "x'ff000000'"])
def test_a_behaviour_that_makes_no_sense_is_damage_though_nobody_looks_at_it(path: Path, damaged: str) -> None:
    with anything_goes(path) as db:
        db.execute(f"UPDATE events SET data = {damaged} WHERE seq = 2")
    assert 2 not in read_damaged(path)
    assert len(list(read_events(path))) == len(EVENTS)
    assert list_damages(path) == [
        line for line in list_damages(path) if line.startswith("event 2 (Evaluated) cannot be read")
    ]
    assert list_damages(path)


def test_a_behaviour_that_is_not_there_is_said_to_be_missing(path: Path) -> None:
    with pytest.raises(JournalError, match="trajectories are missing"):
        read_trajectories(path, [77])


@pytest.mark.parametrize(
    "made_up",
    [
        "CREATE VIEW events AS WITH RECURSIVE n(seq) AS (SELECT 1 UNION ALL SELECT seq + 1 FROM n) "
        "SELECT seq, 1.0 AS at, 0 AS candidate, 'NotAdded' AS type, '{}' AS payload, NULL AS data FROM n",
        "CREATE TABLE events (seq, at, candidate, type, payload, data)",
        "CREATE TABLE events (seq INTEGER PRIMARY KEY, payload TEXT) STRICT",
        "CREATE TABLE other (seq INTEGER)",
    ],
)
def test_a_database_that_is_no_journal_is_not_read_without_end(path: Path, made_up: str) -> None:
    with closing(sqlite3.connect(path)) as db:
        for (view,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'view'").fetchall():
            db.execute(f"DROP VIEW {view}")
        db.execute("DROP TABLE events")
        db.execute(made_up)
        db.commit()
    for reader in READERS:
        with pytest.raises(JournalError, match="table of events is not that of a run"):
            reader(path)
    assert list_damages(path) == ["its table of events is not that of a run"]


def test_pages_that_lead_to_one_another_are_not_followed_without_end(tmp_path: Path) -> None:
    size = 512
    vast = b"\xff\xff\xff\xff\xff\xff\xff\xff\x7f"  # a row of so many bytes, as a varint
    cell = vast + b"\x01" + b"\0" * 400 + (3).to_bytes(4, "big")
    leaf = bytes([13]) + b"\0\0" + (1).to_bytes(2, "big") + b"\0\0\0" + (12).to_bytes(2, "big") + b"\0\0" + cell
    overflow = (3).to_bytes(4, "big") + b"\0" * (size - 4)
    first = b"SQLite format 3\0" + size.to_bytes(2, "big")
    path = tmp_path / "run.db"
    path.write_bytes(first.ljust(size, b"\0") + leaf.ljust(size, b"\0") + overflow)
    assert read_damaged(path) == {}


@pytest.mark.parametrize(
    "event",
    [
        NotAdded(5),
        Added(0, "1"),
        Evaluated(7, "", 1.0, (1.0,), (Trajectory.prefixes([1]),)),
        *(event for event in EVENTS if isinstance(event, Compared | Regrouped | NoteReceived)),
    ],
)
def test_an_event_that_cannot_follow_those_before_it_is_a_journal_error(event: Any) -> None:
    state = RunState(Objective("minimise"))
    state.apply(EVENTS[0])
    with pytest.raises(JournalError):
        state.apply(event)
