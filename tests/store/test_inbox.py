"""Programs that people put into a run wait in its inbox, whole, in order, until they are taken out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from behavesim.base.errors import UsageError
from behavesim.store.folder import ADVICE, PROGRAM, Inbox


def test_programs_wait_in_the_order_in_which_they_were_put_in(tmp_path: Path) -> None:
    inbox = Inbox(tmp_path / "inbox")
    assert inbox.waiting() == []
    for source in ("second = 2\n", "first = 1\n", "ümlaut = 3\n"):
        inbox.put("mine", source)
    names, sources = zip(*inbox.waiting(), strict=True)
    assert sources == ("second = 2\n", "first = 1\n", "ümlaut = 3\n")
    assert len(set(names)) == 3
    assert all(name.endswith("-mine.py") for name in names)


def test_a_program_that_is_taken_out_waits_no_more_and_may_be_taken_out_again(tmp_path: Path) -> None:
    inbox = Inbox(tmp_path / "inbox")
    inbox.put("a", "x = 1")
    inbox.put("b", "x = 2")
    (first, _), second = inbox.waiting()
    inbox.remove(first)
    inbox.remove(first)
    assert inbox.waiting() == [second]


def test_only_whole_programs_wait_and_what_cannot_be_read_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "inbox"
    folder.mkdir()
    (folder / ".1-mine.py.draft").write_text("half a prog")
    (folder / "2-folder.py").mkdir()
    (folder / "3-latin.py").write_bytes(b"# caf\xe9")
    (folder / "notes.txt").write_text("no program")
    assert Inbox(folder).waiting() == [("3-latin.py", "# caf\ufffd")]


def test_a_file_that_no_journal_could_hold_is_read_no_further_than_a_program_may_be(tmp_path: Path) -> None:
    folder = tmp_path / "inbox"
    folder.mkdir()
    with (folder / "1-zeros.py").open("wb") as zeros:
        zeros.truncate(3_000_000_000)  # takes no room on the disk
    os.mkfifo(folder / "2-pipe.py")
    (folder / "3-mine.py").write_text("x = 1\r\n")
    refused = "# cannot be read: it has more than 1,000,000 characters"
    assert Inbox(folder).waiting() == [("1-zeros.py", refused), ("3-mine.py", "x = 1\n")]


def test_advice_that_cannot_be_read_is_left_out_and_a_program_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inbox = Inbox(tmp_path)
    for suffix in (PROGRAM, ADVICE):
        inbox.put("shut", "closed", suffix)
        inbox.put("mine", "open", suffix)
    whole = Path.open

    def shut(path: Path, *args: Any, **kwargs: Any) -> Any:
        if "shut" in path.name:
            raise PermissionError(13, "Permission denied")
        return whole(path, *args, **kwargs)

    monkeypatch.setattr(Path, "open", shut)
    assert [text for _, text in inbox.waiting(ADVICE)] == ["open"]
    assert [text for _, text in inbox.waiting()] == ["# cannot be read: Permission denied", "open"]


def test_a_folder_that_cannot_be_written_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "inbox").write_text("a file in its place")
    with pytest.raises(UsageError, match=r"cannot write .*inbox: .*; put it in as its owner"):
        Inbox(tmp_path / "inbox").put("mine", "x = 1")
