"""Workers that lie: what they send is named, and nothing of it accepted, opened or run."""

from __future__ import annotations

import asyncio
import os
import pickle
import re
import struct
from contextlib import AsyncExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgpack
import pytest
from distributed.protocol import ToPickle, dumps, to_serialize

from behavesim.base.errors import SandboxError, UsageError
from behavesim.cluster import dispatcher, protocol, runner
from behavesim.cluster.dispatcher import Terms
from behavesim.cluster.protocol import NUMBER, LineLost, Order
from behavesim.cluster.runner import NOT_ENTERED, ClusterRunner
from behavesim.cluster.schedulers import Scheduler
from behavesim.cluster.task_files import TaskFiles, platform_facts
from behavesim.sandbox.connection import RawResult
from behavesim.sandbox.limits import Limits
from tests.cluster.fakes import Fake, Script, ready, scheduler_of, served

REACHED = [1, 5, 0.001, False]
ENDING = [0, "", 0.01, 1000, *REACHED]
ORDER = Order("functions", "x:y", "search", True, TaskFiles({}).hash, "", limits=Limits(timeout_s=0.1))
TERMS = Terms(ORDER, TaskFiles({}), platform_facts(), False, 1000)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "LOOK_S", 0.1)
    monkeypatch.setattr(runner, "AGAIN_S", 0.1)


def on(scheduler: str, told: list[str]) -> ClusterRunner:
    return ClusterRunner(nullcontext(Scheduler(scheduler)), TERMS, 1, told.append)


async def honest(fake: Fake) -> None:
    """Answers each program with the frame b"honest", after a while."""
    while True:
        for job in await fake.jobs():
            await asyncio.sleep(0.02)
            await fake.send({"ran": [[job, ENDING, b"honest", []]]})


def answers(*values: Any) -> Script:
    """Answers a program with a result of these values behind its number."""

    async def script(fake: Fake) -> None:
        job, *_ = await fake.jobs()
        await fake.send({"ran": [[job, *values]]})

    return script


def says(message: Any) -> Script:
    """Answers a program with a message."""

    async def script(fake: Fake) -> None:
        await fake.jobs()
        await fake.send(message)

    return script


def sends(data: bytes) -> Script:
    """Answers a program with bytes."""

    async def script(fake: Fake) -> None:
        await fake.jobs()
        await fake.raw(data)

    return script


def framed(*frames: bytes) -> bytes:
    """A message of these frames as Dask sends it."""
    prelude = struct.pack(f"<Q{len(frames)}Q", len(frames), *map(len, frames))
    body = prelude + b"".join(frames)
    return NUMBER.pack(len(body)) + body


