"""A reply that is too costly to read is rejected, in this session and in any that resumes it."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from behavesim.programs import extract as extracting
from behavesim.programs.reading import FunctionForm, Program, Request
from behavesim.state.events import Prompt, Rejected, Reply, Responded
from behavesim.task.verdict import Failure
from tests.engine.toys import MemoryJournal, ToyProposer, search

COSTLY = "".join(f"{' ' * k}try:\n{' ' * k} pass\n{' ' * k}finally:\n" for k in range(19)) + " " * 19 + "pass"
SETTINGS = {"method": "best-of-n", "budget": 3, "window": 1}


class Costly(ToyProposer):
    """Answers with a program that Python's compiler would make a gigabyte of."""

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        return Reply(f"```python\ndef number() -> int:\n    return 1\n\n{COSTLY}\n```", "costly", (), "stop")


def rejections(journal: MemoryJournal) -> Iterator[str]:
    return (event.reason for event in journal.events() if isinstance(event, Rejected))


async def test_it_is_read_beside_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = set[int]()
    read = extracting.read_within_limits

    def noted(form: FunctionForm, request: Request) -> Program | Failure:
        threads.add(threading.get_ident())
        return read(form, request)

    monkeypatch.setattr(extracting, "read_within_limits", noted)
    journal = MemoryJournal()
    run = await search(journal, SETTINGS, proposer=Costly())
    assert await run.run() == "budget"
    assert [*rejections(journal)] == ["too-complex"] * 3
    assert threads
    assert threading.get_ident() not in threads


async def test_a_run_that_died_over_it_goes_on_and_comes_to_the_same() -> None:
    whole = MemoryJournal()
    first = await search(whole, SETTINGS, proposer=Costly())
    await first.run()
    kinds = [type(event) for event in whole.events()]
    died = MemoryJournal(whole.rows[: kinds.index(Responded) + 1])
    resumed = await search(died, SETTINGS, proposer=Costly())
    assert await resumed.run() == "budget"
    assert [*rejections(died)] == [*rejections(whole)]
    assert resumed.state.digest() == first.state.digest()
