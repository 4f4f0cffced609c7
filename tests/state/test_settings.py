"""The settings of a run as its journal holds them."""

from __future__ import annotations

import pytest

from behavesim.base.errors import UsageError
from behavesim.state.settings import METHODS, PROPOSERS, is_foreign, owners, proposer_parts


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


@pytest.mark.parametrize(
    ("named", "found"),
    [
        ({"method": "eoh"}, ["every run", "method eoh"]),
        ({"proposer": "command:true"}, ["every run", "proposer command"]),
        ({"method": "eoh", "proposer": "genetic"}, ["every run", "method eoh", "proposer genetic"]),
    ],
)
def test_settings_belong_to_every_run_and_to_the_method_and_the_proposer_that_are_named(
    named: dict[str, str], found: list[str]
) -> None:
    assert [owner.name for owner in owners(**named)] == found


def test_where_none_is_named_settings_belong_to_all_that_are_installed() -> None:
    assert [owner.name for owner in owners()[1:]] == [
        *(f"method {name}" for name in METHODS.installed()),
        *(f"proposer {name}" for name in PROPOSERS.installed()),
    ]
    with pytest.raises(UsageError, match="no method 'eho'"):
        owners("eho")


@pytest.mark.parametrize(
    ("key", "foreign"), [("seed", False), ("population", False), ("islands", True), ("temperature", True), ("x", False)]
)
def test_a_setting_is_foreign_where_another_method_or_proposer_has_it(key: str, foreign: bool) -> None:
    assert is_foreign(key, {"method": "eoh", "proposer": "genetic"}) is foreign
