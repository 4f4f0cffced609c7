"""What every method has, and what none may do whatever share of its candidates fails."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter, defaultdict
from functools import cache, partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import behavesim
from behavesim.methods.baselines import HillClimbing
from behavesim.methods.method import MethodSettings, method_of
from behavesim.state.events import Asked, Prompt, Reply
from behavesim.state.members import Member
from behavesim.store.codec import decode
from tests.crash.deaths import METHODS
from tests.engine.toys import MemoryJournal, Toy, ToyProposer, fitting, search
from tests.methods.runs import Events, final, steps
from tests.methods.states import BRIEF, UNREAD

pytestmark = pytest.mark.usefixtures("replies_read_once")


class Mine(HillClimbing):
    """A method of one's own."""


def test_errors_name_a_method_of_ours_by_its_class_and_one_of_ones_own_by_its_file() -> None:
    assert HillClimbing(MethodSettings(), BRIEF).name == "HillClimbing"
    assert Mine(MethodSettings(), BRIEF).name == __file__


BUDGET = 80
GOOD = 12
"""Number of first candidates of which none fails: so many programs there are to choose from, whatever comes then."""
FIRST = {"template", "i1", "initial"}
"""The operators whose prompts show no program that the run found."""
ONE = {"best-of-n", "hill-climbing"}
"""The methods that keep to one program by design."""


class Failing(ToyProposer):
    """Its first GOOD replies hold a program each, often one of the same; of those after them a share holds none."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self._share = share

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        rng = np.random.default_rng([abs(number), number < 0])
        if number < -1:
            return Reply(f"Choose {rng.integers(40)}.", "toy")
        if number >= GOOD and rng.random() < self._share:
            return Reply("I would rather not say.", "toy")
        value = int(rng.integers(5)) if rng.random() < 0.3 else int(rng.integers(5, 10_000))
        while value % 11 == 0 or value % 13 == 0:  # the judge fails these, or puts them off
            value += 1
        return Reply(f"```python\ndef number() -> int:\n    return {value}\n```", "toy")


@cache
def failing(share: float, budget: int, **settings: Any) -> Events:
    """The events of a whole run."""
    settings |= {"budget": budget, "window": 8, "max_rejected_share": 1.0}

    async def run() -> Events:
        journal = MemoryJournal()
        assert await (await search(journal, settings, proposer=Failing(share))).run() == "budget"
        return tuple(decode(*row) for row in journal.rows)

    return asyncio.run(run())


def requests(events: Events) -> list[tuple[Asked, list[Member]]]:
    """Each question for a new candidate, with the programs that it shows."""
    found, known = [], dict[int, Member]()  # those that left the archive too: a question can be asked twice
    for state, event in steps(events):
        known |= state.members
        if isinstance(event, Asked) and event.candidate not in state.open:
            found.append((event, [known[parent] for parent in event.parents]))
    return found


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("share", [0.0, 1.0])
def test_no_method_sticks_to_an_operator_or_a_program_whatever_share_of_its_candidates_fails(
    method: str, share: float
) -> None:
    asked = requests(failing(share, BUDGET, method=method))
    for _, shown in asked:
        assert len({program.identity for program in shown}) == len(shown)
    late = asked[BUDGET // 2 :]
    usual = {event.prompt.operator for event, _ in requests(failing(0.0, BUDGET, method=method))} - FIRST
    operators = {event.prompt.operator for event, _ in late}
    assert len(operators) >= min(len(usual), 2)
    assert method == "best-of-n" or not operators & FIRST
    # the template does not count: in plain FunSearch it begins every island
    programs = Counter(program.candidate for _, shown in late for program in shown if program.candidate >= 0)
    assert method in ONE or max(programs.values()) <= len(late) / 2


def test_with_the_wording_of_the_papers_no_prompt_shows_a_program_twice_either() -> None:
    for method in METHODS:
        for _, shown in requests(failing(0.5, BUDGET // 2, method=method, prompts="paper")):
            assert len({program.identity for program in shown}) == len(shown)


def lines_run(call: Any) -> int:
    """How many lines of this package a call runs."""
    ours, count, before = str(Path(behavesim.__file__).parent), 0, sys.gettrace()

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if not frame.f_code.co_filename.startswith(ours):
            return None
        count += event == "line"
        return trace

    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


class Everything(set[Any]):
    """Parents that were shown together: all."""

    def __contains__(self, _: object) -> bool:
        return True


@pytest.mark.parametrize("method", METHODS)
def test_a_question_takes_no_more_than_linear_work(method: str) -> None:
    taken = []
    for budget in (BUDGET // 4, BUDGET):
        state = final(failing(0.0, budget, method=method))
        state.shown_parents = defaultdict(Everything)  # so that it draws as often as it may
        chosen = method_of(fitting({"method": method, "budget": budget}), Toy(), takes_notes=True)
        taken.append(max(lines_run(partial(chosen.ask, state, UNREAD, budget + place)) for place in range(12)))
    few, many = taken
    assert many <= 4.5 * few
    assert many <= 80 * BUDGET  # also in number: a sort of the whole archive for each draw is linear, too
