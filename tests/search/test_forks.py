"""What a fork may not change, because the journal it goes on from could not be read with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from behavesim.base.errors import UsageError
from behavesim.search.build import Launch, forked_search
from behavesim.search.settings import amended, resolve
from behavesim.state.events import RunStarted
from behavesim.state.provenance import provenance
from behavesim.store.folder import RunFolder
from behavesim.store.journal import SqliteJournal
from behavesim.task import TaskReference


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
    begun = resolve({"task": "tsp", "method": method})
    known = provenance(task) if change else {**provenance(task), "instances": "of another task"}
    source, target = RunFolder(tmp_path / "first"), RunFolder(tmp_path / "second")
    source.path.mkdir()
    async with SqliteJournal(source.journal) as journal:
        await journal.append([RunStarted(begun.flat(), known, "none")])
    with pytest.raises(UsageError, match=said):
        async with forked_search(Launch(amended(begun, change), task, target), source):
            pass
    assert not target.path.exists()


def test_another_proposer_or_method_comes_without_the_settings_of_the_one_before() -> None:
    begun = resolve({"task": "tsp", "proposer": "genetic", "method": "niche"})
    assert amended(begun, {"proposer": "openai"}).flat().keys() >= {"models", "temperature"}
    assert "niche_radius" not in amended(begun, {"method": "eoh"}).flat()
    with pytest.raises(UsageError, match="belongs to method niche"):
        amended(begun, {"method": "eoh"}, ["niche_radius=0.5"])
