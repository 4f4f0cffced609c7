"""Under each setting that changes what is asked, a run goes on from any event as if it had not ended."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from behavesim.proposers.openai_settings import OpenAISettings
from behavesim.proposers.replay import ReplayProposer
from behavesim.state.events import Asked, Reply, Responded
from behavesim.state.protocols import Responder
from tests.engine.toys import MemoryJournal, ToyProposer, search

pytestmark = pytest.mark.usefixtures("replies_read_once")

BASE = {"method": "eoh", "population": 4, "initial_population": 6, "budget": 24, "window": 8}
ASKING: Mapping[str, Mapping[str, Any]] = {
    "asked again": {"ask_once": False},
    "asked again alone": {"ask_each_once": False},
    "short prompts": {"prompt_tokens": 420},
    "small prompts": {"prompts": "small"},
    "times": {"prompt_times": True},
    "bandit": {"seed": 3},
}
BANDIT = OpenAISettings(models={"dear": 1, "cheap": 1}, choose_models="bandit")


class ModelsProposer(ToyProposer):
    """Answers as the model that the prompt names, half of whose replies are said to be dear."""

    async def propose(self, prompt: Any, number: int) -> Reply:
        """Return the toy's reply under the name of the model."""
        return replace(await super().propose(prompt, number), model=prompt.model)


async def gone_on(journal: MemoryJournal, name: str, order: int, proposer: Responder | None = None) -> str:
    """Run to the end what the journal begins; return the digest."""
    settings, delay = {**BASE, **ASKING[name]}, random.Random(order)
    run = await search(journal, settings, delay, proposer or ModelsProposer(0, delay))
    if name == "bandit":
        run.rules = replace(run.rules, choose=BANDIT.chooser(3))
    assert await run.run() == "budget"
    return run.state.digest()


def asked(journal: MemoryJournal) -> list[Asked]:
    """All questions of a run, in order."""
    return [event for event in journal.events() if isinstance(event, Asked)]


@pytest.mark.parametrize("name", ASKING)
async def test_a_run_that_was_killed_asks_what_it_would_have_asked(name: str) -> None:
    whole = MemoryJournal()
    expected = await gone_on(whole, name, 0)
    for killed in range(3 + 7 * list(ASKING).index(name), len(whole.rows), 60):
        journal = MemoryJournal(whole.rows[:killed])
        assert await gone_on(journal, name, killed) == expected, f"after event {killed}"
        assert asked(journal) == asked(whole), f"after event {killed}"


@pytest.mark.parametrize("name", ASKING)
async def test_a_replay_asks_the_same(name: str) -> None:
    whole, again = MemoryJournal(), MemoryJournal()
    expected = await gone_on(whole, name, 0)
    replies = {event.candidate: event.reply for event in whole.events() if isinstance(event, Responded)}
    assert await gone_on(again, name, 1, ReplayProposer(replies)) == expected
    assert asked(again) == asked(whole)


async def test_these_settings_change_what_is_asked() -> None:
    journals = {name: MemoryJournal() for name in ASKING}
    for name, journal in journals.items():
        await gone_on(journal, name, 0)
    questions = [tuple((each.prompt.text, each.prompt.model) for each in asked(each)) for each in journals.values()]
    assert len(set(questions)) == len(questions)
    assert {each.prompt.model for each in asked(journals["bandit"])} == {"dear", "cheap"}
