"""Runs served to browsers: what is answered, to whom, and what it costs."""

from __future__ import annotations

import asyncio
import html
import os
import re
import shutil
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession

from behavesim.analysis.report import RunReport
from behavesim.application.serve import served_runs, server
from behavesim.base.errors import UsageError
from behavesim.state.events import Asked, Responded
from behavesim.store.folder import HELD_OUT, RunFolder
from behavesim.store.reading import read_last
from tests.analysis.journals import feasible, started, stopped, write

# Seconds after which a thread goes on by itself: else a failed test would keep the process from ending.
LONG_S = 60


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Changes are seen at once, and a server that would wait for who watches would never end."""
    monkeypatch.setattr(server, "SHUTDOWN_S", 3600.0)
    monkeypatch.setattr(server, "WAIT_S", 3600.0)
    monkeypatch.setattr(served_runs, "RENEW_S", 0.0)
    monkeypatch.setattr(served_runs, "SHARE", 1e9)


def scores(page: Any) -> Any:
    """The scores of all candidates of a page."""
    return page["data"]["candidates"]["score"]


def state(page: Any) -> str:
    """The state of the run of a page."""
    found = re.search(r'class="state (\w+)"', page["head"])
    assert found is not None
    return found[1]


async def test_all_runs_are_in_a_list_with_a_link_to_each(address: str, client: ClientSession) -> None:
    async with client.get(f"{address}/") as answer:
        text = await answer.text()
    assert answer.status == 200
    assert 'href="runs/first"' in text and 'href="runs/grid/second"' in text
    assert "finished" in text and 'value="grid/second"' in text


async def test_a_run_is_a_page_that_may_call_this_server_and_no_other(address: str, client: ClientSession) -> None:
    async with client.get(f"{address}/runs/grid/second") as answer:
        text = await answer.text()
    assert answer.status == 200
    assert "connect-src &#x27;self&#x27;" in text
    assert 'const ADDRESS = "grid/second";' in text
    assert "</script><b>" not in text


async def test_a_document_is_the_run_as_it_stands(address: str, client: ClientSession, folder: Path) -> None:
    async with client.get(f"{address}/document/first") as answer:
        before = await answer.json()
    assert scores(before) == [5.0, None]
    await asyncio.to_thread(write, folder / "first", feasible(2, 3.0))
    async with client.get(f"{address}/document/first", headers={"Accept-Encoding": "identity"}) as later:
        after = await later.json()
    assert scores(after) == [5.0, None, 3.0]
    assert answer.headers["ETag"] != later.headers["ETag"]
    RunFolder(folder / "first").keep(HELD_OUT, "programs were tried on held-out instances")
    async with client.get(f"{address}/document/first") as tried:
        assert tried.headers["ETag"] != later.headers["ETag"]


async def test_a_run_that_was_made_again_is_read_again(address: str, client: ClientSession, folder: Path) -> None:
    await client.get(f"{address}/document/first")
    shutil.rmtree(folder / "first")
    await asyncio.to_thread(write, folder / "first", started(seed=9))
    async with client.get(f"{address}/document/first") as answer:
        page = await answer.json()
    assert "seed 9" in page["head"] and scores(page) == []


async def test_a_run_made_again_with_as_many_events_or_more_is_read_again(
    address: str, client: ClientSession, folder: Path
) -> None:
    seen = []
    for seed, programs in ((9, 2), (10, 2), (11, 5)):
        await client.get(f"{address}/document/first")
        shutil.rmtree(folder / "first")
        again = [feasible(number, 100.0 * seed + number) for number in range(programs)]
        await asyncio.to_thread(write, folder / "first", started(seed=seed), *again)
        async with client.get(f"{address}/document/first") as answer:
            page, version = await answer.json(), answer.headers["ETag"]
        assert f"seed {seed}" in page["head"]
        assert scores(page) == [100.0 * seed + number for number in range(programs)]
        seen.append(version)
    assert len(set(seen)) == 3, "a page that is open hears that it is another run"


async def test_a_run_that_was_removed_is_not_found(address: str, client: ClientSession, folder: Path) -> None:
    await client.get(f"{address}/runs/first")
    shutil.rmtree(folder / "first")
    assert (await client.get(f"{address}/runs/first")).status == 404


TASK = """
from pathlib import Path
import numpy as np
import behavesim as bs

