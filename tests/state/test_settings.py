"""The settings of a run as its journal holds them."""

from __future__ import annotations

import pytest

from behavesim.state.settings import proposer_parts


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("genetic", ("genetic", "")),
        ("folder:programs", ("folder", "programs")),
        ("folder:my.py", ("folder", "my.py")),
        ("mine.py", ("mine.py", "")),
        ("a:b.py", ("a:b.py", "")),
        ("absent:model", ("absent", "model")),
    ],
)
def test_a_proposer_has_a_name_and_an_argument_unless_it_is_a_file(text: str, parts: tuple[str, str]) -> None:
    assert proposer_parts(text) == parts
