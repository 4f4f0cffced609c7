"""Every prompt is read as it was asked, and alone: what is lost of one costs no other."""

from __future__ import annotations

import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

import pytest

from behavesim.audit.damage import list_damages, read_damaged
from behavesim.base.errors import JournalError
from behavesim.state.events import Asked, Event, NoteAsked, Prompt
from behavesim.store.codec import decode, encode
from behavesim.store.reading import read_events, read_last
from tests.store.written import written

TASK = "Pack the bins.\n\nRules:\n- whole items"
TEXTS = [f"{TASK}\n\na = 1", f"{TASK}\n\nb = 2 – “all” of them", TASK, "", "\n\n\n\n", "same same same"]
ASKED: list[Event] = [Asked(number, (), None, Prompt(text, "improve")) for number, text in enumerate(TEXTS)]
NOTE = NoteAsked(0, (), Prompt(TEXTS[0], "reflection"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A journal of these prompts."""
    return written(tmp_path / "run.db", [*ASKED, NOTE])


def test_prompts_are_read_as_they_were_asked(path: Path) -> None:
    assert [event for _, _, event in read_events(path)] == [*ASKED, NOTE]
    assert [event for _, _, event in read_events(path, after=1)] == [*ASKED[1:], NOTE]
    assert [event for _, event in read_damaged(path).values()] == [*ASKED, NOTE]
    found = [read_last(path, number, Asked) for number in range(len(TEXTS))]
    assert [None if each is None else each.prompt.text for each in found] == TEXTS
    assert list_damages(path) == ["event 1 is not the beginning of a run"]


def test_a_prompt_that_is_lost_or_altered_costs_no_other(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE events SET data = x'0011' WHERE seq = 1")
        db.commit()
    with pytest.raises(JournalError, match="event 1 cannot be read: its prompt is damaged"):
        list(read_events(path))
    assert [line for line in list_damages(path) if "prompt" in line] == [
        "event 1 (Asked) cannot be read: its prompt is damaged"
    ]
    assert [event for _, event in read_damaged(path).values()] == [*ASKED[1:], NOTE]


@pytest.mark.parametrize("blob", [None, "text", b"", b"\0", zlib.compress(b"\xff"), zlib.compress(b"cut")[:-1]])
def test_whatever_stands_in_the_place_of_a_prompt_is_no_prompt(blob: object) -> None:
    kind, payload, _ = encode(ASKED[0])
    with pytest.raises(ValueError, match="its prompt is"):
        decode(kind, payload, blob)


def test_a_blob_that_would_expand_without_end_is_no_prompt_and_a_prompt_as_long_is_not_stored() -> None:
    kind, payload, _ = encode(ASKED[0])
    with pytest.raises(ValueError, match="its prompt is cut off"):
        decode(kind, payload, zlib.compress(bytes((1 << 26) + 2)))
    with pytest.raises(ValueError, match="more than 67,108,864"):
        encode(Asked(0, (), None, Prompt("x" * ((1 << 26) + 1), "improve")))
    longest = Asked(0, (), None, Prompt("x" * (1 << 26), "improve"))
    assert decode(*encode(longest)) == longest


def test_a_prompt_that_an_earlier_session_stored_is_read_by_its_dictionary() -> None:
    stored = bytes.fromhex("78bb8085b883 83d7cce5c0240872426a6e31e5851b00fbd01dee")
    kind, payload, _ = encode(ASKED[0])
    event = decode(kind, payload, stored)
    assert isinstance(event, Asked)
    assert event.prompt.text == f"{TASK[16:]}\n\nHere are 2 programs that solve the problem, the better one last."
