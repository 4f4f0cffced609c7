"""What a run is seen to spend while it goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from behavesim.application.console import moment_of
from behavesim.base.tokens import Usage
from behavesim.engine.admission import settings_from_person
from behavesim.reports.live import LiveRun, spending
from behavesim.state.events import Asked, Prompt, Reply, Responded, RunStarted
from behavesim.state.state import RunState
from behavesim.task import Objective
from tests.analysis.journals import feasible, journalled, started


def spent(replies: int = 10, cost_usd: float | None = 0.5, rate: float = 2.0, **caps: Any) -> dict[str, str]:
    """What is said at two replies a second, each of 900 tokens in and 100 out, of a budget of 100."""
    settings = settings_from_person({"task": "tsp", "budget": 100, **caps})
    state = RunState(Objective("minimise"))
    state.apply(RunStarted(settings.flat(), {}, "strong"))
    for candidate in range(replies):
        state.apply(Asked(candidate, (), None, Prompt("", "template")))
        state.apply(Responded(candidate, Reply("", "m", (Usage(prompt=900, completion=100),))))
    facts = spending(LiveRun("first", settings, state, 20.0, rate, cost_usd))
    return {name: fact for name, fact in facts.items() if fact is not None}  # the view leaves the others out


def test_what_is_spent_is_said_with_its_rate_and_what_the_whole_budget_would_take() -> None:
    assert spent() == {
        "tokens": "9,000 in, 1,000 out; 120,000/min",
        "cost": "$0.5000; $360.00/h, $5.00 for the whole budget",
    }


def test_what_is_spent_stands_beside_its_cap() -> None:
    capped = spent(max_cost_usd=2.0, max_tokens=50_000, max_calls=40)
    assert capped["requests"] == "10 of 40"
    assert capped["tokens"].startswith("9,000 in, 1,000 out of 50,000;")
    assert capped["cost"].startswith("$0.5000 of $2.00;")


def test_no_rate_is_drawn_from_a_few_replies_or_from_an_unknown_price() -> None:
    assert spent(replies=9)["tokens"] == "8,100 in, 900 out"
    assert spent(cost_usd=None)["cost"] == "unknown"


def test_an_unknown_rate_is_not_said_to_be_none() -> None:
    assert spent(rate=0.0) == {"tokens": "9,000 in, 1,000 out", "cost": "$0.5000; $5.00 for the whole budget"}


def test_nothing_is_said_where_nobody_was_asked() -> None:
    assert spent(replies=0, cost_usd=0.0) == {}


def test_a_run_that_was_gone_on_with_is_shown_with_its_last_budget(tmp_path: Path) -> None:
    run = journalled(tmp_path / "run", started(budget=20), feasible(0, 5.0))
    assert moment_of(run).settings.budget == 20
    run.folder.write_settings({**run.settings.flat(), "budget": 60})
    assert moment_of(run).settings.budget == 60
