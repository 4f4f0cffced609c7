"""Programs of several files: one text, which gives the files back, in plain paths below one folder."""

from __future__ import annotations

import pytest

from behavesim.task.evaluated import LONGEST_PATH, LONGEST_PATH_PART, MOST_FILES, join_files, separate_files


def test_files_are_read_back_each_ending_in_a_line_break() -> None:
    text = join_files({"a.py": "x = 1", "b/c.txt": "two\nlines\n", "empty": ""})
    assert text == "=== file: a.py ===\nx = 1\n=== file: b/c.txt ===\ntwo\nlines\n=== file: empty ===\n"
    assert separate_files(text) == {"a.py": "x = 1\n", "b/c.txt": "two\nlines\n", "empty": ""}


@pytest.mark.parametrize("text", ["x = 1\n", "", "said first\n=== file: a.py ===\nx = 1\n"])
def test_a_text_that_does_not_begin_with_a_file_is_one_without_a_name(text: str) -> None:
    assert separate_files(text) == {"": text}


def test_blank_lines_may_come_first_and_paths_are_plain() -> None:
    assert separate_files("\n \n=== file: ./a//b.py ===\nx\n") == {"a/b.py": "x\n"}


LONG = "/".join(["x" * 99] * 4)


@pytest.mark.parametrize(
    "path", [LONG + "/" + "x" * (LONGEST_PATH - len(LONG) - 1), "x" * LONGEST_PATH_PART, "é" * 100]
)
def test_a_path_may_have_as_many_bytes_as_file_systems_take(path: str) -> None:
    assert list(separate_files(f"=== file: {path} ===\n")) == [path]
    with pytest.raises(ValueError, match="is too long"):
        separate_files(f"=== file: {path}x ===\n")


@pytest.mark.parametrize("path", ["/etc/passwd", "~/a", "a/../../b", "..", ".", "a\\b", "a\x1bb"])
def test_a_path_that_leads_elsewhere_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="use a path below its folder"):
        separate_files(f"=== file: {path} ===\n")


@pytest.mark.parametrize(
    ("paths", "said"),
    [(["a", "./a"], "'a' occurs twice"), (["a/b", "a"], "'a' cannot be both"), (["a", "a/b/c"], "'a' cannot be both")],
)
def test_a_path_is_that_of_one_file(paths: list[str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        separate_files("".join(f"=== file: {path} ===\n" for path in paths))


def test_a_program_has_a_bounded_number_of_files() -> None:
    assert len(separate_files("".join(f"=== file: {n} ===\n" for n in range(MOST_FILES)))) == MOST_FILES
    with pytest.raises(ValueError, match=f"at most {MOST_FILES} files, not {MOST_FILES + 1}"):
        separate_files("".join(f"=== file: {n} ===\n" for n in range(MOST_FILES + 1)))


def test_a_file_with_such_a_line_in_it_cannot_be_told_apart() -> None:
    with pytest.raises(ValueError, match="by which files are told apart"):
        join_files({"a": "=== file: b ===\n"})
