"""Counts, times and costs in words, and texts from outside made safe to store and to show."""

from __future__ import annotations

import pytest

from behavesim.base.text import (
    comment,
    count_noun,
    dollars,
    duration,
    last_line,
    long_time,
    one_line,
    printable,
    short_name,
    shorten,
    storable,
    without_exponent,
    wrap,
)
from behavesim.reports.words import certainty


def test_a_count_carries_its_noun() -> None:
    assert [count_noun(count, "run") for count in (0, 1, 1200)] == ["0 runs", "1 run", "1,200 runs"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ten letter", "ten letter"),
        ("the nearest", "the neare…"),
        ("nearest first", "nearest…"),
        ("a farthest-first", "a farthes…"),
        ("最近的城市先走再看其余的", "最近的城市先走再看…"),
    ],
)
def test_a_long_text_is_cut_after_a_word_if_one_ends_late_enough(text: str, said: str) -> None:
    assert shorten(text, 10) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.0, "0 s"),
        (0.023, "0.023 s"),
        (9.6, "9.6 s"),
        (9.99, "10 s"),
        (119.0, "119 s"),
        (130.0, "2.2 min"),
        (7200.0, "2 h"),
        (100 * 3600.0, "4.2 d"),
    ],
)
def test_a_time_is_said_in_the_largest_unit_of_which_there_are_two(seconds: float, said: str) -> None:
    assert duration(seconds) == said


def test_only_numbers_from_a_million_on_have_an_exponent() -> None:
    numbers = ("1.52e+03", "+7e+02", "-1e+05", "1e+06", "2e-05", "12.5", "inf")
    assert [*map(without_exponent, numbers)] == ["1520", "+700", "-100000", "1e+06", "2e-05", "12.5", "inf"]
    assert certainty(704.2, 6) == "± 700 (6)"


def test_a_long_time_is_said_in_words() -> None:
    assert [long_time(seconds) for seconds in (3601, 7200, 86400, 2300497018)] == [
        *("2 hours", "2 hours", "24 hours", "26,627 days")
    ]


def test_what_utf_8_cannot_encode_is_replaced_and_a_pair_is_its_character() -> None:
    assert storable("a\ud83d\ude00b\ud800c\x1b") == "a😀b\ufffdc\x1b"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain – text", "plain – text"),
        ("a\tb\nc\td", "a   b\nc   d"),
        ("\x1b[2J\r", "\\u001b[2J\\r"),
        ("\ufeff\u202e", "\\ufeff\\u202e"),
    ],
)
def test_what_could_move_a_cursor_is_shown_as_an_escape(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_a_line_has_no_line_ends_and_is_cut() -> None:
    assert one_line(" a \n\n b\tc ") == "a b c"
    assert one_line("abc", 2) == "ab"
    assert one_line("\x1b" * 9, 6) == "\\u001b"
    assert one_line("x" * 600) == "x" * 500
    assert one_line(" " * 15 + "abcd", 4) == "a"  # only so much is looked at, however long the text is


def test_a_comment_is_one_line_of_python() -> None:
    assert comment("a\nb\x1b") == "# a b\\u001b"
    assert comment("") == "#"


@pytest.mark.parametrize(
    ("cost_usd", "said"),
    [(None, "unknown"), (0.0, "$0.00"), (0.00425, "$0.0043"), (0.5, "$0.5000"), (1.0, "$1.00"), (12.345, "$12.35")],
)
def test_a_cost_below_a_dollar_has_four_decimals(cost_usd: float | None, said: str) -> None:
    assert dollars(cost_usd) == said


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("fits in one\nand ends", ["fits in one", "and ends"]),
        ("once held-out split", ["once", "held-out", "split"]),
        ("a /path/of/a/long/file b", ["a", "/path/of/a/long/file", "b"]),
        ("or behavesim resume a --workers 3; or wait", ["or", "behavesim resume a --workers 3;", "or wait"]),
        ("my-behavesim run and more", ["my-behavesim", "run and more"]),
    ],
)
def test_a_text_is_wrapped_between_words_and_neither_a_word_nor_a_command_is_broken(
    text: str, lines: list[str]
) -> None:
    assert wrap(text, 12).split("\n") == lines


@pytest.mark.parametrize(
    ("name", "short"), [("/here/mine.py", "mine"), ("judge.toml", "judge"), ("tsp:large", "tsp:large"), ("a.b", "a.b")]
)
def test_a_file_is_called_by_its_name_alone(name: str, short: str) -> None:
    assert short_name(name) == short


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("", ""),
        (" \n\t\n", ""),
        ("one", "one"),
        ("Traceback:\n  File x\nValueError: no\n\n", "ValueError: no"),
        ("a\r\n  b \r\n", "b"),
    ],
)
def test_the_last_line_is_the_last_that_says_something(text: str, last: str) -> None:
    assert last_line(text) == last
