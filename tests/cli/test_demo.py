"""The recorded search that `behavesim demo` plays back."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from behavesim.analysis.run import Run
from behavesim.application.demo import DEMOS, USUAL, Recording, play_recording, recordings, unpack_recording
from behavesim.audit.audit import Audit, discrepancy
from behavesim.code_similarity import trees
from behavesim.engine.admission import refuse_changes, run_provenance
from behavesim.state.events import DECISIONS
from behavesim.state.settings import changed_parts, settings_from_journal
from behavesim.store.reading import read_events
from tests.cli.command import Command


def test_the_recording_is_shown_reported_and_written_as_a_page(
    behavesim: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trees, "tree_distance", lambda *_: 1)  # takes most of the page's time
    shown = behavesim("demo", "--seconds", 0)
    assert (shown.code, "recording" in shown.err, "the best program" in shown.out) == (0, True, True)
    assert "This is a recording" in Path("runs/demo-asp/page.html").read_text()
    (run,) = behavesim("report", "demo-asp", "--json").document["runs"]
    assert (run["state"], run["asked"], run["task"]) == ("finished", 30, "asp")
    assert run["best"]["gap"] < 0.05
    assert behavesim("show", "demo-asp", "best").code == 0
    before = Path("runs/demo-asp/run.db").read_bytes()
    Path("runs/demo-asp/page.html").write_text("mine")
    assert behavesim("demo", "--seconds", 0).code == 0  # it is there already
    assert (Path("runs/demo-asp/run.db").read_bytes(), Path("runs/demo-asp/page.html").read_text()) == (before, "mine")
    os.utime("runs/demo-asp/page.html", (0, 0))  # as if made by an earlier version
    assert behavesim("demo", "--seconds", 0).code == 0
    assert "This is a recording" in Path("runs/demo-asp/page.html").read_text()


def test_a_run_of_ones_own_called_as_a_demo_is_left_alone(behavesim: Command) -> None:
    assert behavesim("run", "tsp", "--budget", 2, "--name", "demo-asp", "--set", "recommend=false").code == 0
    refused = behavesim("demo")
    assert (refused.code, "choose another --runs-dir" in refused.err) == (2, True)
    assert not Path("runs/demo-asp/page.html").exists()


def test_a_recording_that_there_is_not_is_refused_with_the_names_of_all(behavesim: Command) -> None:
    refused = behavesim("demo", "nothing")
    assert (refused.code, USUAL in refused.err) == (2, True)
    assert behavesim("demo", "list").out.count("\n") == len(recordings())


of_each = pytest.mark.parametrize("recording", recordings().values(), ids=lambda recording: recording.name)


@of_each
async def test_what_is_played_back_ends_as_the_recorded_run_did(recording: Recording, tmp_path: Path) -> None:
    run = await play_recording(unpack_recording(recording, tmp_path), 0.01)
    assert (run.events_at[0], run.state.registered) == (recording.began, recording.programs)


@of_each
def test_a_recording_agrees_with_the_task_and_decides_as_today(recording: Recording, tmp_path: Path) -> None:
    """Otherwise `verify` names differences that only its age causes: `python -m tests.recording` makes it anew."""
    if recording.name == "bbob":
        pytest.importorskip("ioh")
    folder = unpack_recording(recording, tmp_path)
    run = Run.load(folder.path)
    assert changed_parts(run.started.provenance, run_provenance(run.settings, run.task())) == []
    refuse_changes(folder, settings_from_journal(folder.read_settings()), run.task())
    audit = Audit(run.settings, run.task())
    for seq, _, event in read_events(folder.journal):
        if isinstance(event, DECISIONS):
            assert discrepancy(seq, audit.due(event), event) is None
        audit.take(event)


def test_the_recordings_are_small_and_each_has_its_words() -> None:
    assert {path.name for path in DEMOS.glob("*.xz")} == {each.archive.name for each in recordings().values()}
    assert all(each.archive.stat().st_size < 1e6 and each.about and each.found for each in recordings().values())
