"""Whether a program defines the function that a task asks for."""

from __future__ import annotations

import ast

import pytest

from behavesim.programs.signatures import EntryPoint, callables
from behavesim.task.verdict import Failure

(ARGUMENTS,) = callables(ast.parse("def rank(x, y): ...").body).values()
assert isinstance(ARGUMENTS, ast.arguments)
RANK = EntryPoint("rank", ARGUMENTS)


@pytest.mark.parametrize(
    "program",
    [
        "def rank(x, y):\n    return x",
        "def rank(a, b, c=1):\n    return a",
        "rank = lambda x, y: x",
        "def other(x, y):\n    return x\nrank = other",
        "if x:\n    def rank(x, y):\n        return x",
        "def rank(x):\n    return x\ndef rank(x, y):\n    return y",
    ],
)
def test_a_function_of_that_name_and_those_arguments_will_do(program: str) -> None:
    assert RANK.failure(ast.parse(program)) is None


@pytest.mark.parametrize(
    ("program", "failure"),
    [
        ("def rank_v2(x, y): ...", Failure("no-function", "no function 'rank' is defined at module level")),
        ("x = 1", Failure("no-function", "no function 'rank' is defined at module level")),
        ("def rank(x): ...", Failure("signature", "rank: it takes 1 arguments, but is called with x, y")),
        (
            "class A:\n    def rank(self, x, y): ...",
            Failure("no-function", "no function 'rank' is defined at module level; it is a method of the class 'A'"),
        ),
    ],
)
def test_where_none_will_do_the_reason_says_why(program: str, failure: Failure) -> None:
    assert RANK.failure(ast.parse(program)) == failure
