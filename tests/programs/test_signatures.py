"""Which function a module ends up with, and whether it can be called as the template's can."""

from __future__ import annotations

import ast

import pytest

from behavesim.programs.signatures import callables, complaint


def arguments(source: str) -> ast.arguments:
    found = callables(ast.parse(source).body).get("f")
    assert isinstance(found, ast.arguments)
    return found


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("def f(a): ...", ["a"]),
        ("f = lambda a: a", ["a"]),
        ("f: object = lambda a: a", ["a"]),
        ("def g(a): ...\nf = g", ["a"]),
        ("def f(a): ...\ndef f(b): ...", ["b"]),
        ("def f(a): ...\nf = wrapped(f, k=1)", ["a"]),
        ("if x:\n    def f(a): ...\nelse:\n    def f(b): ...", ["b"]),
        ("try:\n    def f(a): ...\nexcept E:\n    def f(b): ...\nelse:\n    def f(c): ...", ["c"]),
        ("try:\n    def f(a): ...\nfinally:\n    def f(d): ...", ["d"]),
        ("with x:\n    def f(a): ...", ["a"]),
    ],
)
def test_the_last_definition_at_module_level_counts(source: str, names: list[str]) -> None:
    assert [argument.arg for argument in arguments(source).args] == names


@pytest.mark.parametrize(
    "source", ["", "def g(a): ...", "class C:\n    def f(a): ...", "f = 1", "f = unknown", "def f(a): ...\nf = g(f, 1)"]
)
def test_what_is_no_plain_function_of_the_module_has_no_arguments(source: str) -> None:
    assert callables(ast.parse(source).body).get("f") is None


def test_functions_come_in_the_order_of_their_last_definition() -> None:
    source = "def f(): ...\ndef g(): ...\ndef f(): ...\nh = lambda: 0\ng = 1"
    assert [*callables(ast.parse(source).body)] == ["f", "h"]


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
    assert complaint(arguments(found), arguments(wanted)) == ""


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
    assert complaint(arguments(found), arguments(wanted)) == said


def test_a_coroutine_is_no_function() -> None:
    found = callables(ast.parse("async def f(a, b): ...").body).get("f")
    assert found is not None
    assert "coroutine" in complaint(found, arguments(WANTED))
