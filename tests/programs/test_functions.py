"""Which functions a program defines, and whether the one that a task asks for can be called."""

from __future__ import annotations

import ast

import pytest

from behavesim.programs.functions import EntryPoint, callables, complaint, functions_in, rename_function
from behavesim.task.verdict import Failure


def test_the_last_of_several_functions_of_one_name_counts() -> None:
    found = callables(ast.parse("def f(a): ...\ndef g(): ...\nasync def f(b): ...\nif x:\n    def h(): ..."))
    assert {name: [each.arg for each in function.args.args] for name, function in found.items()} == {
        "f": ["b"],
        "g": [],
    }


RANK = EntryPoint("rank", functions_in("def rank(x, y): ...")["rank"].args)


@pytest.mark.parametrize(
    "program",
    [
        "def rank(x, y):\n    return x",
        "def rank(a, b, c=1):\n    return a",
        "rank = lambda x, y: x",
        "def other(x, y):\n    return x\nrank = other",
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


def function(source: str) -> ast.FunctionDef:
    return functions_in(source)["f"]


WANTED = "def f(a, b): ..."
KEYWORD = "def f(a, *, k): ..."


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (WANTED, "def f(a, b): ..."),
        (WANTED, "def f(x, y): ..."),
        (WANTED, "def f(x, /, y): ..."),
        (WANTED, "def f(a, b, c=1): ..."),
        (WANTED, "def f(*all): ..."),
        (WANTED, "def f(a, *rest): ..."),
        (WANTED, "def f(a, b, *, k=1, **rest): ..."),
        (KEYWORD, "def f(a, *, k): ..."),
        (KEYWORD, "def f(a, k): ..."[:-6] + "=1): ..."),
        (KEYWORD, "def f(a, **rest): ..."),
    ],
)
def test_a_function_that_can_be_called_as_the_template_is_taken(wanted: str, found: str) -> None:
    assert complaint(function(found), function(wanted).args) == ""


@pytest.mark.parametrize(
    ("wanted", "found", "said"),
    [
        (WANTED, "def f(a): ...", "it takes 1 arguments, but is called with a, b"),
        (WANTED, "def f(a, b, c): ...", "it needs 3 arguments, but is called with a, b"),
        (WANTED, "def f(a, b, c, d=1): ...", "it needs 3 arguments, but is called with a, b"),
        (WANTED, "def f(b, a): ...", "its parameter 'b' stands in another place; the order is a, b"),
        (WANTED, "def f(x, a): ...", "its parameter 'a' stands in another place; the order is a, b"),
        (WANTED, "def f(a, b, *, k, l=1): ...", "it needs the keyword arguments k, and is called with none"),
        (KEYWORD, "def f(a, *, k, l): ...", "it needs the keyword arguments k, l, and is called with k"),
        (KEYWORD, "def f(a): ...", "it lacks the keyword arguments k"),
    ],
)
def test_a_function_that_cannot_be_called_so_is_refused_with_the_reason(wanted: str, found: str, said: str) -> None:
    assert complaint(function(found), function(wanted).args) == said


def test_a_coroutine_is_no_function() -> None:
    found = callables(ast.parse("async def f(a, b): ..."))["f"]
    assert "coroutine" in complaint(found, function(WANTED).args)


TEMPLATE = "def priority(item, bins):\n    return -bins\n"


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("def score(item, bins):\n    return bins\n", "def priority(item, bins):\n    return bins\n"),
        ("def f(item, bins): return 'é', f(1, f)", "def priority(item, bins): return 'é', priority(1, priority)"),
        (
            "@cache\ndef  f(item, bins): ...\nf(1, 2)",
            "@cache\ndef  priority(item, bins): ...\npriority(1, 2)",
        ),
        ("def f(size, rooms): ...", None),
        ("def f(item, bins, k=1): ...", None),
        (TEMPLATE, None),
        ("def f(item, bins): ...\ndef g(item, bins): ...", None),
        ("class A: ...\ndef f(item, bins): ...", None),
        ("def f(item, bins): return priority(item, bins)", None),
        ("def f(item, bins):\n    priority = 1", None),
        ("def f(item, bins):\n    def f(x): ...", None),
        ("def f(item, bins): return [f for f in bins if (lambda f: f)]", None),
        ("def ﬁt(item, bins): return ﬁt", None),
        ("async def f(item, bins): ...", None),
        ("x = 1", None),
    ],
)
def test_the_only_function_is_renamed_where_it_is_clear_that_it_is_meant(source: str, found: str | None) -> None:
    wanted = EntryPoint("priority", functions_in(TEMPLATE)["priority"].args)
    assert rename_function(source, ast.parse(source), wanted) == found
