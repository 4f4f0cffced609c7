"""Replies from a folder: each prompt is written to a file, and a person or program puts a reply file beside it."""

from __future__ import annotations

import asyncio
import hashlib
import math
from pathlib import Path
from typing import Self

from pydantic import Field

from behavesim.base.config import Adjustable
from behavesim.base.errors import ProposerError, UsageError
from behavesim.base.notices import Sparing
from behavesim.base.text import one_line
from behavesim.proposers.proposer import Proposer, ProposerContext, ProposerSettings
from behavesim.state.events import Prompt, Reply, note_number

# The model's name in the journal and in `prices`: who really answers is unknown.
MODEL = "folder"
# Most bytes of a reply file that are read; the rest is ignored.
REPLY_BYTES = 4 * 2**20
# Seconds between two looks for a reply file.
LOOK_S = 0.25


class FolderSettings(ProposerSettings):
    """The settings of the folder proposer."""

    counted_as = MODEL
    keeps_requests = True

    reply_rest_s: Adjustable[float] = Field(2.0, ge=0)
    """Seconds that a reply file must stay unchanged before it is read."""


class FolderProposer(Proposer[FolderSettings]):
    """Writes `NAME.prompt.md` for each prompt and waits for `NAME.reply.md`, for days if necessary.

    NAME contains the candidate's number and a hash of the seed, the number and the prompt. A resumed run therefore
    waits for the same files and uses replies that came in the meantime. A reply is read when it is not empty and has
    not changed for some seconds (`rest_s`). To write slowly, write to another name and rename the file.
    """

    settings_type = FolderSettings

    def __init__(self, folder: Path, rest_s: float, context: ProposerContext) -> None:
        """A reply file is read when it has not changed for `rest_s` seconds."""
        self._folder, self._seed, self._rest_s = folder, context.seed, rest_s
        self._tell, self._clock = context.tell, context.clock
        self._often = Sparing(self._tell, self._clock)
        self._has_told = False

    @classmethod
    def of(cls, settings: FolderSettings, context: ProposerContext) -> Self:
        """Return the proposer of a run, whose folder is `context.argument` and need not exist yet.

        Raises UsageError if no folder is named, or if the name is that of a file.
        """
        if not context.argument:
            raise UsageError("folder: needs the name of a folder behind it, such as --proposer folder:prompts")
        folder = Path(context.argument).expanduser()
        if folder.exists() and not folder.is_dir():
            raise UsageError(f"{folder} is no folder; name another one behind folder:")
        return cls(folder, settings.reply_rest_s, context)

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        """Write the prompt, and wait as long as it takes for a reply file that is not empty; return its text.

        Raises ProposerError if the prompt cannot be written.
        """
        name = self.name(prompt, number)
        await asyncio.to_thread(self._put, name, prompt.text)
        return Reply(await self._wait_for_reply(self._folder / f"{name}.reply.md"), MODEL)

    def name(self, prompt: Prompt, number: int) -> str:
        """Return NAME, such as 00012-1a2b3c4d for candidate 12, and note-00000-1a2b3c4d for the first note.

        The hash is eight hexadecimal digits from the run's seed, the number and the prompt's text.
        """
        digest = hashlib.sha256(f"{self._seed}\n{number}\n{prompt.text}".encode(errors="replace")).hexdigest()
        which = f"{number:05}" if number >= 0 else f"note-{note_number(number):05}"
        return f"{which}-{digest[:8]}"

    def _put(self, name: str, text: str) -> None:
        """Write the prompt to NAME.prompt.md unless that exists."""
        # under another name first, so that nobody reads half of it
        path = self._folder / f"{name}.prompt.md"
        draft = path.with_name(f".{name}.draft")
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            if not path.exists():  # a resumed run asks the same prompts again
                draft.write_text(text, encoding="utf-8", errors="replace")
                draft.replace(path)
        except OSError as error:
            raise ProposerError(f"cannot write {path}: {error.strerror}; mend that, then resume the run") from error
        if not self._has_told:
            self._has_told = True
            self._tell(f"prompts are in {self._folder}; put each reply beside NAME.prompt.md as NAME.reply.md")

    async def _wait_for_reply(self, path: Path) -> str:
        """Return the text of a file once it is not empty and has not changed for `rest_s` seconds."""
        seen, since = None, 0.0
        while True:
            found = await asyncio.to_thread(_state, path)
            if found != seen:  # inode too: an editor may replace a file by one of equal size and time
                seen, since = found, self._clock()
            if found is not None and self._clock() - since >= self._rest_s:
                _, size, _ = found
                if not size:  # a job that failed may leave it so: without a word the run would wait for good
                    self._tell(one_line(f"{path} is empty; waiting for a reply in it"))
                    since = math.inf
                    continue
                try:
                    return await asyncio.to_thread(_read, path)
                except OSError as error:
                    self._often("unreadable file", one_line(f"{path} cannot be read: {error.strerror}; waiting"))
            await asyncio.sleep(LOOK_S)


def _state(path: Path) -> tuple[int, int, int] | None:
    """Return inode, size in bytes and modification time (ns) of a file; None if missing or out of reach."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _read(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(REPLY_BYTES).decode(errors="replace")
