"""A cap holds, whatever the endpoint says, whatever is under way, and however often the run goes on."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Callable
from typing import Any

import pytest

from behavesim.base.config import Settings
from behavesim.base.heartbeat import Heartbeat
from behavesim.base.tokens import Spending, Usage, estimate_tokens
from behavesim.checks.method import TURN_S
from behavesim.engine.caps import BY_NAME, CAPS, ENOUGH, Cap, Caps, is_capped, rejected_share
from behavesim.engine.loop import Search
from behavesim.proposers.prices import as_setting
from behavesim.state.events import INJECTED, Asked, Event, Injected, Prompt, Reply, RunResumed, RunStopped
from behavesim.state.state import RunState
from behavesim.store.codec import decode
from behavesim.store.reading import Activity
from behavesim.task import Objective
from tests.engine.toys import MemoryJournal, Stop, fitting, price, search
from tests.methods.states import state_of

SMALL = {"budget": 60, "window": 8, "method": "funsearch", "islands": 4}
PROGRAM = "```python\ndef number() -> int:\n    return {}\n```"


class Model:
    """Answers each request with a program of its own, or as told; knows how many it was asked and what they took."""

    def __init__(
        self,
        usage: Callable[[Prompt, int], tuple[Usage, ...]],
        text: Callable[[int], str] = PROGRAM.format,
        delay: random.Random | None = None,
        name: str = "toy",
    ) -> None:
        self.asked = self.open = self.most_open = 0
        self.usages: list[Usage] = []
        self._usage, self._text, self._delay, self._name = usage, text, delay, name

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        self.asked += 1
        self.open += 1
        self.most_open = max(self.open, self.most_open)
        await asyncio.sleep(TURN_S * (40 + self._delay.randrange(60)) if self._delay else 0)  # so that some are open
        self.open -= 1
        usages = self._usage(prompt, number)
        self.usages += usages
        return Reply(self._text(number), self._name, usages)

    @property
    def tokens(self) -> int:
        return sum((usage.prompt or 0) + (usage.completion or 0) for usage in self.usages)


def counted(prompt: Prompt, number: int) -> tuple[Usage, ...]:
    """From 50 to 150 tokens as a function of the candidate, the most for the first."""
    completion = 10 + random.Random(number).randrange(100) if number else 110
    return (Usage(prompt=40, cached=0, completion=completion, reasoning=0),)


def silent(prompt: Prompt, number: int) -> tuple[Usage, ...]:
    return (Usage(),)


def events(journal: MemoryJournal) -> list[Event]:
    return [decode(*row) for row in journal.rows]


async def capped(model: Model, seed: int, **settings: Any) -> tuple[Search, str]:
    run = await search(MemoryJournal(), {**SMALL, **settings}, random.Random(seed), model)
    return run, await run.run()


@pytest.mark.parametrize("seed", range(2))
async def test_a_cap_on_tokens_is_not_overrun_by_what_is_under_way(seed: int) -> None:
    model = Model(counted, delay=random.Random(seed))
    run, reason = await capped(model, seed, max_tokens=3000)
    assert reason == "max_tokens"
    assert 3000 - 2 * 150 <= model.tokens <= 3000
    assert run.state.registered == run.state.asked == model.asked


@pytest.mark.parametrize("seed", range(2))
async def test_a_cap_on_cost_is_not_overrun_by_what_is_under_way(seed: int) -> None:
    model = Model(counted, delay=random.Random(seed))
    run, reason = await capped(model, seed, max_cost_usd=0.003)
    assert reason == "max_cost"
    assert model.tokens / 1e6 <= 0.003
    assert run.caps.spending(run.state).cost_usd == pytest.approx(model.tokens / 1e6)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("cap", [{"max_tokens": 4000}, {"max_cost_usd": 0.004}, {"max_calls": 40}])
async def test_repairs_count_and_overrun_no_cap_while_replies_are_open(seed: int, cap: dict[str, Any]) -> None:
    model = Model(counted, lambda number: "no program" if number % 2 else PROGRAM.format(number), random.Random(seed))
    run, reason = await capped(model, seed, repair=3, **cap)
    assert reason == next(iter(cap)).removesuffix("_usd")
    assert run.state.tally.repairs > 0
    assert cap.get("max_calls", 4000) >= (model.asked if "max_calls" in cap else model.tokens)
    assert run.state.registered == run.state.asked


class Together(Model):
    """Answers the first requests, and the next ones once all of them have come, whatever time that takes."""

    begun, first, then = 0, 1, 5

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        self.begun += 1
        while number >= self.first and self.begun < self.first + self.then:
            await asyncio.sleep(0.001)
        return await super().propose(prompt, number)


async def test_while_nothing_is_known_one_request_goes_alone() -> None:
    model = Model(counted, delay=random.Random(0))
    await capped(model, 0, max_tokens=100)
    assert (model.asked, model.most_open) == (1, 1)
    _, reason = await capped(Together(counted), 0, max_tokens=100_000)
    assert reason == "budget"  # all five came


@pytest.mark.parametrize("calls", [1, 2, 5])
async def test_as_many_requests_are_under_way_at_first_as_their_cap_allows(calls: int) -> None:
    model = Together(counted)
    model.first, model.then = 0, calls
    async with asyncio.timeout(120):  # it would wait for ever for one that the cap keeps back
        _, reason = await capped(model, 0, max_calls=calls)
    assert (model.asked, reason) == (calls, "max_calls")


async def test_replies_each_ten_times_as_long_as_the_last_overrun_a_cap_by_two_requests_at_most() -> None:
    model = Model(lambda prompt, number: (Usage(prompt=0, cached=0, completion=10 ** (number + 1), reasoning=0),))
    await capped(model, 0, max_tokens=400)
    # 10 and 100 tokens leave room for 100 more; the third reply takes 1000, and one is sent before that is known
    assert 3 <= model.asked <= 4


@pytest.mark.parametrize("cap", [{"max_tokens": 3000}, {"max_cost_usd": 0.003}])
async def test_without_any_usage_a_cap_holds_by_an_estimate_that_is_kept_apart(cap: dict[str, Any]) -> None:
    journal, model = MemoryJournal(), Model(silent)
    run = await search(journal, {**SMALL, **cap}, random.Random(1), model)
    assert await run.run() == next(iter(cap)).removesuffix("_usd")
    assert 1 < model.asked < SMALL["budget"]
    prompts = {event.candidate: event.prompt.text for event in events(journal) if isinstance(event, Asked)}
    estimated = sum(estimate_tokens(text) + estimate_tokens(PROGRAM.format(n)) for n, text in prompts.items())
    assert estimated <= 3000
    used = run.state.tally.tokens["toy"]
    assert (used.prompt, used.completion, used.unreported) == (0, 0, model.asked)
    assert used.estimated_prompt + used.estimated_completion == estimated
    spending = Spending.of(run.state.tally.tokens, price)
    assert (spending.estimated, spending.prompt + spending.completion) == (model.asked, estimated)
    again = await search(MemoryJournal(journal.rows), {**SMALL, **cap}, proposer=Model(silent))
    assert again.state.tally.tokens == run.state.tally.tokens


def test_an_estimate_is_at_the_cautious_end() -> None:
    assert estimate_tokens("") == 0
    assert estimate_tokens("abc") == 2
    assert estimate_tokens("贪心") == 3
    assert estimate_tokens("\ud83d") == 1


async def test_only_what_was_not_counted_is_estimated() -> None:
    run, _ = await capped(Model(lambda prompt, number: (Usage(prompt=7), Usage(0, 0, 0, 0))), 0, budget=1, window=1)
    used = run.state.tally.tokens["toy"]
    assert (used.calls, used.unreported, used.prompt) == (2, 1, 7)
    assert (used.estimated_prompt, used.estimated_completion) == (0, estimate_tokens(PROGRAM.format(0)))


async def test_a_model_whose_price_is_unknown_ends_a_run_with_a_cap_on_cost_at_once() -> None:
    model = Model(counted, name="unknown")
    run, reason = await capped(model, 0, max_cost_usd=1.0)
    assert reason == "unknown_price"
    assert model.asked == 1
    assert isinstance(events_of(run)[-1], RunStopped)
    assert run.state.tally.outcomes == 0  # the one program that came was not even tried
    said = BY_NAME[reason].sentence(run.state, fitting({}), "behavesim resume RUN")
    assert said.startswith("the price of unknown is unknown")
    assert said.endswith(f"name it with behavesim resume RUN {as_setting('unknown')}")
    free, reason = await capped(Model(counted, name="unknown"), 0)
    assert reason == "budget"
    assert free.caps.spending(free.state).cost_usd is None


async def test_every_model_without_a_price_is_named_and_how_to_name_that_of_the_first() -> None:
    state = state_of()
    for model in ("one", "toy", "other"):
        state.tally.take_reply(Reply("", model, (Usage(1, 0, 1, 0),)))
    own = fitting({"prices": {"toy": {"prompt": 1.0, "completion": 1.0}}})
    said = BY_NAME["unknown_price"].sentence(state, own, "behavesim resume RUN")
    assert said.startswith("the price of one, other is unknown")
    assert said.endswith(f"name it with behavesim resume RUN {as_setting('one')}")


def events_of(run: Search) -> list[Event]:
    return events(run.journal)  # type: ignore[arg-type]


class Forgetful(Model):
    """Answers each request when it is made a second time."""

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        reply = await super().propose(prompt, number)
        return Reply(reply.text, reply.model, reply.calls, unanswered=1)


async def test_requests_that_were_never_answered_count_as_the_largest_so_far() -> None:
    model = Forgetful(lambda prompt, number: (Usage(50, 0, 50, 0),))
    run, reason = await capped(model, 0, max_calls=20)
    assert reason == "max_calls"
    assert (model.asked, run.state.tally.unanswered) == (10, 10)
    model = Forgetful(lambda prompt, number: (Usage(50, 0, 50, 0),))
    run, reason = await capped(model, 0, max_tokens=2000)
    assert (reason, model.asked) == ("max_tokens", 10)


@pytest.mark.parametrize("seed", range(2))
async def test_what_is_under_way_may_go_unanswered_as_often_as_what_was_answered(seed: int) -> None:
    model = Forgetful(counted, delay=random.Random(seed))
    run, reason = await capped(model, seed, max_calls=31)
    assert reason == "max_calls"
    assert model.most_open > 2
    assert model.asked + run.state.tally.unanswered == 30


async def test_what_was_in_flight_at_a_kill_counts_and_is_not_asked_again_against_a_cap() -> None:
    settings = {**SMALL, "max_calls": 20}
    in_flight, events = 0, 20
    while in_flight < 3:
        journal, events = MemoryJournal(), events + 1
        first = await search(journal, settings, random.Random(2), Model(counted, delay=random.Random(2)))
        journal.die_after = events
        with pytest.raises(Stop):
            await first.run()
        in_flight = first.state.waiting
    model = Model(counted)
    resumed = await search(MemoryJournal(journal.rows), {**settings, "max_calls": 20}, proposer=model)
    resumed.state.apply(RunResumed((), "none", unanswered=in_flight))
    assert await resumed.run() == "max_calls"
    answered = sum(tokens.calls for tokens in resumed.state.tally.tokens.values())
    assert answered + in_flight <= 20
    lower = await search(MemoryJournal(journal.rows), {**settings, "max_calls": 5}, proposer=(model := Model(counted)))
    assert await lower.run() == "max_calls"
    assert model.asked == 0


async def left_open(**settings: Any) -> MemoryJournal:
    """The journal of a run that was killed while 64 requests were under way, of which none was answered."""
    silence = Model(counted)

    async def wait(prompt: Prompt, number: int) -> Reply:
        await asyncio.Event().wait()
        raise AssertionError

    silence.propose = wait  # type: ignore[method-assign]
    journal = MemoryJournal()
    first = await search(journal, {**SMALL, "budget": 80, "window": 64, **settings}, proposer=silence)
    running = asyncio.create_task(first.run())
    while [row[0] for row in journal.rows].count("Asked") < 64:
        await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    return MemoryJournal([row for row in journal.rows if row[0] != "RunStopped"])


async def test_a_resumed_run_asks_as_many_of_the_open_questions_as_a_cap_leaves_room_for() -> None:
    settings = {**SMALL, "budget": 80, "window": 64, "samples_per_prompt": 2}
    journal = await left_open(**settings)
    for calls, asked, waiting in ((20, 20, 44), (20, 0, 44), (50, 30, 14), (70, 20, 0)):
        model = Model(counted)
        resumed = await search(journal, {**settings, "max_calls": calls}, proposer=model)
        assert await resumed.run() == "max_calls"
        assert (model.asked, resumed.state.waiting) == (asked, waiting)
    last = await search(journal, settings, proposer=Model(counted))
    assert await last.run() == "budget"
    whole = await search(MemoryJournal(), settings, proposer=Model(counted))
    await whole.run()
    assert last.state.digest() == whole.state.digest()


async def test_a_resumed_run_asks_more_as_replies_turn_out_to_take_less_than_was_feared() -> None:
    journal, model = await left_open(), Model(counted, delay=random.Random(0))
    resumed = await search(journal, {**SMALL, "budget": 80, "window": 64, "max_tokens": 3000}, proposer=model)
    assert await resumed.run() == "max_tokens"
    assert 3000 - 2 * 150 <= model.tokens <= 3000
    assert resumed.state.waiting == 64 - model.asked > 0


async def test_a_resumed_run_whose_last_questions_are_open_says_which_cap_ended_it() -> None:
    journal = await left_open(budget=64)
    resumed = await search(journal, {**SMALL, "budget": 64, "window": 64, "max_calls": 10}, proposer=Model(counted))
    assert await resumed.run() == "max_calls"


async def test_a_persons_program_that_was_open_is_tried_though_a_cap_leaves_no_room() -> None:
    journal = await left_open()
    put_in = Injected("mine.py", "def number() -> int:\n    return 5\n")
    await journal.append([put_in, Asked(64, (), None, Prompt(put_in.source, INJECTED))])
    resumed = await search(journal, {**SMALL, "budget": 80, "window": 65, "max_calls": 1}, proposer=Model(counted))
    assert await resumed.run() == "max_calls"
    assert resumed.state.open[64].is_feasible


async def test_the_time_of_a_run_ends_it_whatever_is_under_way() -> None:
    class Endless:
        asked = 0

        async def propose(self, prompt: Prompt, number: int) -> Reply:
            self.asked += 1
            if number < 3:
                return Reply(PROGRAM.format(number), "toy")
            await asyncio.Event().wait()
            raise AssertionError

    journal, model = MemoryJournal(), Endless()
    run = await search(journal, {**SMALL, "max_time_s": 0.3}, proposer=model)
    assert await run.run() == "max_time"
    assert run.state.waiting > 0
    assert events(journal)[-1] == RunStopped("max_time")
    asked = model.asked
    run.state.apply(RunResumed((), "none"))
    assert await run.run() == "max_time"
    assert model.asked == asked


@pytest.mark.parametrize(
    ("registered", "budget", "forbidden"), [(999, 1000, None), (1000, 1000, "budget"), (1001, 1000, "budget")]
)
def test_a_budget_forbids_every_candidate_beyond_it_unless_open_questions_are_sent_again(
    registered: int, budget: int, forbidden: str | None
) -> None:
    caps, state = Caps(budget, price, Heartbeat()), state_of(registered=registered)
    assert caps.forbids_candidate(state, unasked=0) == forbidden
    assert caps.forbids_candidate(state, unasked=1) is None
    assert caps.forbids_request(state) is None


@pytest.mark.parametrize(
    ("feasible", "rejected", "share"), [(0, 49, 0.0), (0, 50, 1.0), (12, 38, 0.76), (50, 50, 0.5), (50, 75, 0.75)]
)
def test_the_share_of_rejected_candidates_is_that_of_the_last_hundred_once_there_are_fifty(
    feasible: int, rejected: int, share: float
) -> None:
    state = state_of()
    state.tally.recent.extend([True] * feasible + [False] * rejected)
    assert rejected_share(state) == share


@pytest.mark.parametrize(
    ("given", "capped"),
    [
        ({}, False),
        ({"max_rejected_share": 0.5}, False),
        ({"max_time_s": 3.0}, True),
        ({"max_calls": 3}, True),
        ({"max_tokens": 3}, True),
        ({"max_cost_usd": 3.0}, True),
    ],
)
def test_an_audit_can_derive_from_the_events_where_rejections_end_a_run_and_nothing_else(
    given: dict[str, Any], capped: bool
) -> None:
    assert is_capped(fitting(given)) == capped


@pytest.mark.parametrize(
    ("given", "limits"),
    [({}, False), ({"max_time_s": 3.0}, False), ({"max_calls": 3}, True), ({"max_tokens": 3}, True)],
)
def test_requests_are_limited_by_every_cap_but_that_on_time(given: dict[str, Any], limits: bool) -> None:
    assert Caps.of(fitting(given), price, Heartbeat()).limits_requests is limits


def test_the_time_of_a_run_goes_on_from_its_earlier_sessions_and_stands_still_with_its_clock() -> None:
    now = 7.0
    clock = Heartbeat(lambda: now, busy=lambda: 0.0)
    earlier = Activity()
    earlier.seconds = 20.0
    resumed = Caps.of(fitting({"max_time_s": 30.0}), price, clock, earlier)
    fresh, without_limit = Caps.of(fitting({"max_time_s": 30.0}), price, clock), Caps(3, price, clock)
    assert [each.active_s() for each in (resumed, fresh, without_limit)] == [20.0, 0.0, 0.0]
    now = 7.5
    assert [each.active_s() for each in (resumed, fresh, without_limit)] == [20.5, 0.5, 0.5]
    assert [each.left_s() for each in (resumed, fresh, without_limit)] == [9.5, 29.5, math.inf]


async def test_a_run_whose_candidates_come_to_nothing_ends_once_that_is_plain() -> None:
    journal, model = MemoryJournal(), Model(counted, lambda number: "As an AI, I cannot.")
    settings = {**SMALL, "budget": 500}
    run = await search(journal, settings, random.Random(3), model)
    assert await run.run() == "max_rejected_share"
    assert run.state.registered == ENOUGH
    assert model.asked <= ENOUGH + 8
    again = await search(MemoryJournal(journal.rows), settings, proposer=(model := Model(counted)))
    assert await again.run() == "max_rejected_share"
    assert model.asked == 0
    settings = {**settings, "max_rejected_share": 1}
    going_on = await search(MemoryJournal(journal.rows), {**settings, "budget": 70}, proposer=Model(counted))
    assert await going_on.run() == "budget"


@pytest.mark.parametrize("seed", range(2))
async def test_where_it_ends_is_a_function_of_the_candidates_alone(seed: int) -> None:
    def text(number: int) -> str:
        return PROGRAM.format(number) if number < 30 or random.Random(number).random() < 0.02 else "no program"

    model = Model(counted, text, random.Random(seed))
    run, reason = await capped(model, seed, budget=1000, window=16)
    assert reason == "max_rejected_share"
    outcomes = [text(number) != "no program" and (number == 0 or number % 13 != 0) for number in range(1000)]
    expected = next(
        end for end in range(ENOUGH, 1000) if outcomes[max(0, end - 100) : end].count(False) > 0.95 * min(end, 100)
    )
    assert run.state.registered == expected


@pytest.mark.parametrize("cap", CAPS, ids=lambda cap: cap.name)
def test_the_sentence_of_a_cap_names_no_limit_where_none_is_known(cap: Cap) -> None:
    said = cap.sentence(RunState(Objective("minimise")), Settings(task="tsp"), "behavesim resume RUN")
    assert "None" not in said and " of 0 " not in said and "unknown on" not in said


@pytest.mark.parametrize("window", [1, 8])
async def test_a_run_that_stands_still_asks_no_more_and_uses_what_is_under_way(window: int) -> None:
    ends = set()
    for seed in range(3):
        model = Model(counted, lambda number: PROGRAM.format(3), random.Random(seed))
        run, reason = await capped(model, seed, window=window, until_stuck=10, n_init=2)
        assert reason == "until_stuck"
        assert run.state.registered == run.state.asked == model.asked
        ends.add(run.state.registered)
    assert ends == {11 + window - 1}  # the first was better than none, ten were no better, and the rest was under way


async def test_a_run_that_stood_still_goes_on_if_it_is_resumed_with_more_patience() -> None:
    journal, model = MemoryJournal(), Model(counted, lambda number: PROGRAM.format(3))
    assert await (await search(journal, {**SMALL, "until_stuck": 10}, proposer=model)).run() == "until_stuck"
    again = await search(MemoryJournal(journal.rows), SMALL, proposer=model)
    assert await again.run() == "budget"


async def test_a_run_ends_once_its_best_is_within_the_gap_and_not_before() -> None:
    model = Model(counted)
    run, reason = await capped(model, 0, window=1, until_gap=0.0)
    assert (reason, run.state.objective.gap(run.state.best.score)) == ("until_gap", 0.0)  # type: ignore[union-attr]
    assert run.state.bests[-1][0] == run.state.registered - 1 < SMALL["budget"] - 1
