"""Text from outside: read, made safe to store and to show; numbers and times as text; source parsed, comments made."""

from __future__ import annotations

import ast
import json
import math
import os
import re
import stat
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import TextWrapper
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

# First word of a line that repeats what takes long; such a line is also written to a file, where nobody watches.
STILL = "still "


def storable(text: str) -> str:
    """Return the text with U+FFFD for each lone surrogate, which UTF-8 cannot encode; nothing else changes."""
    if text.isascii():  # as nearly all are
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def printable(text: str) -> str:
    """Return the text with JSON escapes such as \\u001b for characters that could move a cursor or hide text.

    Line feeds stay, tabs become up to 4 spaces.
    """
    # JSON's escapes, so that a JSON document keeps its meaning
    if text.isprintable():
        return text
    lines = text.expandtabs(4).split("\n")
    return "\n".join("".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in line) for line in lines)


# Stands for a space at which a line is not wrapped; printable text never has it.
_KEPT = "\0"


def wrap(text: str, columns: int) -> str:
    """Return printable text wrapped between words to lines of at most `columns` characters; line feeds stay.

    No word is broken, nor a command: "behavesim …" up to a comma, semicolon, backtick or line end. A longer word gets a
    line of its own.
    """
    whole = re.sub(r"(?<![\w+-])behavesim [^;,`\n]+", lambda command: command[0].replace(" ", _KEPT), text)
    wrapper = TextWrapper(columns, break_long_words=False, break_on_hyphens=False)
    return "\n".join(map(wrapper.fill, whole.split("\n"))).replace(_KEPT, " ")


def one_line(text: str, limit: int = 500) -> str:
    """Return the text on one line, `printable` and cut to `limit` characters; white space becomes single spaces."""
    # of a huge text only the beginning is read: most of it would be thrown away
    return printable(" ".join(text[: 4 * limit].split()))[:limit]


def shorten(text: str, limit: int) -> str:
    """Return the text, cut between words if it is longer than `limit` characters, the "…" at its end included."""
    if len(text) <= limit:
        return text
    # languages without spaces, and one long name, are cut where they have to be
    at = text.rfind(" ", limit // 2, limit)
    return f"{text[: at if at >= 0 else limit - 1]}…"


def last_line(text: str) -> str:
    """Return the last line that is not blank, without white space around it; else ""."""
    lines = text.strip().splitlines()
    return lines[-1].strip() if lines else ""


def count_noun(count: int, noun: str) -> str:
    """Return a count with its noun: "1 run", "3,000 runs"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def listed(names: Sequence[str], most: int, noun: str = "other") -> str:
    """Return the first `most` names in words, and how many others there are, called `noun`: "a, b and 3 others"."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {count_noun(rest, noun)}" if rest > 0 else "")


def without_exponent(number: str) -> str:
    """Return the text of a number below a million without an exponent: "1520" for "1.52e+03"; others unchanged."""
    if "e+" not in number or abs(float(number)) >= 1e6:
        return number
    return f"{float(number):{'+' if number.startswith('+') else ''}.0f}"


# Seconds of each unit of time above the second, largest first.
_UNITS = {"d": 86400, "h": 3600, "min": 60}


def duration(seconds: float) -> str:
    """Return a time such as "9.6 s", "37 s" or "2.5 h": in the largest of d, h, min that fits twice, else in s."""
    unit, size = next(((unit, size) for unit, size in _UNITS.items() if seconds >= 2 * size), ("s", 1))
    much = seconds / size
    return f"{much:{'.0f' if much >= 10 else '.2g'}} {unit}"


def long_time(seconds: float) -> str:
    """Return a time of hours or more in words, rounded up: "2 hours", from two days on "26,626 days"."""
    size, noun = (86400, "day") if seconds >= 2 * 86400 else (3600, "hour")
    return count_noun(math.ceil(seconds / size), noun)


def dollars(cost_usd: float | None) -> str:
    """Return a cost as text: "$0.00", "$1.50", "$0.0123" (four decimals below 1 unless 0), "unknown" for None."""
    if cost_usd is None:
        return "unknown"
    return f"${cost_usd:.2f}" if cost_usd == 0 or cost_usd >= 1 else f"${cost_usd:.4f}"


def short_name(name: str) -> str:
    """Return the short name of a task or method: of a path to a .py or .toml file its stem, else the name itself."""
    # A person's task is a file, and its folder says nothing about the problem.
    return Path(name).stem if name.endswith((".py", ".toml")) else name


