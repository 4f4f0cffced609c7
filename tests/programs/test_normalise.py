"""Normal forms: what does not count, what does, and that a normal form behaves like its program."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from behavesim.programs.hashing import normalise

SAME = {
    "formatting": ("def f(a):\n    return a+1", "def f( a ):\n\n  return (a + 1)"),
    "comments": ("def f(a):\n    return a", "# why\ndef f(a):\n    return a  # because"),
    "docstrings": ("def f(a):\n    return a", 'def f(a):\n    """Doc."""\n    return a'),
    "a docstring of the module": ("def f(a):\n    return a", '"""Doc."""\ndef f(a):\n    return a'),
    "an empty body": ("def f(a):\n    pass", 'def f(a):\n    """Nothing."""'),
    "parameters": ("def f(a, b):\n    return a - b", "def f(x, y):\n    return x - y"),
    "locals": ("def f(a):\n    b = a\n    return b", "def f(a):\n    c = a\n    return c"),
    "loop variables": ("def f(a):\n    for i in a:\n        g(i)", "def f(a):\n    for j in a:\n        g(j)"),
    "comprehensions": ("x = [i for i in y]", "x = [j for j in y]"),
    "lambdas": ("f = sorted(a, key=lambda p: p[0])", "f = sorted(a, key=lambda q: q[0])"),
    "inner functions": (
        "def f(a):\n    def g(b):\n        return a + b\n    return g(1)",
        "def f(x):\n    def h(y):\n        return x + y\n    return h(1)",
    ),
    "nonlocal": (
        "def f():\n    n = 0\n    def g():\n        nonlocal n\n        n += 1\n    g()\n    return n",
        "def f():\n    m = 0\n    def g():\n        nonlocal m\n        m += 1\n    g()\n    return m",
    ),
    "caught errors": (
        "def f(a):\n    try:\n        g(a)\n    except ValueError:\n        h(a)",
        "def f(b):\n    try:\n        g(b)\n    except ValueError:\n        h(b)",
    ),
    "local imports": (
        "def f(a):\n    import math\n    return math.sin(a)",
        "def f(a):\n    import math as m\n    return m.sin(a)",
    ),
    "walrus": (
        "def f(a):\n    return [b for c in a if (b := c)], b",
        "def f(a):\n    return [x for y in a if (x := y)], x",
    ),
    "patterns": (
        "def f(a):\n    match a:\n        case [b, *c, {'k': d, **e}]:\n            return b, c, d, e",
        "def f(a):\n    match a:\n        case [p, *q, {'k': r, **s}]:\n            return p, q, r, s",
    ),
    "names like our own": ("def f(v3):\n    v1 = v3\n    return v1", "def f(a):\n    b = a\n    return b"),
    "imports under a dotted name": (
        "def f(a):\n    import numpy.linalg as b\n    return b.norm(a)",
        "def f(a):\n    import numpy.linalg as c\n    return c.norm(a)",
    ),
    "numbers": ("def f():\n    return 1.0, 1000, 255", "def f():\n    return 1., 1_000, 0xff"),
    "quotes": ("def f():\n    return 'a'", 'def f():\n    return "a"'),
}

DIFFERENT = {
    "the order of parameters": ("def f(a, b):\n    return a - b", "def f(a, b):\n    return b - a"),
    "which local": ("def f(a):\n    b = c = a\n    return b", "def f(a):\n    b = c = a\n    return c"),
    "globals": ("def f(a):\n    return g(a)", "def f(a):\n    return h(a)"),
    "a global named like our own": ("def f(a):\n    return v0 + a", "def f(a):\n    return a + a"),
    "a global instead of a local": ("def f(a):\n    return a", "def f(a):\n    return b"),
    "attributes": ("def f(a):\n    return a.x", "def f(a):\n    return a.y"),
    "numbers": ("def f(a):\n    return a + 1", "def f(a):\n    return a + 1.0"),
    "strings that are values": ("def f():\n    return 'a'", "def f():\n    return 'b'"),
    "the name of the function": ("def f(a):\n    return a", "def g(a):\n    return a"),
    "parameters passed by keyword": (
        "def g(a, b):\n    return a - b\ndef f(x):\n    return g(a=x, b=1)",
        "def g(b, a):\n    return b - a\ndef f(x):\n    return g(a=x, b=1)",
    ),
    "parameters passed by a mapping": (
        "def g(a, b):\n    return a - b\ndef f(x):\n    return g(**x)",
        "def g(b, a):\n    return b - a\ndef f(x):\n    return g(**x)",
    ),
    "the names of a class's own": (
        "def f():\n    class C:\n        x = 1\n    return C.x",
        "def f():\n    class C:\n        y = 1\n    return C.x",
    ),
    "a class's own name is not seen in its methods": (
        "def f(x):\n    class C:\n        x = 1\n        def g(self):\n            return x\n    return C().g()",
        "def f(x):\n    class C:\n        x = 1\n        def g(self):\n            return self\n    return C().g()",
    ),
    "the package of a dotted import": (
        "def f(a):\n    import os.path\n    return os.path",
        "def f(a):\n    import re.path\n    return re.path",
    ),
    "locals beside a class with names of elsewhere": (
        "def f(a):\n    class C:\n        global n\n        n = 1\n    return a",
        "def f(b):\n    class C:\n        global n\n        n = 1\n    return b",
    ),
    "global and local": ("def f():\n    global n\n    n = 1", "def f():\n    n = 1"),
    "nonlocal and local": (
        "def f():\n    n = 0\n    def g():\n        nonlocal n\n        n = 1\n    g()\n    return n",
        "def f():\n    n = 0\n    def g():\n        n = 1\n    g()\n    return n",
    ),
    "locals that the program looks at": (
        "def f(a):\n    return sorted(locals())",
        "def f(b):\n    return sorted(locals())",
    ),
    "docstrings that the program looks at": (
        'def f():\n    "one"\n    return f.__doc__',
        'def f():\n    "two"\n    return f.__doc__',
    ),
    "line numbers that the program looks at": (
        "def f(a):\n    return sys._getframe().f_lineno",
        "def f(a):\n\n    return sys._getframe().f_lineno",
    ),
    "lines of a traceback": (
        "def f():\n    try:\n        g()\n    except OSError as e:\n        return e.__traceback__.tb_lineno",
        "def f():\n    try:\n\n        g()\n    except OSError as e:\n        return e.__traceback__.tb_lineno",
    ),
    "lines of warnings": (
        "import warnings\ndef f(a):\n    warnings.warn('a')",
        "import warnings\n\ndef f(a):\n    warnings.warn('a')",
    ),
    "a local function's name in its text": (
        "def f():\n    def g():\n        pass\n    return repr(g)",
        "def f():\n    def h():\n        pass\n    return repr(h)",
    ),
    "a local function's name in a formatted text": (
        "def f():\n    def g():\n        pass\n    return f'{g}'",
        "def f():\n    def h():\n        pass\n    return f'{h}'",
    ),
    "a local function's name behind a percent sign": (
        "def f():\n    def g():\n        pass\n    return '%s' % g",
        "def f():\n    def h():\n        pass\n    return '%s' % h",
    ),
    "a parameter's name in an error": (
        "def f():\n    def g(a):\n        pass\n    try:\n        g()\n    except TypeError as e:\n        h(e.args)",
        "def f():\n    def g(b):\n        pass\n    try:\n        g()\n    except TypeError as e:\n        h(e.args)",
    ),
    "names in evaluated text": ("def f(a):\n    return eval('a')", "def f(b):\n    return eval('a')"),
    "a callback's telling parameter": (
        "m(callback=lambda intermediate_result: 0)",
        "m(callback=lambda anything: 0)",
    ),
    "what a loop shadows": (
        "def f(a):\n    b = 1\n    [b for b in a]\n    return b",
        "def f(a):\n    b = 1\n    for b in a:\n        b\n    return b",
    ),
    "the scope of the first iterable": (
        "def f(x):\n    return [x for x in x]",
        "def f(x):\n    return [y for x in x for y in x]",
    ),
}
if sys.version_info >= (3, 12):
    DIFFERENT["parameters beside type parameters"] = (
        "def f[T](a: T):\n    return a",
        "def f[T](b: T):\n    return b",
    )


@pytest.mark.parametrize("pair", SAME.values(), ids=SAME)
def test_what_behaviour_cannot_depend_on_does_not_count(pair: tuple[str, str]) -> None:
    assert normalise(pair[0]) == normalise(pair[1])


@pytest.mark.parametrize("pair", DIFFERENT.values(), ids=DIFFERENT)
def test_what_behaviour_can_depend_on_counts(pair: tuple[str, str]) -> None:
    assert normalise(pair[0]) != normalise(pair[1])


@pytest.mark.parametrize("source", [source for pair in (*SAME.values(), *DIFFERENT.values()) for source in pair])
def test_a_normal_form_is_its_own(source: str) -> None:
    once = normalise(source)
    assert normalise(once) == once
    compile(once, "<normal form>", "exec")


def test_what_does_not_parse_is_its_own_normal_form() -> None:
    for source in ("def f(", "\0", "x = '\ud800'", f"x = {'(' * 500}1{')' * 500}"):
        assert normalise(source) == source


NAMES = ("a", "b", "c", "v0", "v1", "total")
NAME = st.sampled_from(NAMES)
ATOM = st.one_of(NAME, st.integers(0, 9).map(str))


def nested(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Expressions that bind names in every way an expression can."""
    return st.one_of(
        st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda part: f"({part[0]} {part[1]} {part[2]})"),
        st.tuples(inner, NAME, inner).map(lambda part: f"sum({part[0]} for {part[1]} in range({part[2]} % 4))"),
        st.tuples(NAME, inner, inner).map(lambda part: f"(lambda {part[0]}: {part[1]})({part[2]})"),
        st.tuples(NAME, inner, inner).map(lambda part: f"(lambda {part[0]}={part[2]}: {part[1]})()"),
        st.tuples(NAME, inner).map(lambda part: f"({part[0]} := {part[1]})"),
    )


