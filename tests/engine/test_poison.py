"""No candidate, whatever its model wrote and its process sent, ends a run, nor the resume of a run that died of it."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from behavesim.base.errors import BehavesimError, PartError
from behavesim.base.heartbeat import Heartbeat
from behavesim.base.tokens import Usage
from behavesim.engine.build import assemble_search, evaluate_template
from behavesim.engine.caps import Caps
from behavesim.engine.loop import Search
from behavesim.proposers.prices import Prices
from behavesim.sandbox.frames import PREFIX, encode_failure, encode_solutions
from behavesim.state.events import (
    Added,
    Asked,
    Compared,
    Evaluated,
    Event,
    NotAdded,
    Prompt,
    Regrouped,
    Rejected,
    Reply,
    Responded,
    RunResumed,
    RunStarted,
)
from behavesim.store.codec import decode
from behavesim.task import Objective, Task
from behavesim.task.verdict import Failure, Sent
from behavesim.trajectory import Trajectory
from tests.engine.toys import MemoryJournal, Stop, fitting, search
from tests.programs.replies import ACCEPTED, REJECTED
from tests.sandbox.fakes import Returns, judge_here

pytestmark = pytest.mark.usefixtures("replies_read_once")

METHODS = ["funsearch", "funsearch+behavesim", "eoh", "eoh+behavesim", "niche", "hill-climbing"]
HUGE = 2**31 - 1


class Careless(Task):
    """A third party's task that checks nothing: it adds up what came, and follows it in whatever form it has."""

    name = "careless"
    description = "Return a number."
    template = "def number() -> int:\n    return 0\n"
    objective = Objective("minimise", best_known=1.0)
    normaliser = 1000.0

    def instances(self, split: str) -> list[int]:
        return [1]

    def solve(self, function: Any, instance: Any) -> Any:
        return np.full((2, 2), float(function()))

    def score(self, instance: Any, solution: Any) -> float:
        exponent = float(np.sum(solution))
        return math.copysign(10.0 ** abs(exponent), exponent) / instance

    def trajectory(self, instance: Any, solution: Any) -> Any:
        if isinstance(solution, dict):
            return None
        return Trajectory.vectors(solution) if solution.dtype.kind == "f" else Trajectory.prefixes(solution)


def frame(header: object, data: bytes = b"") -> bytes:
    encoded = json.dumps(header).encode()
    return PREFIX.pack(len(encoded) + len(data), len(encoded)) + encoded + data


def sent(solution: Any) -> bytes:
    return encode_solutions([solution if isinstance(solution, dict) else {"": np.asarray(solution)}], 1 << 20)


FRAMES: dict[str, bytes] = {
    "empty and too vast to be made": frame({"solutions": [[["", "<i8", [0, HUGE, HUGE, HUGE]]]]}),
    "empty and too vast to be summed": frame({"solutions": [[["", "|b1", [0, HUGE]]]]}),
    "no frame": b"\xff" * 30,
    "nested": frame({"solutions": json.loads("[" * 900 + "]" * 900)}),
    "a failure of its own": encode_failure("exception", "\ud800\x1b[2J\0"),
    "nan": sent(np.full((2, 2), np.nan)),
    "infinite": sent(np.full((2, 2), np.inf)),
    "a score beyond floating point": sent(np.array([[400.0, 0.0]])),
    "a greatest score": sent(np.array([[308.2, 0.0]])),
    "a least score": sent(np.array([[0.0, -308.2]])),
    "coordinates beyond comparison": sent(np.array([[1e200, -1e200]])),
    "further than the normaliser": sent(np.array([[3000.0, -3000.0]])),
    "near the template and far from the next": sent(np.array([[700.0, -700.0]])),
    "the other way": sent(np.array([[-700.0, 700.0]])),
    "another dimension": sent(np.zeros((2, 3))),
    "no dimension": sent(np.zeros((2, 0))),
    "no state": sent(np.zeros((0, 2))),
    "another kind": sent(np.arange(4)),
    "another shape": sent(np.zeros((2, 2, 2))),
    "truth values": sent(np.ones((2, 2), bool)),
    "too long": sent(np.zeros((6000, 2), np.float16)),
    "no trajectory": sent({"a": np.zeros(2)}),
}
"""What a candidate's process may send, by the word that its program names."""

