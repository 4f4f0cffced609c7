"""Printing: results go to stdout, everything else to stderr; a closed or full stream ends no command."""

from __future__ import annotations

import codecs
import errno
import io
import json
import os
import select
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from keyword import iskeyword
from pathlib import Path
from textwrap import TextWrapper, indent
from time import monotonic
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import typer

from behavesim.base.errors import Finding, UsageError
from behavesim.base.text import STILL, printable, wrap

if TYPE_CHECKING:
    from behavesim.application.evaluation import Evaluation
    from behavesim.base.config import Settings
    from behavesim.task import Split, Task

Result = TypeVar("Result")


def tell(text: str) -> None:
    """Print "behavesim: " and a text on stderr, above the live view if there is one; control characters are escaped."""
    said = f"behavesim: {printable(text)}"
    said = wrap(said, shutil.get_terminal_size().columns) if sys.stderr.isatty() else said
    print(said, file=sys.stderr)  # noqa: T201 - typer.echo would write into the live view


def say(text: str) -> None:
    """Print a text on stdout; control characters are escaped, and lines wrapped to the terminal's width, if it is one.

    Neither a path nor a command in it, "behavesim …", is broken.
    """
    said = printable(text)
    typer.echo(wrap(said, shutil.get_terminal_size().columns) if sys.stdout.isatty() else said)


def print_written(files: Iterable[Path]) -> None:
    """Print on stderr that these files were written, one a line."""
    for file in files:
        tell(f"wrote {file}")


def busy(text: str) -> None:
    """Print a text on what takes a while, followed by " …", on stderr; where that is no terminal, only if it lasts."""
    if sys.stderr.isatty() or text.startswith(STILL):
        tell(f"{text} …")


def hanging(margin: str, text: str) -> str:
    """Return `margin` and a text wrapped beside it to the terminal's width; on one line if stdout is no terminal."""
    if not sys.stdout.isatty():  # files and other programs get one thing a line
        return margin + text
    columns, indent = shutil.get_terminal_size().columns, " " * len(margin)
    return TextWrapper(columns, margin, indent, break_long_words=False, break_on_hyphens=False).fill(text)


def print_json(document: object) -> None:
    """Print an object as one JSON document on the process's real stdout, even while `--json` redirects `sys.stdout`.

    Characters that stdout's encoding may lack are escaped.
    """
    assert sys.__stdout__ is not None, "the command opens it where it is closed"
    holds_all = sys.__stdout__.encoding.lower().startswith("utf")
    typer.echo(printable(json.dumps(document, indent=2, ensure_ascii=not holds_all)), file=sys.__stdout__)


def print_result(
    found: Result, as_json: bool, document: Callable[[Result], object], show: Callable[[Result], object]
) -> None:
    """Print a result on stdout: as the JSON document that `document` makes of it, or else by calling `show`."""
    if as_json:
        print_json(document(found))
    else:
        show(found)


# Keeps a command going if stdout or stderr is closed or full, or if its encoding lacks characters.


# Name of the codec error handler that replaces a character by an ASCII sign of the same width, or by an escape.
PLAIN = "behavesim.plain"
# For each character of charts and progress bars the ASCII sign that replaces it if the output's encoding lacks it.
_SIGNS = dict(zip("▁▂▃▄▅▆▇█→…−–·×━╸╺─│┌┐└┘├┤┬┴┼", "...:::##>.--.x----|+++++++++", strict=True))
# The exit code if a result could not be written to stdout.
LOST = 1


class Output(io.FileIO):
    """Stdout or stderr without a buffer; data that cannot be written is dropped, and `loss` holds the last error."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor, "wb", closefd=False)
        self.loss: OSError | None = None

    def write(self, data: Any) -> int:
        """Write bytes, waiting while the reader is slow; on an error, drop them all and keep the error in `loss`.

        Return the number of bytes that were written, which may be fewer than given, or dropped.
        """
        try:
            while (written := super().write(data)) is None:  # another process made the stream non-blocking
                select.select((), (self,), ())
        except OSError as error:
            self.loss = error
            return len(data)
        return written


@contextmanager
def lenient_streams() -> Iterator[None]:
    """Give the process a stdout and stderr that raise no errors, until the block ends.

    A closed stream becomes /dev/null: otherwise a file opened later would get its number, and libuv would abort.
    Characters that a stream's encoding lacks are written as plain signs or escapes. If output on stdout was lost, a
    block that exits with code 0 exits with LOST instead.
    """
    codecs.register_error(PLAIN, _plain)
    _reopen_closed_streams()
    before = sys.stdout, sys.stderr, sys.__stdout__
    sys.stdout = sys.__stdout__ = _text(1, before[0])  # type: ignore[misc]
    sys.stderr = _text(2, before[1])
    try:
        yield
    except SystemExit as ended:
        if _is_lost() and not ended.code:
            ended.code = LOST
        raise
    finally:
        sys.stderr.flush()
        sys.stdout, sys.stderr, sys.__stdout__ = before  # type: ignore[misc]


def take_loss() -> OSError | None:
    """Flush stdout; return the error with which output on it was lost, once: the next call returns None.

    None if all was written, or if stdout is not the stream of `lenient_streams`.
    """
    stream = sys.__stdout__
    raw = getattr(getattr(stream, "buffer", None), "raw", None)
    if stream is None or not isinstance(raw, Output):
        return None
    stream.flush()
    loss, raw.loss = raw.loss, None
    return loss


def _is_lost() -> bool:
    """Whether output on stdout was lost; the reason is printed on stderr, unless stdout's reader closed its pipe."""
    loss = take_loss()
    if loss is not None and loss.errno != errno.EPIPE:  # a closed pipe means that its reader wants no more
        print(f"behavesim: stdout cannot be written: {loss.strerror}", file=sys.stderr)  # noqa: T201
    return loss is not None


