"""Comment lines in the language of a file, which its suffix tells."""

from __future__ import annotations

from behavesim.base.text import comment

_MARKS = {
    "#": "py bash cmake jl mk nim pl r rb sh tcl toml yaml yml",
    "//": "c cc cpp cs cu cxx dart go h hpp java js jsx kt mjs rs scala swift ts zig",
    "--": "adb ads elm hs lua sql vhd",
    "%": "erl m pro tex",
    ";": "asm clj el lisp lsp scm",
    "!": "f03 f08 f90 f95",
}
"""Suffixes without their dot, separated by spaces, by the mark that begins a comment line in such files."""


def headed(source: str, headline: str, suffix: str = ".py") -> str:
    """Return a program's text below `headline` as a comment line and a blank line; unknown suffixes get neither.

    `suffix` is the file's, with or without its dot, in any case. Line feeds at both ends of the program are removed,
    and one ends the text. A first line that begins with "#!" stays first, with the comment below it and no blank line.
    No comment below it declares an encoding: Python reads one from the first two lines only.
    """
    mark = next((mark for mark, names in _MARKS.items() if suffix.lower().lstrip(".") in names.split()), None)
    body = source.strip("\n")
    if mark is None:
        return f"{body}\n"
    line = mark + comment(headline).removeprefix("#")
    first, _, rest = body.partition("\n")
    return f"{first}\n{line}\n{rest}\n" if first.startswith("#!") else f"{line}\n\n{body}\n"
