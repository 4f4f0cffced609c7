"""The runs of an experiment: which are still to be done, and how they are carried out."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from behavesim.analysis.run import Run
from behavesim.application.experiment import execution
from behavesim.application.experiment.execution import Execution, unfinished_runs
from behavesim.application.experiment.plan import Planned
from behavesim.base.errors import JournalError, UsageError
from behavesim.engine.admission import settings_from_person
from behavesim.state.events import Added, Event, NotAdded, Recommended
from behavesim.store.database import progress
from behavesim.store.folder import RunFolder
from tests.crash.processes import FEW_CITIES
from tests.store.written import written

WITHOUT_VALIDATION = """
from behavesim_tasks.tsp import TravellingSalesman

class Unchecked(TravellingSalesman):
    def instances(self, split):
        return [] if split == "validation" else super().instances(split)

task = Unchecked()
"""


def planned(name: str, **settings: Any) -> Planned:
    given = {"task": FEW_CITIES, "method": "best-of-n", "budget": 3, "recommend": False, **settings}
    return Planned(name, settings_from_person(given))


class TestUnfinished:
    @staticmethod
    def made(runs: Path, run: Planned, *events: Any) -> None:
        folder = RunFolder(runs / run.name)
        folder.path.mkdir()
        folder.write_settings(run.settings.flat())
        written(folder.journal, events)

    @pytest.mark.parametrize(
        ("recommend", "registered", "recommended", "is_left"),
        [
            (False, 2, None, True),
            (False, 3, None, False),
            (True, 3, None, True),
            (True, 3, 3, False),
            (True, 3, 2, True),
        ],
    )
    def test_a_run_is_done_with_its_budget_and_its_choice_where_it_is_to_make_one(
        self, tmp_path: Path, recommend: bool, registered: int, recommended: int | None, is_left: bool
    ) -> None:
        run = planned("first", recommend=recommend)
        events: list[Event] = [Added(0, "archive"), *map(NotAdded, range(1, registered))]
        if recommended is not None:
            events.insert(recommended, Recommended(0, {}))
        self.made(tmp_path, run, *events)
        assert unfinished_runs([run], tmp_path) == ([run] if is_left else [])

    def test_a_run_of_a_task_without_validation_instances_needs_no_choice(self, tmp_path: Path) -> None:
        (tmp_path / "task.py").write_text(WITHOUT_VALIDATION)
        run = planned("first", task=str(tmp_path / "task.py"), recommend=True)
        self.made(tmp_path, run, Added(0, "archive"), NotAdded(1), NotAdded(2))
        assert unfinished_runs([run], tmp_path) == []

    def test_a_run_without_a_journal_is_still_to_be_made(self, tmp_path: Path) -> None:
        (tmp_path / "first").mkdir()
        runs = [planned("first"), planned("second")]
        assert unfinished_runs(runs, tmp_path) == runs

    def test_a_run_made_under_other_settings_is_refused_unless_they_change_nothing(self, tmp_path: Path) -> None:
        self.made(tmp_path, planned("first", window=8))
        assert unfinished_runs([planned("first", window=8, workers=7)], tmp_path)
        with pytest.raises(UsageError, match="the run first was made under other settings: window was 8 and is 64;"):
            unfinished_runs([planned("first")], tmp_path)


async def test_runs_are_made_as_many_at_once_as_said_and_each_tells_how_it_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution, "asyncio", asyncio)  # its processes begin as they do for people
    told: list[str] = []
    monkeypatch.chdir(tmp_path)
    (tmp_path / "random.py").write_text("raise RuntimeError")  # which is not Python's
    runs = [planned("first"), planned("short", max_time_s=0.05, budget=10_000)]
    failed = await Execution(runs, tmp_path / "runs", jobs=1, workers=1, tell=told.append).run()
    assert failed == []
    assert re.fullmatch(r"1/2 first: best [\d.]+ \(the template\), about \d+:\d\d left", told[0])
    assert re.fullmatch(r"2/2 short: stopped by max_time, (best [\d.]+ \(.*\)|nothing feasible)", told[1])
    made = Run.load(tmp_path / "runs/first")
    assert made.state.registered == 3
    assert made.settings.workers == 1
    assert (tmp_path / "runs/first.log").is_file()


async def test_a_run_that_fails_is_named_and_the_others_go_on(tmp_path: Path) -> None:
    told: list[str] = []
    runs = [planned("broken"), planned("sound")]
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "run.db").write_bytes(b"no journal" * 100)
    failed = await Execution(runs, tmp_path, jobs=2, workers=1, tell=told.append).run()
    assert failed == ["broken"]
    assert any(f"broken: ended with exit code 1; see {tmp_path / 'broken'}.log" in line for line in told)
    assert any("sound: best " in line for line in told)
    assert "run.db" in (tmp_path / "broken.log").read_text()


def _has_registered(journal: Path) -> bool:
    try:
        return progress(journal).registered > 0
    except JournalError:  # it is still being made
        return False


async def test_a_log_that_cannot_be_written_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "first.log").mkdir()
    with pytest.raises(JournalError, match=r"cannot write .*first.log: Is a directory; check that the folder is yours"):
        await Execution([planned("first")], tmp_path, 1, 1, lambda line: None).run()


async def test_an_experiment_that_is_cancelled_lets_its_runs_end_in_order(tmp_path: Path) -> None:
    told: list[str] = []
    runs = [planned("going-on", budget=100_000), planned("not-begun")]
    executing = asyncio.create_task(Execution(runs, tmp_path, jobs=1, workers=1, tell=told.append).run())
    while not _has_registered(RunFolder(tmp_path / "going-on").journal):
        await asyncio.sleep(0.02)
    executing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await executing
    assert told == ["going-on: interrupted"]
    assert Run.load(tmp_path / "going-on").state.stopped == "interrupted"
    assert not (tmp_path / "not-begun").exists()
