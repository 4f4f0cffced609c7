"""A run of a model that a person ends, or its time: what is being paid for arrives first, or is counted and said."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from behavesim.analysis.run import Run
from behavesim.analysis.summary import summary
from behavesim.application import session
from behavesim.application.launch import new_launch, next_launch
from behavesim.base.errors import ProposerError
from behavesim.engine.build import Launch
from behavesim.engine.loop import Search
from behavesim.reports.next_steps import ending
from behavesim.reports.words import state_in_words
from behavesim.state.events import Responded, RunResumed, RunStopped
from behavesim.store.reading import read_events
from tests.crash.processes import FEW_CITIES
from tests.proposers import chat_server as chat

pytestmark = pytest.mark.usefixtures("judged_here")

TIME_S = 600.0
GIVEN = {
    **{"budget": 20, "method": "best-of-n", "models": {"m": 1.0}, "connections": 4, "workers": 1},
    **{"window": 64, "recommend": False, "max_time_s": TIME_S, "request_timeout_s": 10 * TIME_S},
}


@pytest.fixture
def launch(server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Launch:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    return new_launch(FEW_CITIES, tmp_path, GIVEN, name="first")


async def interrupted(launch: Launch, then: Callable[[], object] = lambda: None) -> Run:
    """The run, which was cancelled when all its connections were in use; `then` is called once that has been said."""

    @asynccontextmanager
    async def view(launch: Launch, search: Search) -> AsyncIterator[None]:
        this = asyncio.current_task()
        assert this is not None

        async def watch() -> None:
            while launch.requests.under_way != 4:
                await asyncio.sleep(0.01)
            this.cancel()
            while not launch.notices.said:
                await asyncio.sleep(0.01)
            then()

        watching = asyncio.create_task(watch())
        yield
        await watching

    with pytest.raises(asyncio.CancelledError):
        await session.begin(launch, view, pytest.fail)
    return Run.load(launch.folder.path)


async def test_replies_that_are_under_way_are_waited_for_and_no_others_are_asked_for(
    launch: Launch, server: Any
) -> None:
    server.behaviour = chat.improving
    server.answering.clear()
    run = await interrupted(launch, server.answering.set)
    (notice,) = launch.notices.said
    assert notice.text == "waiting for 4 replies under way (at most 30 s); Ctrl-C again to leave now"
    answered = [event for _, _, event in read_events(run.folder.journal) if isinstance(event, Responded)]
    assert len(answered) == len(server.asked) == 4
    assert (run.state.stopped, run.state.under_way, summary(run).unanswered) == ("interrupted", 0, 0)
    assert not any("under way" in line for line in ending(run, launch.settings, "interrupted"))


async def test_whoever_does_not_wait_is_told_how_many_requests_may_be_billed_for_nothing(
    launch: Launch, server: Any
) -> None:
    server.behaviour = chat.script(then=chat.stall(600))
    run = await interrupted(launch, launch.requests.abandon)
    assert (run.state.stopped, run.state.under_way, summary(run).unanswered) == ("interrupted", 4, 4)
    said = "4 requests under way may have been billed, and are made again on resume"
    assert said in ending(run, launch.settings, "interrupted")
    server.behaviour = chat.improving
    await goes_on_knowing_of_four(launch, {})


async def test_the_time_of_a_run_ends_it_and_says_what_may_have_been_billed(launch: Launch, server: Any) -> None:
    server.behaviour = chat.script(chat.improving, chat.improving, then=chat.stall(600))

    @asynccontextmanager
    async def view(launch: Launch, search: Search) -> AsyncIterator[None]:
        passing = asyncio.create_task(pass_time())
        yield
        await passing

    async def pass_time() -> None:
        while len(server.asked) < 2 + 4:
            await asyncio.sleep(0.01)
        launch.clock.world = map(float, itertools.count()).__next__  # a second whenever somebody looks
        while launch.clock() < TIME_S:
            pass

    ended = await session.begin(launch, view, pytest.fail)
    assert ended.reason == "max_time"
    said = ending(ended.run, launch.settings, ended.reason)
    assert "stopped: its time of 10 min is up; " in said[0]
    assert "4 requests under way may have been billed, and are made again on resume" in said
    *_, (_, _, last) = read_events(launch.folder.journal)
    assert last == RunStopped("max_time", under_way=4)
    server.behaviour = chat.improving
    await goes_on_knowing_of_four(launch, {"max_time_s": 2 * TIME_S})


async def goes_on_knowing_of_four(launch: Launch, changes: dict[str, Any]) -> None:
    """Resumed, the run goes to its end, and counts the four requests that were given up."""

    @asynccontextmanager
    async def unseen(launch: Launch, search: Search) -> AsyncIterator[None]:
        yield

    ended = await session.resume(next_launch(launch.folder, changes), unseen, pytest.fail)
    assert (ended.reason, summary(ended.run).unanswered) == ("budget", 4)
    resumed = [event for _, _, event in read_events(launch.folder.journal) if isinstance(event, RunResumed)]
    assert [event.unanswered for event in resumed] == [4]


async def test_replies_without_content_that_were_billed_before_a_stop_are_counted_by_the_run(
    launch: Launch, server: Any
) -> None:
    empty = {asked: chat.null_content() for asked in range(4)}
    server.behaviour = lambda asked: empty.get(asked.number, chat.fails(401))

    @asynccontextmanager
    async def unseen(launch: Launch, search: Search) -> AsyncIterator[None]:
        yield

    with pytest.raises(ProposerError, match="check OPENAI_API_KEY"):
        await session.begin(launch, unseen, pytest.fail)
    run = Run.load(launch.folder.path)
    assert (run.state.stopped, run.state.tally.tokens) == ("failed", {})
    assert "check OPENAI_API_KEY" in (summary(run).failure or "")
    assert "check OPENAI_API_KEY" in state_in_words(summary(run))
    # Requests that were refused are not billed; a request that the stop cut off may be.
    assert 4 <= summary(run).unanswered <= 4 + 3


async def test_a_session_that_is_cancelled_again_while_it_waits_leaves_at_once(launch: Launch, server: Any) -> None:
    server.behaviour = chat.script(then=chat.stall(600))
    this = asyncio.current_task()
    assert this is not None
    run = await interrupted(launch, this.cancel)
    this.uncancel()
    assert run.state.stopped is None


async def test_notes_under_way_at_a_kill_are_counted_and_asked_for_again(
    server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    given = {**GIVEN, "method": "reevo", "initial_population": 3, "population": 8}
    launch = new_launch(FEW_CITIES, tmp_path, given, name="noting")
    template = launch.task.template
    nodes = ("unvisited_nodes[-1]", *(f"unvisited_nodes[len(unvisited_nodes) // {k}]" for k in (2, 3)))
    programs = [template.replace("unvisited_nodes[0]", node) for node in nodes]  # of different scores
    server.behaviour = chat.script(*(chat.says(f"```python\n{each}\n```") for each in programs), then=chat.stall(600))
    this = asyncio.current_task()
    assert this is not None
    run = await interrupted(launch, this.cancel)
    this.uncancel()
    assert run.state.stopped is None
    waiting = tuple(note.asked.number for note in run.state.awaited_notes)
    assert len(waiting) >= 4
    server.behaviour = chat.improving
    await goes_on_knowing_of_four(launch, {})
    (resumed,) = [event for _, _, event in read_events(launch.folder.journal) if isinstance(event, RunResumed)]
    assert (resumed.asked_again, resumed.notes_again) == ((), waiting)
