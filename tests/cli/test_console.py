"""What a person sees of a run that goes on."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from behavesim.config import resolve
from behavesim.reports.panels import Moment, line
from behavesim.state import RunState


def test_a_run_that_waits_for_its_first_comparison_says_so_instead_of_a_time() -> None:
    state = cast(RunState, SimpleNamespace(told=20, feasible=20, rejected={}, best=None))
    settings = resolve({"task": "tsp", "budget": 60})
    assert line(Moment("first", settings, state, 20.0, 1.0, None)).endswith(", 0:40 left")
    waiting = line(Moment("first", settings, state, 20.0, 1.0, None, is_warming=True))
    assert waiting.endswith(", preparing to compare (slow the first time)")
