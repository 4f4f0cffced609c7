"""The numbers of a program that may be tuned, and others in their place."""

from __future__ import annotations

import ast
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from behavesim.programs.numbers import (
    MOST_NUMBERS,
    Number,
    marks_without_effect,
    numbers_in,
    tunable_numbers,
    write_numbers,
)
from behavesim.task.evaluated import join_files

PYTHON = '''
import numpy as np

WEIGHT = 1.0  # tune: 0.1 to 3


def choose(a, d, k=5):
    """Takes 3.5 of them."""
    rng = np.random.default_rng(42)
    seed = 17
    x = a[3] + d[: int(0.3 * len(d))] ** 1.5 - -0.25 * np.zeros((7, 3)).sum(axis=4)
    y = a.reshape(-1, 4) / (d + 1e-9) // 3.5 + 0.9 + 1e18
    é = f"{3.25} é 3" + "9"; z = 12.5 * 2.0 + True
    return 0 * x if len(a) < 4 or a.shape[0] > 5 else x + y * z * rng.normal(0.7, size=6)
'''
CPP = """
// weigh by 3.5
#define LEVELS 10
static const double A = 0.5f; /* tune: -2 to 2 */
double f(int a[], double x) {
  std::array<int, 5> q; int seed = 42; std::mt19937 rng(7); double b[100];
  double r = -0.25 * x + a[3] - 4.5 / (x + 1e-9) + (1 << 4);
  switch (q[4]) { case 3: return x - 7; }
  return r * 1.0;
}
"""


def found(source: str, suffix: str = ".py", template: str = "") -> list[tuple[int, float]]:
    return [(number.line, number.value) for number in tunable_numbers(source, suffix, template)]


def only(source: str, suffix: str = ".py") -> Number:
    (number,) = tunable_numbers(source, suffix)
    return number


def test_of_python_those_that_weigh_are_found_and_not_those_that_say_where_how_many_or_which() -> None:
    assert found(PYTHON) == [
        *((4, 1.0), (7, 5.0)),
        *((11, 0.3), (11, 1.5), (11, -0.25)),
        *((12, 3.5), (12, 0.9)),
        (13, 12.5),
        (14, 0.7),
    ]


def test_bits_digits_and_repetitions_are_no_weights() -> None:
    assert found("x = a << 5 | 12 & b\ny = round(0.7 * z, 4)\nw = product(range(7), repeat=3)\n") == [
        (2, 0.7),
        (3, 7.0),
    ]
    assert found("mask = (a > 3.5) & (b * 4 < 9)\n") == [(1, 3.5), (1, 4.0), (1, 9.0)]


def test_of_other_languages_they_are_found_by_their_neighbours() -> None:
    assert found(CPP, ".cpp") == [(3, 10.0), (4, 0.5), (7, -0.25), (7, 4.5), (8, 7.0)]


def test_python_that_does_not_parse_has_none() -> None:
    assert found("def f(: 3.5") == [] == found("x = 3.5 +" + "(" * 300)


def test_a_mark_gives_its_line_s_first_number_in_the_range_that_range() -> None:
    marked = only("x = a[2] * 1 + 2 * 0  # tune: 1 to 1.5")
    assert (marked.value, marked.low, marked.high) == (1.0, 1.0, 1.5)


def test_a_mark_without_a_number_in_its_range_is_found() -> None:
    lines = ("0.3  # tune: 0 to 1", "0.3  # tune: 5 to 1", "0.3  # tune: a to b", "0.3  # tune: 1e400 to 2", "0.3")
    source = "".join(f"x{number} = {line}\n" for number, line in enumerate(lines))
    assert marks_without_effect(source, tunable_numbers(source)) == [2, 3, 4]
    assert tunable_numbers("x = a[0] + 7  # tune: 0.5 to 0.1")[0].high == 28
    assert found("seed = 3  # tune: 2 to 9\n") == [(1, 3.0)] == found("seed = 3; // tune: 2 to 9\n", ".c")


def test_what_no_float_holds_is_no_number_and_no_bound() -> None:
    huge = f"1{'0' * 400}"
    assert found(f"a = {huge} + 3.5\nb = -{huge}\n") == [(1, 3.5)]
    assert found(f"a = 3  # tune: 1 to {huge}\nb = 3  # tune: 1 to 1e999\nc = 3.5\n") == [(3, 3.5)]


def test_whole_numbers_stay_whole_and_signs_stay() -> None:
    whole, real = tunable_numbers("k = 5\nw = -0.2\n")
    assert (whole.low, whole.high, whole.is_whole, whole.is_log) == (1, 20, True, True)
    assert (real.low, real.high, real.is_whole, real.is_log) == (-2.0, -0.02, False, True)
    assert write_numbers("k = 5\nw = -0.2\n", (whole, real), (8.0, -0.5)) == "k = 8\nw = -0.5\n"
    assert not only("k = 1  # tune: 0.1 to 3").is_whole


def test_a_scale_is_logarithmic_unless_the_number_is_near_one() -> None:
    assert only("w = 0.02").is_log and only("w = 300.0").value_at(0.5) == 300.0
    near = only("w = 0.95")
    assert not near.is_log and (near.low, near.high) == (0.0, 1.9)
    assert not only("w = 0.5  # tune: 0.2 to 1").is_log and only("w = 0.5  # tune: 0.1 to 3").is_log


