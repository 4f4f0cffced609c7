"""A reply that is the template in other words takes the template's result, and is run by nobody."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from behavesim.build import Launch, new_search
from behavesim.config import resolve
from behavesim.events import Evaluated, Prompt, Reply, Ticket
from behavesim.state import TEMPLATE
from behavesim.store.folder import RunFolder
from behavesim.store.journal import read_events
from behavesim.task import TaskReference
from behavesim.verify import verify


class Echo:
    """Answers every prompt with the template and a comment."""

    def __init__(self, template: str) -> None:
        self._template = template

    async def propose(self, prompt: Prompt, ticket: Ticket) -> Reply:
        return Reply(f"```python\n# try {ticket}\n{self._template}```", "echo", (), "stop")


async def test_an_echo_of_the_template_is_a_copy_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = TaskReference("tsp").load()

    async def echo(*_: Any) -> Echo:
        return Echo(task.template)

    monkeypatch.setattr("behavesim.build._proposer", echo)
    folder = RunFolder(tmp_path / "echo")
    settings = resolve({"task": "tsp", "method": "funsearch", "budget": 4})
    async with new_search(Launch(settings, task, folder)) as search:
        await search.run()
    template, *echoes = [e for _, _, e in read_events(folder.journal) if isinstance(e, Evaluated)]
    assert [e.copy_of for e in echoes] == [TEMPLATE] * 4
    assert {(e.score, e.trajectories) for e in echoes} == {(template.score, template.trajectories)}
    assert (await verify(folder, workers=1)).is_sound
