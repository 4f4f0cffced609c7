"""The names a program lacks, and what supplies them."""

from __future__ import annotations

import ast

import pytest

from behavesim.programs.definitions import Definitions, completed, identifiers, missing_names


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


def supplied(source: str, *donors: str) -> str:
    return completed(source, [Definitions.of(ast.parse(donor)) for donor in donors])


def test_what_is_missing_comes_from_the_first_donor_that_has_it_with_all_that_it_needs() -> None:
    helper = "import math\nunused = 1\nlimit = 2\ndef cap(x):\n    return min(math.floor(x), limit)"
    assert supplied("y = cap(3)", helper, "cap = max") == (
        "import math\nlimit = 2\ndef cap(x):\n    return min(math.floor(x), limit)\n\ny = cap(3)"
    )
    assert supplied("y = cap(z)", "cap = max", "z = 1") == "z = 1\n\ncap = max\n\ny = cap(z)"


def test_a_program_that_lacks_nothing_or_nothing_that_can_be_had_stays_as_it_is() -> None:
    assert supplied("x = 1", "y = 2") == "x = 1"
    assert supplied("x = z", "y = 2") == "x = z"


def test_what_is_supplied_stands_behind_imports_from_the_future() -> None:
    program = '"""Doc."""\nfrom __future__ import annotations\nx = y'
    assert supplied(program, "y = 2") == '"""Doc."""\nfrom __future__ import annotations\ny = 2\nx = y'


def test_definitions_that_need_one_another_are_supplied_once() -> None:
    donor = "def f():\n    return g()\ndef g():\n    return f()"
    assert supplied("x = f", donor) == f"{donor}\n\nx = f"


def test_identifiers_are_all_names_but_attributes() -> None:
    source = "import a.b\nimport c as d\ndef e(f):\n    return g.h\nclass i: ...\nasync def j(): ..."
    assert identifiers(ast.parse(source)) == {"a", "d", "e", "f", "g", "i", "j"}
