"""Programs with the same text share a result. Programs that only have the same normal form do not."""

from __future__ import annotations

import random

import pytest

from behavesim.engine.outcome import Evaluations
from behavesim.programs.parsing import program_hash
from behavesim.state.events import TEMPLATE, Asked, Evaluated, Event, Prompt, Rejected, Reply
from behavesim.state.members import OpenCandidate
from behavesim.task.verdict import Failure, Verdict
from tests.arrivals import story
from tests.crash.deaths import METHODS
from tests.engine.toys import MemoryJournal, Toy, ToyJudge

FIRST = "def number() -> int:\n    a = 3\n    return 13"
COMMENTED = "def number() -> int:\n    a = 3  # b\n    return 13"
LAID_OUT = "def number() -> int:\n\n    a = 3\n    return 13"


class Quoting(ToyJudge):
    """Rejects a program with a message that quotes its second and third lines, as a traceback may."""

    async def evaluate(self, source: str, *_: object) -> Verdict | Failure:
        await super().evaluate(source)
        return Failure("exception", "".join(source.splitlines()[1:3]), 0.1)


class Tried:
    """What becomes of replies, one after another."""

    def __init__(self) -> None:
        self.judge, self.journal = Quoting(Toy()), MemoryJournal()
        self.evaluations = Evaluations(Toy(), self.judge, self.journal, None, lambda event: None)

    async def of(self, candidate: int, source: str) -> Evaluated | Rejected:
        asked = Asked(candidate, (TEMPLATE,), None, Prompt("a prompt", "improve"))
        outcome: Event = await self.evaluations.outcome(OpenCandidate(asked), Reply(f"```python\n{source}\n```", "m"))
        await self.journal.append([outcome])
        self.evaluations.apply(outcome)
        assert isinstance(outcome, Evaluated | Rejected)
        return outcome


@pytest.mark.parametrize("other", [COMMENTED, LAID_OUT])
async def test_a_program_with_another_text_is_run_itself(other: str) -> None:
    tried = Tried()
    outcomes = [await tried.of(number, source) for number, source in enumerate([FIRST, other, FIRST])]
    assert program_hash(FIRST) == program_hash(other)
    assert tried.judge.evaluated == [FIRST, other]
    assert [outcome.copy_of for outcome in outcomes] == [None, None, 0]
    messages = [outcome.message for outcome in outcomes if isinstance(outcome, Rejected)]
    assert messages == ["".join(text.splitlines()[1:3]) for text in (FIRST, other, FIRST)]


async def test_a_repaired_candidates_texts_are_told_apart() -> None:
    tried = Tried()
    for source in (FIRST, COMMENTED):
        await tried.of(0, source)
    copy = await tried.of(1, COMMENTED)
    assert isinstance(copy, Rejected)
    assert (copy.copy_of, copy.message) == (0, "    a = 3  # b    return 13")


@pytest.mark.parametrize("method", METHODS)
async def test_no_order_of_arrival_changes_a_prompt_or_an_outcome_where_programs_are_repaired(method: str) -> None:
    expected = await story(method, None)
    assert {"repair"} <= {event.prompt.operator for event in expected.events if isinstance(event, Asked)}
    assert any(isinstance(event, Rejected) and "0x…" in event.message for event in expected.events)
    assert await story(method, random.Random(METHODS.index(method))) == expected
