"""What happens to files on disks that fail: bits flip, pages are zeroed, lost, mixed up or cut off."""

from __future__ import annotations

import random
import shutil
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path

from behavesim.audit.damage import read_damaged
from behavesim.audit.recover import recover
from behavesim.base.errors import JournalError
from behavesim.state.events import Event, Reply, Responded
from behavesim.store.folder import RunFolder
from behavesim.store.reading import read_events

PAGE = 4096


def flip(data: bytearray, rng: random.Random) -> None:
    """Some single bits, anywhere."""
    for _ in range(2 ** rng.randrange(10)):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def zero(data: bytearray, rng: random.Random) -> None:
    """Whole pages, or stretches that begin and end anywhere."""
    for _ in range(2 ** rng.randrange(5)):
        start, size = rng.randrange(len(data)), rng.randrange(1, 2 * PAGE)
        if rng.random() < 0.5:
            start, size = start // PAGE * PAGE, PAGE
        data[start : start + size] = bytes(len(data[start : start + size]))


def mix(data: bytearray, rng: random.Random) -> None:
    """Pages, or pieces of them, that stand where others were."""
    for _ in range(2 ** rng.randrange(5)):
        source, target = (rng.randrange(len(data) // PAGE) * PAGE for _ in range(2))
        start = rng.choice((0, rng.randrange(PAGE)))
        data[target + start : target + PAGE] = data[source + start : source + PAGE]


def cut(data: bytearray, rng: random.Random) -> None:
    """The end of the file is gone."""
    del data[rng.randrange(len(data)) :]


HARMS: tuple[Callable[[bytearray, random.Random], None], ...] = (flip, zero, mix, cut)


def harmed(sound: bytes, rng: random.Random) -> bytes:
    """A file after one to three of these."""
    data = bytearray(sound)
    for harm in rng.choices(HARMS, k=rng.randrange(1, 4)):
        if len(data) > PAGE:
            harm(data, rng)
    return bytes(data)


@cache
def _events(journal: Path) -> dict[int, tuple[float, Event]]:
    return {seq: (at, event) for seq, at, event in read_events(journal)}


def invented(sound: RunFolder, folder: Path, seed: int) -> list[str]:
    """Damage a copy of a run that has ended: a line for each event that is salvaged from it and never was."""
    run = RunFolder(folder)
    folder.mkdir()
    run.journal.write_bytes(harmed(sound.journal.read_bytes(), random.Random(seed)))
    whole, left = _events(sound.journal), read_damaged(run.journal)
    return [f"damage {seed}, event {seq}: {found}" for seq, found in left.items() if whole.get(seq) != found]


async def invented_by_recovery(sound: RunFolder, folder: Path, seed: int) -> list[str]:
    """The same for the replies of the run that `recover` makes, but for those that it says are lost."""
    found = invented(sound, folder, seed)
    run, target = RunFolder(folder), RunFolder(folder.with_name(f"{folder.name}-recovered"))
    shutil.copy(sound.settings, run.settings)
    try:
        done = await recover(run, target)
    except JournalError as error:
        return found if "start the run anew" in str(error) else [*found, f"damage {seed}: {error}"]
    known, replies = _replies(sound), _replies(target)
    return found + [
        f"damage {seed}, a reply to candidate {candidate}: {reply}"
        for candidate, each in replies.items()
        for reply in each
        if candidate not in done.lost and reply not in known[candidate]
    ]


def _replies(run: RunFolder) -> dict[int, list[Reply]]:
    found: dict[int, list[Reply]] = defaultdict(list)
    for _, _, event in read_events(run.journal, only=(Responded,)):
        assert isinstance(event, Responded)
        found[event.candidate].append(event.reply)
    return found