LIES = {
    "no MessagePack": sends(framed(b"\xc1")),
    "no frames": sends(framed()),
    "endless": sends(NUMBER.pack(1 << 60)),
    "endless frames": sends(NUMBER.pack(16) + NUMBER.pack(1 << 40)),
    "a frame without end": sends(NUMBER.pack(16) + NUMBER.pack(1) + NUMBER.pack(1 << 50)),
    "an extension": sends(framed(msgpack.packb({"ran": msgpack.ExtType(1, b"x")}))),
    "deep": sends(framed(b"\x91" * 3000 + b"\xc0")),
    "no mapping": says([1]),
    "unknown": says({"beat": 1, "result": 5}),
    "no list": says({"ran": 5}),
    "no result": says({"ran": [5]}),
    "no frame": answers(ENDING, "text", None),
    "a large frame": answers(ENDING, b"x" * 1001, None),
    "no status": answers([-1, "", 0.01, 1000, *REACHED], b"", None),
    "a stopped process": answers([0x137F, "", 0.01, 1000, *REACHED], b"", None),
    "cancelled by nobody": answers([0, "cancelled", 0.01, 1000, *REACHED], b"", None),
    "no number of seconds": answers([0, "", float("nan"), 1000, *REACHED], b"", None),
    "text for seconds": answers([0, "", "1", 1000, *REACHED], b"", None),
    "a first call longer than all": answers([0, "", 0.01, 1000, 1, 5, 0.02, False], b"", None),
    "a number of other processes": answers([0, "", 0.01, 1000, 1, 5, 0.001, 2], b"", None),
    "no failure": says({"failed": [[0, 5]]}),
    "another reason": says({"failed": "all"}),
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
async def test_a_worker_that_lies_is_named_and_its_program_runs_elsewhere(lie: Script) -> None:
    told: list[str] = []
    async with scheduler_of(ready(lie), ready(honest)) as scheduler, on(scheduler, told) as running:
        found = await asyncio.gather(*(running.run("a program") for _ in range(3)))
    assert [each.frame for each in found] == [b"honest"] * 3
    assert any(text.startswith("worker 0 is left out, nothing of this was accepted: ") for text in told)


def knows(told: Any) -> Script:
    """Says this of itself where its facts are asked for."""

    async def conversation(fake: Fake) -> None:
        await fake.receive()
        await fake.send({"status": "OK"})
        await fake.receive()
        await fake.send(told)

    return conversation


@pytest.mark.parametrize(
    ("liar", "said"),
    [
        (knows({"facts": 5}), "facts were expected, not"),
        (knows({"facts": {"python": "3" * 5000}}), "facts were expected, not"),
        (ready(honest, "unbreakable"), "a message came that could not come here"),
    ],
)
async def test_a_worker_that_lies_before_it_serves_is_left_out(liar: Script, said: str) -> None:
    told: list[str] = []
    async with scheduler_of(liar, ready(honest)) as scheduler, on(scheduler, told) as running:
        assert (await running.run("a program")).frame == b"honest"
    assert any(text.startswith(f"worker 0 is left out, nothing of this was accepted: {said}") for text in told)


async def test_a_worker_that_lives_and_ends_no_program_loses_it_to_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatcher, "GRACE_S", 0.1 - ORDER.limits.wall_kill_s)

    async def idle(fake: Fake) -> None:
        while True:
            await fake.send({"beat": 1})
            await asyncio.sleep(0.02)

    told: list[str] = []
    async with scheduler_of(ready(idle), ready(honest)) as scheduler, on(scheduler, told) as running:
        found = await asyncio.gather(*(running.run("a program") for _ in range(3)))
    assert [each.frame for each in found] == [b"honest"] * 3
    assert any("it has ended no program for 0.1 s, longer than any may take" in text for text in told)


async def endless(running: ClusterRunner) -> None:
    """Run programs for as long as that goes well."""
    while True:
        assert (await running.run("a program")).frame == b"honest"


async def test_nothing_more_runs_once_the_scheduler_is_lost() -> None:
    listed: dict[str, Any] = {}

    async def leaving(fake: Fake) -> None:
        await fake.receive()
        await fake.send({"workers": listed})
        await fake.receive()

    async with served(ready(honest)) as worker, served(leaving) as address:
        listed[worker] = {"name": 0, "status": "running"}
        running = on(address, [])
        with pytest.raises(SandboxError, match=re.escape(NOT_ENTERED)):
            _ = running.ready
        async with running:
            with pytest.raises(SandboxError, match="was lost"):
                await endless(running)
            with pytest.raises(SandboxError, match=r"the Dask scheduler \S+ was lost .*; start the cluster again"):
                await running.run("a program")


class Bomb:
    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.place),)


@pytest.mark.parametrize("wrapped", [ToPickle, to_serialize])
async def test_no_pickle_of_a_worker_is_opened(tmp_path: Path, wrapped: Any) -> None:
    frames = [bytes(each) for each in dumps({"ran": [[0, ENDING, wrapped(Bomb(tmp_path / "crater")), []]]})]
    told: list[str] = []
    async with scheduler_of(ready(sends(framed(*frames))), ready(honest)) as scheduler, on(scheduler, told) as running:
        found = await asyncio.gather(running.run("a program"), running.run("another"))
    assert [each.frame for each in found] == [b"honest"] * 2
    assert any("worker 0 is left out" in text for text in told)
    assert not (tmp_path / "crater").exists()
    pickle.loads(pickle.dumps(Bomb(tmp_path / "crater")))
    assert (tmp_path / "crater").exists(), "the bomb is one"