SIZES = [float(line) for line in Path("{data}").read_text().split()]

class Mine(bs.Task):
    "Any number."
    template = "def value(x):\\n    return 1.0\\n"
    objective = bs.Objective("minimise")
    normaliser = 4

    def instances(self, split):
        return SIZES

    def solve(self, value, instance):
        return np.array([value(instance)])

    def score(self, instance, solution):
        return 1.0

    def trajectory(self, instance, solution):
        return bs.Trajectory.prefixes([0, 1, 2, 3])

    def picture(self, instance):
        {picture}

task = Mine()
"""


@pytest.mark.parametrize(
    ("picture", "is_gone", "said"),
    [
        ("return 1 / 0", False, "`picture` of task &#x27;mine&#x27; raised ZeroDivisionError"),
        ("return 5", False, "must return a Route, Disks, Bins or None"),
        ("return {'places': ()}", False, "must return a Route, Disks, Bins or None, not dict"),
        ("return bs.Route(None)", False, "must return a Route, Disks, Bins or None"),
        ("return bs.Disks()", False, "does not suit its trajectories"),
        ("return None", True, "programs are not compared: the task file"),
        ("return None", None, "programs are not compared: there is no task file"),
    ],
)
async def test_a_task_that_fails_leaves_every_run_its_page_and_says_what_is_missing(
    address: str, client: ClientSession, folder: Path, tmp_path: Path, picture: str, is_gone: bool | None, said: str
) -> None:
    data, file = tmp_path / "sizes.txt", tmp_path / "mine.py"
    data.write_text("1 2")
    file.write_text(TASK.format(data=data, picture=picture))
    programs = feasible(0, 5.0), feasible(1, 4.0, [0, 1, 3, 2])
    await asyncio.to_thread(write, folder / "mine", started(task=str(file)), *programs)
    if is_gone is not False:
        (file if is_gone is None else data).unlink()
    async with client.get(f"{address}/runs/mine") as answer:
        text = await answer.text()
    assert answer.status == 200
    assert html.unescape(said) in html.unescape(text)
    async with client.get(f"{address}/document/mine") as answer:
        document = await answer.json()
    assert scores(document) == [5.0, 4.0]
    assert len(document["data"]["scenes"]) == 1, "the states are shown as numbers"
    assert ("map" in document["sections"]) == (is_gone is False)
    for path in ("runs/first", "", "compare?run=first&run=mine"):
        assert (await client.get(f"{address}/{path}")).status == 200


async def test_whatever_a_task_raises_ends_no_other_page(
    address: str, client: ClientSession, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text("raise SystemExit(3)\n")
    await asyncio.to_thread(write, folder / "mine", started(task=str(tmp_path / "mine.py")), feasible(0, 5.0))
    await client.get(f"{address}/runs/first")
    async with client.get(f"{address}/runs/mine") as answer:
        assert answer.status in (200, 500)
    assert (await client.get(f"{address}/document/first")).status == 200


async def test_what_takes_long_holds_up_nobody_else(
    address: str, client: ClientSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done, of_one, compared = threading.Event(), served_runs.run_page, served_runs.comparison

    def run_page(found: RunReport) -> Any:
        if found.summary.run == "first":
            done.wait(LONG_S)
        return of_one(found)

    def comparison(*reports: Any) -> Any:
        done.wait(LONG_S)
        return compared(*reports)

    monkeypatch.setattr(served_runs, "run_page", run_page)
    monkeypatch.setattr(served_runs, "comparison", comparison)
    paths = [*["runs/first"] * 6, *["document/first"] * 6, "compare?run=first", "compare?run=grid/second"]
    slow = [asyncio.create_task(client.get(f"{address}/{path}")) for path in paths]
    try:
        for path in ("", "runs/grid/second", "document/grid/second"):
            assert (await client.get(f"{address}/{path}")).status == 200
        assert not any(task.done() for task in slow)
    finally:
        done.set()
    assert {answer.status for answer in await asyncio.gather(*slow)} == {200}


async def test_a_page_that_takes_long_says_so_and_asks_again_until_it_is_there(
    address: str, client: ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    done, of_one = threading.Event(), served_runs.run_page

    def slow(found: RunReport) -> Any:
        done.wait(LONG_S)
        return of_one(found)

    monkeypatch.setattr(served_runs, "run_page", slow)
    with monkeypatch.context() as impatient:
        impatient.setattr(server, "WAIT_S", 0.01)
        for path in ("runs/first", "document/first"):
            async with client.get(f"{address}/{path}") as answer:
                assert (answer.status, answer.headers["Retry-After"]) == (202, "5")
                assert '<meta http-equiv="refresh" content="5">' in await answer.text()
    done.set()
    assert (await client.get(f"{address}/runs/first")).status == 200


async def test_the_list_shows_the_runs_that_it_has_read_while_it_reads_older_ones(
    address: str, client: ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    done, of_one = threading.Event(), served_runs.load_summary
    summaries: list[Any] = []

    def slow(folder: Any, is_kept: bool) -> Any:
        if summaries:  # any but the first
            done.wait(LONG_S)
        summaries.append(of_one(folder, is_kept))
        return summaries[-1]

    monkeypatch.setattr(served_runs, "load_summary", slow)
    with monkeypatch.context() as impatient:
        impatient.setattr(server, "LIST_WAIT_S", 0.01)
        said = ""
        while "1 older run still to be read" not in said:  # in a thread of the server, which takes its time
            async with client.get(f"{address}/") as answer:
                assert (answer.status, answer.headers["Retry-After"]) == (202, "5")
                said = await answer.text()
    assert '<meta http-equiv="refresh"' in said
    done.set()
    async with client.get(f"{address}/") as answer:
        whole = await answer.text()
    assert answer.status == 200 and "second" in whole and "first" in whole and "refresh" not in whole


def test_all_that_is_found_out_anew_takes_a_share_of_a_core_together_and_each_has_its_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, used, turns = 0.0, 0.0, Counter[int]()

    def find(number: int) -> Callable[[], int]:
        def found() -> int:
            nonlocal now, used
            now, used = now + 1.0, used + 1.0
            turns[number] += 1
            return number

        return found

    monkeypatch.setattr(served_runs, "SHARE", 0.2)
    monkeypatch.setattr(served_runs, "RENEW_S", 2.0)
    monkeypatch.setattr(served_runs.time, "monotonic", lambda: now)
    monkeypatch.setattr(served_runs.time, "thread_time", lambda: used)
    pace = served_runs.CpuBudget()
    held = [served_runs.Cached(find(number), pace) for number in range(6)]
    for renewed in held:
        renewed.value()  # who asks first does not wait
    began, spent = now, used
    while now < began + 1000:
        for renewed in sorted(held, key=lambda each: each.renewed_at):
            renewed.value()
        now += 0.25
    assert 0.15 < (used - spent) / (now - began) <= 0.2
    assert max(turns.values()) - min(turns.values()) <= 1


async def test_a_page_hears_of_each_change_until_the_last_and_gets_nothing_twice(
    address: str, client: ClientSession, folder: Path
) -> None:
    known, states = "", []
    for events in (feasible(2, 3.0), stopped("budget"), []):
        await asyncio.to_thread(write, folder / "first", events)
        for _ in range(2):  # the second question finds nothing new
            async with client.get(f"{address}/document/first", headers={"If-None-Match": known}) as answer:
                known = answer.headers["ETag"]
                states.append(state(await answer.json()) if answer.status == 200 else answer.status)
    assert states == ["stopped", 304, "finished", 304, 304, 304]


async def test_pages_of_one_run_share_its_document_and_only_the_last_runs_are_held(
    address: str, client: ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served_runs, "HELD", 1)
    asked = counting(monkeypatch, served_runs, "run_page")
    for run, made in (("first", 1), ("grid/second", 2), ("first", 3)):
        answers = await asyncio.gather(*(client.get(f"{address}/document/{run}") for _ in range(20)))
        assert {answer.status for answer in answers} == {200}
        assert asked["run_page"] == made


async def test_what_was_found_out_a_moment_ago_is_not_found_out_again(
    address: str, client: ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served_runs, "RENEW_S", 3600.0)
    asked = counting(monkeypatch, served_runs, "last_event_number", "run_page", "load_summary")
    for _ in range(20):
        await client.get(f"{address}/document/first")
        await client.get(f"{address}/")
    assert asked == {"last_event_number": 1, "run_page": 1, "load_summary": 2}


async def test_a_listing_reads_only_the_runs_that_have_changed(
    address: str, client: ClientSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "broken").mkdir()
    (folder / "broken/run.db").write_bytes(b"no database at all" * 100)
    for path in (path for path in folder.rglob("*") if path.is_file()):
        os.utime(path, (1e9, 1e9))  # long ago: files that change now are read again
    asked = counting(monkeypatch, served_runs, "load_summary")
    for _ in range(3):
        assert "Cannot be read" in await (await client.get(f"{address}/")).text()
    assert asked["load_summary"] == 3
    await asyncio.to_thread(write, folder / "first", feasible(2, 3.25))
    assert "3.25" in await (await client.get(f"{address}/")).text()
    assert asked["load_summary"] == 4
    shutil.rmtree(folder / "first")
    assert "runs/first" not in await (await client.get(f"{address}/")).text()
    assert asked["load_summary"] == 4


async def test_what_cannot_be_read_is_not_read_for_each_who_asks(
    address: str, client: ClientSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served_runs, "RENEW_S", 3600.0)
    (folder / "broken").mkdir()
    (folder / "broken/run.db").write_bytes(b"no database at all" * 100)
    asked = counting(monkeypatch, served_runs, "last_event_number")
    for _ in range(10):
        assert (await client.get(f"{address}/runs/broken")).status == 500
    assert asked["last_event_number"] == 1


async def test_the_prompt_and_the_reply_of_every_candidate_can_be_read(
    address: str, client: ClientSession, folder: Path
) -> None:
    async with client.get(f"{address}/texts/1/first") as answer:
        texts = await answer.json()
    asked, replied = (read_last(folder / "first/run.db", 1, kind) for kind in (Asked, Responded))
    assert asked is not None and texts["prompt"] == asked.prompt.text
    assert texts["reply"] == ("" if replied is None else replied.reply.text)
    for nobody in ("texts/1/other", f"texts/{'9' * 5000}/first"):
        assert (await client.get(f"{address}/{nobody}")).status == 404


async def test_runs_are_compared(address: str, client: ClientSession) -> None:
    async with client.get(f"{address}/compare", params=[("run", "first"), ("run", "grid/second")]) as answer:
        text = await answer.text()
    assert answer.status == 200
    assert "Comparison on tsp: what was found" in text
    assert '<a href="/runs/grid/second">grid/second</a>' in text
    whole = await (await client.get(f"{address}/compare?run=grid/")).text()  # an experiment stands for its runs
    assert 'href="/runs/grid/second"' in whole and 'href="/runs/first"' not in whole
    assert 'href="compare?run=grid/">grid</a>/<a href="runs/grid/second"' in await (await client.get(address)).text()
    assert (await client.get(f"{address}/compare?run=none/")).status == 404
    many = [("run", "first"), ("run", "grid/second")] * 300  # more than aiohttp takes by default
    assert (await client.get(f"{address}/compare", params=many)).status == 200
    assert (await client.get(f"{address}/compare")).status == 404
    assert (await client.get(f"{address}/compare?run=first&run=other")).status == 404


async def test_nothing_of_a_run_is_written(address: str, client: ClientSession, folder: Path) -> None:
    def files() -> dict[str, tuple[int, bytes]]:
        kept = [path for path in folder.rglob("*") if path.is_file() and path.suffix not in (".db-wal", ".db-shm")]
        return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in kept}

    before = files()
    for path in ("", "runs/first", "document/grid/second", "compare?run=first"):
        assert (await client.get(f"{address}/{path}")).status == 200
    assert files() == before


@pytest.mark.parametrize("path", ["runs/../secret.txt", "runs/%2e%2e%2fsecret.txt", "runs/..", "document//etc/passwd"])
async def test_no_path_leads_out_of_the_runs(address: str, path: str) -> None:
    answer = await raw(address, f"GET /{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 404")
    assert b"secret\n" not in answer


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "[::1", "", "192.168.0.7"])
async def test_a_page_of_another_name_is_not_answered(address: str, host: str) -> None:
    answer = await raw(address, f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")
    assert answer.split()[1] in (b"403", b"400")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
async def test_nothing_can_be_changed(address: str, client: ClientSession, method: str) -> None:
    async with client.request(method, f"{address}/runs/first") as answer:
        assert (answer.status, answer.headers["Allow"]) == (405, "GET,HEAD")


async def test_every_answer_forbids_what_no_page_of_ours_does(address: str, client: ClientSession) -> None:
    for path in ("", "runs/first", "nowhere"):
        async with client.head(f"{address}/{path}") as answer:
            assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert "Access-Control-Allow-Origin" not in answer.headers


async def test_a_run_that_cannot_be_read_hides_no_other(address: str, client: ClientSession, folder: Path) -> None:
    (folder / "broken").mkdir()
    (folder / "broken/run.db").write_bytes(b"no database at all" * 100)
    async with client.get(f"{address}/") as answer:
        text = await answer.text()
    assert "Cannot be read" in text and 'href="runs/first"' in text
    async with client.get(f"{address}/runs/broken") as answer:
        assert (answer.status, answer.content_type) == (500, "text/plain")


async def test_beyond_this_machine_the_address_holds_a_token(folder: Path, client: ClientSession) -> None:
    found = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(server.serve(folder, "0.0.0.0", 0, found.set_result))
    address = (await found).replace("0.0.0.0", "127.0.0.1")
    root = "/".join(address.split("/")[:3])
    assert len(address) > len(root) + 24
    assert (await client.get(f"{address}runs/first")).status == 200
    for path in ("/", "/runs/first", "/other/"):
        assert (await client.get(f"{root}{path}")).status == 403
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_connections_are_bounded(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "CONNECTIONS", 3)
    host, port = address.removeprefix("http://").split(":")
    opened = [await asyncio.open_connection(host, int(port)) for _ in range(4)]
    assert await closed(opened[-1][0])
    assert not any(reader.at_eof() for reader, _ in opened[:3])
    for _, writer in opened:
        writer.close()


Timers = list[tuple[Callable[..., None], tuple[Any, ...]]]


@pytest.fixture
def timers(monkeypatch: pytest.MonkeyPatch) -> Timers:
    """What the server would do later, which a test calls when it is time."""
    found: Timers = []
    monkeypatch.setattr(server, "_later", lambda seconds, act, *given: found.append((act, given)))
    return found


def ring(timers: Timers) -> None:
    act, given = timers.pop(0)
    act(*given)


async def test_who_says_nothing_is_let_go(address: str, client: ClientSession, timers: Timers) -> None:
    host, port = address.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    while not timers:
        await asyncio.sleep(0)
    ring(timers)
    assert await closed(reader)
    writer.close()
    assert (await client.get(f"{address}/")).status == 200


@pytest.mark.parametrize("rings", [1, 2])
async def test_a_connection_whose_time_is_over_gets_the_answer_that_is_being_made(
    address: str, monkeypatch: pytest.MonkeyPatch, timers: Timers, rings: int
) -> None:
    begun, done, of_one = threading.Event(), threading.Event(), served_runs.run_page

    def slow(found: RunReport) -> Any:
        begun.set()
        done.wait(LONG_S)
        return of_one(found)

    monkeypatch.setattr(served_runs, "run_page", slow)
    waiting = asyncio.create_task(raw(address, "GET /document/first HTTP/1.1\r\nHost: localhost\r\n\r\n"))
    try:
        await asyncio.to_thread(begun.wait)
        for _ in range(rings):  # the second time, nothing is waited for any more
            ring(timers)
        if rings == 2:
            assert await waiting == b""
    finally:
        done.set()
    if rings == 1:
        assert (await waiting).startswith(b"HTTP/1.1 200"), "and then it ends, though the client would keep it"


async def test_a_port_that_is_taken_is_named(address: str, folder: Path) -> None:
    port = int(address.rpartition(":")[2])
    with pytest.raises(UsageError, match=f"port {port}.*--port"):
        await server.serve(folder, "127.0.0.1", port, lambda _: None)


def counting(monkeypatch: pytest.MonkeyPatch, module: Any, *names: str) -> Counter[str]:
    """Counts how often functions of a module are called."""
    counts: Counter[str] = Counter()

    def counted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            counts[name] += 1
            return function(*args, **named)

        return call

    for name in names:
        monkeypatch.setattr(module, name, counted(name, getattr(module, name)))
    return counts


async def raw(address: str, request: str) -> bytes:
    """The answer to a request as no library would make it."""
    host, port = address.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(request.encode())
    answer = await reader.read()
    writer.close()
    return answer


async def closed(reader: asyncio.StreamReader) -> bool:
    """Whether the other side ends the connection."""
    try:
        return await reader.read() == b""
    except ConnectionError:
        return True
