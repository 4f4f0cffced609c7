"""What a person sees of a run that goes on."""

from __future__ import annotations

import io

from rich.console import Console

from behavesim.config import resolve
from behavesim.events import Asked, Clustered, Evaluated, Placed, Prompt, Rejected, Reply, Responded, RunStarted
from behavesim.reports.panels import Moment, dashboard, line
from behavesim.state import RunState
from behavesim.task import Objective
from behavesim.trajectory import Trajectory

SETTINGS = resolve({"task": "tsp", "budget": 60, "n_init": 20})


def state() -> RunState:
    """A run of 21 candidates, the last of them rejected, on ten islands."""
    state = RunState(Objective("minimise", best_known=1.0))
    state.apply(RunStarted(SETTINGS.model_dump(mode="json"), {}, "strong"))
    for ticket in range(21):
        state.apply(Asked(ticket, (), None, Prompt("", "template")))
        state.apply(Responded(ticket, Reply("", "genetic")))
        if ticket < 20:
            done = Trajectory.prefixes([ticket])
            state.apply(Evaluated(ticket, f"program {ticket}", 2.0 + ticket, (2.0 + ticket,), (done,)))
            state.apply(Placed(ticket, None))
    state.apply(Clustered(tuple((island, island + 10) for island in range(10))))
    state.apply(Rejected(20, "evaluation", "exception"))
    return state


def test_a_small_terminal_shows_what_a_run_found_what_it_costs_and_every_island() -> None:
    console = Console(file=io.StringIO(), width=80, height=24, record=True)
    console.print(dashboard(Moment("first", SETTINGS, state(), 20.0, 1.0, 0.25)))
    seen = console.export_text().splitlines()[:24]
    assert any("2, gap 100.00 % (candidate 0)" in row for row in seen)
    assert any(row.startswith("cost") and "$0.2500" in row for row in seen)
    islands = [row.split()[:4] for row in seen if row[1:2].isdigit()]
    assert islands == [[str(k), "2", "2", str(2 + k)] for k in range(10)]


def test_a_run_that_waits_for_its_first_comparison_says_so_instead_of_a_time() -> None:
    assert line(Moment("first", SETTINGS, state(), 20.0, 1.0, None)).endswith(", 0:40 left")
    waiting = line(Moment("first", SETTINGS, state(), 20.0, 1.0, None, is_warming=True))
    assert waiting.endswith(", preparing to compare (slow the first time)")