@pytest.mark.parametrize(
    ("source", "suffix", "value", "expected"),
    [
        ("x = b**0.5  # tune: -1 to 1", ".py", -0.25, "x = b**(-0.25)  # tune: -1 to 1"),
        ("x = 0.5**b  # tune: -1 to 1", ".py", -0.25, "x = (-0.25)**b  # tune: -1 to 1"),
        ("x = b - 0.5f; // tune: -1 to 1", ".cpp", -0.25, "x = b -  -0.25f; // tune: -1 to 1"),
        ("x = -0.5; // tune: -1 to 1", ".cpp", 0.25, "x = 0.25; // tune: -1 to 1"),
        ("x = 3.5", ".py", 4.0, "x = 4.0"),
        ("x = 3.5", ".py", 4e-5, "x = 4e-05"),
        ("é = 'é'; x = 3.5", ".py", 4.5, "é = 'é'; x = 4.5"),
    ],
)
def test_a_number_is_written_so_that_it_is_read_as_it_is(source: str, suffix: str, value: float, expected: str) -> None:
    assert write_numbers(source, tunable_numbers(source, suffix), (value,)) == expected


def test_only_what_stands_between_markers_and_in_python_files_by_the_tree() -> None:
    template = "A = 3.5\n# EVOLVE-BLOCK-START\nB = 4.5\n# EVOLVE-BLOCK-END\nC = 5.5\n"
    assert found(template, ".py", template) == [(3, 4.5)]
    both = join_files({"a/first.py": "# 9.5\nx = 3 // 4 + 3.5\n", "b.c": "double y = 4.5; // 9.5\n"})
    assert found(both, "") == [(3, 3.0), (3, 4.0), (3, 3.5), (5, 4.5)]
    numbers = tunable_numbers(both, "")
    assert write_numbers(both, numbers, (3, 5, 3.5, 6.5)).splitlines()[2::2] == [
        "x = 3 // 5 + 3.5",
        "double y = 6.5; // 9.5",
    ]


def test_of_very_many_the_marked_ones_come_first() -> None:
    lines = [f"x{number} = {number}.5" for number in range(3, 90)]
    assert len(found("\n".join(lines))) == MOST_NUMBERS
    lines[-1] += "  # tune: 1 to 100"
    assert found("\n".join(lines))[-1] == (87, 89.5)


numbers = st.one_of(
    st.integers(3, 10**6).map(str),
    st.floats(1e-6, 1e6, allow_nan=False).map(repr),
    st.sampled_from(["-0.25", "-3", "7e-3", ".5", "1_000.5"]),
)
lines = st.builds("{} = {} * {}{}".format, st.sampled_from("abc"), numbers, numbers, st.sampled_from(["", "  # 4.5"]))
programs = st.lists(lines, min_size=1, max_size=6).map("\n".join)


@given(programs, st.sampled_from([".py", ".rb"]), st.floats(0, 1))
def test_what_is_written_is_read_again(source: str, suffix: str, place: float) -> None:
    found = tunable_numbers(source, suffix)
    assert write_numbers(source, found, [number.value for number in found]) == source
    values = [number.value_at(place) for number in found]
    for number, value in zip(found, values, strict=True):
        assert number.low <= value <= number.high
        assert (value < 0) == (number.value < 0) or value == 0
        assert not number.is_whole or value == int(value)
        assert number.value_at(number.place_of(number.value)) == pytest.approx(number.value, rel=1e-5)
    written = write_numbers(source, found, values)
    if suffix == ".py":
        kinds = (ast.UnaryOp, ast.Constant, ast.BinOp, ast.Assign)
        shape = [type(node) for node in ast.walk(ast.parse(source)) if isinstance(node, kinds)]
        assert [type(node) for node in ast.walk(ast.parse(written)) if isinstance(node, kinds)] == shape
    again = {number.line: number for number in tunable_numbers(written, suffix)}
    for number, value in zip(found, values, strict=True):
        is_free = abs(value) not in (0, 1, 2) and 1e-6 <= abs(value) <= 1e6
        assert not is_free or number.line in again
    assert math.isfinite(sum(values))


@given(st.text(alphabet="0123456789.eE+-\"'/*#\n xfλ_", max_size=60))
def test_what_is_found_as_a_number_is_one(text: str) -> None:
    for begin, end in numbers_in(text):
        assert float(text[begin:end]) >= 0


def test_thousands_of_open_comments_are_read_at_once() -> None:
    assert numbers_in("/*" * 100_000 + "1") == []


def test_a_long_program_has_numbers_unless_its_form_is_costly() -> None:
    long = "".join(f"def f{k}(x):\n    return {k} + 0.3 * x\n\n\n" for k in range(700))
    assert 20_000 < len(long) < 30_000 and len(tunable_numbers(long)) == MOST_NUMBERS
    copied = long + "def g():\n    try:\n        return 0.5\n    finally:\n        pass\n"
    assert tunable_numbers(copied) == ()
