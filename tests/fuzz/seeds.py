"""Where the fuzzer begins: inputs as they ought to be, and those kept of earlier sessions."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from behavesim.sandbox.frames import encode_failure, encode_solutions
from behavesim.store import codec
from behavesim.store.codec import seal
from behavesim.store.database import new_journal
from tests.fuzz.targets import ROWS, Event, row, tasks
from tests.programs.forms import REFUSED, TAKEN
from tests.programs.replies import ACCEPTED, REJECTED
from tests.store.test_journal import EVENTS

CORPUS = Path(__file__).parent / "corpus"
MEGABYTE = 1 << 20
"""As far as inputs to be kept may go: larger ones are for `tests/programs/replies.py`."""


def seeds(target: str) -> Iterator[bytes]:
    """All inputs to begin with."""
    yield from MADE[target]()
    for path in sorted((CORPUS / target).glob("*")):
        yield path.read_bytes()


def _frames() -> Iterator[bytes]:
    for number, task in enumerate(tasks()[:3]):
        scope: dict[str, object] = {}
        exec(task.template, scope)
        solutions = [{"": task.solve(scope[task.entry_point], each)} for each in task.instances("search")]
        yield bytes([number]) + encode_solutions(solutions, MEGABYTE)
    yield b"\0" + encode_failure("exception", "ValueError: no")
    for number in range(4, 8):
        for shape in ([4], [2, 2], [0, 3], [1, 1, 4]):
            header = {"solutions": [[["", "<i2", shape]]]}
            yield bytes([128 + number]) + json.dumps(header).encode() + b"\0" + (b"\1\0" * 4 if 0 not in shape else b"")


def _replies() -> Iterator[bytes]:
    for case in (*ACCEPTED.values(), *REJECTED.values(), *TAKEN.values(), *REFUSED.values()):
        if len(case.text) < 5000:
            yield bytes([0 if case.finish_reason == "stop" else 1]) + case.text.encode(errors="replace")


def _rows() -> Iterator[bytes]:
    yield bytes([ROWS]).join(row(seq, event) for seq, event in enumerate(EVENTS, 1))
    yield from (row(1, event) for event in EVENTS)


def _files() -> Iterator[bytes]:
    yield journal(EVENTS, 512)
    yield journal(EVENTS[:6], 1024)


def journal(events: list[Event], page: int) -> bytes:
    """The file of a journal with such pages."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.db"
        with closing(sqlite3.connect(path)) as db:
            db.executescript(f"PRAGMA page_size = {page}; {new_journal()}")
            for seq, event in enumerate(events, 1):
                known = getattr(event, "candidate", None)
                row = (seq, 1e9, known, *codec.encode(event))
                db.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)", (*row, seal(*row)))
            db.commit()
        return path.read_bytes()


MADE: dict[str, Callable[[], Iterator[bytes]]] = {
    "decoder": _frames,
    "extraction": _replies,
    "answers": lambda: iter(()),
    "events": _rows,
    "rows": _rows,
    "file": _files,
}
