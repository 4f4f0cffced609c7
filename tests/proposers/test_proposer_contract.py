"""What every proposer owes the search, whoever it asks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from behavesim_offline import GeneticProposer
from behavesim_tasks.tsp import TravellingSalesman

from behavesim.base.errors import PartError
from behavesim.engine.admission import settings_from_person
from behavesim.proposers.command import CommandProposer
from behavesim.proposers.folder import FolderProposer
from behavesim.proposers.proposer import proposer_of
from behavesim.proposers.replay import ReplayProposer
from behavesim.proposers.retry import RetryLimits
from behavesim.state.events import Prompt, Reply
from behavesim.state.protocols import Responder
from tests.proposers.asking import context
from tests.proposers.writing import answered

TASK = TravellingSalesman()


class ProposerContract:
    """Subclasses give a `proposer` that can answer the candidates 0 to 29."""

    async def test_a_reply_is_a_frozen_value_that_names_its_model(self, proposer: Responder) -> None:
        reply = await proposer.propose(prompt(0), 0)
        assert isinstance(reply, Reply)
        assert reply.text
        assert reply.model
        assert hash(reply.calls) is not None

    async def test_candidates_are_answered_at_once_each_with_its_own_reply(self, proposer: Responder) -> None:
        together = await asyncio.gather(*(proposer.propose(prompt(number), number) for number in range(30)))
        alone = [await proposer.propose(prompt(number), number) for number in reversed(range(30))]
        assert [reply.text for reply in together] == [reply.text for reply in reversed(alone)]
        assert len({reply.text for reply in together}) > 15

    async def test_a_request_that_is_given_up_harms_no_other(self, proposer: Responder) -> None:
        doomed = [asyncio.ensure_future(proposer.propose(prompt(number), number)) for number in range(20)]
        await asyncio.sleep(0)
        for task in doomed:
            task.cancel()
        await asyncio.gather(*doomed, return_exceptions=True)
        assert (await proposer.propose(prompt(25), 25)).text


def prompt(number: int) -> Prompt:
    return Prompt(f"Task {number}.\n\n```python\n{TASK.template}\n```", "improve")


class TestOpenAI(ProposerContract):
    @pytest.fixture
    async def proposer(self, proposer_of: Any) -> AsyncIterator[Responder]:
        async with proposer_of() as proposer:
            yield proposer


class TestCommand(ProposerContract):
    @pytest.fixture
    def proposer(self) -> Responder:
        return CommandProposer("cat; echo reply", RetryLimits(), context())


class TestFolder(ProposerContract):
    @pytest.fixture
    async def proposer(self, tmp_path: Path) -> AsyncIterator[Responder]:
        answering = asyncio.create_task(answered(tmp_path))
        yield FolderProposer(tmp_path, 0.0, context())
        answering.cancel()


class TestReplay(ProposerContract):
    @pytest.fixture
    def proposer(self) -> Responder:
        return ReplayProposer({number: Reply(f"reply {number}", "m") for number in range(30)})


class TestGenetic(ProposerContract):
    @pytest.fixture
    def proposer(self) -> Responder:
        return GeneticProposer(TASK, seed=0)


def test_a_proposers_of_that_gives_none_is_named(tmp_path: Path) -> None:
    own = "import behavesim as bs\nclass Own(bs.Proposer):\n    of = classmethod(lambda *_: 7)\nproposer = Own\n"
    (tmp_path / "own.py").write_text(own)
    settings = settings_from_person({"task": "tsp", "proposer": str(tmp_path / "own.py")}, task=TASK)
    with pytest.raises(PartError, match="`of` of the proposer Own must return a proposer, not 7"):
        proposer_of(settings, context())
