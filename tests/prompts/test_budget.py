"""Prompts fit the budget of tokens, and say what was left out, the least important first."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from behavesim.base.errors import UsageError
from behavesim.base.tokens import estimate_tokens
from behavesim.programs.answer import fenced_blocks
from behavesim.state.events import Asked, Prompt, Rejected
from tests.engine.toys import Toy
from tests.prompts.page import PROGRAMS, prompts, specimens
from tests.prompts.test_prompts import toy


@pytest.mark.parametrize("wording", ["full", "small"])
def test_every_prompt_fits_and_none_is_changed_without_need(wording: str) -> None:
    long = replace(PROGRAMS[1], source=PROGRAMS[1].source + "# a comment\n" * 2000)
    for tokens in (1000, 1200, 3000):
        asking = prompts("tsp", wording, prompt_tokens=tokens, prompt_angles=True)
        plain = dict(specimens(prompts("tsp", wording, prompt_angles=True)))
        for name, prompt in specimens(asking):
            assert estimate_tokens(prompt.text) <= tokens, name
            assert prompt == plain[name] if estimate_tokens(plain[name].text) <= tokens else prompt.left_out, name
        prompt = asking.showing_programs("improve", [PROGRAMS[0], long])
        assert estimate_tokens(prompt.text) <= 3000
        assert prompt.left_out[-1] == "end of the program"


def test_the_least_important_is_left_out_first() -> None:
    said = [prompts("tsp", prompt_tokens=tokens).hinted("improve", PROGRAMS, "Wait.") for tokens in (2000, 1700, 1500)]
    for less, more in pairwise(said):
        assert more.left_out[: len(less.left_out)] == less.left_out
    assert said[-1].left_out == ("angle", "scores", "program 1 of 2", "rules")
    assert [block.strip() for block in fenced_blocks(said[-1].text)] == [PROGRAMS[1].source.strip()]


def test_a_repair_keeps_the_message_and_what_failed() -> None:
    asking = toy("small", prompt_tokens=300)
    asked = Asked(3, (1,), None, Prompt("long " * 100, "improve"))
    found = asking.repair(asked, "", Rejected(3, "evaluation", "exception", "NameError: near", "def number(): near"))
    assert "NameError: near" in found.prompt.text and "def number(): near" in found.prompt.text
    assert found.prompt.left_out == ("first prompt",)
    assert estimate_tokens(found.prompt.text) <= 300


def test_a_budget_that_no_prompt_fits_is_refused_with_the_least_that_does() -> None:
    with pytest.raises(UsageError, match=r"prompt_tokens should be at least \d+"):
        toy(prompt_tokens=64)
    assert Toy.template in toy("small", prompt_tokens=200).showing_template("template", 0).text
