"""A run is a function of its settings and the replies, and nothing that reached its journal is lost."""

from __future__ import annotations

import asyncio
import random
import threading
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import pytest

from behavesim.base.errors import JournalError, SandboxError
from behavesim.engine import outcome
from behavesim.programs.extract import extract
from behavesim.programs.parsing import LONGEST_PROGRAM
from behavesim.prompts.feedback import FAILURE_SHOWN, IDEA_SHOWN
from behavesim.prompts.shown import CHILDREN_SHOWN, GROUPS_SHOWN, LATEST_SHOWN
from behavesim.state.events import (
    Added,
    Asked,
    Evaluated,
    Event,
    Injected,
    NotAdded,
    Prompt,
    Regrouped,
    Rejected,
    Reply,
    Responded,
    RunStopped,
)
from behavesim.store.codec import decode
from tests.engine.toys import MemoryJournal, Stop, ToyProposer, finished, search

pytestmark = pytest.mark.usefixtures("replies_read_once")

METHODS = [
    "funsearch",
    "funsearch+behavesim",
    "eoh",
    "eoh+behavesim",
    "niche",
    "best-of-n",
    "hill-climbing",
    "reevo",
    "mcts-ahd",
    "map-elites",
    "set-search",
    "eoh-s",
]
SMALL = {"budget": 60, "window": 8, "islands": 4, "restart_every": 20, "population": 8}
BRIEF = {"budget": 12, "window": 4, "islands": 3, "restart_every": 5, "population": 3, "initial_population": 3}
"""So short a run has seen all that its method does."""


@pytest.mark.parametrize("method", METHODS)
async def test_the_digest_does_not_depend_on_which_reply_comes_first(method: str) -> None:
    settings = {
        **BRIEF,
        "budget": 18,
        "method": method,
        "window": 16,
    }  # test_twins.py has a window of 8
    digests = {(await finished(settings, random.Random(shuffle))).state.digest() for shuffle in range(2)}
    assert len(digests) == 1


async def test_seeds_and_methods_make_different_runs() -> None:
    runs = [{**BRIEF, "method": method, "seed": seed} for method in METHODS for seed in (0, 1)]
    assert len({(await finished(settings)).state.digest() for settings in runs}) == 2 * len(METHODS)


async def test_every_candidate_is_asked_once_answered_once_and_told_once() -> None:
    journal = MemoryJournal()
    run = await search(journal, {**SMALL, "method": "funsearch+behavesim"}, random.Random(1))
    assert await run.run() == "budget"
    events = [decode(*row) for row in journal.rows]
    for kind in (Asked, Responded):
        assert sorted(e.candidate for e in events if isinstance(e, kind)) == list(range(60))
    outcomes = [e.candidate for e in events if isinstance(e, Evaluated | Rejected) and e.candidate >= 0]
    assert sorted(outcomes) == list(range(60))
    assert run.state.tally.put_off["clock"] > 0
    assert run.state.tally.feasible + sum(run.state.tally.rejected.values()) == run.state.registered == 60
    assert events[-1] == RunStopped("budget")


async def test_no_candidate_is_asked_before_the_window_admits_it() -> None:
    journal = MemoryJournal()
    await (await search(journal, {**SMALL, "method": "funsearch"}, random.Random(2))).run()
    told = 0
    for event in (decode(*row) for row in journal.rows):
        if isinstance(event, Asked):
            assert event.candidate < told + 8
        elif type(event).__name__ in ("Added", "NotAdded"):
            assert event.candidate == told
            told += 1


@pytest.mark.parametrize("method", METHODS)
async def test_a_run_stopped_at_any_event_goes_on_as_if_nothing_had_happened(method: str) -> None:
    await goes_on_from_any_event({**BRIEF, "method": method}, {"funsearch+behavesim": 2, "reevo": 7}.get(method, 17))


