"""What is fuzzed: each target takes any bytes, and raises where a promise about what others send or store is broken."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from behavesim.analysis.run import Run
from behavesim.audit.damage import list_damages, read_damaged
from behavesim.audit.recover import RecoveredEvents
from behavesim.base.errors import BehavesimError, JournalError
from behavesim.programs.answer import add_fence
from behavesim.programs.extract import extract
from behavesim.programs.parsing import LONGEST_PROGRAM, program_hash
from behavesim.programs.reading import REASONS, FunctionForm, Program, Request
from behavesim.proposers.openai_endpoint import Endpoint
from behavesim.sandbox.frames import PREFIX, FrameError, decode
from behavesim.sandbox.referee import verdict_on
from behavesim.state.events import Evaluated, Event, Rejected
from behavesim.state.state import RunState
from behavesim.store import codec
from behavesim.store.database import (
    count_registered,
    last_event_number,
    new_journal,
    progress,
    read_first_time,
)
from behavesim.store.reading import read_events, read_trajectories
from behavesim.task import Objective, Task, TaskReference, instances_of
from behavesim.task.verdict import Failure, Solved, Verdict
from behavesim.trajectory import Trajectory
from tests.programs.replies import TEMPLATE
from tests.proposers import hostile_answers
from tests.store.loose import anything_goes

ROWS = 0x1E
COLUMNS = 0x1F
FINISHED = ("stop", "length", "content_filter", None)


class Careless(Task):
    """Checks nothing, as a third party's task may: whatever is returned is added up and taken for a trajectory."""

    name = "careless"
    template = "def f(x): return x"
    objective = Objective("maximise")

    def __init__(self, trajectory: Callable[[Any], Trajectory]) -> None:
        self._trajectory = trajectory

    def instances(self, split: str) -> list[int]:
        return [0]

    def solve(self, function: Any, instance: Any) -> Any:
        return function(instance)

    def score(self, instance: Any, solution: Any) -> float:
        return float(np.asarray(solution, float).sum(axis=0).sum())

    def trajectory(self, instance: Any, solution: Any) -> Trajectory:
        return self._trajectory(solution)


@cache
def tasks() -> tuple[Task, ...]:
    """Ours, and careless ones for each kind of trajectory."""
    ours = (TaskReference(name).load() for name in ("tsp", "asp", "cpp", "bin_packing"))
    kinds = (Trajectory.prefixes, Trajectory.sequences, Trajectory.sets, Trajectory.vectors)
    return (*ours, *map(Careless, kinds))


@cache
def asked() -> Endpoint:
    """An endpoint that nobody asks."""
    return hostile_answers.endpoint()


def decoder(data: bytes) -> None:
    """A task's number, then a frame, or (from 128 on) a header, a zero byte and the arrays."""
    which, rest = (data or b"\0")[0], data[1:]
    task = tasks()[which % len(tasks())]
    if which >= 128:
        header, _, arrays = rest.partition(b"\0")
        rest = PREFIX.pack(len(header) + len(arrays), len(header)) + header + arrays
    try:
        held = decode(rest, len(task.instances("search")))
    except FrameError as error:
        storable(Rejected(0, "evaluation", "output", str(error)))
        return
    outcome = held if isinstance(held, Failure) else verdict_on(task, instances_of(task, "search"), Solved(held, 0.0))
    if isinstance(outcome, Verdict):
        storable(Evaluated(0, "", outcome.score, outcome.scores, outcome.trajectories))
    else:
        assert outcome.message.isprintable()
        storable(Rejected(0, "evaluation", outcome.reason, outcome.message))


def extraction(data: bytes) -> None:
    """How the model ended, then its reply in UTF-8."""
    text = data[1:].decode(errors="replace")
    found = extract(
        FunctionForm(TEMPLATE, "pick"),
        Request(text, finish_reason=FINISHED[(data or b"\0")[0] % len(FINISHED)], thought=True),
    )
    if isinstance(found, Failure):
        assert found.reason in REASONS
        storable(Rejected(0, "extraction", found.reason, found.message))
        return
    assert len(found.source) <= LONGEST_PROGRAM and len(found.thought) <= 500
    compile(found.source, "<program>", "exec", dont_inherit=True)
    storable(Rejected(0, "evaluation", "exit", "", found.source, found.thought, found.hash))
    assert found.hash == program_hash(found.source)
    again = extract(FunctionForm(TEMPLATE, "pick"), Request(add_fence(found.source), finish_reason="stop"))
    assert isinstance(again, Program), f"a program that was taken is none where a prompt shows it: {again}"