def _plain(error: UnicodeError) -> tuple[str | bytes, int]:
    """Return the replacement of the character that an encoding lacks, and the index where encoding continues."""
    assert isinstance(error, UnicodeEncodeError)
    sign = _SIGNS.get(error.object[error.start])
    if sign is None:
        return codecs.backslashreplace_errors(error)
    return sign, error.start + 1


def _reopen_closed_streams() -> None:
    """Open /dev/null in place of stdin, stdout or stderr, if one is closed."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # it gets the lowest free number: this one


def _text(number: int, before: TextIO | None) -> io.TextIOWrapper:
    """Return stdout (1) or stderr (2) as a text stream, in the encoding of `before` or else of the locale."""
    encoding = None if before is None else before.encoding
    by_line = number == 2 or os.isatty(number)
    buffer: io.BufferedWriter = io.BufferedWriter(Output(number))
    return io.TextIOWrapper(buffer, encoding, PLAIN, line_buffering=by_line)


# Print the findings of `task check` and `method check`, one line each.


# The first word of a finding's line, by the finding's `result`.
MARKS = {"ok": "ok", "warning": "note", "fail": "FAIL"}


def report_findings(found: AsyncIterator[Finding], width: int, as_json: bool) -> None:
    """Print each finding as it comes, or all as one JSON document; raises typer.Exit with code 1 if one must be fixed.

    `width` is the number of characters that the column of the findings' names takes.
    """

    async def collected() -> list[Finding]:
        findings = list[Finding]()
        async for finding in found:
            if not as_json:
                _show(finding, findings[-1].section if findings else "", width)
            findings.append(finding)
        return findings

    import asyncio  # imported late: most commands that print do without

    findings = asyncio.run(collected())
    if as_json:
        print_json([vars(finding) for finding in findings])
    if any(finding.result == "fail" for finding in findings):
        raise typer.Exit(1)


def _show(finding: Finding, section: str, width: int) -> None:
    """Print a finding, below its section's heading unless the one before is of that `section`; its text is indented."""
    if finding.section != section:
        typer.echo(f"\n{finding.section}")
    typer.echo(hanging(f"{MARKS[finding.result]:5} {finding.name:{width}} ", finding.message))
    if finding.text:
        typer.echo(f"\n{indent(printable(finding.text), '    ')}")


def write_example(noun: str, name: str, example: str = "", texts: Mapping[str, str] | None = None) -> Path:
    """Write the file NAME.py in the current folder from an example, print what to do next, and return its path.

    The example is that of `noun` ("task" or "method"), or the one named `example`. In it the name and the keys of
    `texts` are replaced. Raises UsageError if the name is not a Python name, or the file exists or cannot be written.
    """
    if not name.isidentifier():
        raise UsageError(f"a {noun}'s name is a Python name, not {name!r}")
    path = Path(f"{name}.py")
    text = (Path(__file__).parent / f"examples/{example or noun}.py.txt").read_text(encoding="utf-8")
    # the user's own texts last, so that nothing in them is replaced
    for before, after in {"NAME": name, "Knapsack": _class_name(name), **(texts or {})}.items():
        text = text.replace(before, after)
    try:
        with path.open("x", encoding="utf-8") as file:  # "x" never replaces a file of the user's
            file.write(text)
    except FileExistsError:
        raise UsageError(f"{path} exists already; choose another name") from None
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None
    typer.echo(f"wrote {path}; next: behavesim {noun} check {path}")
    return path


def _class_name(name: str) -> str:
    """Return a class name such as JobShop for job_shop; the name itself if that is no valid name (`_1`, `none`)."""
    camel = name.title().replace("_", "")
    return camel if camel.isidentifier() and not iskeyword(camel) else name


# Evaluate programs, and say on stderr how far that is.


# The exit code if a program that a person gave is rejected.
REJECTED = 3
# Least seconds between two lines on how many programs were tried.
EVERY_S = 10
# Largest number of programs of which each is named before they are tried.
NAMED = 9


def try_once(
    settings: Settings, task: Task, programs: Sequence[tuple[str, str]], split: Split, limits: str = ""
) -> list[Evaluation]:
    """Evaluate programs on a split's instances, as `evaluate_programs` does, and say on stderr what is tried and how
    far it is.

    `limits` is added to the line on what is tried; it says how long each program may take. Raises UsageError if the
    task has no instances of the split (see `absence`), and as `evaluate_programs` does.
    """
    import asyncio  # imported late, as the next: most commands that print do without

    from behavesim.application.evaluation import absence, evaluate_programs

    if said := absence(task, split, settings.task):
        raise UsageError(said)
    named = f"{len(programs)} programs" if len(programs) > NAMED else ", ".join(name for name, _ in programs)
    busy(f"trying {named} on {split} instances{limits}")
    return asyncio.run(evaluate_programs(settings, task, programs, split, Counting(len(programs)).ended))


class Counting:
    """Says how many of several programs were tried, and which was the last: at most once in EVERY_S seconds."""

    def __init__(self, total: int) -> None:
        """Begin before the first of `total` programs."""
        self._total, self._tried, self._said_at = total, 0, monotonic()

    def ended(self, result: Evaluation) -> None:
        """Count a result; print a line on stderr if the last line, or the start, is at least EVERY_S seconds ago."""
        self.count(f", last {result.file}")

    def count(self, last: str = "") -> None:
        """Count a program; `last` is what a line, if it is time for one, says of it."""
        self._tried += 1
        if monotonic() - self._said_at >= EVERY_S:
            self._said_at = monotonic()
            tell(f"{self._tried} of {self._total} tried{last}")
