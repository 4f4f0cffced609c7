"""What `verify` says of a finished run of which one event was changed, and of programs that ran out of time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import behavesim as bs
from behavesim.application.verification import verify_runs
from behavesim.audit import verify as bench
from behavesim.audit.verify import Verification, verify
from behavesim.state.events import Evaluated, Event, PortfolioChosen, Rejected, RunStarted
from behavesim.store.folder import RunFolder
from behavesim.store.reading import read_events
from behavesim.task.verdict import Failure
from tests.crash.processes import FEW_CITIES
from tests.forgeries import written

FAILING = "def select_next_node(a, b, unvisited, d):\n    return 1 / 0\n"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A run of four candidates, the first of which fails."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "own").mkdir()
    (folder / "own/failing.py").write_text(FAILING)
    settings = {"method": "best-of-n", "proposer": "genetic", "recommend": False, "start_with": str(folder / "own")}
    made = bs.search_sync(FEW_CITIES, budget=4, runs_dir=folder, name="first", workers=1, **settings)
    return made.folder


async def with_change(run: RunFolder, place: Path, change: Callable[[Event], Event | None]) -> Verification:
    """Verify a copy of a run in which the first event that `change` changes is another."""
    events = [event for _, _, event in read_events(run.journal)]
    at, changed = next((k, each) for k, each in enumerate(map(change, events)) if each is not None)
    return await verify(await written([*events[:at], changed, *events[at + 1 :]], run, place / "copy"))


def of(kind: type[Any], **changes: Any) -> Callable[[Event], Event | None]:
    """A change of the first event of a kind."""
    return lambda event: replace(event, **changes) if isinstance(event, kind) else None


def elsewhere(event: Event) -> Event | None:
    """The start of a run whose instances were others."""
    return (
        replace(event, provenance={**event.provenance, "instances": "0" * 64})
        if isinstance(event, RunStarted)
        else None
    )


def relabelled(event: Event) -> Event | None:
    """The start of a run under another label than in settings.toml."""
    return replace(event, settings={**event.settings, "label": "x"}) if isinstance(event, RunStarted) else None


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (of(Evaluated, cpu_s=-0.5), "a CPU time of 0 s or more"),
        (elsewhere, "the instances as found on disk now"),
        (relabelled, "setting label='', as in settings.toml"),
    ],
)
async def test_what_cannot_have_been_so_is_named(
    run: RunFolder, tmp_path: Path, change: Callable[[Event], Event | None], expected: str
) -> None:
    found = await with_change(run, tmp_path, change)
    assert [each.expected for each in found.differences] == [expected]


@pytest.mark.parametrize("reason", ["timeout", "memory"])
async def test_a_program_that_ran_out_of_time_or_memory_is_not_run_again(
    run: RunFolder, tmp_path: Path, reason: str
) -> None:
    found = await with_change(run, tmp_path, of(Rejected, reason=reason, message="too much"))
    assert found.is_sound and found.unchecked == {reason: 1}
    forged = await with_change(run, tmp_path / "forged", of(Rejected, reason=reason, program_hash="0" * 24))
    assert not forged.is_sound  # but all else that is known of it is checked


async def test_a_repair_that_answers_the_same_text_is_no_difference(tmp_path: Path) -> None:
    (tmp_path / "reply.md").write_text(f"```python\n{FAILING}```\n")
    settings = {"method": "best-of-n", "proposer": f"command:cat {tmp_path}/reply.md", "repair": 2, "window": 1}
    made = await bs.search(
        FEW_CITIES, budget=3, runs_dir=tmp_path, name="first", workers=1, recommend=False, **settings
    )
    outcomes = [event for _, _, event in read_events(made.folder.journal, only=(Rejected,))]
    assert [each.copy_of for each in outcomes] == [None] * 3 + [0] * 6
    found = await verify(made.folder)
    assert found.is_sound, found.differences


async def test_progress_counts_no_event_whose_program_still_runs(run: RunFolder) -> None:
    told: list[tuple[int, int]] = []
    found = await verify(run, 2, lambda done, total: told.append((done, total)))
    assert found.is_sound
    read = told[: found.events]  # one for each event, before the last programs are waited for
    assert read[-1][0] < found.events
    assert [done for done, _ in told] == sorted(done for done, _ in told) and told[-1] == (found.events, found.events)


async def test_a_portfolio_of_several_runs_is_not_chosen_again(run: RunFolder, tmp_path: Path) -> None:
    events = [event for _, _, event in read_events(run.journal)]
    chosen = PortfolioChosen(2, (("first", 1), ("another", 0)), others=("another",))
    found = await verify_runs(await written([*events, chosen], run, tmp_path / "copy"))
    assert found.is_sound and found.unchecked == {"portfolio of several runs": 1}


async def test_a_program_that_runs_out_of_time_now_is_not_compared(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Busy:
        async def evaluate(self, source: str, *_: object) -> Failure:
            return Failure("timeout", "it took too long", 50.0)

    @asynccontextmanager
    async def judge_of(*_: object) -> AsyncIterator[Busy]:
        yield Busy()

    monkeypatch.setattr(bench, "judge_of", judge_of)
    found = await verify(run)
    assert found.is_sound and found.unchecked == {"timeout": found.evaluations}
    assert found.evaluations == 5  # the template, too
