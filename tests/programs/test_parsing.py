"""Text to syntax tree: what is mended, what is left out, and where a text ends to be a program."""

from __future__ import annotations

import pytest

from behavesim.programs.parsing import (
    DEEPEST,
    LONGEST_PROGRAM,
    TooLong,
    parse,
    parse_beginning,
    without,
)


@pytest.mark.parametrize(
    ("code", "mended"),
    [
        ("\n\n  x = 1\n  y = 2\n\n", "x = 1\ny = 2"),
        ("if a:\n    x = 1\n\ty = 2", "if a:\n    x = 1\n    y = 2"),  # a tab as wide as four spaces
        ("!pip install x\n%time\nx = 1", "x = 1"),
        ("x = 1 &lt;= 2 &amp; 3", "x = 1 <= 2 & 3"),
        ("@@ -1 +1 @@\n-x = 1\n+x = 2\n y = 3\n\n z = 4", "x = 2\ny = 3\n\nz = 4"),
        ("<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE\n", "x = 2"),
        ("if a:\n        x = 1\n\ty = 2", "if a:\n        x = 1\n        y = 2"),  # and as eight
    ],
)
def test_what_is_no_python_as_it_stands_is_mended_where_that_helps(code: str, mended: str) -> None:
    assert parse(code).source == mended


def test_indentation_that_no_width_mends_is_named_as_it_stood() -> None:
    with pytest.raises(IndentationError, match="expected an indented block") as caught:
        parse("def f():\nreturn 1")
    assert caught.value.lineno == 2


def test_a_program_may_be_as_long_as_said_and_no_longer() -> None:
    longest = "x = 1\n#" + "-" * (LONGEST_PROGRAM - 7)
    assert parse(longest).source == longest
    with pytest.raises(TooLong, match=f"has {LONGEST_PROGRAM + 1} characters; at most {LONGEST_PROGRAM}"):
        parse(longest + "-")


def test_a_program_may_be_nested_as_deep_as_said_and_no_deeper() -> None:
    # the module, its statement, the constant at the end; and each minus stands with its operator
    assert parse("x = " + "-" * (DEEPEST - 3) + "1")
    with pytest.raises(SyntaxError, match=f"nested more than {DEEPEST} levels"):
        parse("x = " + "-" * (DEEPEST - 2) + "1")


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
        parsed = parse_beginning(text, 20)
        assert parsed.source == beginning
        assert parsed.rest is not None
    else:
        with pytest.raises(SyntaxError):
            parse_beginning(text, 20)


def test_a_text_that_is_a_program_leaves_no_rest() -> None:
    assert parse_beginning("x = 1\ny = 2", 1).rest is None
    assert parse_beginning("\n \n", 1).source == ""


def test_no_more_beginnings_are_tried_than_said() -> None:
    text = "x = 1\ny = 2 z\nThat is all."
    assert parse_beginning(text, 2).source == "x = 1"
    with pytest.raises(SyntaxError, match="line 2"):
        parse_beginning(text, 1)


def test_statements_are_left_out_with_their_decorators() -> None:
    program = parse("x = 1\n@a\n@b\ndef f():\n    return 1\n# about y\ny = 2")
    assert without(program, [program.tree.body[1]]).source == "x = 1\n# about y\ny = 2"
    assert without(program, []) is program


def test_a_statement_that_shares_its_line_is_not_left_out() -> None:
    program = parse("x = 1; y = 2\nz = 3")
    assert without(program, [program.tree.body[0]]) is program
    assert without(program, program.tree.body[:2]).source == "z = 3"
