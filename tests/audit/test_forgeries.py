"""A finished run of which one field was forged is not verified; `python -m tests.forgeries` tries some hundred more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.forgeries import UNKNOWABLE, forgeries

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "durability.md"


@pytest.mark.usefixtures("replies_read_once")
async def test_every_forgery_is_named_or_is_of_what_no_journal_can_know(tmp_path: Path) -> None:
    found = await forgeries(13, seed=3, folder=tmp_path)
    assert not [str(each) for each in found if not each.is_named and each.excuse is None]
    # of batches and of programs that were put off no journal can know anything
    knowable = [each for each in found if not each.place.startswith(("BatchSent ", "PutOff "))]
    assert sum(each.is_named for each in knowable) > len(knowable) * 0.7


def test_what_no_journal_can_know_is_on_the_page() -> None:
    page = " ".join(PAGE.read_text().split())
    assert [reason for reason in UNKNOWABLE if reason not in page] == []
