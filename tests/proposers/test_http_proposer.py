"""Programs from an agent over HTTP, in a run of the command's own loop."""

from __future__ import annotations

import asyncio
import json
import pickle
import stat
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession

import behavesim as bs
from behavesim.application.verification import verify_runs
from behavesim.base.errors import JournalError, ProposerError, UsageError
from behavesim.proposers.http import ADDRESS, HttpProposer
from behavesim.proposers.posted import PostedPrograms, PostedSettings
from behavesim.state.events import TUNE, Asked, Evaluated, Rejected, Reply, Responded
from behavesim.store.folder import RunFolder
from behavesim.store.journal import SqliteJournal
from behavesim.store.reading import read_events
from behavesim.trajectory import Trajectory
from tests.analysis.journals import started, write
from tests.proposers.asking import context, prompt

NEAREST = "def select_next_node(a, b, unvisited, d):\n    return unvisited[0]\n"
FARTHEST = NEAREST.replace("[0]", "[-1]")
FAULTY = NEAREST.replace("[0]", "[99]  # half a character: \ud83d")
SETTINGS: dict[str, Any] = {"method": "best-of-n", "proposer": "http", "window": 2, "recommend": False}


class Agent:
    """An agent that knows a run's folder alone."""

    def __init__(self, folder: Path, session: ClientSession) -> None:
        self._file, self._session = folder / ADDRESS, session

    async def __call__(self, method: str, path: str, body: object = None, token: str | None = None) -> tuple[int, Any]:
        async with asyncio.timeout(120):  # a run that has ended leaves no address
            while not (self._file.exists() and self._file.read_text()):
                await asyncio.sleep(0.01)
        known = json.loads(self._file.read_text())
        headers = {"Authorization": f"Bearer {known['token'] if token is None else token}"}
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        async with self._session.request(method, known["url"] + path, data=data, headers=headers) as answer:
            return answer.status, await answer.json()

    async def evaluated(self, program: str, **more: str) -> Any:
        status, told = await self("POST", "/evaluate", {"program": program, **more})
        assert status == 200
        return told


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    """The folder of a run with its first event alone."""
    write(tmp_path, started())
    return tmp_path


async def test_an_agent_is_told_the_task_and_the_outcome_of_each_program(tmp_path: Path) -> None:
    folder = tmp_path / "first"
    searching = asyncio.create_task(bs.search("tsp", budget=3, runs_dir=tmp_path, name="first", **SETTINGS))
    async with ClientSession() as session:
        agent = Agent(folder, session)
        status, task = await agent("GET", "/task")
        assert (status, task["task"], task["direction"]) == (200, "tsp", "minimise")
        assert stat.S_IMODE((folder / ADDRESS).stat().st_mode) == 0o600
        first = await agent.evaluated(FARTHEST, thought="The farthest first.")
        assert (first["candidate"], first["status"], first["gap"] > 4) == (0, "ok", True)
        assert await agent.evaluated(FARTHEST, thought="The farthest first.") == first  # and no candidate more
        rejected = await agent.evaluated(FAULTY)
        assert (rejected["status"], rejected["stage"], rejected["score"]) == ("rejected", "evaluation", None)
        assert await agent.evaluated(FAULTY) == rejected
        _, told = await agent("GET", "/status")
        assert (told["evaluated"], told["feasible"], told["budget"], told["best"]) == (2, 1, 3, first)
        last = await agent.evaluated(NEAREST)
        assert last["score"] == pytest.approx(6.53344, abs=1e-5)
    run = await searching
    assert [each.status for each in run.candidates] == ["feasible", "rejected", "feasible"]
    assert not (folder / ADDRESS).exists()
    # no prompt was sent to anybody, so there are no tokens to estimate
    assert (set(run.summary.tokens.values()), run.summary.estimated, run.summary.cost_usd) == ({0}, None, 0.0)


async def test_a_posted_program_is_kept_without_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "not-a-word-0123456789"
    monkeypatch.setenv("VENDOR_TOKEN", key)
    searching = asyncio.create_task(bs.search("tsp", budget=2, runs_dir=tmp_path, name="first", **SETTINGS))
    async with ClientSession() as session:
        agent = Agent(tmp_path / "first", session)
        first = await agent.evaluated(f"{NEAREST}\n# {key}", thought=f"with {key}")
        assert await agent.evaluated(f"{NEAREST}\n# {key}", thought=f"with {key}") == first
        await agent.evaluated(FARTHEST)
    await searching
    kept = [path for path in (tmp_path / "first").rglob("*") if path.is_file()]
    assert not [path.name for path in kept if key.encode() in path.read_bytes()]


