"""A journal that lost, or changed, who computed its scores is told from one that never said so."""

from __future__ import annotations

import pytest

from behavesim.audit.audit import opening_contradictions
from behavesim.engine.admission import settings_from_person
from behavesim.state.events import RunStarted


@pytest.mark.parametrize(
    ("recorded", "now", "is_sound"),
    [
        ({"score_source": "trusted"}, "trusted", True),
        ({"score_source": "self-reported"}, "self-reported", True),
        ({}, "trusted", True),
        ({}, "self-reported", False),
        ({"score_source": "trusted"}, "self-reported", False),
    ],
)
def test_a_run_of_an_evaluator_does_not_pass_for_trusted(recorded: dict[str, str], now: str, is_sound: bool) -> None:
    settings = settings_from_person({"task": "tsp"})
    event = RunStarted(settings.flat(), recorded, "strong")
    found = list(opening_contradictions(event, settings, settings, False, {"score_source": now}))
    assert found == ([] if is_sound else [f"provenance score_source={now!r}, as the task has it now"])
