"""How far a run is, counted without reading what its events say."""

from __future__ import annotations

from pathlib import Path

import pytest

from behavesim.base.errors import JournalError
from behavesim.base.tokens import Usage
from behavesim.state.events import Added, NotAdded, Recommended, Reply, Responded, RunForked, RunStarted
from behavesim.store.database import Progress, count_registered, last_event_number, progress
from tests.store.written import written

COUNTED = Usage(prompt=100, cached=40, completion=20, reasoning=None)
ESTIMATED = Usage(estimated_prompt=7, estimated_completion=3)


def test_candidates_and_calls_are_counted_with_their_tokens(tmp_path: Path) -> None:
    replies = [Responded(0, Reply("", "m", (COUNTED, ESTIMATED))), Responded(1, Reply("", "m", (COUNTED,)))]
    events = [RunStarted({}, {}, "none"), *replies, Added(0, "1"), NotAdded(1), NotAdded(2)]
    path = written(tmp_path / "run.db", events)
    assert progress(path) == Progress(3, False, 3, 207, 43)
    assert (count_registered(path), last_event_number(path)) == (3, 6)
    assert progress(written(path, [Recommended(0, {})])).recommended
    assert not progress(written(path, [NotAdded(3)])).recommended
    assert progress(written(path, [Recommended(None, {})])).recommended
    assert not progress(written(path, [RunForked("first", {}, {})])).recommended


def test_a_run_that_has_just_begun_has_no_progress(tmp_path: Path) -> None:
    assert progress(written(tmp_path / "run.db", [])) == Progress(0, False, 0, 0, 0)
    with pytest.raises(JournalError, match="there is no journal"):
        progress(tmp_path / "other.db")
