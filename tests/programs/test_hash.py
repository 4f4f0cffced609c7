"""Hashes of programs: what does not count, and what does."""

from __future__ import annotations

import pytest

from behavesim.programs.parsing import program_hash

SAME = {
    "formatting": ("def f(a):\n    return a+1", "def f( a ):\n\n  return (a + 1)"),
    "comments": ("def f(a):\n    return a", "# why\ndef f(a):\n    return a  # because"),
    "numbers": ("def f():\n    return 1.0, 1000, 255", "def f():\n    return 1., 1_000, 0xff"),
    "quotes": ("def f():\n    return 'a'", 'def f():\n    return "a"'),
    "white space that ends lines of what is no Python": ("f = |x|\nend\n", "f = |x|  \nend"),
}

DIFFERENT = {
    "the order of parameters": ("def f(a, b):\n    return a - b", "def f(a, b):\n    return b - a"),
    "names of locals": ("def f(a):\n    return a", "def f(b):\n    return b"),
    "attributes": ("def f(a):\n    return a.x", "def f(a):\n    return a.y"),
    "numbers": ("def f(a):\n    return a + 1", "def f(a):\n    return a + 1.0"),
    "strings": ("def f():\n    return 'a'", "def f():\n    return 'b'"),
    "the name of the function": ("def f(a):\n    return a", "def g(a):\n    return a"),
    "indentation of what is no Python": ("f = |x|\n  end", "f = |x|\nend"),
}


@pytest.mark.parametrize("pair", SAME.values(), ids=SAME)
def test_layout_and_comments_do_not_count(pair: tuple[str, str]) -> None:
    assert program_hash(pair[0]) == program_hash(pair[1])


@pytest.mark.parametrize("pair", DIFFERENT.values(), ids=DIFFERENT)
def test_all_else_counts(pair: tuple[str, str]) -> None:
    assert program_hash(pair[0]) != program_hash(pair[1])


def test_what_does_not_parse_has_a_hash_of_its_own() -> None:
    sources = ("def f(", "\0", "x = '\ud800'", f"x = {'(' * 500}1{')' * 500}")
    assert len({program_hash(source) for source in sources}) == len(sources)