EXPRESSION = st.recursive(ATOM, nested, max_leaves=6)


def indented(text: str) -> str:
    return text.replace("\n", "\n    ")


def blocks(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Statements that bind names, alone and around others."""
    return st.one_of(
        st.tuples(inner, inner).map("\n".join),
        st.tuples(NAME, EXPRESSION, inner).map(
            lambda part: f"for {part[0]} in range({part[1]} % 3):\n    {indented(part[2])}"
        ),
        st.tuples(NAME, NAME, inner, EXPRESSION, EXPRESSION).map(
            lambda part: (
                f"def {part[0]}({part[1]}):\n    {indented(part[2])}\n    return {part[3]}\n"
                f"{part[1]} = {part[0]}({part[4]})"
            )
        ),
        st.tuples(NAME, inner, EXPRESSION).map(
            lambda part: f"def g():\n    nonlocal {part[0]}\n    {part[0]} = {part[2]}\n    {indented(part[1])}\ng()"
        ),
        st.tuples(NAME, EXPRESSION, EXPRESSION).map(
            lambda part: f"class K:\n    {part[0]} = {part[1]}\n    w = {part[2]}\na = K.w"
        ),
        st.tuples(NAME, inner).map(
            lambda part: f"try:\n    {indented(part[1])}\nexcept Exception as {part[0]}:\n    pass"
        ),
    )


STATEMENT = st.tuples(NAME, EXPRESSION).map(" = ".join)
BODY = st.recursive(STATEMENT, blocks, max_leaves=5)


def result(source: str) -> tuple[str, Any]:
    """What the function of a program returns, or the kind of error it ends in."""
    scope: dict[str, Any] = {"v1": 1000}
    try:
        exec(compile(source, "<program>", "exec"), scope)
        value = scope["f"](3, 5)
        return "returned", value if isinstance(value, int) else type(value)
    except Exception as error:  # noqa: BLE001 whatever a random program raises, its normal form must raise too
        return type(error).__name__, None


@settings(max_examples=200)
@given(body=BODY, value=EXPRESSION)
def test_a_normal_form_behaves_like_its_program(body: str, value: str) -> None:
    source = f"def f(a, b):\n    c = total = v0 = 1\n    {indented(body)}\n    return {value}"
    assert result(normalise(source)) == result(source)
