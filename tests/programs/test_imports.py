"""The names that a program lacks, and the imports that it gets."""

from __future__ import annotations

import ast

import pytest

from behavesim.programs.parsing import OFFERED, imports_in, missing_names, usual_imports, with_imports


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


def test_each_name_that_an_import_binds_has_a_statement_of_its_own() -> None:
    source = "import a.b, x\nimport c.d as e\nfrom f import g, h as i\nfrom __future__ import annotations\nk = 1"
    assert imports_in(ast.parse(source).body) == {
        "a": "import a.b",
        "x": "import x",
        "e": "import c.d as e",
        "g": "from f import g",
        "i": "from f import h as i",
    }


def test_a_template_goes_before_the_usual_imports() -> None:
    usual = usual_imports("from mine import deque\n\ndef f(): ...")
    assert usual["deque"] == "from mine import deque"
    assert usual["np"] == "import numpy as np"


def test_imports_that_are_lacking_stand_behind_those_from_the_future() -> None:
    program = '"""Doc."""\nfrom __future__ import annotations\nx = y'
    usual = {"y": "import y", "z": "import z"}
    assert with_imports(program, usual) == '"""Doc."""\nfrom __future__ import annotations\nimport y\nx = y'
    assert with_imports("x = y", usual) == "import y\n\nx = y"
    assert with_imports("import y\n\nx = y", usual) == "import y\n\nx = y"


def test_what_is_offered_can_be_had() -> None:
    exec(OFFERED, {})
