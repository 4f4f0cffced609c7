"""Prompts asked in batches: found and paid for once, whatever is lost, refused, or killed in between."""

from __future__ import annotations

import asyncio
import json
import sqlite3
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
from behavesim.base.tokens import Usage
from behavesim.engine.build import Launch
from behavesim.engine.loop import Search
from behavesim.proposers import openai_batches
from behavesim.proposers.openai_settings import OPENAI, OpenAISettings
from behavesim.proposers.prices import PriceList
from behavesim.reports.next_steps import ending
from behavesim.state.events import BatchSent, Responded, RunResumed
from behavesim.store.folder import RunFolder
from behavesim.store.reading import read_events
from tests.crash.processes import FEW_CITIES
from tests.proposers import chat_server as chat
from tests.proposers.asking import KEY
from tests.proposers.batch_server import BatchServer

pytestmark = pytest.mark.usefixtures("judged_here")

GIVEN = {
    **{"budget": 9, "window": 4, "method": "best-of-n", "models": {"m": 1.0}, "workers": 1, "recommend": False},
    **{"batch": True, "prices": {"m": {"prompt": 1.0, "completion": 2.0}}, "max_rejected_share": 1.0},
}
"""Candidates 0 to 3 are asked for at once, later ones as earlier ones are registered."""


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[BatchServer]:
    async with BatchServer() as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        yield running


def launched(runs: Path, name: str = "first", **changes: Any) -> Launch:
    return new_launch(FEW_CITIES, runs, {**GIVEN, **changes}, name=name)


@asynccontextmanager
async def unseen(launch: Launch, search: Search) -> AsyncIterator[None]:
    yield


async def ended(launch: Launch) -> Run:
    return (await session.begin(launch, unseen, pytest.fail)).run


async def resumed(launch: Launch, **changes: Any) -> Run:
    return (await session.resume(next_launch(launch.folder, changes), unseen, pytest.fail)).run


async def killed(begin: Callable[[], Any], server: BatchServer, is_time: Callable[[], bool]) -> None:
    """Begin a session and cancel it twice at a moment: it writes nothing more, as after a kill."""
    running = asyncio.create_task(begin())
    while not is_time() and not running.done():
        await asyncio.sleep(0.005)
    running.cancel()
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    server.answering.set()


