"""Text to syntax tree: what is left out, and where a text ends to be a program."""

from __future__ import annotations

import pytest

from behavesim.programs.parsing import (
    DEEPEST,
    LONGEST_PROGRAM,
    Parser,
    TooLong,
)


def test_a_program_may_be_as_long_as_said_and_no_longer() -> None:
    longest = "x = 1\n#" + "-" * (LONGEST_PROGRAM - 7)
    assert Parser(has_limits=True).parse(longest).source == longest
    with pytest.raises(TooLong, match=f"has {LONGEST_PROGRAM + 1} characters; at most {LONGEST_PROGRAM}"):
        Parser(has_limits=True).parse(longest + "-")


def test_a_program_may_be_nested_as_deep_as_said_and_no_deeper() -> None:
    # the module, its statement, the constant at the end; and each minus stands with its operator
    assert Parser(has_limits=True).parse("x = " + "-" * (DEEPEST - 3) + "1")
    with pytest.raises(SyntaxError, match=f"nested more than {DEEPEST} levels"):
        Parser(has_limits=True).parse("x = " + "-" * (DEEPEST - 2) + "1")


@pytest.mark.parametrize(
    ("text", "beginning"),
    [
        ("x = 1\ny = 2\nAnd that is all.", "x = 1\ny = 2"),
        ("def f():\n    x = 1\n    y = 2\n    return x y", ""),
        (
            "a = 1\ndef f():\n    x = 1\n    y = 2\n\n    return x y\nb = 2",
            "a = 1",
        ),  # back to where the statement begins
        ("x = 1\nf(\n  2,\n)]\ny = 3", "x = 1"),  # lines of closing brackets belong to what they close
        ("  x = 1\n  That is all.", "x = 1"),
        (")", ""),
    ],
)
def test_a_program_ends_where_its_last_whole_statement_does(text: str, beginning: str) -> None:
    if beginning:
        parsed = Parser(has_limits=True).parse_beginning(text, 20)
        assert parsed.source == beginning
        assert parsed.rest is not None
    else:
        with pytest.raises(SyntaxError):
            Parser(has_limits=True).parse_beginning(text, 20)


def test_a_text_that_is_a_program_leaves_no_rest() -> None:
    assert Parser(has_limits=True).parse_beginning("x = 1\ny = 2", 1).rest is None
    assert Parser(has_limits=True).parse_beginning("\n \n", 1).source == ""


def test_no_more_beginnings_are_tried_than_said() -> None:
    text = "x = 1\ny = 2 z\nThat is all."
    assert Parser(has_limits=True).parse_beginning(text, 2).source == "x = 1"
    with pytest.raises(SyntaxError, match="line 2"):
        Parser(has_limits=True).parse_beginning(text, 1)
