"""What a fork may not change, because the journal it goes on from could not be read with it."""

from __future__ import annotations

import asyncio
import random
import shutil
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any, Self

import pytest

from behavesim.audit.audit import Audit, discrepancy
from behavesim.audit.verify import verify
from behavesim.base.errors import UsageError
from behavesim.engine.admission import changed_settings, run_provenance, settings_from_person
from behavesim.engine.build import Launch, fork_search, new_search
from behavesim.proposers.proposer import Proposer, ProposerContext, ProposerSettings
from behavesim.state.events import DECISIONS, Asked, Prompt, Reply, RunForked, RunStarted
from behavesim.state.settings import provenance
from behavesim.store.codec import encode
from behavesim.store.database import count_registered
from behavesim.store.folder import RunFolder
from behavesim.store.journal import SqliteJournal
from behavesim.task import TaskReference
from tests.crash.deaths import METHODS, SMALL
from tests.engine.toys import MemoryJournal, Toy, fitting, search


@pytest.mark.parametrize(
    ("method", "change", "said"),
    [
        ("funsearch", {"n_init": 7}, "a fork keeps its n_init"),
        ("eoh", {"selection": "dissimilarity"}, "a fork keeps its selection"),
        ("eoh+behavesim", {"measure": "mean"}, "a fork keeps its measure"),
        ("best-of-n", {}, "a fork keeps its instances"),
    ],
)
async def test_a_fork_that_could_not_read_its_journal_is_refused_and_leaves_nothing(
    tmp_path: Path, method: str, change: dict[str, Any], said: str
) -> None:
    task = TaskReference("tsp").load()
    begun = settings_from_person({"task": "tsp", "method": method})
    known = provenance(task) if change else {**provenance(task), "instances": "of another task"}
    source, target = RunFolder(tmp_path / "first"), RunFolder(tmp_path / "second")
    source.path.mkdir()
    async with SqliteJournal(source.journal) as journal:
        await journal.append([RunStarted(begun.flat(), known, "none")])
    with pytest.raises(UsageError, match=said):
        async with fork_search(Launch(changed_settings(begun, change), task, target), source):
            pass
    assert not target.path.exists()


def test_another_proposer_or_method_comes_without_the_settings_of_the_one_before() -> None:
    begun = settings_from_person({"task": "tsp", "proposer": "genetic", "method": "niche"})
    assert changed_settings(begun, {"proposer": "openai"}).flat().keys() >= {"models", "temperature"}
    assert "niche_radius" not in changed_settings(begun, {"method": "eoh"}).flat()
    with pytest.raises(UsageError, match="belongs to method niche"):
        changed_settings(begun, {"method": "eoh"}, ["niche_radius=0.5"])


FLAT_OR_NOT = """
import numpy as np
import behavesim as bs

class Mine(bs.Task):
    template = "def number() -> int:\\n    return 1\\n"
    objective = bs.Objective("maximise")
    normaliser = 9.0
    def instances(self, split): return [0]
    def solve(self, number, instance): return [number()]
    def score(self, instance, solution): return float(solution[0])
    def trajectory(self, instance, solution): return bs.Trajectory.vectors(np.ones((3, int(solution[0]))))

task = Mine()
"""


class InThePlane(Proposer[ProposerSettings]):
    """Answers with a program whose states have two dimensions; the template's have one."""

    @classmethod
    def of(cls, settings: ProposerSettings, context: ProposerContext) -> Self:
        raise NotImplementedError

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        return Reply("```python\ndef number() -> int:\n    return 2\n```", "toy")


def in_the_plane(folder: Path) -> Launch:
    """The launch of a run that compares nothing, and keeps programs that cannot be compared."""
    (folder / "mine.py").write_text(FLAT_OR_NOT)
    reference = TaskReference(str(folder / "mine.py"))
    given = {"method": "funsearch", "budget": 4, "window": 1, "proposer": "command:true", "recommend": False}
    return Launch(
        settings_from_person({"task": reference.text, **given}), reference.load(), RunFolder(folder / "first")
    )


@pytest.fixture
def answers_in_the_plane(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Launch, "proposer", property(lambda launch: InThePlane()))


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Launch:
    """Such a run that is finished."""
    launch = in_the_plane(tmp_path_factory.mktemp("ended"))

    async def run() -> None:
        async with new_search(launch) as search:
            await search.run()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Launch, "proposer", property(lambda launch: InThePlane()))
        asyncio.run(run())
    return launch


@pytest.fixture
def first(ended: Launch, tmp_path: Path, answers_in_the_plane: None) -> Launch:
    """Its launch, with a copy of the folder; the file of its task is as it was then."""
    Path(ended.settings.task).write_text(FLAT_OR_NOT)
    shutil.copytree(ended.folder.path, tmp_path / "first")
    return replace(ended, folder=RunFolder(tmp_path / "first"))


async def test_a_fork_that_would_compare_what_cannot_be_compared_is_refused_and_leaves_nothing(
    tmp_path: Path, first: Launch
) -> None:
    second = Launch(
        changed_settings(first.settings, {"placement": "behaviour"}), first.task, RunFolder(tmp_path / "second")
    )
    with pytest.raises(UsageError, match=r"cannot take candidate 0 over: .* cannot be compared"):
        async with fork_search(second, first.folder):
            pass
    assert not second.folder.path.exists()


