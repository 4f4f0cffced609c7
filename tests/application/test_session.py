"""A session of a run from Python: begun, cancelled in order, gone on with, finished."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from behavesim.analysis.run import Run
from behavesim.application import session
from behavesim.application.launch import new_launch, next_launch
from behavesim.base.errors import JournalError, UsageError
from behavesim.engine.build import Launch
from behavesim.engine.due import next_decision
from behavesim.engine.loop import Search
from behavesim.state.events import Event, RunResumed
from behavesim.state.state import RunState
from behavesim.store.database import progress
from behavesim.store.folder import RunFolder
from behavesim.store.journal import SqliteJournal
from tests.crash.processes import FEW_CITIES

UNCHOSEN = {"budget": 12, "method": "best-of-n", "proposer": "genetic", "window": 4, "recommend": False}


@asynccontextmanager
async def unseen(launch: Launch, search: Search) -> AsyncIterator[None]:
    yield


def cancelled(times: int) -> session.View:
    """Shows nothing, and cancels the session so many times when five candidates have been told."""

    @asynccontextmanager
    async def view(launch: Launch, search: Search) -> AsyncIterator[None]:
        this = asyncio.current_task()
        assert this is not None

        async def watch() -> None:
            while search.state.registered < 5:
                await asyncio.sleep(0)
            for _ in range(times):
                this.cancel()
                await asyncio.sleep(0)

        watching = asyncio.create_task(watch())
        yield
        await watching

    return view


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A finished run whose session nobody has disturbed, only to be copied."""
    launch = new_launch(FEW_CITIES, tmp_path_factory.mktemp("runs"), UNCHOSEN, name="calm")
    assert asyncio.run(session.begin(launch, unseen, pytest.fail)).reason == "budget"
    return launch.folder


@pytest.fixture
def first(calm: RunFolder, tmp_path: Path) -> RunFolder:
    """A copy of it."""
    return RunFolder(shutil.copytree(calm.path, tmp_path / "first"))


@pytest.mark.parametrize(("times", "stopped"), [(1, "interrupted"), (2, None)])
async def test_a_cancelled_session_ends_in_order_and_the_next_ends_as_if_nothing_had_happened(
    calm: RunFolder, tmp_path: Path, times: int, stopped: str | None
) -> None:
    cut = new_launch(FEW_CITIES, tmp_path, UNCHOSEN, name="cut")
    with pytest.raises(asyncio.CancelledError):
        await session.begin(cut, cancelled(times), pytest.fail)
    left = Run.load(cut.folder.path).state
    assert left.stopped == stopped
    assert left.registered < 12
    assert left.registered >= 5 or stopped is None, "decisions that were not committed are taken again"
    assert (await session.resume(next_launch(cut.folder, {}), unseen, pytest.fail)).reason == "budget"
    assert Run.load(cut.folder.path).state.digest() == Run.load(calm.path).state.digest()


async def test_a_method_that_never_decides_leaves_a_line_on_how_to_leave_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decides = threading.Event()

    def wait(state: RunState, *rest: Any) -> object:
        assert state.registered < 5 or decides.wait(60)
        return next_decision(state, *rest)

    monkeypatch.setattr("behavesim.engine.loop.next_decision", wait)
    monkeypatch.setattr(session, "ENDING_S", 0.0)
    cut = new_launch(FEW_CITIES, tmp_path, UNCHOSEN, name="cut")
    ending = asyncio.create_task(session.begin(cut, cancelled(1), pytest.fail))
    async with asyncio.timeout(30):
        while not any("press Ctrl-C until it ends" in each.text for each in cut.notices.said):
            await asyncio.sleep(0.01)
    decides.set()
    with pytest.raises(asyncio.CancelledError):
        await ending


async def test_a_session_cancelled_before_its_first_step_ends_in_order_too(tmp_path: Path) -> None:
    @asynccontextmanager
    async def cancelling(launch: Launch, search: Search) -> AsyncIterator[None]:
        this = asyncio.current_task()
        assert this is not None
        this.cancel()
        yield

    cut = new_launch(FEW_CITIES, tmp_path, UNCHOSEN, name="cut")
    with pytest.raises(asyncio.CancelledError):
        await session.begin(cut, cancelling, pytest.fail)
    left = Run.load(cut.folder.path).state
    assert (left.stopped, left.asked) == ("interrupted", 0)


async def test_a_session_cancelled_as_it_resumes_ends_in_order_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut = new_launch(FEW_CITIES, tmp_path, UNCHOSEN, name="cut")
    with pytest.raises(asyncio.CancelledError):
        await session.begin(cut, cancelled(2), pytest.fail)
    resuming = asyncio.create_task(session.resume(next_launch(cut.folder, {}), unseen, pytest.fail))
    append = SqliteJournal.append

    async def cancelling(journal: SqliteJournal, events: Sequence[Event]) -> None:
        await append(journal, events)
        if isinstance(events[-1], RunResumed):
            resuming.cancel()

    monkeypatch.setattr(SqliteJournal, "append", cancelling)
    with pytest.raises(asyncio.CancelledError):
        await resuming
    assert Run.load(cut.folder.path).state.stopped == "interrupted"