async def test_a_person_sees_how_many_workers_serve_and_how_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "RATED_S", 0.0)
    async with scheduler_of(ready(honest), ready(honest)) as scheduler, on(scheduler, []) as running:
        running.sight()
        await asyncio.gather(*(running.run("a program") for _ in range(4)))
        seen = re.fullmatch(r"2 workers, 2 places, (\d+\.\d) evaluations/s", running.sight())
    assert seen is not None and float(seen[1]) > 0


async def test_the_files_of_a_task_are_sent_in_pieces_and_once() -> None:
    said: list[Any] = []

    async def listening(fake: Fake) -> None:
        said.append([(name, len(piece)) for name, piece in fake.pieces])
        while True:
            said.append(message := await fake.receive())
            await fake.send({"ran": [[job, ENDING, b"done", []] for job, *_ in message["run"]]})

    files = TaskFiles({"data.npz": bytes(9 << 20), "empty": b""})
    terms = replace(TERMS, files=files, order=replace(ORDER, files_hash=files.hash))
    async with AsyncExitStack() as stack:
        scheduler = nullcontext(Scheduler(await stack.enter_async_context(scheduler_of(ready(listening)))))
        running = ClusterRunner(scheduler, terms, 1, lambda text: None)
        await stack.enter_async_context(running)
        for _ in range(3):
            await running.run("a program")
    assert said[0] == [("data.npz", 4 << 20), ("data.npz", 4 << 20), ("data.npz", 1 << 20), ("empty", 0)]
    assert {key for message in said[1:] for key in message} == {"run", "cancel"}


async def test_what_comes_of_programs_that_nobody_waits_for_is_ignored() -> None:
    async def eager(fake: Fake) -> None:
        await fake.send({"ran": [[77, ENDING, b"what nobody asked for", []]]})
        await honest(fake)

    async with scheduler_of(ready(eager)) as scheduler, on(scheduler, []) as running:
        assert (await running.run("a program")).frame == b"honest"


async def test_a_worker_whose_sandbox_fails_with_whatever_it_gets_is_left_out() -> None:
    async def failing(fake: Fake) -> None:
        while True:
            await fake.send({"failed": [[job, "no zygote starts"] for job in await fake.jobs()]})

    told: list[str] = []
    async with scheduler_of(ready(failing), ready(honest)) as scheduler, on(scheduler, told) as running:
        found: list[RawResult] = []
        while "worker 0 is left out, its sandbox fails: no zygote starts" not in told:
            found += await asyncio.gather(*(running.run("a program") for _ in range(3)))
    assert {each.frame for each in found} == {b"honest"}


async def test_a_worker_that_ends_with_whatever_it_gets_is_left_out() -> None:
    async def dying(fake: Fake) -> None:
        await fake.jobs()
        await fake.close()

    told: list[str] = []
    async with scheduler_of(ready(dying), ready(honest)) as scheduler, on(scheduler, told) as running:
        found: list[RawResult] = []
        while not any("is left out" in text for text in told):
            found += await asyncio.gather(*(running.run("a program") for _ in range(3)))
    assert {each.frame for each in found} == {b"honest"}
    assert any(text.startswith("worker 0 is left out, it fails with whatever it gets") for text in told)


async def test_a_worker_that_is_lost_as_the_run_ends_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async def serve(self: dispatcher.Link) -> None:
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:  # as a task group does if an error comes together with the cancellation
            raise LineLost("its connection was closed") from None

    monkeypatch.setattr(dispatcher.Link, "serve", serve)
    async with asyncio.timeout(60), scheduler_of(ready(honest)) as scheduler, on(scheduler, []) as running:
        ending = asyncio.create_task(running.__aexit__(None, None, None))
        await asyncio.wait([ending], timeout=30)
        assert ending.done()