async def goes_on_from_any_event(settings: dict[str, Any], stride: int = 1) -> None:
    """Resume a run from beginnings of its journal, as it was written in one of two orders of arrival.

    They are each `stride`-th, and those that end with the first event of a kind.
    """
    wholes = [await finished(settings, random.Random(order)) for order in range(2)]
    expected, journals = wholes[0].state.digest(), [whole.journal.rows for whole in wholes]  # type: ignore[attr-defined]
    firsts = {row[0]: place for place, row in reversed([*enumerate(journals[0], 1)])}.values()
    for k in sorted({*range(3, len(journals[0]), stride), *(first for first in firsts if first >= 3)}):
        resumed = await search(MemoryJournal(journals[k // 2 % 2][:k]), settings, random.Random(-k))
        await resumed.run()
        assert resumed.state.digest() == expected, f"after event {k}"


async def test_replies_that_reached_the_journal_are_never_asked_for_again() -> None:
    settings = {**SMALL, "method": "funsearch+behavesim"}
    journal = MemoryJournal()
    broken = await search(journal, settings, random.Random(3))
    journal.die_after = 100
    with pytest.raises(Stop):
        await broken.run()
    paid = {e.candidate for e in (decode(*row) for row in journal.rows) if isinstance(e, Responded)}
    proposer = ToyProposer()
    resumed = await search(MemoryJournal(journal.rows), settings, proposer=proposer)
    await resumed.run()
    assert paid
    assert not paid & set(proposer.asked)


async def test_equal_programs_are_evaluated_once() -> None:
    run = await finished({**SMALL, "method": "funsearch", "budget": 100}, random.Random(4))
    evaluated = run._evaluations.judge.evaluated  # type: ignore[attr-defined]
    assert len(evaluated) == len(set(evaluated)) < run.state.tally.feasible
    assert run.state.tally.repeated_programs > 0


async def test_an_interrupted_run_keeps_what_arrived_and_says_so() -> None:
    journal = MemoryJournal()
    run = await search(journal, {**SMALL, "method": "funsearch"})
    run.stop("interrupted")
    assert await run.run() == "interrupted"
    assert decode(*journal.rows[-1]) == RunStopped("interrupted")
    resumed = await search(journal, {**SMALL, "method": "funsearch"})
    assert await resumed.run() == "budget"
    assert resumed.state.digest() == (await finished({**SMALL, "method": "funsearch"})).state.digest()


async def test_a_cap_on_calls_holds_over_all_sessions() -> None:
    journal = MemoryJournal()
    settings = {**SMALL, "method": "funsearch", "max_calls": 20}
    run = await search(journal, settings, random.Random(5))
    assert await run.run() == "max_calls"
    assert sum(tokens.calls for tokens in run.state.tally.tokens.values()) == 20
    again = await search(journal, settings)
    assert await again.run() == "max_calls"
    assert again.state.asked == 20


@pytest.mark.parametrize("method", METHODS)
async def test_a_rejected_candidate_gets_the_repairs_it_was_granted(method: str) -> None:
    journal = MemoryJournal()
    settings = {**SMALL, "method": method, "repair": 2}
    run = await search(journal, settings, random.Random(6))
    await run.run()
    events = [decode(*row) for row in journal.rows]
    asked = Counter(e.candidate for e in events if isinstance(e, Asked))
    rejections = Counter(e.candidate for e in events if isinstance(e, Rejected))
    feasible = {e.candidate for e in events if isinstance(e, Evaluated)}
    assert {1, 2} <= set(asked.values()) <= {1, 2, 3}
    assert run.state.tally.repairs == sum(asked.values()) - 60 > 0
    for candidate, count in asked.items():
        assert rejections[candidate] == (count - 1 if candidate in feasible else 3)
    assert run.state.tally.feasible + sum(run.state.tally.rejected.values()) == run.state.registered == 60
    assert sum(run.state.tally.rejected.values()) == sum(count == 3 for count in rejections.values())


async def test_a_run_with_repairs_stopped_at_any_event_goes_on_as_if_nothing_had_happened() -> None:
    await goes_on_from_any_event({**BRIEF, "method": "funsearch", "repair": 1}, 4)


@pytest.mark.parametrize("order", range(2))
async def test_a_cap_on_calls_counts_repairs_and_ends_them(order: int) -> None:
    journal = MemoryJournal()
    settings = {**SMALL, "method": "funsearch", "repair": 2, "max_calls": 30}
    run = await search(journal, settings, random.Random(order))
    assert await run.run() == "max_calls"
    assert sum(tokens.calls for tokens in run.state.tally.tokens.values()) == 30
    assert run.state.registered == run.state.asked < 30
    assert 0 < run.state.tally.repairs == 30 - run.state.asked
    grown = await search(MemoryJournal(journal.rows), {**settings, "max_calls": 45}, random.Random(-order))
    assert await grown.run() == "max_calls"
    assert sum(tokens.calls for tokens in grown.state.tally.tokens.values()) == 45


async def test_islands_are_not_emptied_when_nobody_is_to_come_and_are_when_somebody_is() -> None:
    settings = {**SMALL, "method": "funsearch", "budget": 40, "restart_every": 20}
    journal = MemoryJournal()
    await (await search(journal, settings)).run()
    assert [told for told, _ in restarts(journal)] == [20]
    await (await search(journal, {**settings, "budget": 60})).run()
    assert [told for told, _ in restarts(journal)] == [20, 40]


def restarts(journal: MemoryJournal) -> list[tuple[int, Regrouped]]:
    """The restarts of a journal, each with the number of candidates told before it."""
    events = [decode(*row) for row in journal.rows]
    told = accumulate(isinstance(event, Added | NotAdded) for event in events)
    regrouped = [(count, event) for count, event in zip(told, events, strict=True) if isinstance(event, Regrouped)]
    return regrouped[1:]  # the first one founds the islands


async def test_only_feasible_programs_are_placed() -> None:
    journal = MemoryJournal()
    await (await search(journal, {**SMALL, "method": "funsearch+behavesim"})).run()
    events = [decode(*row) for row in journal.rows]
    feasible = {e.candidate for e in events if isinstance(e, Evaluated)}
    placed = {e.candidate for e in events if isinstance(e, Added)}
    assert placed
    assert placed <= feasible


async def test_a_reply_that_takes_long_to_read_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    read_on = threading.Event()

    def slowly(*arguments: Any, **options: Any) -> Any:
        assert read_on.wait(60), "the event loop waits for what it should go on beside"
        return extract(*arguments, **options)

    monkeypatch.setattr(outcome, "extract", slowly)
    journal = MemoryJournal()
    run = await search(journal, {**SMALL, "method": "funsearch", "budget": 8})

    async def let_it_be_read() -> None:
        while sum(row[0] == "Responded" for row in journal.rows) < 8:
            await asyncio.sleep(0)
        read_on.set()

    _, reason = await asyncio.gather(let_it_be_read(), run.run())
    assert reason == "budget"


class Verbose:
    """Answers with a program as long as may be, and every third time with one of two million characters."""

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        program = f"def number() -> int:\n    return {1 + number}\n"
        comment = "x" * (2_000_000 if number % 3 == 0 else LONGEST_PROGRAM - len(program) - 2)
        return Reply(f"{{{'A thought ' * 20_000}}}\n```python\n{program}# {comment}\n```", "toy")


@pytest.mark.parametrize("method", METHODS)
async def test_no_prompt_outgrows_its_programs_however_long_the_replies_are(method: str) -> None:
    journal = MemoryJournal()
    run = await search(journal, {**BRIEF, "method": method, "budget": 16, "window": 2, "repair": 1})
    run.proposer = Verbose()
    await run.run()
    events = [decode(*row) for row in journal.rows]
    assert run.state.tally.rejected["too-long"] == 6
    longest = max(len(event.prompt.text) for event in events if isinstance(event, Asked))
    own, two_examples, one_repair = 2000, 2 * (LONGEST_PROGRAM + 600), LONGEST_PROGRAM + 600
    ideas = GROUPS_SHOWN * (IDEA_SHOWN + 30)
    failures = (CHILDREN_SHOWN + LATEST_SHOWN) * (FAILURE_SHOWN + IDEA_SHOWN + 60)
    assert longest <= own + two_examples + one_repair + ideas + failures
    if method != "best-of-n":
        assert longest > LONGEST_PROGRAM, "programs as long as may be are shown"


async def test_a_run_fails_by_what_happened_first_and_not_by_what_a_worker_raises_as_it_ends() -> None:
    class FailsOnce(MemoryJournal):
        failed = False

        async def append(self, events: Sequence[Event]) -> None:
            assert not self.failed, "a journal that failed takes nothing more"
            if any(isinstance(event, Injected) for event in events):
                self.failed = True
                raise JournalError("the disk is full")
            await super().append(events)

    class EndsBadly(ToyProposer):
        async def propose(self, prompt: Prompt, number: int) -> Reply:
            run.bring(Injected("mine", "def number() -> int:\n    return 3\n"))
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                raise SandboxError("it would not end")

    run = await search(FailsOnce(), {**BRIEF, "method": "best-of-n"}, proposer=EndsBadly())
    with pytest.raises(JournalError, match="the disk is full"):
        await run.run()
