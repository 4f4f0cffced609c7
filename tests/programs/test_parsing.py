"""Text to syntax tree: what is mended, what is left out, and where a text ends to be a program."""

from __future__ import annotations

import pytest

from behavesim.programs.parsing import (
    DEEPEST,
    LONGEST_PROGRAM,
    TooLong,
    clean,
    parse,
    parse_beginning,
    without_main_guard,
)


def test_a_text_is_cleaned_of_what_python_refuses_and_nobody_sees() -> None:
    assert clean("\ufeffa\r\nb\rc\u200b\u00a0=\u2028\f1") == "a\nb\nc = 1"


@pytest.mark.parametrize(
    ("code", "mended"),
    [
        ("\n\n  x = 1\n  y = 2\n\n", "x = 1\ny = 2"),
        ("if a:\n    x = 1\n\ty = 2", "if a:\n    x = 1\n    y = 2"),  # a tab as wide as four spaces
        ("if a:\n        x = 1\n\ty = 2", "if a:\n        x = 1\n        y = 2"),  # and as eight
    ],
)
def test_odd_indentation_is_mended(code: str, mended: str) -> None:
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
        (" ", ""),
    ],
)
def test_a_program_ends_where_its_last_whole_statement_does(text: str, beginning: str) -> None:
    if beginning:
        parsed = parse_beginning(text)
        assert parsed.source == beginning
        assert parsed.rest is not None
    else:
        with pytest.raises(SyntaxError):
            parse_beginning(text)


def test_a_text_that_is_a_program_leaves_no_rest() -> None:
    assert parse_beginning("x = 1\ny = 2").rest is None
    with pytest.raises(SyntaxError, match="there is no code"):
        parse_beginning("\n\n")


@pytest.mark.parametrize("guard", ["__name__ == '__main__'", "'__main__' == __name__"])
def test_what_only_a_script_does_is_left_out(guard: str) -> None:
    source = f"x = 1\nif {guard}:\n    x = 2\n    print(x)\ny = 3"
    assert without_main_guard(parse(source)).source == "x = 1\ny = 3"


@pytest.mark.parametrize("test", ["x > 0", "x", "__name__", "f(__name__)"])
def test_no_other_condition_is_left_out(test: str) -> None:
    source = f"x = 1\nif {test}:\n    x = 2"
    assert without_main_guard(parse(source)).source == source
