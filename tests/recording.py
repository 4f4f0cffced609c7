"""Make the recording of `behavesim demo` anew, from its own replies and today's code: `python -m tests.recording`.

The replies stay what the model wrote. The prompts are today's; the programs are evaluated again, 5 minutes of CPU time.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

from behavesim.application import console
from behavesim.application.console import NAME, RECORDED, unpack_recording
from behavesim.state.events import Responded
from behavesim.store.database import read_first_time
from behavesim.store.folder import RunFolder
from behavesim.store.reading import read_events

KEPT = ("best.py", "log.txt", "recommended.py", "run.db", "settings.toml")
"""The files of the run that are packed."""
LOOK_S = 0.2
"""Seconds between two looks for prompts that have no reply yet."""


def replies(folder: RunFolder) -> dict[int, str]:
    """Return the text of each candidate's reply in a run."""
    events = (event for _, _, event in read_events(folder.journal, only=(Responded,)))
    return {event.candidate: event.reply.text for event in events if isinstance(event, Responded)}


def made(place: Path, recorded: RunFolder) -> RunFolder:
    """Make the run again in `place`, with its own settings and replies, and return its folder."""
    known, settings = replies(recorded), recorded.settings.resolve()
    command = [sys.executable, "-m", "behavesim", "run", "asp", "--config", str(settings), "--name", NAME]
    with subprocess.Popen(command, cwd=place) as running:
        while running.poll() is None:
            for prompt in place.glob("prompts/*.prompt.md"):
                reply = prompt.with_name(prompt.name.replace(".prompt.", ".reply."))
                if not reply.exists():
                    reply.write_text(known[int(prompt.name.partition("-")[0])], encoding="utf-8")
            time.sleep(LOOK_S)
    assert running.returncode == 0
    return RunFolder(place / "runs" / NAME)


def _of_nobody(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Return a file of the archive without the name of who packed it."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def pack(folder: RunFolder) -> None:
    """Pack a run's files as the recording, and name the time of its first event in the code."""
    with tarfile.open(RECORDED, "w:xz") as archive:
        for name in KEPT:
            archive.add(folder.path / name, name, filter=_of_nobody)
    code = Path(console.__file__)
    text, began = code.read_text(encoding="utf-8"), read_first_time(folder.journal)
    code.write_text(re.sub(r"^BEGAN = .*$", f"BEGAN = {began!r}", text, flags=re.MULTILINE), encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as named:
        place = Path(named)
        pack(made(place, unpack_recording(place / "before")))