REPLIES = [
    "x" * 600_000,
    *(case.text.encode(errors="replace").decode() for case in (*REJECTED.values(), *ACCEPTED.values())),
]


def poison(number: int) -> str:
    """In turn a program that will do, one whose process sends poison, and a reply that is poison itself."""
    turn, kind = divmod(number, 3)
    words = list(FRAMES)
    answer = (str(number % 5), f"'{words[turn % len(words)]}'", "")[kind]
    return f"```python\ndef number() -> int:\n    return {answer}\n```" if answer else REPLIES[turn % len(REPLIES)]


class Poisoner:
    """Answers each prompt from its number alone."""

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        return Reply(poison(number), "toy", (), ("stop", "length", None, "stop")[number % 4])


class Sandbox(Returns):
    """Runs nothing: what a program's process would send, its text says."""

    async def send(self, source: str, *_: object) -> Sent | Failure:
        number = re.search(r"return (\d)$", source)
        word = re.search(r"return '(.*)'$", source)
        data = FRAMES[word[1]] if word and word[1] in FRAMES else encode_failure("exception", source[-200:])
        if number:
            data = sent(np.full((2, 2), float(number[1])))
        return Sent(data, 1, 0.1)


async def poisoned(journal: MemoryJournal, settings: Mapping[str, Any]) -> Search:
    """A search that meets nothing else, new or as its journal left it."""
    task, resolved = Careless(), fitting(settings)
    judge = judge_here(task, Sandbox())
    built = assemble_search(
        resolved, task, Poisoner(), judge, journal, Caps(resolved.budget, lambda *usage: 0.0, Heartbeat())
    )
    for event in journal.events():
        built.fold(event)
    if built.state.started is None:
        started = RunStarted(resolved.flat(), {"direction": "minimise"}, "none")
        await built.record(started, await evaluate_template(task, judge))
    else:
        await built.record(RunResumed((), "none"))
    return built


SMALL = {"budget": 80, "window": 8, "islands": 3, "n_init": 20, "restart_every": 25, "population": 5}


@pytest.mark.parametrize("method", METHODS)
async def test_a_run_on_poison_goes_to_its_end_and_says_what_became_of_each(method: str) -> None:
    journal = MemoryJournal()
    run = await poisoned(journal, {**SMALL, "method": method})
    assert await run.run() == "budget"
    events = [decode(*row) for row in journal.rows]
    assert [e.candidate for e in events if isinstance(e, Asked)] == list(range(80))
    assert {e.score for e in events if isinstance(e, Evaluated)} >= {10.0**308.2, -(10.0**308.2)}
    expected = {"output", "invalid-solution", "non-finite", "exception", "syntax", "truncated", "too-long"}
    if run.behaviours.are_kept:
        expected |= {"incomparable"}
    assert expected <= set(run.state.tally.rejected)
    for event in events:
        if isinstance(event, Rejected):
            assert event.message.isprintable() or event.stage == "extraction"


class Mortal(MemoryJournal):
    """A journal whose process dies as soon as one of certain events is committed."""

    def __init__(self, is_fatal: Callable[[Event], bool]) -> None:
        super().__init__()
        self._is_fatal = is_fatal

    async def append(self, events: Sequence[Event]) -> None:
        await super().append(events)
        if any(map(self._is_fatal, events)):
            raise Stop


WORST: dict[str, Callable[[Event], bool]] = {
    "a reply is paid for": lambda event: isinstance(event, Responded),
    "a program is judged": lambda event: isinstance(event, Evaluated | Rejected) and event.candidate >= 0,
    "a decision is taken": lambda event: isinstance(event, Compared | Added | NotAdded | Regrouped),
}


@pytest.mark.parametrize(("method", "moment"), [*zip(["funsearch", "niche", "eoh+behavesim"], WORST, strict=True)])
async def test_a_run_on_poison_that_dies_whenever_something_happens_is_resumed_to_its_end(
    method: str, moment: str
) -> None:
    settings = {**SMALL, "method": method, "budget": 32}
    whole = await poisoned(MemoryJournal(), settings)
    await whole.run()
    journal, deaths, reason = Mortal(WORST[moment]), 0, ""
    while not reason:
        run = await poisoned(journal, settings)
        try:
            reason = await run.run()
        except Stop:
            deaths += 1
    assert deaths > 10
    assert run.state.digest() == whole.state.digest()
    asked = Counter(json.loads(row[1])["candidate"] for row in journal.rows if row[0] == "Responded")
    assert set(asked.values()) == {1}, "no reply that was committed is asked for again"