def answers(data: bytes) -> None:
    """What an endpoint answers, as `hostile_answers.check` has it."""
    hostile_answers.check(asked(), data)


def events(data: bytes) -> None:
    """Rows as `rows` has them, read and folded without a database."""
    state = RunState(Objective("minimise"))
    for row in data.split(bytes([ROWS])):
        values = ([_value(column) for column in row.split(bytes([COLUMNS]))] + [None] * 6)[:6]
        try:
            event = codec.decode(*values[3:])
        except ValueError as error:
            failure = str(error)
            assert failure.isprintable() and len(failure) <= 500, failure
            continue
        storable(event)
        with suppress(JournalError):
            state.apply(event)


def rows(data: bytes) -> None:
    """Rows of a journal between ROWS, their columns between COLUMNS, each a letter for its type and its value."""
    with _folder() as folder:
        path = folder / "run.db"
        path.write_bytes(_empty())
        with anything_goes(path) as db:
            for row in data.split(bytes([ROWS]))[:50]:
                values = [_value(column) for column in row.split(bytes([COLUMNS]))]
                with suppress(sqlite3.Error):
                    db.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)", (values + [None] * 7)[:7])
            for column in ("type", "payload"):  # what is no UTF-8 can be text all the same
                db.execute(f"UPDATE events SET {column} = CAST({column} AS TEXT) WHERE typeof({column}) = 'blob'")
        _read(path)


def file(data: bytes) -> None:
    """A journal's file, and behind the word its write-ahead log."""
    database, _, log = data.partition(b"LOGLOGLOG")
    with _folder() as folder:
        path = folder / "run.db"
        path.write_bytes(database)
        if log:
            path.with_name("run.db-wal").write_bytes(log)
        _read(path)


TARGETS: dict[str, Callable[[bytes], None]] = {
    "decoder": decoder,
    "extraction": extraction,
    "answers": answers,
    "events": events,
    "rows": rows,
    "file": file,
}


def storable(event: Event) -> None:
    """Every event that came of what others sent can be committed, and is read as it was."""
    assert codec.decode(*codec.encode(event)) == event


def row(seq: int, event: Event) -> bytes:
    """An event as `rows` takes it."""
    kind, payload, blob = codec.encode(event)
    columns = [f"i{seq}".encode(), b"f1e9", b"n", f"t{kind}".encode(), f"t{payload}".encode()]
    return bytes([COLUMNS]).join([*columns, b"n" if blob is None else b"b" + blob])


@contextmanager
def _folder() -> Iterator[Path]:
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


@cache
def _empty() -> bytes:
    """A journal's file without events."""
    with _folder() as folder, closing(sqlite3.connect(folder / "run.db")) as db:
        db.executescript(new_journal())
        return (folder / "run.db").read_bytes()


def _value(column: bytes) -> Any:
    kind, value = column[:1], column[1:]
    with suppress(ValueError, OverflowError):
        match kind:
            case b"i":
                return int(value) % 2**63
            case b"f":
                return float(value)
            case b"t":
                return value.decode()
            case b"n":
                return None
    return value


def _read(path: Path) -> None:
    """Whatever reads a journal does so, or raises JournalError with one line."""
    candidates: list[int] = []

    def events() -> Iterator[Event]:
        for _, _, event in read_events(path):
            if isinstance(event, Evaluated):
                candidates.append(event.candidate)
            yield event

    readers: list[Callable[[], Any]] = [
        *(lambda: list(events()), lambda: list(read_events(path, only=(Evaluated, Rejected)))),
        lambda: read_trajectories(path, [*candidates, 0]),
        *(
            lambda: read_first_time(path),
            lambda: last_event_number(path),
            lambda: count_registered(path),
            lambda: progress(path),
        ),
    ]
    for reader in readers:
        failure = None
        try:
            reader()
        except JournalError as error:
            failure = error
        assert "\n" not in str(failure)
    with suppress(JournalError):
        assert all("\n" not in line for line in list_damages(path))
    RecoveredEvents.of(event for _, event in read_damaged(path).values())
    with suppress(BehavesimError):
        run = Run.load(path.parent)
        json.dumps([run.state.digest(), run.best and run.best.score], allow_nan=False)
