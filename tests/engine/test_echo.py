"""Replies that repeat the template: each text of it is run once."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from behavesim.audit.verify import verify
from behavesim.engine.admission import settings_from_person
from behavesim.engine.build import Launch, new_search
from behavesim.state.events import Evaluated, Prompt, Reply
from behavesim.store.folder import RunFolder
from behavesim.store.reading import read_events
from behavesim.task import TaskReference


class Echo:
    """Answers every prompt with the template and one of two comments."""

    def __init__(self, template: str) -> None:
        self._template = template

    async def __aenter__(self) -> Echo:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        return Reply(f"```python\n# try {number % 2}\n{self._template}```", "echo", (), "stop")


async def test_each_text_of_the_template_is_run_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = TaskReference("tsp").load()

    monkeypatch.setattr(Launch, "proposer", property(lambda launch: Echo(task.template)))
    folder = RunFolder(tmp_path / "echo")
    settings = settings_from_person({"task": "tsp", "method": "funsearch", "budget": 4, "proposer": "command:true"})
    async with new_search(Launch(settings, task, folder)) as search:
        await search.run()
    template, *echoes = [e for _, _, e in read_events(folder.journal) if isinstance(e, Evaluated)]
    assert [e.copy_of is None for e in echoes].count(True) == 2
    sources = {e.candidate: e.source for e in echoes}
    assert all(sources[e.copy_of] == e.source for e in echoes if e.copy_of is not None)
    assert {e.program_hash for e in echoes} == {template.program_hash}
    assert {(e.score, e.trajectories) for e in echoes} == {(template.score, template.trajectories)}
    assert (await verify(folder, workers=1)).is_sound

    changed(folder, "'$.copy_of', 0, '$.cpu_s', 0.0")
    assert "no copy, as this text was not tried before" in await doubted(folder)


async def doubted(folder: RunFolder) -> list[str]:
    """What `verify` expected instead of what is in a journal, but for the seals of its rows."""
    found = await verify(folder, workers=1)
    return [each.expected for each in found.differences if "seal" not in each.expected]


def changed(folder: RunFolder, values: str) -> None:
    """Set values of the result of candidate 1 in a journal."""
    with closing(sqlite3.connect(folder.journal)) as connection, connection:
        place = "type = 'Evaluated' AND candidate = 1"
        connection.execute(f"UPDATE events SET payload = json_set(payload, {values}) WHERE {place}")