async def test_a_run_that_was_stopped_goes_on_and_knows_what_was_posted(tmp_path: Path) -> None:
    searching = asyncio.create_task(bs.search("tsp", budget=2, runs_dir=tmp_path, name="first", **SETTINGS))
    async with ClientSession() as session:
        agent = Agent(tmp_path / "first", session)
        first = await agent.evaluated(NEAREST)
        searching.cancel()
        await asyncio.wait([searching])
        resuming = asyncio.create_task(bs.resume(tmp_path / "first"))
        assert await agent.evaluated(NEAREST) == first
        assert (await agent.evaluated(FARTHEST))["candidate"] == 1
    await resuming
    folder = RunFolder(tmp_path / "first")
    replies = [event for _, _, event in read_events(folder.journal, only=(Responded,))]
    assert len(replies) == 2
    assert (await verify_runs(folder)).is_sound


@pytest.mark.parametrize(
    ("status", "body", "token"),
    [
        (401, {"program": NEAREST}, "wrong"),
        (401, {"program": NEAREST}, ""),
        (400, b"{", None),
        (400, b"[" * 100_000, None),
        (400, [NEAREST], None),
        (400, {"program": 7}, None),
        (400, {"program": " "}, None),
        (400, {"program": NEAREST, "thought": 7}, None),
    ],
)
async def test_what_is_no_program_is_refused_with_a_reason(
    begun: Path, status: int, body: object, token: str | None
) -> None:
    about = context(folder=begun)
    async with HttpProposer.of(PostedSettings(), about) as proposer, ClientSession() as session:
        asking = asyncio.create_task(proposer.propose(prompt(), 0))
        given, told = await Agent(begun, session)("POST", "/evaluate", body, token)
        assert (given, "error" in told, asking.done()) == (status, True, False)
        asking.cancel()


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "said"),
    [
        ("GET", "/nothing", None, 404, "there is no GET /nothing, only POST /evaluate, GET /task and GET /status"),
        ("GET", "/evaluate", None, 405, "there is no GET /evaluate, only POST /evaluate"),
        ("POST", "/evaluate", {"program": "1" * 2**20}, 413, "Maximum request body size 1048576 exceeded"),
    ],
)
async def test_every_error_is_an_object_of_json(
    begun: Path, method: str, path: str, body: object, status: int, said: str
) -> None:
    async with HttpProposer.of(PostedSettings(), context(folder=begun)) as proposer, ClientSession() as session:
        asking = asyncio.create_task(proposer.propose(prompt(), 0))
        given, told = await Agent(begun, session)(method, path, body)
        assert (given, list(told)) == (status, ["error"]) and told["error"].startswith(said)
        asking.cancel()


@pytest.mark.parametrize("port", ["70000", "-1", "http"])
def test_what_is_no_port_is_refused(tmp_path: Path, port: str) -> None:
    with pytest.raises(UsageError, match="port"):
        HttpProposer.of(PostedSettings(), context(argument=port, folder=tmp_path))


async def test_a_port_that_is_taken_is_named(begun: Path) -> None:
    async with HttpProposer.of(PostedSettings(), context(folder=begun)) as proposer:
        asking = asyncio.create_task(proposer.propose(prompt(), 0))
        while not ((begun / ADDRESS).exists() and (begun / ADDRESS).read_text()):
            await asyncio.sleep(0.01)
        port = json.loads((begun / ADDRESS).read_text())["url"].rpartition(":")[2]
        async with HttpProposer.of(PostedSettings(), context(argument=port, folder=begun)) as another:
            with pytest.raises(ProposerError, match=f"cannot take programs at port {port}: .*in use"):
                await another.propose(prompt(), 0)
        asking.cancel()
    with pytest.raises(UsageError, match="posted programs are for a run, which needs a folder"):
        HttpProposer.of(PostedSettings(), context())


