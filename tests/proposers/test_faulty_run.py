"""A whole search whose model is asked over a connection that fails a fifth of the time."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from behavesim.engine.loop import Search
from behavesim.state.events import Asked, Rejected, Responded
from behavesim.store.codec import decode
from tests.engine import toys
from tests.proposers import chat_server as chat

SETTINGS = {"budget": 60, "window": 32, "method": "funsearch"}


class Run:
    """A finished search, the events of its journal and what the server was asked for it."""

    def __init__(self, search: Search, journal: toys.MemoryJournal) -> None:
        self.digest = search.state.digest()
        self.told = search.state.registered
        self.events = [decode(*row) for row in journal.rows]


@pytest.fixture
def run_of(server: Any, proposer_of: Any) -> Any:
    async def run(behaviour: Any, connections: int) -> Run:
        server.behaviour, journal, quiet = behaviour, toys.MemoryJournal(), {"notes": lambda line: None}
        async with proposer_of(connections, chat.UNTIRING, world=chat.Hurried(server), **quiet) as proposer:
            search = await toys.search(journal, SETTINGS, proposer=proposer)
            assert await search.run() == "budget"
        return Run(search, journal)

    return run


async def test_faults_change_nothing_but_the_ledger(run_of: Any, server: Any) -> None:
    smooth = await run_of(chat.improving, 8)
    asked = len(server.asked)
    rough = await run_of(chat.faulty(0.2, seed=3, then=chat.improving), 16)
    assert asked == smooth.told == rough.told == 60
    assert len(server.asked) - asked > 64
    assert rough.digest == smooth.digest
    assert not any(isinstance(event, Rejected) and event.stage == "extraction" for event in rough.events)


async def test_every_successful_reply_is_in_the_journal_exactly_once(run_of: Any, server: Any) -> None:
    answered: Counter[str] = Counter()

    def improving(asked: Any) -> Any:
        answered[asked.prompt] += 1
        return chat.improving(asked)

    faults = [fault for fault in chat.passing_faults() if not fault.delay_s]
    run = await run_of(chat.faulty(0.2, seed=4, faults=faults, then=improving), 16)
    prompts = {event.candidate: event.prompt.text for event in run.events if isinstance(event, Asked)}
    responded = [event.candidate for event in run.events if isinstance(event, Responded)]
    assert sorted(responded) == list(range(60))
    assert Counter(prompts[candidate] for candidate in responded) == answered
    requests = sum(len(event.reply.calls) for event in run.events if isinstance(event, Responded))
    unanswered = len(server.asked) - requests
    assert 0 < unanswered < 20
