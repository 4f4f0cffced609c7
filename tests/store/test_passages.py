"""What prompts have in common is kept once, and every prompt is read as it was asked."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from behavesim.base.errors import JournalError
from behavesim.state.events import Asked, Event, NoteAsked, Prompt
from behavesim.store.codec import decode, encode
from behavesim.store.damage import damages, read_damaged
from behavesim.store.reading import read_events, read_prompt
from tests.store.written import written

TASK = "Pack the bins.\n\nRules:\n- whole items – “all” of them"
TEXTS = [
    f"{TASK}\n\n```python\na = 1\n\n\n\nb = 2\n```",
    f"{TASK}\n\n```python\na = 1\n\n\n\nc = 3\n```",
    TASK,
    "",
    "\n\n\n\n",
    "same\n\nsame\n\nsame",
    "ends\n\n",
]
ASKED: list[Event] = [Asked(number, (), None, Prompt(text, "improve")) for number, text in enumerate(TEXTS)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A journal of these prompts."""
    return written(tmp_path / "run.db", [*ASKED, NoteAsked(0, (), Prompt(TEXTS[0], "reflection"))])


def select(path: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute(query).fetchall()


def test_prompts_are_read_as_they_were_asked(path: Path) -> None:
    assert [event for _, _, event in read_events(path)][: len(ASKED)] == ASKED
    assert [event for _, event in read_damaged(path).values()][: len(ASKED)] == ASKED
    assert [getattr(read_prompt(path, number), "text", None) for number in range(len(TEXTS))] == TEXTS
    assert damages(path) == ["event 1 is not the beginning of a run"]


def test_what_prompts_have_in_common_is_kept_once(path: Path) -> None:
    texts = [text for (text,) in select(path, "SELECT text FROM passages")]
    assert sorted(texts) == sorted({passage for text in TEXTS for passage in text.split("\n\n")})


def test_a_person_with_sqlite3_reads_the_prompts_whole(path: Path) -> None:
    found = select(path, "SELECT text FROM prompts WHERE candidate IS NOT NULL ORDER BY seq")
    assert [text for (text,) in found] == TEXTS
    assert select(path, "SELECT operator, text FROM prompts WHERE candidate IS NULL") == [("reflection", TEXTS[0])]


@pytest.mark.parametrize(
    "damage",
    ["DELETE FROM passages WHERE text LIKE 'Rules%'", "UPDATE passages SET text = 'other' WHERE text LIKE 'Rules%'"],
)
def test_a_prompt_of_which_a_passage_is_lost_or_altered_is_told_and_not_read(path: Path, damage: str) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute(damage)
        db.commit()
    with pytest.raises(JournalError, match="event 1 cannot be read: a passage of its prompt is missing, or damaged"):
        list(read_events(path))
    told = [line.split()[1] for line in damages(path) if "a passage of its prompt" in line]
    assert told == ["1", "2", "3", str(len(ASKED) + 1)]
    assert [event for _, event in read_damaged(path).values()] == ASKED[3:]


@pytest.mark.parametrize("number", ["1e30", str(2**70), "-1", '"x"', "[]", "{}", "null", "1.5", "true"])
def test_whatever_stands_in_the_place_of_a_passage_is_no_prompt(number: str) -> None:
    passages: dict[int, str] = {}
    kind, payload, blob = encode(ASKED[2], passages)
    first = str(next(iter(passages)))
    with pytest.raises(ValueError, match="a passage of its prompt"):
        decode(kind, payload.replace(first, number), blob, passages)
