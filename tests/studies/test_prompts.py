"""A study of prompts asks what the run asked, where nothing is changed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from behavesim_studies.prompts import Recording, ask_again, row_of, study

from behavesim.state.events import Asked
from behavesim.state.settings import settings_from_journal
from behavesim.store.folder import RunFolder
from behavesim.store.reading import read_events
from behavesim.task import TaskReference


@pytest.mark.parametrize("method", ["funsearch+behavesim", "eoh"])
def test_under_the_recorded_settings_the_recorded_questions_are_asked(tmp_path: Path, method: str) -> None:
    import behavesim as bs

    asyncio.run(
        bs.search("asp", budget=24, method=method, proposer="genetic", runs_dir=tmp_path, name="first", recommend=False,
                  ask_once=False, window=4, **({"population": 6} if method == "eoh" else {"n_init": 8}))
    )  # fmt: skip
    folder = RunFolder.find(tmp_path, "first")
    events = [event for _, _, event in read_events(folder.journal) if isinstance(event, Asked)]
    recording = Recording.of(folder)
    settings = settings_from_journal(recording.started.settings)
    asked = list(ask_again(recording, settings, TaskReference("asp").load()))
    assert [each.text for each in asked] == [event.prompt.text for event in events]
    row = row_of("first", "as recorded", asked)
    assert (row.prompts, row.repeats) == (24, 0)
    assert study([folder]).rows == (row,)