# What was expected, by pydantic's type of the error; braces hold names of the error's context.
WANTED: Mapping[str, str] = {
    **dict.fromkeys(("int_parsing", "int_type", "int_from_float", "int_parsing_size"), "should be a whole number"),
    **dict.fromkeys(("float_parsing", "float_type"), "should be a number"),
    **dict.fromkeys(("bool_parsing", "bool_type"), "should be true or false"),
    **dict.fromkeys(("list_type", "tuple_type"), "should be a list"),
    **dict.fromkeys(("dict_type", "mapping_type", "model_type", "dataclass_type"), "should be a table"),
    "string_type": "should be text",
    "finite_number": "should be a finite number",
    "literal_error": "should be {expected}",
    "greater_than": "should be more than {gt:.10g}",
    "greater_than_equal": "should be at least {ge:.10g}",
    "less_than": "should be less than {lt:.10g}",
    "less_than_equal": "should be at most {le:.10g}",
    "too_short": "should have {min_length} or more entries",
    "too_long": "should have {max_length} or fewer entries",
}
# Most characters shown of the value that came.
LONGEST = 100


def validation_message(error: ValidationError) -> str:
    """Return the first thing that is wrong, such as "budget should be at least 1, not 0"."""
    first = error.errors()[0]
    key = ".".join(map(str, first["loc"]))
    if first["type"] == "missing":
        return f"{key} is missing"
    said, came = f"{key} {_wanted(first)}".strip(" ."), f"{first['input']!r:.{LONGEST}}"
    is_named = isinstance(first["input"], str) and came in said  # as Typer names a text that came
    return said if is_named else f"{said}, not {came}"


def _wanted(error: ErrorDetails) -> str:
    if error["type"] in WANTED:
        return WANTED[error["type"]].format(**error.get("ctx", {}))
    return error["msg"].removeprefix("Value error, ").removeprefix("Input ")


# Held while a thread parses; reentrant, since a garbage collection in the middle may run code that parses.
_PARSING = threading.RLock()


def parse(source: str | bytes, filename: str = "<unknown>") -> ast.Module:
    """Return the syntax tree of a module's source; raises what `ast.parse` does. Threads wait for one another."""
    # Two at once could get a SystemError for a correct program: some Pythons count the depth of a tree for all threads
    # together (CPython issue 106905).
    with _PARSING:
        return ast.parse(source, filename)


def comment(line: str) -> str:
    """Return the text as one line after "# "; "" gives "#"."""
    return f"# {printable(' '.join(line.splitlines()))}".rstrip()


# Suffixes without their dot, separated by spaces, by the mark that begins a comment line in such files.
_MARKS = {
    "#": "py bash cmake jl mk nim pl r rb sh tcl toml yaml yml",
    "//": "c cc cpp cs cu cxx dart go h hpp java js jsx kt mjs rs scala swift ts zig",
    "--": "adb ads elm hs lua sql vhd",
    "%": "erl m pro tex",
    ";": "asm clj el lisp lsp scm",
    "!": "f03 f08 f90 f95",
}


def with_header(source: str, headline: str, suffix: str = ".py") -> str:
    """Return a program's text below `headline` as a comment and a blank line; unknown suffixes get neither."""
    mark = next((mark for mark, names in _MARKS.items() if suffix.lower().lstrip(".") in names.split()), None)
    body = source.strip("\n")
    if mark is None:
        return f"{body}\n"
    line = mark + comment(headline).removeprefix("#")
    # The blank line keeps a second line from declaring an encoding: Python reads one from the first two lines only. A
    # line that begins with "#!" has to stay first.
    first, _, rest = body.partition("\n")
    return f"{first}\n{line}\n{rest}\n" if first.startswith("#!") else f"{line}\n\n{body}\n"


# Reading text files that a person names, safely: a pipe, a device or a huge file must not block the process.


# Largest file that is read, in bytes (1 MiB): programs, prompts and settings have a few thousand.
MOST_BYTES = 1 << 20


def read_text_file(path: Path, noun: str) -> str:
    """Return the text of a regular file in UTF-8, with "\\n" for every line end.

    Raises UsageError, which calls the file `noun`, if it is no such file, cannot be read or is too long.
    """
    from behavesim.base.errors import UsageError  # imported late: errors are made of texts

    try:
        data = _read(path)
        text = data.decode()
    except OSError as error:
        raise UsageError(f"cannot read the {noun} {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"cannot read the {noun} {path}: byte {error.start} is no text in UTF-8") from None
    if len(data) > MOST_BYTES:
        raise UsageError(f"cannot read the {noun} {path}: it has more than {MOST_BYTES >> 20} MB; name a smaller file")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _read(path: Path) -> bytes:
    # O_NONBLOCK: opening a pipe would wait for a writer, perhaps for ever
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "it is no regular file; copy what it holds into one")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(MOST_BYTES + 1)  # not by its size: a file may grow, and those of /proc say 0
    finally:
        os.close(descriptor)


# Who computes a program's score: code that the program cannot reach, or code that runs beside it in one sandbox.
ScoreSource = Literal["trusted", "self-reported"]


def mark(source: ScoreSource) -> str:
    """Return what stands behind a score in a line of text: ", self-reported", or "" for a trusted one."""
    return "" if source == "trusted" else f", {source}"
