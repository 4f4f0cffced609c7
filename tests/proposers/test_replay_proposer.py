"""Replies from a finished run."""

from __future__ import annotations

import pytest

from behavesim.base.errors import ProposerError
from behavesim.base.tokens import Usage
from behavesim.proposers.replay import ReplayProposer, question_numbers, repeat_injected
from behavesim.state.events import INJECTED, TUNE, Asked, Injected, Prompt, Reply

RECORDED = {0: Reply("a", "m", (Usage(1, 0, 1, 0),), "stop"), 2: Reply("", "n", (), "length")}


async def test_a_candidate_gets_the_reply_it_had_whatever_the_prompt_is_now() -> None:
    proposer = ReplayProposer(RECORDED)
    assert await proposer.propose(Prompt("new words", "improve"), 2) == RECORDED[2]
    assert await proposer.propose(Prompt("other words", "e1"), 0) == RECORDED[0]


async def test_a_candidate_without_a_reply_stops_the_run_and_says_what_to_do() -> None:
    with pytest.raises(ProposerError, match=r"run tsp-1 has no reply for question 1; it holds 2.*--budget"):
        await ReplayProposer(RECORDED, "run tsp-1").propose(Prompt("x", "improve"), 1)


def test_candidates_whose_numbers_were_tuned_are_no_questions() -> None:
    operators = {0: "improve", 1: TUNE, 2: "improve", 4: TUNE, 5: INJECTED, 7: "improve"}  # two questions are damaged
    events = [Asked(number, (), None, Prompt("a program", operator)) for number, operator in operators.items()]
    assert question_numbers(events) == {0: 0, 2: 1, 5: 3, 7: 5}
    assert repeat_injected(events) == (Injected("candidate-5", "a program", 3),)
