"""A headline above a program, in the language of its file."""

from __future__ import annotations

import pytest

from behavesim.base.text import with_header


@pytest.mark.parametrize(
    ("suffix", "line"),
    [
        (".py", "# best"),
        (".CPP", "// best"),
        (".sql", "-- best"),
        (".tex", "% best"),
        (".el", "; best"),
        (".f90", "! best"),
    ],
)
def test_a_headline_is_a_comment_and_a_blank_line(suffix: str, line: str) -> None:
    assert with_header("\nx\n\ny\n\n", "best", suffix) == f"{line}\n\nx\n\ny\n"


def test_python_is_the_language_if_none_is_named_and_a_headline_is_one_line() -> None:
    assert with_header("x", "a\nb") == "# a b\n\nx\n"


@pytest.mark.parametrize("suffix", [".json", ""])
def test_where_nobody_knows_how_to_comment_there_is_no_headline(suffix: str) -> None:
    assert with_header("\n{}\n\n", "best", suffix) == "{}\n"


def test_a_line_that_names_an_interpreter_stays_first() -> None:
    assert with_header("#!/bin/sh\necho 1\n", "best", ".sh") == "#!/bin/sh\n# best\necho 1\n"
