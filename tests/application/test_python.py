"""A search from Python is the command's search: the same run, from a script, from a loop and from a notebook."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import behavesim as bs
from behavesim.methods.niche import Niche
from behavesim.state.events import Evaluated, Event, RunStopped
from behavesim.state.state import RunState
from behavesim.store.reading import read_events
from tests.crash.processes import FEW_CITIES, carried_out

CLIMBING: dict[str, Any] = {"budget": 4, "method": "hill-climbing", "proposer": "genetic", "window": 4}


async def test_it_makes_the_run_that_the_command_makes(tmp_path: Path) -> None:
    run = await bs.search(FEW_CITIES, runs_dir=tmp_path / "runs", name="mine", workers=2, **CLIMBING)
    flags = ("--budget", "4", "--method", "hill-climbing", "--proposer", "genetic", "--window", "4")
    given = (FEW_CITIES, *flags, "--set", "recommend=false")
    made = await carried_out("run", *given, "--name", "its", cwd=tmp_path)
    assert made.code == 0, made.stderr
    assert bs.load_run(tmp_path / "runs/its").state.digest() == run.state.digest()
    assert run.folder.best.read_text().startswith("# run mine")
    assert run.state.recommended is not None


async def test_what_it_returns_is_the_run_as_it_was_read_once_at_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun_at: list[int] = []

    def counted(path: Path, after: int = 0) -> Iterator[tuple[int, float, Event]]:
        begun_at.append(after)
        return read_events(path, after)

    monkeypatch.setattr("behavesim.analysis.run.read_events", counted)
    run = await bs.search(FEW_CITIES, runs_dir=tmp_path, **CLIMBING)
    assert begun_at.count(0) == 1
    monkeypatch.undo()
    again = bs.load_run(run.folder.path)
    assert (run.candidates, run.recommended, run.archives) == (again.candidates, again.recommended, again.archives)
    assert (run.events_at, run.is_held) == (again.events_at, again.is_held)  # nobody holds it any more


async def test_every_event_is_told_once_it_is_committed(tmp_path: Path) -> None:
    told: list[Event] = []

    def listen(event: Event, state: RunState) -> None:
        assert state.started is not None
        told.append(event)

    run = await bs.search(FEW_CITIES, runs_dir=tmp_path, on_event=listen, recommend=False, **CLIMBING)
    committed = [event for _, _, event in read_events(run.folder.journal)]
    assert told == committed[2:]  # before them come the run's settings and its template
    assert isinstance(told[-1], RunStopped)


async def test_cancelling_stops_in_order_and_resume_goes_on(tmp_path: Path) -> None:
    started = asyncio.Event()
    settings = {**CLIMBING, "budget": 16, "recommend": False}

    def listen(event: Event, state: RunState) -> None:
        if isinstance(event, Evaluated) and event.candidate >= 3:
            started.set()

    cut = asyncio.create_task(bs.search(FEW_CITIES, runs_dir=tmp_path, name="cut", on_event=listen, **settings))
    async with asyncio.timeout(120):
        await started.wait()
    cut.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cut
    kept = bs.load_run(tmp_path / "cut")
    assert kept.state.stopped == "interrupted"
    assert (await bs.resume(kept)).state.registered == 16
    whole = await bs.search(FEW_CITIES, runs_dir=tmp_path, name="whole", **settings)
    assert bs.load_run(tmp_path / "cut").state.digest() == whole.state.digest()


async def test_it_works_where_a_loop_is_running_already(tmp_path: Path) -> None:
    unchosen = {**CLIMBING, "recommend": False}
    assert bs.search_sync(FEW_CITIES, runs_dir=tmp_path, name="a", **unchosen).state.registered == 4
    assert bs.resume_sync(tmp_path / "a", budget=5).state.registered == 5


OWN = """
from behavesim.methods.baselines import HillClimbing

class Own(HillClimbing):
    pass

method = Own
"""


async def test_parts_are_given_as_objects_where_a_file_names_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {**CLIMBING, "method": Niche, "n_init": 2, "recommend": False}
    assert (await bs.search(FEW_CITIES, runs_dir=tmp_path, **settings)).settings.method == "niche"

    (tmp_path / "own_climbing.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    own = import_module("own_climbing").Own
    made = await bs.search(FEW_CITIES, runs_dir=tmp_path, **{**CLIMBING, "method": own, "recommend": False})
    assert made.settings.method == str(tmp_path / "own_climbing.py")

    class Mine(bs.Method[bs.MethodSettings]):
        ask = register = None  # type: ignore[assignment]

    with pytest.raises(bs.BehavesimError, match="has to stand in a file"):
        await bs.search(FEW_CITIES, runs_dir=tmp_path, **{**CLIMBING, "method": Mine})


async def test_a_slip_is_named_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(bs.BehavesimError, match="'population' belongs to method eoh"):
        await bs.search(FEW_CITIES, runs_dir=tmp_path, population=3, **CLIMBING)
    with pytest.raises(bs.BehavesimError, match="no task 'tps'; did you mean 'tsp'"):
        await bs.search("tps", runs_dir=tmp_path)
    for observer in (3, test_a_slip_is_named_and_leaves_nothing):  # the second would have to be awaited
        with pytest.raises(bs.BehavesimError, match="must be a plain function"):
            await bs.search(FEW_CITIES, runs_dir=tmp_path, on_event=observer, **CLIMBING)  # type: ignore[arg-type]
    for evaluations in (0, 2.5, "3"):
        with pytest.raises(bs.BehavesimError, match="must be a whole number, 1 or more"):
            bs.tune(FEW_CITIES, "def f(): pass", evaluations=evaluations)  # type: ignore[arg-type]
    with pytest.raises(bs.BehavesimError, match=r"the path of its file as Path\('mine\.py'\)"):
        bs.tune(FEW_CITIES, "mine.py")
    assert not list(tmp_path.iterdir())


def test_no_public_name_becomes_a_room_of_the_package_once_that_is_imported() -> None:
    assert dir(bs) == sorted(bs.__all__)
    for name in bs.__all__:
        with suppress(ModuleNotFoundError):
            import_module(f"behavesim.{name}")
        assert not isinstance(getattr(bs, name), ModuleType), name