async def test_a_program_too_many_is_refused_and_one_without_an_outcome_is_told_that_the_run_has_stopped(
    begun: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("behavesim.proposers.posted.MOST_WAITING", 1)
    async with ClientSession() as session:
        agent = Agent(begun, session)
        async with HttpProposer.of(PostedSettings(), context(folder=begun)) as proposer:
            asking = asyncio.create_task(proposer.propose(prompt(), 0))
            taken = asyncio.create_task(agent("POST", "/evaluate", {"program": NEAREST}))
            assert NEAREST in (await asking).text
            both = [asyncio.create_task(agent("POST", "/evaluate", {"program": each})) for each in (FARTHEST, FAULTY)]
            (refused,), (waiting,) = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        assert await refused == (429, {"error": "1 programs wait already; post this one later"})
        said = {"error": "the run has stopped; resume it, and post the program again"}
        assert [await taken, await waiting] == [(503, said)] * 2


async def test_looks_at_the_journal_that_fail_are_told_once_and_followed_by_others(
    begun: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    looks = 0

    def failing(*given: Any, **more: Any) -> Any:
        nonlocal looks
        looks += 1
        if 1 < looks < 5:  # not the first, without which it does not listen
            raise JournalError("run.db: database is locked")
        return read_events(*given, **more)

    monkeypatch.setattr("behavesim.proposers.posted.read_events", failing)
    monkeypatch.setattr("behavesim.proposers.posted.LOOK_S", 0.01)
    async with (
        HttpProposer.of(PostedSettings(), context(folder=begun, tell=told.append)) as proposer,
        ClientSession() as session,
    ):
        asking = asyncio.create_task(proposer.propose(prompt(), 0))
        posted = asyncio.create_task(Agent(begun, session).evaluated(NEAREST))
        reply = await asking
        while looks < 5:
            await asyncio.sleep(0.01)
        outcome = Evaluated(0, NEAREST, 7.0, (7.0,), ())
        async with SqliteJournal(begun / "run.db") as journal:
            await journal.append([Asked(0, (), None, prompt()), Responded(0, reply), outcome])
        assert (await posted)["score"] == 7.0
    assert [line for line in told if "locked" in line] == [
        "agents wait for their outcomes, as the journal cannot be read now: run.db: database is locked"
    ]


async def test_each_program_is_told_its_own_outcome_also_one_that_repairs_another(
    begun: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("behavesim.proposers.posted.LOOK_S", 0.01)
    async with (
        PostedPrograms.of(PostedSettings(), context(folder=begun)) as proposer,
        SqliteJournal(begun / "run.db") as journal,
    ):
        first, second = (asyncio.create_task(proposer.evaluate(each)) for each in (FAULTY, NEAREST))
        reply = await proposer.propose(prompt(), 0)
        rejected = Rejected(0, "evaluation", "exception", "no such node")
        await journal.append([Asked(0, (), None, prompt()), Responded(0, reply), rejected])
        repair = await proposer.propose(prompt(), 0)  # which gets the program that waits, before the journal is read
        assert (await first, second.done()) == (rejected, False)
        outcome = Evaluated(0, "", 7.0, (), ())
        await journal.append([Asked(0, (), None, prompt()), Responded(0, repair), outcome])
        assert await second == outcome
        assert await proposer.evaluate(FAULTY) == rejected


async def test_candidates_that_the_machine_tunes_leave_the_agent_its_budget(begun: Path) -> None:
    async with (
        PostedPrograms.of(PostedSettings(), context(folder=begun, budget=2)) as proposer,
        SqliteJournal(begun / "run.db") as journal,
    ):
        replies = [Reply(FARTHEST, "http"), Reply("tuned", TUNE), Reply("", TUNE)]
        await journal.append([Responded(number, reply) for number, reply in enumerate(replies)])
        await proposer.follow()
        assert proposer.left == 1
        posted = asyncio.create_task(proposer.evaluate(NEAREST))  # while no candidate waits
        assert NEAREST in (await proposer.propose(prompt(), 3)).text
        posted.cancel()


async def test_whatever_else_ends_the_looks_ends_the_run(begun: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with HttpProposer.of(PostedSettings(), context(folder=begun)) as proposer:
        asking = asyncio.create_task(proposer.propose(prompt(), 0))
        while proposer._looking is None:
            await asyncio.sleep(0.01)

        def fault(*given: Any, **more: Any) -> Any:
            raise ZeroDivisionError

        with monkeypatch.context() as patch:
            patch.setattr("behavesim.proposers.posted.read_events", fault)
            with pytest.raises(ZeroDivisionError):
                await asking


async def test_no_program_and_no_text_of_the_journal_is_held(begun: Path) -> None:
    big, count = "# " + "x" * 20_000, 40
    tour = Trajectory.prefixes(list(range(1000)))
    async with SqliteJournal(begun / "run.db") as journal:
        for number in range(count):
            text = f"{number} {big}"
            said = [Asked(number, (), None, prompt()), Responded(number, Reply(text, "http"))]
            await journal.append([*said, Evaluated(number, text, 7.0, (7.0,), (tour,), thought=text)])
    async with HttpProposer.of(PostedSettings(), context(folder=begun)) as proposer:
        await proposer.follow()
        held = len(pickle.dumps((proposer._numbers, proposer._replies, proposer._outcome_of, proposer.outcomes)))
        assert len(proposer._numbers) == count
    assert held < 1_000 * count
