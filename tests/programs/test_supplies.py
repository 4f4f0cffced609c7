"""What a program lacks comes from others."""

from __future__ import annotations

import ast

import pytest

from behavesim.programs.definitions import Definitions
from behavesim.programs.supplies import OFFERED, completed, offered


def supplied(source: str, *donors: str) -> str:
    return completed(source, [Definitions.of(ast.parse(donor)) for donor in donors], lambda characters: None)


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


@pytest.mark.parametrize(
    ("program", "imports"),
    [
        ("x: Tuple[int, List[float]] = 1", "from typing import List, Tuple"),
        ("x = np.array([math.pi])", "import math\nimport numpy as np"),
        ("x: NDArray = deque()", "from collections import deque\nfrom numpy.typing import NDArray"),
    ],
)
def test_usual_imports_are_offered_and_no_more_than_is_named_of_them_is_put_in(program: str, imports: str) -> None:
    assert completed(program, [offered()], lambda characters: None) == f"{imports}\n\n{program}"


def test_a_name_that_anybody_else_defines_is_not_imported() -> None:
    assert (
        completed("x = copy", [Definitions.of(ast.parse("copy = 2")), offered()], lambda characters: None)
        == "copy = 2\n\nx = copy"
    )


def test_what_is_offered_can_be_had() -> None:
    exec(OFFERED, {})
