"""Replies from a folder: each prompt is written to a file, and a person or program puts a reply file beside it."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Self

from pydantic import Field

from behavesim.base.config import Adjustable
from behavesim.base.errors import ProposerError, UsageError
from behavesim.base.heartbeat import Heartbeat
from behavesim.base.notices import Sparing
from behavesim.base.text import one_line
from behavesim.proposers.proposer import Errand, Proposer, ProposerSettings
from behavesim.state.events import Prompt, Reply

MODEL = "folder"
"""The model's name in the journal and in `prices`: who really answers is unknown."""
LONGEST_REPLY = 4 * 2**20
"""Maximum number of bytes that are read of a reply file; the rest is ignored."""
LOOK_S = 0.25
"""Seconds between two looks for a reply file."""


class FolderSettings(ProposerSettings):
    """The settings of the folder proposer."""

    keeps_requests = True

    reply_rest_s: Adjustable[float] = Field(2.0, ge=0)
    """Seconds that a reply file must stay unchanged before it is read."""

    def models_asked(self) -> tuple[str, ...]:
        """Return the one name under which replies are counted and priced."""
        return (MODEL,)


class FolderProposer(Proposer[FolderSettings]):
    """Writes `NAME.prompt.md` for each prompt and waits for `NAME.reply.md`, for days if necessary.

    NAME contains the candidate's number and a hash of the seed, the number and the prompt. A resumed run therefore
    waits for the same files and uses replies that came in the meantime. A reply is read when it is not empty and has
    not changed for `rest_s` seconds. To write slowly, write to another name and rename the file.
    """

    settings_type = FolderSettings

    def __init__(
        self,
        folder: Path,
        seed: int = 0,
        rest_s: float = 2.0,
        tell: Callable[[str], None] = lambda line: None,
        clock: Heartbeat | None = None,
    ) -> None:
        """Create it without touching the disk; `tell` receives lines for the user (str)."""
        self._folder, self._seed, self._rest_s = folder, seed, rest_s
        self._tell, self._clock = tell, clock or Heartbeat()
        self._often = Sparing(tell, self._clock)
        self._has_told = False

    @classmethod
    def of(cls, settings: FolderSettings, errand: Errand) -> Self:
        """Create the proposer of a run; raises UsageError if no folder is named or the name is not a folder."""
        if not errand.argument:
            raise UsageError("folder: needs the name of a folder behind it, such as --proposer folder:prompts")
        folder = Path(errand.argument).expanduser()
        if folder.exists() and not folder.is_dir():
            raise UsageError(f"{folder} is no folder; name another one behind folder:")
        return cls(folder, errand.seed, settings.reply_rest_s, errand.tell, errand.clock)

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        """Write the prompt and wait for the reply; raises ProposerError if the prompt cannot be written."""
        name = self.name(prompt, number)
        await asyncio.to_thread(self._put, name, prompt.text)
        return Reply(await self._awaited(self._folder / f"{name}.reply.md"), MODEL)

    def name(self, prompt: Prompt, number: int) -> str:
        """Return the common part of a prompt's file names; notes are named `note-00000-…`."""
        digest = hashlib.sha256(f"{self._seed}\n{number}\n{prompt.text}".encode(errors="replace")).hexdigest()
        which = f"{number:05}" if number >= 0 else f"note-{-2 - number:05}"
        return f"{which}-{digest[:8]}"

    def _put(self, name: str, text: str) -> None:
        path = self._folder / f"{name}.prompt.md"
        draft = path.with_name(f".{name}.draft")
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                draft.write_text(text, encoding="utf-8", errors="replace")
                draft.replace(path)
        except OSError as error:
            raise ProposerError(f"cannot write {path}: {error.strerror}; mend that, then resume the run") from error
        if not self._has_told:
            self._has_told = True
            self._tell(f"prompts are in {self._folder}; put each reply beside NAME.prompt.md as NAME.reply.md")

    async def _awaited(self, path: Path) -> str:
        """Return the content of a file once it has not changed for `rest_s` seconds."""
        seen, since = None, 0.0
        while True:
            found = await asyncio.to_thread(_state, path)
            if found != seen:
                seen, since = found, self._clock()
            if found is not None and self._clock() - since >= self._rest_s:
                try:
                    return await asyncio.to_thread(_read, path)
                except OSError as error:
                    self._often("unreadable", one_line(f"{path} cannot be read: {error.strerror}; waiting"))
            await asyncio.sleep(LOOK_S)


def _state(path: Path) -> tuple[int, int, int] | None:
    """Return inode, size and modification time, to notice changes; None if the file is missing or empty."""
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_ino, found.st_size, found.st_mtime_ns) if found.st_size else None


def _read(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(LONGEST_REPLY).decode(errors="replace")