async def test_what_came_before_a_fork_is_verified_by_what_held_then_however_many_programs_run_at_once(
    first: Launch,
) -> None:
    now = changed_settings(first.settings, {"placement": "behaviour"})
    async with SqliteJournal(first.folder.journal) as journal:
        await journal.append([RunForked("before", now.flat(), run_provenance(now, first.task))])
    first.folder.write_settings(now.flat())
    found = [await verify(first.folder, workers) for workers in (1, 8)]
    assert found[0] == found[1]
    assert (found[0].differences, found[0].evaluations) == ([], 2)


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        (
            "float(solution[0])",
            "2 * float(solution[0])",
            "the template of first otherwise: its score was 1.0 and is 2.0",
        ),
        (
            "float(solution[0])",
            "float(solution[0] ** 2)",
            "candidate 0 of first otherwise: its score was 2.0 and is 4.0",
        ),
        ("(3, int", "(4, int", "the template of first otherwise: its behaviour is another"),
        ("float(solution[0])", "1 / 0", r"the template of first otherwise: it fails now \(invalid-solution: "),
        ("maximise", "minimise", "a fork keeps which scores are better"),
        ("instances(self, split): return [0]", "instances(self, split): return [1]", "a fork keeps its instances"),
        ("    normaliser", '    """In other words."""\n    normaliser', None),
    ],
)
async def test_a_fork_of_a_run_whose_task_changed_takes_over_no_score_or_behaviour_of_another_kind(
    tmp_path: Path, first: Launch, was: str, now: str, said: str | None
) -> None:
    Path(first.settings.task).write_text(FLAT_OR_NOT.replace(was, now))
    task = TaskReference(first.settings.task).load()
    second = Launch(changed_settings(first.settings, {"budget": 6}), task, RunFolder(tmp_path / "second"))
    if said is not None:
        with pytest.raises(UsageError, match=said):
            async with fork_search(second, first.folder):
                pass
        assert not second.folder.path.exists()
        return
    async with fork_search(second, first.folder) as search:
        assert await search.run() == "budget"
    found = await verify(second.folder)
    assert found.is_sound, found.differences
    assert found.unchecked == {"under another task": 5}


async def test_a_fork_of_a_run_that_goes_on_begins_where_that_stood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = in_the_plane(tmp_path)
    let_go = asyncio.Event()

    class Waiting(InThePlane):
        async def propose(self, prompt: Prompt, number: int) -> Reply:
            if number == 2 and not let_go.is_set():
                await asyncio.sleep(0)
                waiting.set()
                await let_go.wait()
            return await super().propose(prompt, number)

    waiting = asyncio.Event()
    monkeypatch.setattr(Launch, "proposer", property(lambda launch: Waiting()))
    async with new_search(first) as search:
        running = asyncio.create_task(search.run())
        await waiting.wait()
        monkeypatch.setattr(Launch, "proposer", property(lambda launch: InThePlane()))
        small = Launch(changed_settings(first.settings, {"budget": 2}), first.task, RunFolder(tmp_path / "third"))
        with pytest.raises(UsageError, match="has asked for 3 programs"):
            async with fork_search(small, first.folder):
                pass
        second = Launch(changed_settings(first.settings, {"budget": 6}), first.task, RunFolder(tmp_path / "second"))
        async with fork_search(second, first.folder) as fork:
            assert await fork.run() == "budget"
        let_go.set()
        assert await running == "budget"
    for launch, registered in ((first, 4), (second, 6)):
        found = await verify(launch.folder)
        assert found.is_sound, found.differences
        assert count_registered(launch.folder.journal) == registered
    assert not small.folder.path.exists()


CHANGES: tuple[dict[str, Any], ...] = ({"prompts": "small"}, {"prompts": "paper"}, {"prompt_times": True, "repair": 1})


@pytest.mark.usefixtures("replies_read_once")
@pytest.mark.parametrize(("method", "change"), [*zip(METHODS, cycle(CHANGES), strict=False)])
async def test_a_fork_asks_by_its_own_settings_from_its_first_question_on(method: str, change: dict[str, Any]) -> None:
    begun = {**SMALL, "method": method, "samples_per_prompt": 4, "prompts": "full"}
    now = {**begun, **change, "budget": 60}
    whole = MemoryJournal()
    await (await search(whole, begun, random.Random(1))).run()
    for cut in range(40 + len(method), len(whole.rows), 131):
        journal = MemoryJournal(whole.rows[:cut])
        journal.rows.append(encode(RunForked("first", fitting(now).flat(), {"direction": "minimise"})))
        assert await (await search(journal, now, random.Random(cut))).run() == "budget"
        events = list(journal.events())
        before = {event.prompt.text for event in events[:cut] if isinstance(event, Asked)}
        after = [event for event in events[cut:] if isinstance(event, Asked) and event.prompt.operator != "repair"]
        assert after and before.isdisjoint(event.prompt.text for event in after), f"after event {cut}"
        audit = Audit(fitting(now), Toy())
        for number, event in enumerate(events, 1):
            if number > cut and isinstance(event, DECISIONS):
                assert discrepancy(number, audit.due(event), event) is None, f"after event {cut}"
            audit.take(event)
