"""Runs in experiment trackers, while they go on and from their journals."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import behavesim as bs
from behavesim.application import trackers
from behavesim.application.trackers import Row, Tracking, track
from behavesim.base.errors import BehavesimError, UsageError
from behavesim.state.events import Event
from behavesim.state.state import RunState
from behavesim.store.folder import RunFolder

SETTINGS: dict[str, Any] = {"method": "best-of-n", "proposer": "genetic", "recommend": False}


class Kept:
    """A tracker in memory: it keeps what it is told by each run's key, holds `held` steps from before, and can fail."""

    def __init__(self, held: int = 0, fails_at: Sequence[int] = ()) -> None:
        self.held, self.fails_at, self.calls = held, fails_at, 0
        self.logs: dict[str, list[Row]] = {}
        self.names: list[str] = []
        self.ended: list[tuple[Mapping[str, str], str]] = []

    @property
    def rows(self) -> list[Row]:
        return [row for rows in self.logs.values() for row in rows]

    def call(self) -> None:
        self.calls += 1
        if self.calls in self.fails_at:
            raise RuntimeError("no room\nleft")

    def begin(self, key: str, name: str, settings: Mapping[str, str]) -> int:
        self.call()
        assert settings["task"] == "tsp"
        self.names.append(name)
        self.open = self.logs.setdefault(key, [])
        return max(self.held, *(row.step for row in self.open), 0)

    def log(self, rows: Sequence[Row]) -> None:
        self.call()
        self.open += rows

    def end(self, facts: Mapping[str, str], program: str) -> None:
        self.call()
        self.ended.append((facts, program))


def finish(tracking: Tracking) -> None:
    """Wait until the thread that logs has done what it was asked."""
    if (thread := tracking._thread) is not None:
        thread.join()


async def test_a_live_log_a_resumed_one_and_the_journals_say_the_same(tmp_path: Path) -> None:
    live = Kept()
    folder = RunFolder(tmp_path / "first")
    watched = Tracking(live, folder)
    await bs.search("tsp", budget=5, runs_dir=tmp_path, name="first", on_event=watched, **SETTINGS)
    finish(watched)
    run = await bs.resume(tmp_path / "first", budget=9, on_event=watched)
    finish(watched)
    read, rest = Kept(), Kept(held=7)
    Tracking(read, folder).close()
    Tracking(rest, folder).close()
    assert [row.step for row in live.rows] == list(range(1, 10))
    assert read.rows == live.rows
    assert rest.rows == read.rows[7:]
    assert [row.values.get("score") for row in read.rows] == [each.score for each in run.candidates]
    assert (read.rows[-1].values["best_score"], read.ended[-1][0]["digest"]) == (
        run.state.bests[-1][1],
        run.state.digest(),
    )
    assert run.best is not None
    assert (len(live.ended), live.ended[-1]) == (2, read.ended[-1])


async def test_runs_of_one_name_have_logs_of_their_own_and_a_run_that_was_moved_keeps_its_own(tmp_path: Path) -> None:
    kept = Kept()
    for folder, budget in (("A", 3), ("B", 5)):
        await bs.search("tsp", budget=budget, runs_dir=tmp_path / folder, name="first", **SETTINGS)
        Tracking(kept, RunFolder(tmp_path / folder / "first")).close()
    await bs.resume(tmp_path / "A" / "first", budget=4)
    (tmp_path / "A" / "first").rename(tmp_path / "moved")
    Tracking(kept, RunFolder(tmp_path / "moved")).close()
    assert [[row.step for row in rows] for rows in kept.logs.values()] == [[1, 2, 3, 4], [1, 2, 3, 4, 5]]
    assert kept.names == ["first", "first", "moved"]


