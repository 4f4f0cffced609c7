"""Replies from a finished run."""

from __future__ import annotations

import pytest

from behavesim.base.errors import ProposerError
from behavesim.base.tokens import Usage
from behavesim.proposers.replay import ReplayProposer
from behavesim.state.events import Prompt, Reply

RECORDED = {0: Reply("a", "m", (Usage(1, 0, 1, 0),), "stop"), 2: Reply("", "n", (), "length")}


async def test_a_candidate_gets_the_reply_it_had_whatever_the_prompt_is_now() -> None:
    proposer = ReplayProposer(RECORDED)
    assert await proposer.propose(Prompt("new words", "improve"), 2) == RECORDED[2]
    assert await proposer.propose(Prompt("other words", "e1"), 0) == RECORDED[0]


async def test_a_candidate_without_a_reply_stops_the_run_and_says_what_to_do() -> None:
    with pytest.raises(ProposerError, match=r"run tsp-1 has no reply for candidate 1; it holds 2.*--budget"):
        await ReplayProposer(RECORDED, "run tsp-1").propose(Prompt("x", "improve"), 1)