async def test_a_session_cancelled_as_its_journal_begins_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut = new_launch(FEW_CITIES, tmp_path, UNCHOSEN, name="cut")
    beginning = asyncio.create_task(session.begin(cut, unseen, pytest.fail))
    append = SqliteJournal.append

    async def cancelling(journal: SqliteJournal, events: Sequence[Event]) -> None:
        await append(journal, events)
        beginning.cancel()

    monkeypatch.setattr(SqliteJournal, "append", cancelling)
    with pytest.raises(asyncio.CancelledError):  # and not because the folder went before the journal was closed
        await beginning
    assert list(tmp_path.iterdir()) == []


async def test_a_gap_to_end_at_needs_a_best_known_score_also_in_a_resume_and_a_fork(
    first: RunFolder, tmp_path: Path
) -> None:
    changed, before = {"until_gap": 0.1, "budget": 20}, first.settings.read_text()
    new = new_launch(FEW_CITIES, tmp_path, {**UNCHOSEN, **changed}, name="new")
    fork = next_launch(first, changed, fork=RunFolder.named(tmp_path, "fork"))
    for beginning in (
        session.begin(new, unseen, pytest.fail),
        session.resume(next_launch(first, changed), unseen, pytest.fail),
        session.fork(fork, first, unseen, pytest.fail),
    ):
        with pytest.raises(UsageError, match="no best known score to measure a gap from"):
            await beginning
    assert not new.folder.path.exists() and not fork.folder.path.exists() and first.settings.read_text() == before


async def test_a_resume_that_fails_leaves_no_sandbox_behind(first: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    inside: list[str] = []

    class Slow:
        async def __aenter__(self) -> None:
            await asyncio.sleep(0.1)
            inside.append("sandbox")

        async def __aexit__(self, *error: object) -> None:
            inside.remove("sandbox")

    monkeypatch.setattr(Launch, "judge", lambda launch: Slow())
    with sqlite3.connect(first.journal) as database:
        database.execute("UPDATE events SET payload = '{}' WHERE seq = 5")
    with pytest.raises(JournalError):
        await session.resume(next_launch(first, {"budget": 20}), unseen, pytest.fail)
    await asyncio.sleep(0.2)
    assert not inside


async def test_a_search_that_does_not_begin_says_what_it_is_doing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "SAID_S", 0.0)
    said: list[str] = []
    async with session._saying_still(said.append, "trying the template", lambda: f": {len(said)} of at most 9"):
        while len(said) < 2:
            await asyncio.sleep(0)
    assert said[:2] == [f"still trying the template, for 0 s so far: {done} of at most 9" for done in range(2)]


async def test_a_finished_run_is_not_searched_again_but_a_program_is_recommended_if_none_is(
    first: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "SAID_S", 0.01)  # a sandbox does not start in that time
    told: list[str] = []
    again = next_launch(first, {"recommend": True})
    for _ in range(2):
        assert (await session.resume(again, unseen, told.append)).reason == "finished"
    begun, *still = told
    assert begun == "trying the best programs of first on instances that the search has not seen"
    assert still and all(line.startswith(f"still {begun}, for ") for line in still)
    assert first.recommended.exists()


async def test_a_choice_among_fewer_candidates_is_noticed_and_made_again(first: RunFolder, tmp_path: Path) -> None:
    def interrupt(text: str) -> None:
        this = asyncio.current_task()
        assert this is not None
        this.cancel()  # as it begins to try the best programs

    await session.resume(next_launch(first, {"recommend": True}), unseen, list[str]().append)
    before = Run.load(first.path).state.recommended
    fork = next_launch(first, {"recommend": True}, fork=RunFolder.named(tmp_path, "second"))
    larger = next_launch(first, {"recommend": True, "budget": 16})
    for folder, work in (
        (fork.folder, session.fork(fork, first, unseen, interrupt)),
        (first, session.resume(larger, unseen, interrupt)),
    ):
        with pytest.raises(asyncio.CancelledError):
            await work
        left = Run.load(folder.path)
        assert left.state.stopped == "budget", "all that is missing is the choice"
        assert (left.state.has_recommended, progress(folder.journal).recommended) == (False, False)
        assert left.state.recommended == (None if folder is fork.folder else before)
        assert (await session.resume(next_launch(folder, {}), unseen, list[str]().append)).reason == "finished"
        done = Run.load(folder.path)
        assert (done.state.has_recommended, progress(folder.journal).recommended) == (True, True)
        assert done.recommended is not None and (done.recommended.source or "") in folder.recommended.read_text()


async def test_a_fork_leaves_the_run_it_comes_from_as_it_is(first: RunFolder, tmp_path: Path) -> None:
    digest = Run.load(first.path).state.digest()
    fork = next_launch(first, {"budget": 16}, fork=RunFolder.named(tmp_path, "second"))
    assert (await session.fork(fork, first, unseen, pytest.fail)).reason == "budget"
    assert Run.load(fork.folder.path).state.registered == 16
    assert Run.load(first.path).state.digest() == digest
