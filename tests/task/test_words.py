"""Ranks as prompts say them."""

from __future__ import annotations

import pytest

from behavesim.task import ranked


@pytest.mark.parametrize(
    ("rank", "said"),
    [
        (1, "the nearest"),
        (2, "the 2nd nearest"),
        (3, "the 3rd nearest"),
        (4, "the 4th nearest"),
        (11, "the 11th nearest"),
        (12, "the 12th nearest"),
        (13, "the 13th nearest"),
        (21, "the 21st nearest"),
        (22, "the 22nd nearest"),
        (113, "the 113th nearest"),
    ],
)
def test_a_rank_has_its_ending(rank: int, said: str) -> None:
    assert ranked(rank, "nearest") == said
