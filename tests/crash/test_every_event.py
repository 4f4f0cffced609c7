"""Whatever event a run dies at, before, inside or after its commit, it goes on as if nothing had happened."""

from __future__ import annotations

from pathlib import Path

import pytest

from behavesim.state.events import Asked
from tests.crash.deaths import METHODS, RACING, SMALL, every_death, gone_on, uninterrupted

pytestmark = pytest.mark.usefixtures("replies_read_once")

STRIDE = 211
"""One death in so many is resumed from; `python -m tests.chaos --events` resumes from each."""
LOOKED_AT = ("funsearch+behavesim", "reevo", "funsearch, race")
"""Of these all deaths are looked at: between them they have every event of a run without a person or a clock."""


@pytest.mark.parametrize("method", [*METHODS, *RACING])
async def test_a_run_goes_on_from_any_death_as_if_nothing_had_happened(method: str, tmp_path: Path) -> None:
    kept = every_death(stride=STRIDE, first=(*METHODS, *RACING).index(method))
    story, images, events = await uninterrupted(method, tmp_path / "whole", kept, 1, method in LOOKED_AT)
    assert events > 4 * SMALL["budget"]
    asked = [event for event in story.decisions if isinstance(event, Asked) and event.candidate in (8, 9, 20, 21, 30)]
    assert [event.candidate for event in asked if "\nAdvice of the person" in event.prompt.text] == [9, 20, 30]
    assert len(images) == len([death for death in kept if death[0] <= events])
    for (event, moment), image in images.items():
        resumed = await gone_on(method, image, tmp_path / "resumed", seed=event)
        assert resumed == story, f"{moment} the commit of event {event}"