def sent(run: Run | Launch) -> list[BatchSent]:
    return [event for _, _, event in read_events(run.folder.journal) if isinstance(event, BatchSent)]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The run that asks its prompts one by one; it is only looked at."""

    async def run(folder: Path) -> Run:
        async with chat.ChatServer(chat.improving) as server:
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("OPENAI_BASE_URL", server.url)
                patch.setenv("OPENAI_API_KEY", KEY)
                return await ended(launched(folder, "alone", batch=False))

    return asyncio.run(run(tmp_path_factory.mktemp("alone")))


async def test_a_window_goes_as_one_batch_and_finds_what_single_requests_find(
    server: BatchServer, tmp_path: Path, alone: Run
) -> None:
    run = await ended(launched(tmp_path))
    assert [len(server.files[batch.file].splitlines()) for batch in server.batches.values()] == [4, 4, 1]
    assert run.state.digest() == alone.state.digest()
    assert summary(run).cost_usd == pytest.approx(9 * (100 * 1.0 + 50 * 2.0) / 1e6)
    assert {call.tier for event in replies(run) for call in event.reply.calls} == {"batch"}
    (begun, *_), names = sent(run), {batch.metadata["behavesim"] for batch in server.batches.values()}
    assert (begun.id, begun.numbers, begun.name in names) == ("", (0, 1, 2, 3), True)
    assert [event.id for event in sent(run) if event.id] == list(server.batches)
    assert not run.state.batched
    assert sorted(server.deleted) == sorted(server.files), "the vendor keeps no prompt and no reply"
    assert KEY.encode() not in b"".join(each.read_bytes() for each in run.folder.path.iterdir() if each.is_file())


def replies(run: Run) -> list[Responded]:
    return [event for _, _, event in read_events(run.folder.journal) if isinstance(event, Responded)]


MOMENTS = {
    "before the file is uploaded": ("upload", False),
    "after the file was uploaded": ("upload", True),
    "before the batch is made": ("create", False),
    "after the batch was made, its id unknown": ("create", True),
    "as the batch is looked at": ("look", False),
    "as its replies are read": ("output", False),
}


@pytest.mark.parametrize("moment", MOMENTS)
async def test_a_kill_around_a_batch_pays_nothing_twice(
    moment: str, server: BatchServer, tmp_path: Path, alone: Run
) -> None:
    step, is_done = MOMENTS[moment]
    kept = {"lost": server.lost, "fault": server.fault}
    stalled = chat.stall(600)
    setattr(server, "lost" if is_done else "fault", lambda now: stalled if now == step else None)
    launch = launched(tmp_path)
    await killed(lambda: session.begin(launch, unseen, pytest.fail), server, lambda: step in server.steps)
    server.lost, server.fault = kept["lost"], kept["fault"]
    run = await resumed(launch)
    assert run.state.digest() == alone.state.digest()
    assert len(server.billed) == 9
    assert summary(run).unanswered == 0
    assert len(server.batches) == 3


async def test_of_a_batch_that_is_half_read_the_rest_is_read_again(
    server: BatchServer, tmp_path: Path, alone: Run
) -> None:
    launch = launched(tmp_path)
    await ended(launch)
    with sqlite3.connect(launch.folder.journal) as journal:
        answered = [seq for seq, _, event in read_events(launch.folder.journal) if isinstance(event, Responded)]
        journal.execute("DELETE FROM events WHERE seq > ?", (answered[1],))
    server.deleted.clear()  # as the run did not come that far
    assert len(Run.load(launch.folder.path).state.batched) == 2
    run = await resumed(launch)
    assert run.state.digest() == alone.state.digest()
    assert len(server.billed) == 9 + 5, "what the journal never knew of is asked again, and the first batch is not"


async def test_whoever_interrupts_a_run_is_told_that_the_batch_goes_on(
    server: BatchServer, tmp_path: Path, alone: Run
) -> None:
    server.is_open = False
    launch = launched(tmp_path)
    running = asyncio.create_task(session.begin(launch, unseen, pytest.fail))
    while "look" not in server.steps:
        await asyncio.sleep(0.005)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    run = session.end_interrupted(launch).run
    said = "the batch with 4 prompts goes on at the endpoint; resume takes up its replies"
    assert ending(run, launch.settings, "interrupted") == [said, f"next: behavesim resume {run.folder.argument}"]
    server.is_open = True
    run = await resumed(launch, max_calls=4)  # all of which are paid for
    assert (run.state.stopped, run.state.registered, len(server.billed)) == ("max_calls", 4, 4)
    assert (await resumed(launch, max_calls=100)).state.digest() == alone.state.digest()


async def test_batches_that_are_left_behind_are_counted_and_their_prompts_asked_one_by_one(
    server: BatchServer, tmp_path: Path, alone: Run
) -> None:
    server.is_open = False
    launch = launched(tmp_path)
    await killed(lambda: session.begin(launch, unseen, pytest.fail), server, lambda: "look" in server.steps)
    run = await resumed(launch, batch=False)
    assert (run.state.digest(), summary(run).unanswered) == (alone.state.digest(), 4)
    (resume,) = [event for _, _, event in read_events(launch.folder.journal) if isinstance(event, RunResumed)]
    assert resume.unanswered == 4


async def test_a_fork_asks_its_own_prompts_and_leaves_a_batch_to_the_run_that_paid_for_it(
    server: BatchServer, tmp_path: Path
) -> None:
    server.is_open = False
    launch = launched(tmp_path, budget=4)
    await killed(lambda: session.begin(launch, unseen, pytest.fail), server, lambda: "look" in server.steps)
    server.is_open = True
    fork = next_launch(launch.folder, {}, fork=RunFolder(tmp_path / "fork"))
    forked = (await session.fork(fork, launch.folder, unseen, pytest.fail)).run
    run = await resumed(launch)
    assert (run.state.registered, run.state.digest()) == (4, forked.state.digest())
    assert [len(batch.billed) for batch in server.batches.values()] == [4, 4]


async def test_what_a_batch_leaves_undone_is_asked_in_the_next_and_given_up_after_three(
    server: BatchServer, tmp_path: Path, alone: Run
) -> None:
    server.ends = lambda batch: "expired" if batch.id == "batch_0" else "cancelled"
    server.undone = lambda batch, line: batch == 0 and line > 1
    run = await ended(launched(tmp_path))
    assert (run.state.digest(), len(server.billed)) == (alone.state.digest(), 9)
    server.undone = lambda batch, line: True
    run = await ended(launched(tmp_path, "undone", budget=3, models={"m": 1, "n": 1}))
    assert run.state.tally.rejected == {"given-up": 3}
    assert {each.model for each in run.candidates} == {"m", "n"}
    for batch in server.batches.values():
        lines = server.files[batch.file].splitlines()
        assert len({json.loads(line)["body"]["model"] for line in lines}) == 1


async def test_a_line_that_is_refused_is_given_up_or_asked_without_what_is_refused(
    server: BatchServer, tmp_path: Path
) -> None:
    def particular(asked: chat.Asked) -> chat.Answer:
        if "temperature" in asked.body:
            return chat.fails(400, "Unsupported value: temperature", "unsupported_value", "temperature")
        if asked.number == 1:
            return chat.fails(400, "Too many tokens", "context_length_exceeded")
        return chat.null_content() if asked.number == 2 else chat.improving(asked)

    server.behaviour = particular
    run = await ended(launched(tmp_path, temperature=0.5, budget=4))
    assert run.state.tally.rejected == {"given-up": 1, "empty": 1}
    assert len(server.batches) == 2
    server.behaviour = lambda asked: chat.fails(404, "The model `m` does not exist", "model_not_found")
    missing = launched(tmp_path, "missing", budget=4)
    with pytest.raises(ProposerError, match="no such model"):
        await ended(missing)
    server.behaviour = lambda asked: chat.fails(404, "only supported in v1/responses", param="model")
    with pytest.raises(ProposerError, match="set batch=false, since no batch asks by the Responses API"):
        await resumed(missing)
    server.behaviour = chat.improving  # the model is there by now
    assert (await resumed(missing)).state.tally.feasible == 4


async def test_files_are_deleted_once_all_replies_are_in_the_journal_and_a_refusal_to_delete_harms_nothing(
    server: BatchServer, tmp_path: Path, alone: Run
) -> None:
    committed: list[int] = []
    launch = launched(tmp_path)

    def fault(step: str) -> chat.Answer | None:
        if step == "delete":
            committed.append(sum(isinstance(event, Responded) for _, _, event in read_events(launch.folder.journal)))
            return chat.fails(500, "not now") if len(committed) == 1 else None
        return None

    server.fault = fault
    run = await ended(launch)
    assert run.state.digest() == alone.state.digest()
    assert committed == [4, 4, 8, 8, 9, 9]
    assert len(server.deleted) == 5
    assert "of a batch stays at the endpoint" in (run.folder.path / "log.txt").read_text()


async def test_a_lost_answer_makes_no_second_batch(server: BatchServer, tmp_path: Path, alone: Run) -> None:
    faults = iter([chat.reset(), chat.fails(500), chat.fails(429, "slow down"), chat.invalid_json()])
    others = {"upload": iter([chat.document({})]), "output": iter([chat.fails(500)])}
    server.lost = lambda step: next(others.get(step, faults), None) if step != "list" else None
    run = await ended(launched(tmp_path))
    assert (run.state.digest(), len(server.billed), len(server.batches)) == (alone.state.digest(), 9, 3)


async def test_lines_of_another_form_are_left_out_of_what_a_batch_found(
    server: BatchServer, tmp_path: Path, alone: Run
) -> None:
    noise = b'null\n[0]\n{"custom_id": "0"}\n{"custom_id": "x", "response": {}}\n\xff\n' + b"[" * 100_000 + b"\n"
    server.lost = lambda step: chat.Answer(body=noise + [*server.files.values()][-1]) if step == "output" else None
    run = await ended(launched(tmp_path))
    assert (run.state.digest(), len(server.billed)) == (alone.state.digest(), 9)


async def test_a_refusal_of_the_first_batchs_prompts_or_replies_beyond_all_bounds_end_the_run(
    server: BatchServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.behaviour = lambda asked: chat.fails(400, "an invalid request of some other kind")
    with pytest.raises(ProposerError, match="some other kind"):
        await ended(launched(tmp_path, "refused"))
    assert len(server.batches) == 1
    server.behaviour = chat.improving
    monkeypatch.setattr("behavesim.proposers.openai_endpoint.FILE_BYTES", 10)
    with pytest.raises(ProposerError, match="the replies of a batch are longer than 0 MB"):
        await ended(launched(tmp_path, "endless"))


async def test_a_batch_that_is_refused_as_a_whole_waits_or_ends_the_run(
    server: BatchServer, tmp_path: Path, alone: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openai_batches, "FULL_S", 0.0)
    server.ends = lambda batch: "failed" if batch.id < "batch_4" else "completed"
    server.errors = {"data": [{"code": "token_limit_exceeded", "message": "Enqueued token limit reached"}]}
    run = await ended(launched(tmp_path))
    assert (run.state.digest(), len(server.billed)) == (alone.state.digest(), 9)
    server.ends, server.errors = lambda batch: "failed", {"data": [{"code": "invalid_url", "message": "no such URL"}]}
    refused = launched(tmp_path, "refused")
    with pytest.raises(ProposerError, match=r"refuses the batch.*no such URL"):
        await ended(refused)
    server.ends = lambda batch: "completed"
    assert (await resumed(refused)).state.digest() == alone.state.digest()


async def test_an_endpoint_without_batches_is_named(server: BatchServer, tmp_path: Path) -> None:
    server.fault = lambda step: chat.fails(404, "nothing here")
    with pytest.raises(ProposerError, match="go on with --set batch=false"):
        await ended(launched(tmp_path))


async def test_a_cap_on_cost_holds_over_batches(server: BatchServer, tmp_path: Path) -> None:
    run = await ended(launched(tmp_path, max_cost_usd=4.5 * 200e-6))
    assert (run.state.stopped, len(server.billed)) == ("max_cost", 4)
    assert [len(batch.billed) for batch in server.batches.values()] == [1, 3]


def test_a_batch_has_a_price_of_its_own_and_no_tier() -> None:
    usage = Usage(prompt=1_000_000, completion=1_000_000, tier="batch")
    single = PriceList(OPENAI).cost("gpt-6-luna", Usage(prompt=1_000_000, completion=1_000_000))
    assert single is not None
    assert PriceList(OPENAI).cost("gpt-6-luna", usage) == pytest.approx(single / 2)
    assert PriceList("https://api.example.com").cost("gpt-6-luna", usage) is None
    with pytest.raises(ValueError, match="without service_tier"):
        OpenAISettings(batch=True, service_tier="flex")
