"""The recorded search that `behavesim demo` plays back."""

from __future__ import annotations

from pathlib import Path

from behavesim.application.demonstration import BEGAN, RECORDED, played, unpacked
from tests.cli.command import Command


def test_the_recording_is_shown_reported_and_written_as_a_page(behavesim: Command) -> None:
    shown = behavesim("demo", "--seconds", 0)
    assert (shown.code, "recording" in shown.err, "the best program" in shown.out) == (0, True, True)
    assert "<html" in Path("runs/demo/page.html").read_text()
    (run,) = behavesim("report", "demo", "--json").document["runs"]
    assert (run["state"], run["asked"], run["task"]) == ("finished", 30, "asp")
    assert run["best"]["gap"] < 0.05
    assert behavesim("show", "demo", "best").code == 0
    before = Path("runs/demo/run.db").read_bytes()
    assert behavesim("demo", "--seconds", 0).code == 0  # it is there already
    assert Path("runs/demo/run.db").read_bytes() == before


def test_a_run_of_ones_own_called_demo_is_left_alone(behavesim: Command) -> None:
    assert behavesim("run", "tsp", "--budget", 2, "--name", "demo", "--set", "recommend=false").code == 0
    refused = behavesim("demo")
    assert (refused.code, "choose another --runs-dir" in refused.err) == (2, True)
    assert not Path("runs/demo/page.html").exists()


async def test_what_is_played_back_ends_as_the_recorded_run_did(tmp_path: Path) -> None:
    run = await played(unpacked(tmp_path), 0.01)
    assert (run.events_at[0], run.state.registered) == (BEGAN, 30)


def test_the_recording_is_small() -> None:
    assert RECORDED.stat().st_size < 1e6
