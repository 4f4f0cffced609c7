"""Where a fenced block begins and ends."""

from __future__ import annotations

import pytest

from behavesim.programs.answer import Block, add_fence, blocks, fenced_blocks, outside


def test_a_program_is_fenced_by_no_more_than_it_takes() -> None:
    assert add_fence("\nx = 1\n") == "```python\nx = 1\n```"
    assert add_fence("x = '``'") == "```python\nx = '``'\n```"
    assert add_fence("x = '```'") == "````python\nx = '```'\n````"
    assert add_fence("x = '`````', '`'") == "``````python\nx = '`````', '`'\n``````"


@pytest.mark.parametrize(("indent", "ends"), [(0, True), (1, True), (4, True), (5, False)])
def test_a_fence_ends_a_block_unless_it_is_more_than_three_columns_deeper(indent: int, ends: bool) -> None:
    text = f" ```\nx\n{' ' * indent}```\n ```"
    assert blocks(text)[0] == (Block("x", True, 0, 3) if ends else Block(f"x\n{' ' * (indent - 1)}```", True, 0, 4))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("````\na\n```\n````", ["a\n```"]),
        ("```\na\n````", ["a"]),
        ("~~~\na\n```\n~~~", ["a\n```"]),
        ("```\na\nb```\n```", ["a\nb```"]),
        ("~~~\na\nb~~~\n~~~", ["a\nb~~~"]),
        ("so: ```python\na\n```", [""]),
        ("```two words\na\n```", ["a"]),
        ("```a\n1\n```b\n2\n```", ["1\n```b\n2"]),
        ("```a`\n1\n```", [""]),
    ],
)
def test_a_block_is_what_commonmark_says(text: str, found: list[str]) -> None:
    assert fenced_blocks(text) == found


def test_a_block_knows_its_lines_and_whether_it_was_closed() -> None:
    assert blocks("so\n```\na\nb\n```\nand\n~~~\nc\n") == [Block("a\nb", True, 1, 5), Block("c\n", False, 6, 9)]


def test_what_stands_outside_of_all_blocks_is_left() -> None:
    text = "so\n```\na\n```\nand\n~~~\nb"
    assert outside(text, blocks(text)) == "so\nand"
    assert outside("so", []) == "so"
