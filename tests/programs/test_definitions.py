"""The names a program reads and binds."""

from __future__ import annotations

import ast

import pytest

from behavesim.programs.definitions import Definitions, missing_names


@pytest.mark.parametrize(
    ("source", "missing"),
    [
        ("x = y", {"y"}),
        ("y = 1\nx = y", set()),
        ("import y.z\nx = y.z", set()),
        ("def f():\n    return y", {"y"}),
        ("def f():\n    y = 1\n    return y", set()),
        ("def f():\n    def g():\n        return y", {"y"}),
        ("def f():\n    global y\n    y = 1\nx = y", set()),
        ("class C:\n    y = z", {"z"}),
        ("x = len(__name__)", set()),
        ("def f(a=b): ...", {"b"}),
    ],
)
def test_a_name_is_missing_where_it_is_read_and_nobody_binds_it(source: str, missing: set[str]) -> None:
    assert missing_names(source) == missing


def test_every_way_to_bind_a_name_at_module_level_defines_it() -> None:
    source = (
        "import a.b\nimport c.d as e\nfrom f import g, h as i\nj, (k, *l) = 1, (2, 3)\nm: int = 1\n"
        "def n(): ...\nclass o: ...\nfrom __future__ import annotations\np.q = r[s] = 1\nasync def t(): ..."
    )
    assert sorted(Definitions.of(ast.parse(source)).places) == ["a", "e", "g", "i", "j", "k", "l", "m", "n", "o"]


def test_the_last_of_several_definitions_counts() -> None:
    assert Definitions.of(ast.parse("x = 1\nx = 2")).places == {"x": 1}
