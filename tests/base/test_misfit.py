"""What pydantic refused is said in plain words: what was expected, and what came."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field, ValidationError

from behavesim.base.text import validation_message


class Values(BaseModel):
    whole: int = Field(1, ge=1)
    share: float = Field(0.5, gt=0, lt=1)
    kind: Literal["a", "b"] = "a"
    table: dict[str, float] = {}
    pair: tuple[int, ...] = Field((1,), max_length=2)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("whole", "x", "whole should be a whole number, not 'x'"),
        ("whole", 1.5, "whole should be a whole number, not 1.5"),
        ("whole", 0, "whole should be at least 1, not 0"),
        ("share", 0, "share should be more than 0, not 0"),
        ("share", 2, "share should be less than 1, not 2"),
        ("kind", "c", "kind should be 'a' or 'b', not 'c'"),
        ("table", {"m": "x"}, "table.m should be a number, not 'x'"),
        ("table", [], "table should be a table, not []"),
        ("pair", [1, 2, 3], "pair should have 2 or fewer entries, not [1, 2, 3]"),
        ("whole", "x" * 999, f"whole should be a whole number, not '{'x' * 99}"),
    ],
)
def test_what_was_expected_and_what_came_is_said_in_words(name: str, value: Any, said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Values.model_validate({name: value})
    assert validation_message(caught.value) == said


def test_of_several_misfits_the_first_is_said() -> None:
    with pytest.raises(ValidationError) as caught:
        Values.model_validate({"whole": 1.5, "share": 2, "kind": "c"})
    assert validation_message(caught.value) == "whole should be a whole number, not 1.5"
