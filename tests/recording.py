"""Make a recording of `behavesim demo` anew, from its own replies and today's code: `python -m tests.recording [NAME]`.

The replies stay what the model wrote. The prompts are today's; the programs are evaluated again, minutes of CPU time.
With `--prompts` none is run: outcomes and times stay as recorded, and only decisions, prompts among them, are today's.
A new one comes from a finished run: `python -m tests.recording NAME RUN-FOLDER`, once the index has its words.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import time
from contextlib import closing
from pathlib import Path

from behavesim.analysis.run import Run
from behavesim.application.demo import DEMOS, Recording, recordings, unpack_recording
from behavesim.audit.audit import Audit
from behavesim.state.events import DECISIONS, Responded
from behavesim.store.codec import row_of
from behavesim.store.database import read_first_time
from behavesim.store.folder import RunFolder
from behavesim.store.reading import read_events

KEPT = ("best.py", "log.txt", "recommended.py", "run.db", "settings.toml")
"""The files of the run that are packed, if they are there; with an evaluator also its task's folder."""
LOOK_S = 0.2
"""Seconds between two looks for prompts that have no reply yet."""


def replies(folder: RunFolder) -> dict[int, str]:
    """Return the text of each candidate's reply in a run."""
    events = (event for _, _, event in read_events(folder.journal, only=(Responded,)))
    return {event.candidate: event.reply.text for event in events if isinstance(event, Responded)}


def made(place: Path, recording: Recording, recorded: RunFolder) -> RunFolder:
    """Make the run again in `place`, with its own settings and replies, and return its folder."""
    known, settings = replies(recorded), recorded.settings.resolve()
    task = recording.name
    if (recorded.path / "task").is_dir():  # with an evaluator: the file that names it, and the evaluator beside that
        shutil.copytree(recorded.path / "task", place / "task")
        task = str(next((place / "task").glob("*.toml")))
    command = [sys.executable, "-m", "behavesim", "run", task, "--name", recording.run]
    with subprocess.Popen([*command, "--config", str(settings)], cwd=place) as running:
        while running.poll() is None:
            for prompt in place.glob("prompts/*.prompt.md"):
                reply = prompt.with_name(prompt.name.replace(".prompt.", ".reply."))
                if not reply.exists():
                    reply.write_text(known[int(prompt.name.partition("-")[0])], encoding="utf-8")
            time.sleep(LOOK_S)
    assert running.returncode == 0
    return RunFolder(place / "runs" / recording.run)


def decided_anew(folder: RunFolder) -> RunFolder:
    """Return a run's folder after its decisions were replaced by today's; replies and outcomes stay."""
    run, rows = Run.load(folder.path), []
    audit = Audit(run.settings, run.task())
    for seq, at, event in list(read_events(folder.journal)):
        decided = (audit.due(event) if isinstance(event, DECISIONS) else None) or event
        audit.take(decided)
        rows.append(row_of(seq, at, decided))
    with closing(sqlite3.connect(folder.journal)) as journal:
        with journal:  # one transaction
            journal.execute("DELETE FROM events")
            journal.executemany(f"INSERT INTO events VALUES ({', '.join('?' * len(rows[0]))})", rows)
        journal.execute("VACUUM")  # or the archive would hold the old prompts, too
    return folder


def _of_nobody(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Return a file of the archive without the name of who packed it."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def pack(recording: Recording, folder: RunFolder, task: Path) -> None:
    """Pack a run's files and the folder of its `task`, if any, and name the time of its first event in the index."""
    with tarfile.open(recording.archive, "w:xz") as archive:
        for name in KEPT:
            if (folder.path / name).exists():
                archive.add(folder.path / name, name, filter=_of_nobody)
        if task.is_dir():
            archive.add(task, "task", filter=_of_nobody)
    path = DEMOS / "index.json"
    index = json.loads(path.read_text(encoding="utf-8"))
    index[recording.name]["began"] = read_first_time(folder.journal)
    path.write_text(json.dumps(index, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    given = [each for each in sys.argv[1:] if each != "--prompts"]
    named, source = (*given, "", "")[:2]
    for each in recordings().values():
        if named in ("", each.name):
            with tempfile.TemporaryDirectory() as folder:
                place = Path(folder)
                before = RunFolder(Path(source)) if source else unpack_recording(each, place / "before")
                again = decided_anew(before) if "--prompts" in sys.argv else made(place, each, before)
                pack(each, again, before.path / "task")
