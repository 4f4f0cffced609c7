"""Replies from a folder: a file for each prompt, beside which somebody, or something, puts a file with the reply."""

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
"""What the model is called whose replies these are: a name for `prices`, which nobody else can know."""
LONGEST_REPLY = 4 * 2**20
"""Bytes of a reply that are read; nobody writes more."""
LOOK_S = 0.25
"""How often a reply is looked for."""


class FolderSettings(ProposerSettings):
    """The settings of a proposer that waits for files."""

    keeps_requests = True

    reply_rest_s: Adjustable[float] = Field(2.0, ge=0)
    """Seconds for which a reply's file must not have changed before it is taken."""

    def models_asked(self) -> tuple[str, ...]:
        """Whoever answers, whose price is unknown unless it is named."""
        return (MODEL,)


class FolderProposer(Proposer[FolderSettings]):
    """Writes `NAME.prompt.md` for each prompt, whole from the start, and waits for `NAME.reply.md`, days if need be.

    NAME is made of the candidate's number and a hash of the seed, the number and the prompt. So a resumed run waits for
    the same names, and takes what came meanwhile; nothing is asked for twice. A reply is taken once it is not empty and
    has not changed for `rest_s`; whoever writes slowly writes under another name, and renames the file.
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
        """`tell` is told, in a line each, where the prompts are, and of a reply that cannot be read."""
        self._folder, self._seed, self._rest_s = folder, seed, rest_s
        self._tell, self._clock = tell, clock or Heartbeat()
        self._often = Sparing(tell, self._clock)
        self._has_told = False

    @classmethod
    def of(cls, settings: FolderSettings, errand: Errand) -> Self:
        """The proposer of a run; raises UsageError where no folder is named, or something else has its name."""
        if not errand.argument:
            raise UsageError("folder: needs the name of a folder behind it, such as --proposer folder:prompts")
        folder = Path(errand.argument).expanduser()
        if folder.exists() and not folder.is_dir():
            raise UsageError(f"{folder} is no folder; name another one behind folder:")
        return cls(folder, errand.seed, settings.reply_rest_s, errand.tell, errand.clock)

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        """The reply, whenever it comes; raises ProposerError where the prompt cannot be written."""
        name = self.name(prompt, number)
        await asyncio.to_thread(self._put, name, prompt.text)
        return Reply(await self._awaited(self._folder / f"{name}.reply.md"), MODEL)

    def name(self, prompt: Prompt, number: int) -> str:
        """What the files of a prompt are called; notes have the numbers from 0, too."""
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
        """The content of a file, once it has come to rest."""
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
    """By what a file's changes are known; None where there is no file, or an empty one."""
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_ino, found.st_size, found.st_mtime_ns) if found.st_size else None


def _read(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(LONGEST_REPLY).decode(errors="replace")