async def test_of_many_workers_that_are_lost_together_the_first_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "MOST_NAMED", 2)
    goes = asyncio.Event()

    async def going(fake: Fake) -> None:
        await goes.wait()
        await fake.close()

    told: list[str] = []
    async with scheduler_of(ready(honest), *[ready(going)] * 4) as scheduler, on(scheduler, told):
        goes.set()
        while not any("more at the same time" in text for text in told):
            await asyncio.sleep(0.01)
    assert told[0] == "the cluster: 5 workers, 5 places, isolation strong+ (0, 1 and 3 more)"
    assert sum("was lost: its connection was closed" in text for text in told) == 2
    assert "worker losses: 2 more at the same time" in told


async def test_a_program_that_three_workers_are_lost_with_stops_the_run() -> None:
    async def dying(fake: Fake) -> None:
        await fake.jobs()
        await fake.close()

    async with scheduler_of(*[ready(dying)] * 3) as scheduler, on(scheduler, []) as running:
        with pytest.raises(SandboxError, match="3 workers were lost or failed while one program ran there"):
            await running.run("a program")


async def test_a_later_worker_whose_isolation_is_weaker_is_left_out() -> None:
    tries = 0

    async def late(fake: Fake) -> None:
        nonlocal tries
        tries += 1
        if tries > 1:  # otherwise it is lost before it is ready
            await ready(honest, "partial")(fake)

    told: list[str] = []
    async with scheduler_of(ready(honest, "strong"), late) as scheduler, on(scheduler, told) as running:
        assert running.ready.isolation == "strong"
        while not any(text.startswith("worker 1 is left out: its isolation is partial, the run's") for text in told):
            assert (await running.run("a program")).frame == b"honest"


async def test_the_weakest_isolation_of_the_first_workers_is_the_runs() -> None:
    workers = ready(honest), ready(honest, "process"), ready(honest, "strong")
    async with scheduler_of(*workers) as scheduler, on(scheduler, []) as running:
        assert running.ready.isolation == "process"


async def test_places_that_the_window_leaves_idle_are_told_of_once() -> None:
    told: list[str] = []
    async with AsyncExitStack() as stack:
        scheduler = nullcontext(Scheduler(await stack.enter_async_context(scheduler_of(*[ready(honest)] * 3))))
        runner_of_three = ClusterRunner(scheduler, TERMS, 1, told.append, window=2)
        running = await stack.enter_async_context(runner_of_three)
        for _ in range(3):
            await running.run("a program")
    assert [text for text in told if "window" in text] == [
        "at most 2 of these places are used: the window is 2, which is fixed for a run; begin another with --window 12"
    ]


async def test_what_is_no_scheduler_is_refused() -> None:
    async def silly(fake: Fake) -> None:
        await fake.receive()
        await fake.send({"workers": 5})

    async with served(silly) as address:
        with pytest.raises(
            SandboxError, match=r"the Dask scheduler tcp://\S+ was lost \(a list of workers was expected"
        ):
            async with on(address, []):
                pass


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", ""),
        (framed(msgpack.packb([1])), "its greeting is none of Dask's"),
        (b"", "does not answer within 0.1 s"),
    ],
    ids=["HTTP", "a list", "silence"],
)
async def test_a_server_of_something_else_is_refused(monkeypatch: pytest.MonkeyPatch, data: bytes, said: str) -> None:
    async def other(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        if not data:
            await reader.read()  # until the other side gives up
        writer.close()

    monkeypatch.setattr(protocol, "CONNECT_S", 0.1)
    server = await asyncio.start_server(other, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    with pytest.raises(UsageError, match=f"no Dask scheduler serves at .*{said}"):
        async with on(f"tcp://127.0.0.1:{port}", []):
            pass