@pytest.mark.parametrize("fails_at", [(1,), (2,), (3,), (2, 3), tuple(range(1, 100))])
async def test_a_tracker_that_fails_at_any_call_ends_no_search_and_gets_later_what_it_did_not_take(
    fails_at: Sequence[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(trackers, "AT_ONCE", 2)
    kept, folder = Kept(fails_at=fails_at), RunFolder(tmp_path / "first")
    watched = Tracking(kept, folder)
    run = await bs.search("tsp", budget=9, runs_dir=tmp_path, name="first", on_event=watched, **SETTINGS)
    finish(watched)
    assert run.state.stopped == "budget"
    (said,) = [line for line in capsys.readouterr().err.splitlines() if "RuntimeError" in line]  # once a minute at most
    assert "kept did not take all of the run (RuntimeError: no room left)" in said
    assert f"`behavesim export {folder.path} --kept …` adds what it lacks; the search goes on" in said
    assert "did not take all of the run" in folder.log.read_text()
    if len(fails_at) > 50:
        with pytest.raises(BehavesimError, match="did not take all"):
            Tracking(kept, folder).close()
    kept.fails_at = ()
    Tracking(kept, folder).close()  # as `behavesim export` does
    assert [row.step for row in kept.rows] == list(range(1, 10))
    assert kept.ended[-1][0]["digest"] == run.state.digest()


async def test_a_search_waits_for_no_tracker_that_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(trackers, "AT_ONCE", 2)
    monkeypatch.setattr(trackers, "CLOSE_S", 0.01)
    monkeypatch.setattr(trackers, "OFTEN_S", 0.0)
    kept, answers = Kept(), threading.Event()
    monkeypatch.setattr(kept, "call", answers.wait)
    watched = Tracking(kept, RunFolder(tmp_path / "first"))
    run = await bs.search("tsp", budget=7, runs_dir=tmp_path, name="first", on_event=watched, **SETTINGS)
    assert (run.state.registered, kept.rows) == (7, [])  # the search ended while the first call had no answer
    waiting = [thread for thread in threading.enumerate() if getattr(thread, "_target", None) == watched._wait_for]
    for thread in waiting:
        thread.join()
    answers.set()
    finish(watched)
    assert [row.step for row in kept.rows] == list(range(1, 8))
    said = capsys.readouterr().err
    assert "kept has not answered for " in said
    assert "kept has not taken all of the run 0.01 s after its end" in said


@contextmanager
def http_server(answers: bool) -> Iterator[str]:
    """A server on this machine that answers every request with 503, or takes it and never answers."""
    ended = threading.Event()

    class Refuse(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if not answers:
                ended.wait()
            self.send_error(503)

        do_POST = do_GET

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Refuse) as server:
        serving = threading.Thread(target=server.serve_forever, daemon=True)
        serving.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            ended.set()
            server.shutdown()


@pytest.mark.parametrize("answers", [True, False])
async def test_mlflow_at_a_server_that_is_down_ends_no_search(
    answers: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("mlflow", reason="mlflow is not installed")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    monkeypatch.setattr(trackers, "CLOSE_S", 0.01)
    with http_server(answers) as url:
        watched = track("mlflow", url, tmp_path / "first")
        run = await bs.search("tsp", budget=3, runs_dir=tmp_path, name="first", on_event=watched, **SETTINGS)
        if not answers:
            assert watched._thread is not None  # still in its call
    assert run.state.registered == 3
    finish(watched)
    assert "mlflow did not take all of the run (MlflowException: " in capsys.readouterr().err


async def test_what_is_unknown_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "silent.py"
    file.write_text(SILENT)
    kept = Kept()
    silent = {**SETTINGS, "proposer": str(file), "max_rejected_share": 1}
    await bs.search("tsp", budget=2, runs_dir=tmp_path, name="first", **silent)
    Tracking(kept, RunFolder(tmp_path / "first")).close()
    assert all({"score", "best_score", "best_gap", "cost_usd"}.isdisjoint(row.values) for row in kept.rows)
    assert kept.rows[-1].values["rejected"] == 2


SILENT = '''
import behavesim as bs

class Silent(bs.Proposer[bs.ProposerSettings]):
    """Answers with prose, and says nothing of tokens."""

    @classmethod
    def of(cls, settings, context):
        return cls()

    async def propose(self, prompt, number):
        return bs.Reply("no program", "m", (bs.Usage(None, None),))

proposer = Silent
'''


def test_an_unknown_tracker_is_named() -> None:
    with pytest.raises(UsageError, match="did you mean 'mlflow'"):
        track("mlflaw", "", "first")


async def test_a_tracker_whose_package_is_missing_is_named_and_any_other_is_told_while_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tensorboardX", None)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r'tensorboard is not installed .*pip install "behavesim\[tensorboard\]"'):
        track("tensorboard", "there", tmp_path / "first")
    kept: dict[str, Kept] = {}
    monkeypatch.setattr(trackers, "TRACKERS", {"tensorboard": lambda target: kept.setdefault(target, Kept())})
    monkeypatch.setattr(trackers, "AT_ONCE", 2)
    watched = track("tensorboard", "there", tmp_path / "first")
    known: list[int] = []

    def seen(event: Event, state: RunState) -> None:
        watched(event, state)
        finish(watched)
        known.append(len(kept["there"].rows))

    await bs.search("tsp", budget=5, runs_dir=tmp_path, name="first", on_event=seen, window=1, **SETTINGS)
    assert sorted({*known}) == [0, 2, 4, 5]


async def test_the_real_packages_hold_each_candidate_once(tmp_path: Path) -> None:
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed")
    pytest.importorskip("tensorboardX", reason="tensorboardX is not installed")
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    run = await bs.search("tsp", budget=4, runs_dir=tmp_path, name="first", **SETTINGS)
    store, boards = f"sqlite:///{tmp_path}/mlflow.db", tmp_path / "boards"
    for kind, target in (("mlflow", store), ("tensorboard", str(boards))) * 2:
        track(kind, target, run.folder.path).close()
    client = mlflow.MlflowClient(store)
    (found,) = client.search_runs([client.get_experiment_by_name("behavesim").experiment_id])
    assert [each.step for each in client.get_metric_history(found.info.run_id, "feasible")] == [1, 2, 3, 4]
    assert (found.data.tags["behavesim.digest"], found.info.status) == (run.state.digest(), "FINISHED")
    (board,) = boards.iterdir()
    assert board.name.startswith("first-")
    events = accumulator.EventAccumulator(str(board))
    events.Reload()
    assert [each.step for each in events.Scalars("feasible")] == [1, 2, 3, 4]
