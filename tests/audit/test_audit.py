"""Whatever the method, the order of arrival and the interruptions: each decision follows from the events before it."""

from __future__ import annotations

import random
from itertools import cycle
from typing import Any

import pytest

from behavesim.audit.audit import Audit, discrepancy
from behavesim.base.errors import JournalError
from behavesim.programs.reading import Program
from behavesim.state.events import (
    DECISIONS,
    INJECTED,
    TEMPLATE,
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
    RunStarted,
)
from behavesim.store.codec import decode
from behavesim.task.verdict import Failure, Verdict
from behavesim.trajectory import Trajectory
from tests.crash.deaths import METHODS, SMALL
from tests.engine.toys import MemoryJournal, Stop, Toy, fitting, search

pytestmark = pytest.mark.usefixtures("replies_read_once")

PLAIN = ("funsearch", "eoh", "eoh+behavesim", "best-of-n", "hill-climbing", "mcts-ahd")
"""The methods without first programs."""


@pytest.mark.parametrize(("method", "limits"), [*zip(METHODS, cycle([(0, None), (2, 70)]), strict=False)])
async def test_an_audit_finds_nothing_in_a_run_that_died_and_was_resumed(
    method: str, limits: tuple[int, int | None]
) -> None:
    repair, calls = limits
    settings = {
        **SMALL,
        "method": method,
        "repair": repair,
        "max_calls": calls,
        **({} if method in PLAIN else {"n_init": 15, "initial_population": 15}),
    }
    settings = fitting(settings).flat()  # with a larger budget, other defaults would hold
    journal = MemoryJournal()
    broken = await search(journal, settings, random.Random(1))
    journal.die_after = 130
    with pytest.raises(Stop):
        await broken.run()
    journal.die_after = None
    await (await search(journal, settings, random.Random(2))).run()
    grown = {**settings, "budget": 60}
    await (await search(journal, grown, random.Random(3))).run()
    audit = Audit(fitting(settings), Toy())
    decided = 0
    for number, row in enumerate(journal.rows, 1):
        event = decode(*row)
        if isinstance(event, DECISIONS):
            decided += 1
            assert discrepancy(number, audit.due(event), event) is None
        audit.take(event)
    assert decided >= 100
    assert isinstance(decode(*journal.rows[0]), RunStarted)


async def test_an_audit_finds_an_ask_that_jumps_a_due_repair() -> None:
    settings = {**SMALL, "method": "funsearch", "repair": 1}
    journal = MemoryJournal()
    await (await search(journal, settings, random.Random(4))).run()
    events = [decode(*row) for row in journal.rows]
    repaired = next(n for n, e in enumerate(events) if isinstance(e, Asked) and e.prompt.operator == "repair")
    asked = next(n for n, e in enumerate(events) if n > repaired and isinstance(e, Asked) and e.candidate > 30)
    audit = Audit(fitting(settings), Toy())
    for event in events[:repaired]:
        audit.take(event)
    assert audit.state.open[events[repaired].candidate].outcome is not None
    assert discrepancy(repaired, audit.due(events[repaired]), events[repaired]) is None
    jumped = discrepancy(repaired, audit.due(events[asked]), events[asked])
    assert jumped is not None
    assert f"candidate={events[repaired].candidate}, " in jumped.expected


TOLD = [
    RunStarted({"budget": 50}, {}, "strong"),
    Evaluated(TEMPLATE, Toy.template, 9.0, (9.0,), (Trajectory.prefixes([0, 1]),)),
    Asked(0, (TEMPLATE,), None, Prompt("a prompt", "improve")),
]
"""The first events of a run."""


def audit_after(*events: Event, **settings: Any) -> Audit:
    audit = Audit(fitting({**SMALL, "method": "funsearch", "samples_per_prompt": 1, **settings}), Toy())
    for event in events:
        audit.take(event)
    return audit


@pytest.mark.parametrize(("method", "is_refused"), [("funsearch+behavesim", True), ("funsearch", False)])
def test_what_cannot_be_compared_is_a_failure_where_the_method_compares(method: str, is_refused: bool) -> None:
    verdict = Verdict(1.0, (1.0,), (Trajectory.vectors([[0.0]]),), 0.0)
    checked = audit_after(*TOLD[:2], method=method).with_comparison_checked(verdict)
    assert isinstance(checked, Failure) == is_refused
    assert is_refused or checked is verdict


def test_where_no_method_could_decide_the_journal_is_at_fault() -> None:
    audit = audit_after(*TOLD, Regrouped({"an island without a number": (TEMPLATE,)}))
    with pytest.raises(JournalError, match="nothing can be decided after the events before it: IndexError"):
        audit.due(Asked(1, (TEMPLATE,), "0", Prompt("", "improve")))


def test_beyond_the_budget_islands_restart_only_where_the_journal_says_so() -> None:
    islands = Regrouped({str(island): (TEMPLATE,) for island in range(4)})
    audit = audit_after(*TOLD[:2], islands, budget=2, restart_every=3)
    for number in range(3):
        for event in (
            Asked(number, (TEMPLATE,), "0", Prompt("", "improve")),
            Responded(number, Reply("", "m")),
            Rejected(number, "extraction", "empty"),
            NotAdded(number),
        ):
            audit.take(event)
    assert isinstance(audit.due(Asked(3, (TEMPLATE,), "0", Prompt("", "improve"))), Asked)
    assert isinstance(audit.due(islands), Regrouped)


@pytest.mark.parametrize("operator", ["improve", "repair"])
def test_a_reply_had_to_be_what_the_proposer_said(operator: str) -> None:
    said = Responded(0, Reply("whatever", "m"))
    assert audit_after(*TOLD[:2], Asked(0, (), None, Prompt("a prompt", operator))).reply(said) == said


def test_the_reply_of_a_program_that_was_put_in_had_to_be_that_program() -> None:
    audit = audit_after(
        *TOLD[:2], Injected("mine.py", Toy.template), Asked(0, (), None, Prompt(Toy.template, INJECTED))
    )
    had_to_be = audit.reply(Responded(0, Reply("another", INJECTED)))
    assert Toy.template.strip() in had_to_be.reply.text


def test_the_program_of_an_outcome_is_that_of_the_reply() -> None:
    outcome = Rejected(0, "evaluation", "timeout")
    audit = audit_after(*TOLD, Responded(0, Reply(f"```python\n{Toy.template}\n```", "m")))
    program = audit.program(outcome)
    assert isinstance(program, Program)
    assert program.source.strip() == Toy.template.strip()


@pytest.mark.parametrize("candidate", [0, 1])
def test_an_outcome_before_the_reply_or_of_nobody_has_no_program(candidate: int) -> None:
    with pytest.raises(JournalError, match=f"candidate {candidate} has an outcome before it has a reply"):
        audit_after(*TOLD).program(Rejected(candidate, "evaluation", "timeout"))
