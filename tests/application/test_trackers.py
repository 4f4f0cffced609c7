"""Runs in experiment trackers, while they go on and from their journals."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

import behavesim as bs
from behavesim.application.trackers import tracking
from behavesim.application.trackers.tracking import TRACKERS, Row, Tracking, track
from behavesim.base.errors import UsageError
from behavesim.state.events import Event
from behavesim.state.state import RunState
from behavesim.store.folder import RunFolder

SETTINGS = {"method": "best-of-n", "proposer": "genetic", "recommend": False}


class Kept:
    """A tracker in memory: it keeps what it is told, and holds `held` steps from before."""

    def __init__(self, held: int = 0) -> None:
        self.held = held
        self.rows: list[Row] = []
        self.ended: list[tuple[Mapping[str, str], str]] = []

    def begin(self, run: str, settings: Mapping[str, str]) -> int:
        assert (run, settings["task"]) == ("first", "tsp")
        return max(self.held, *(row.step for row in self.rows), 0)

    def log(self, rows: Sequence[Row]) -> None:
        self.rows += rows

    def end(self, facts: Mapping[str, str], program: str) -> None:
        self.ended.append((facts, program))


async def test_a_live_log_a_resumed_one_and_the_journals_say_the_same(tmp_path: Path) -> None:
    live = Kept()
    folder = RunFolder(tmp_path / "first")
    watched = Tracking(live, folder)
    await bs.search("tsp", budget=5, runs_dir=tmp_path, name="first", on_event=watched, **SETTINGS)
    run = await bs.resume(tmp_path / "first", budget=9, on_event=watched)
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


async def test_what_is_unknown_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "silent.py"
    file.write_text(SILENT)
    kept = Kept()
    await bs.search(
        "tsp", budget=2, runs_dir=tmp_path, name="first", on_event=Tracking(kept, RunFolder(tmp_path / "first")),
        method="best-of-n", proposer=str(file), max_rejected_share=1, recommend=False,
    )  # fmt: skip
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
    module = "behavesim.application.trackers.tensorboard"
    monkeypatch.setitem(sys.modules, module, None)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r'tensorboard is not installed .*pip install "behavesim\[tensorboard\]"'):
        track("tensorboard", "there", tmp_path / "first")
    kept: dict[str, Kept] = {}
    made = SimpleNamespace(**{TRACKERS["tensorboard"]: lambda target: kept.setdefault(target, Kept())})
    monkeypatch.setitem(sys.modules, module, made)  # type: ignore[arg-type]
    monkeypatch.setattr(tracking, "AT_ONCE", 2)
    watched = track("tensorboard", "there", tmp_path / "first")
    known: list[int] = []

    def seen(event: Event, state: RunState) -> None:
        watched(event, state)
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
    events = accumulator.EventAccumulator(str(boards / "first"))
    events.Reload()
    assert [each.step for each in events.Scalars("feasible")] == [1, 2, 3, 4]
