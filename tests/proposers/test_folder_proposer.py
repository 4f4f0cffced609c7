"""Prompts as files, and replies whenever they come."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest

from behavesim.base.errors import ProposerError, UsageError
from behavesim.base.heartbeat import Heartbeat
from behavesim.proposers.folder import MODEL, FolderProposer, FolderSettings
from behavesim.proposers.proposer import ProposerContext
from behavesim.state.events import NoteReceived, Responded
from behavesim.store.codec import decode
from tests.engine import toys
from tests.proposers.asking import context, prompt
from tests.proposers.writing import answered, reply_of, unanswered, write


@pytest.fixture(autouse=True)
def looking_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("behavesim.proposers.folder.LOOK_S", 0.001)


def proposer(folder: Path, rest_s: float = 0.0, **more: Any) -> FolderProposer:
    return FolderProposer(folder, rest_s, context(**more))


async def asked(folder: Path, count: int = 1) -> list[Path]:
    """The prompts without a reply, once there are so many."""
    while len(unanswered(folder)) < count:
        await asyncio.sleep(0.005)
    return unanswered(folder)


async def test_a_prompt_is_a_file_to_the_letter_and_its_reply_another(tmp_path: Path) -> None:
    said: list[str] = []
    folder = tmp_path / "not" / "there yet"
    waiting = asyncio.ensure_future(proposer(folder, tell=said.append).propose(prompt("Häßlich?\n"), 7))
    (path,) = await asked(folder)
    assert (path.read_text(), path.name[:6]) == ("Häßlich?\n", "00007-")
    write(path, "Ja.\n")
    reply = await waiting
    assert (reply.text, reply.model, reply.fault) == ("Ja.\n", MODEL, "")
    assert said == [f"prompts are in {folder}; put each reply beside NAME.prompt.md as NAME.reply.md"]
    assert sorted(found.name for found in folder.iterdir()) == [path.name, reply_of(path).name]


async def test_a_note_has_a_name_of_its_own(tmp_path: Path) -> None:
    waiting = asyncio.ensure_future(proposer(tmp_path).propose(prompt(), -5))
    (path,) = await asked(tmp_path)
    assert path.name.startswith("note-00003-")
    write(path, "a thought")
    assert (await waiting).text == "a thought"


async def test_a_repair_is_asked_for_beside_the_first_try_and_not_answered_by_its_reply(tmp_path: Path) -> None:
    asking = proposer(tmp_path)
    for text in ("first", "first, mended"):
        waiting = asyncio.ensure_future(asking.propose(prompt(text), 0))
        (path,) = await asked(tmp_path)
        write(path, f"reply to {text}")
        assert (await waiting).text == f"reply to {text}"


async def test_another_process_waits_for_the_same_names_and_takes_what_came_meanwhile(tmp_path: Path) -> None:
    doomed = [asyncio.ensure_future(proposer(tmp_path, seed=3).propose(prompt(f"p{n}"), n)) for n in range(3)]
    before = await asked(tmp_path, 3)
    times = [path.stat().st_mtime_ns for path in before]
    for waiting in doomed:
        waiting.cancel()
    await asyncio.gather(*doomed, return_exceptions=True)
    write(before[1], "meanwhile")
    again = proposer(tmp_path, seed=3)
    assert (await again.propose(prompt("p1"), 1)).text == "meanwhile"
    waiting = asyncio.ensure_future(again.propose(prompt("p0"), 0))
    await asyncio.sleep(0.01)
    write(before[0], "later")
    assert (await waiting).text == "later"
    assert [path.stat().st_mtime_ns for path in before] == times, "nothing was asked twice"


async def test_runs_of_different_seeds_share_no_replies(tmp_path: Path) -> None:
    names = {proposer(tmp_path, seed=seed).name(prompt(), number) for seed in (0, 1) for number in (0, 1)}
    assert len(names) == 4


class Looks(Heartbeat):
    """A clock by which a tenth of a second goes by from one look to the next."""

    looks = 0

    def __call__(self) -> float:
        self.looks += 1
        return self.looks / 10


async def test_a_reply_that_is_still_written_is_not_taken(tmp_path: Path) -> None:
    clock = Looks()
    waiting = asyncio.ensure_future(proposer(tmp_path, rest_s=5.0, clock=clock).propose(prompt(), 0))
    (path,) = await asked(tmp_path)
    reply_of(path).touch()
    for so_far in ("half", "half of", "half of it, and the rest"):
        begun = clock.looks
        reply_of(path).write_text(so_far)
        while clock.looks < begun + 20:
            assert not waiting.done()
            await asyncio.sleep(0.001)
    assert (await waiting).text == "half of it, and the rest"


async def test_a_reply_that_cannot_be_read_or_is_empty_is_said_and_waited_for(tmp_path: Path) -> None:
    said: list[str] = []
    waiting = asyncio.ensure_future(proposer(tmp_path, tell=said.append).propose(prompt(), 0))
    (path,) = await asked(tmp_path)
    reply_of(path).mkdir()
    (reply_of(path) / "lost.md").write_text("in the wrong place")
    while len(said) < 2:
        await asyncio.sleep(0.001)
    assert "cannot be read: Is a directory; waiting" in said[1]
    (reply_of(path) / "lost.md").rename(tmp_path / "found")
    reply_of(path).rmdir()
    reply_of(path).touch()
    while len(said) < 3:
        await asyncio.sleep(0.001)
    await asyncio.sleep(0.02)
    assert said[2:] == [f"{reply_of(path)} is empty; waiting for a reply in it"]
    write(path, "here")
    assert (await waiting).text == "here"


async def test_bytes_that_are_no_text_become_a_reply_all_the_same(tmp_path: Path) -> None:
    waiting = asyncio.ensure_future(proposer(tmp_path).propose(prompt(), 0))
    (path,) = await asked(tmp_path)
    reply_of(path).write_bytes(b"so \xff what")
    assert (await waiting).text == "so \ufffd what"


async def test_a_prompt_that_cannot_be_written_stops_the_run(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ProposerError, match=r"cannot write .*file.*then resume the run"):
        await proposer(tmp_path / "file" / "below").propose(prompt(), 0)


def test_no_folder_and_a_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for argument, message in (("", "needs the name of a folder"), (str(tmp_path / "file"), "is no folder")):
        with pytest.raises(UsageError, match=message):
            FolderProposer.of(FolderSettings(), ProposerContext(toys.Toy(), 0, 1, argument))


SETTINGS = {"budget": 30, "window": 6, "method": "reevo", "repair": 1, "initial_population": 6, "population": 4}


def variation(text: str) -> str:
    """What the toy's proposer makes of a prompt, by the prompt alone."""
    drawn = random.Random(text)
    if "return" not in text or drawn.random() < 0.2:
        return f"Choose {drawn.randrange(40)}."
    return f"```python\ndef number() -> int:\n    return {drawn.randrange(40)}\n```"


async def test_a_run_that_is_stopped_again_and_again_asks_nothing_twice_and_ends_the_same(tmp_path: Path) -> None:
    async def run(folder: Path, dying: bool) -> tuple[str, list[Any]]:
        journal = toys.MemoryJournal()
        answering = asyncio.create_task(answered(folder, variation))
        while True:
            journal.die_after = len(journal.rows) + 40 if dying else None
            search = await toys.search(journal, SETTINGS, proposer=proposer(folder))
            try:
                await search.run()
                answering.cancel()
                return search.state.digest(), [decode(*row) for row in journal.rows]
            except toys.Stop:
                continue

    (whole, events), (broken, more) = await run(tmp_path / "a", dying=False), await run(tmp_path / "b", dying=True)
    assert len(more) > len(events)
    assert broken == whole
    replies = [event for event in events if isinstance(event, Responded | NoteReceived)]
    assert any(isinstance(event, NoteReceived) for event in replies)
    prompts = [sorted(path.name for path in (tmp_path / name).glob("*.prompt.md")) for name in "ab"]
    assert prompts[0] == prompts[1]
    assert len(prompts[0]) == len(replies)