class Mistaken:
    """Answers candidate 3 as told, all others at the same moment with a program; each costs ten cents."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer
        self.answered = 0

    async def propose(self, prompt: Prompt, number: int) -> Any:
        await asyncio.sleep(0)
        self.answered += 1
        program = f"```python\ndef number() -> int:\n    return {number}\n```"
        return self._answer if number == 3 else Reply(program, "m", (Usage(9, 0, 9, 0, cost_usd=0.1),))


NAN = float("nan")
ANSWERS = [
    *(Reply("half a \ud83d", "m\ud83d"), Reply('{"program": "\\ud83d"}', "m"), Reply("x", "m", (Usage(prompt="10"),))),  # type: ignore[arg-type]
    *(Reply("x", "m", (Usage(1, 0, 1, 0, cost_usd=cost),)) for cost in (NAN, -NAN, -1e9, math.inf, 10**400)),
    *("text", b"bytes", None, 7, ("x", "m"), Reply("x", None), Reply(b"x", "m"), Reply("x", "m", {"prompt": 1})),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("answer", ANSWERS, ids=ascii)
async def test_a_wrong_answer_of_a_proposer_loses_no_other_reply_and_is_no_traceback_and_stops_no_resume(
    answer: Any,
) -> None:
    settings = {"budget": 8, "window": 8, "method": "best-of-n", "connections": 8}
    journal, reason, mistaken = MemoryJournal(), "", Mistaken(answer)
    try:
        reason = await (await search(journal, settings, proposer=mistaken)).run()
    except PartError as error:
        said = str(error)
        assert "the proposer Mistaken " in said
    kept = mistaken.answered - 1 + isinstance(answer, Reply) * (reason != "")
    assert sum(row[0] == "Responded" for row in journal.rows) == kept
    resumed = await search(journal, settings, proposer=Mistaken(Reply("mended", "m")))
    assert await resumed.run() == "budget"
    asked = Counter(json.loads(row[1])["candidate"] for row in journal.rows if row[0] == "Responded")
    assert asked == Counter(range(8))


@pytest.mark.parametrize("cost", [NAN, -1e9, math.inf, "0.1", True], ids=repr)
async def test_a_cap_on_cost_holds_whatever_costs_a_proposer_claims(cost: Any) -> None:
    answer = Reply("x", "m", (Usage(1, 0, 1, 0, cost_usd=cost),))
    settings = {"budget": 40, "window": 4, "method": "best-of-n", "max_cost_usd": 0.95}
    run = await search(MemoryJournal(), settings, proposer=Mistaken(answer))
    run.caps = replace(run.caps, price=Prices({}).cost)
    assert await run.run() == "unknown_price"
    assert run.state.asked <= 10


@pytest.mark.parametrize("group", ["\ud83d", 3], ids=repr)  # islands that are numbered could not be read back
async def test_a_decision_that_cannot_be_stored_takes_no_reply_with_it(
    monkeypatch: pytest.MonkeyPatch, group: Any
) -> None:
    settings = {"budget": 8, "window": 4, "method": "best-of-n"}
    journal = MemoryJournal()
    proposer = Mistaken(Reply("x", "m"))
    run = await search(journal, settings, proposer=proposer)
    ask = run.method.ask

    def asked(state: Any, behaviours: Any, candidate: int) -> Any:
        found = ask(state, behaviours, candidate)
        # a number of numpy's kind is read back as what was meant
        return replace(found, candidate=np.int64(candidate), group=group if candidate == 5 else None)

    with monkeypatch.context() as patch:
        patch.setattr(run.method, "ask", asked)
        with pytest.raises(BehavesimError, match=r"cannot be stored \(Asked\): a text in it has half a character"):
            await run.run()
    kinds = Counter(row[0] for row in journal.rows)
    assert (kinds["Asked"], kinds["Responded"]) == (5, proposer.answered)
    assert await (await search(journal, settings, proposer=Mistaken(Reply("x", "m")))).run() == "budget"
