"""What a program does when it is imported, and which of it is left out."""

from __future__ import annotations

import pytest

from behavesim.programs.parsing import parse
from behavesim.programs.usage import without_main_guard, without_usage

F = "def f(a):\n    return a"


@pytest.mark.parametrize("guard", ["__name__ == '__main__'", "'__main__' == __name__"])
def test_what_only_a_script_does_is_left_out(guard: str) -> None:
    source = f"x = 1\nif {guard}:\n    x = 2\n    print(x)\ny = 3"
    assert without_main_guard(parse(source)).source == "x = 1\ny = 3"


@pytest.mark.parametrize("test", ["x > 0", "x", "__name__", "f(__name__)"])
def test_no_other_condition_is_left_out(test: str) -> None:
    source = f"x = 1\nif {test}:\n    x = 2"
    assert without_main_guard(parse(source)).source == source


@pytest.mark.parametrize(
    "usage",
    [
        "f(1)",
        "x = f(1)\nprint(x)",
        "a = 1\nb = a\nprint(f(b))",
        "for a in (1, 2):\n    print(f(a))",
        "assert f(1) == 1",
        "if DEBUG:\n    f(1)",
        "try:\n    f(1)\nexcept E:\n    pass",
        "total = 0\ntotal += f(1)",
        "print([f(a) for a in (1, 2)])",
    ],
)
def test_calls_below_a_function_are_left_out_with_what_only_they_need(usage: str) -> None:
    assert without_usage(parse(f"{F}\n{usage}"), ["f"]).source == F


def test_a_function_that_makes_the_call_stays_and_is_not_called() -> None:
    test = "def test():\n    f(1)\ndef main():\n    test()"
    assert without_usage(parse(f"{F}\n{test}\nmain()"), ["f"]).source == f"{F}\n{test}"


@pytest.mark.parametrize(
    "source",
    [
        f"{F}\nimport g",
        f"{F}\nx = 1",
        f"{F}\nregister(f)",
        f"{F}\nf.cache = {{}}",
        f"{F}\ndef g():\n    return KNOWN\nKNOWN = f(1)",  # a variable of another function's
        "KNOWN = []\ndef f(a):\n    return KNOWN\nKNOWN.append(f(1))",
        "def f(a):\n    return KNOWN\nx = f(1)\nKNOWN = x",  # what is needed for one
        f"x = f\n{F}",
        "f = 1\nprint(f)",
        f"{F}\nf = f(1)",
        f"{F}; f(1)",
        f"{F}\nx = f(1); y = 2",
        f"{F}\nf(1)" + "\nx = 1" * 100,
    ],
)
def test_nothing_else_is_left_out(source: str) -> None:
    assert without_usage(parse(source), ["f"]).source == source
