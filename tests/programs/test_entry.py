"""Which function of a program is meant."""

from __future__ import annotations

import ast

import pytest

from behavesim.programs.entry import EntryPoint
from behavesim.programs.parsing import Parsed, parse
from behavesim.programs.signatures import callables
from behavesim.state.verdict import Failure

(ARGUMENTS,) = callables(ast.parse("def rank(x, y): ...").body).values()
assert isinstance(ARGUMENTS, ast.arguments)
RANK = EntryPoint("rank", ARGUMENTS)


def function(name: str, result: str = "x", parameters: str = "x, y") -> str:
    return f"def {name}({parameters}):\n    return {result}"


def source(found: Parsed | Failure) -> str:
    assert isinstance(found, Parsed), found
    return found.source


@pytest.mark.parametrize(
    "name",
    ["rank_v2", "rank2", "rank_2", "rank_new", "improved_rank", "_rank", "Rank", "new_rank_v3", "rank_optimized"],
)
def test_a_newer_version_is_known_by_its_name(name: str) -> None:
    assert source(RANK.named(parse(function(name)))) == function("rank")


@pytest.mark.parametrize("name", ["ranking", "rank_all", "prank", "score", "rank_helper", "v2"])
def test_other_names_are_not_those_of_a_version(name: str) -> None:
    found = RANK.named(parse(function(name)))
    assert isinstance(found, Failure) and found.reason == "no-function"


def test_of_versions_the_last_that_no_other_uses_is_meant_and_older_ones_of_no_use_go() -> None:
    program = "\n".join([function("rank"), "Z = 1", function("rank_v1", "y"), function("rank_v2", "rank_v1(y, x)")])
    assert source(RANK.named(parse(program))) == "\n".join(
        ["Z = 1", function("rank_v1", "y"), function("rank", "rank_v1(y, x)")]
    )
    circle = f"{function('rank', 'rank_v2(x, y)')}\n{function('rank_v2', 'rank(x, y)')}"
    assert (
        source(RANK.named(parse(circle))) == f"{function('rank_1', 'rank(x, y)')}\n{function('rank', 'rank_1(x, y)')}"
    )


def test_a_version_that_cannot_be_called_so_is_not_meant() -> None:
    assert source(RANK.named(parse(f"{function('rank')}\n{function('rank_v2', parameters='x')}"))) == function("rank")
    found = RANK.named(parse(function("rank", parameters="x") + "\n" + function("rank_v2", parameters="z")))
    assert found == Failure("signature", "rank: it takes 1 arguments, but is called with x, y")


def test_what_is_renamed_is_renamed_wherever_it_is_named_and_nothing_else_is() -> None:
    program = "# rank_v2\ndef rank_v2(x, rank):\n    return rank_v2(x, a.rank_v2 + rank_v21 + rank)"
    assert source(RANK.named(parse(program))) == (
        "# rank\ndef rank(x, rank_1):\n    return rank(x, a.rank_v2 + rank_v21 + rank_1)"
    )
    taken = "def rank_v2(x, rank):\n    rank_1 = rank\n    return rank_1"
    assert source(RANK.named(parse(taken))) == "def rank(x, rank_2):\n    rank_1 = rank_2\n    return rank_1"


def test_a_function_that_takes_the_right_arguments_stands_for_the_entry_point() -> None:
    program = f"{function('half', parameters='x')}\n{function('f', 'half(x)', 'a, b')}"
    assert source(RANK.alike(parse(program), set())) == program.replace("def f", "def rank")


def test_of_several_the_one_is_meant_that_nothing_uses_or_whose_parameters_have_the_right_names() -> None:
    used = f"{function('f', 'g(x, y)')}\n{function('g')}"
    assert source(RANK.alike(parse(used), set())) == used.replace("def f", "def rank")
    named = f"{function('f')}\n{function('g', 'a', 'a, b')}"
    assert source(RANK.alike(parse(named), set())) == named.replace("def f", "def rank")


@pytest.mark.parametrize(
    ("program", "elsewhere", "said"),
    [
        (f"{function('f')}\n{function('g')}", set(), "not clear which of f, g is meant"),
        (function("f"), {"f"}, "no function 'rank' is defined at module level"),
        (function("f", "rank(x, y)"), set(), "'f' uses the 'rank' that it should replace"),
        (f"class A:\n    {function('rank').replace(chr(10), chr(10) + '    ')}", set(), "a method of the class 'A'"),
        ("x = 1", set(), "no function 'rank' is defined at module level"),
        (f"{function('f', parameters='x')}\n{function('g', parameters='x')}", set(), "no function 'rank' is defined"),
    ],
)
def test_where_none_can_stand_for_it_the_reason_says_why(program: str, elsewhere: set[str], said: str) -> None:
    found = RANK.alike(parse(program), elsewhere)
    assert isinstance(found, Failure) and found.reason == "no-function"
    assert said in found.message
