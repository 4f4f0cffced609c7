"""Keeps a command going if stdout or stderr is closed or full, or if its encoding lacks characters."""

from __future__ import annotations

import codecs
import errno
import io
import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

PLAIN = "behavesim.plain"
"""Name of the codec error handler that replaces a character by an ASCII sign of the same width, or by an escape."""
_SIGNS = dict(zip("▁▂▃▄▅▆▇█→…−–·×━╸╺─│┌┐└┘├┤┬┴┼", "...:::##>.--.x----|+++++++++", strict=True))
"""For each character of charts and progress bars the ASCII sign that replaces it if the output's encoding lacks it."""
LOST = 1
"""The exit code if a result could not be written to stdout."""


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
    _open_closed()
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
    """Return the replacement of the character that an encoding lacks, and the index where encoding continues.

    It is the sign of _SIGNS, or an escape such as "\\u2713" for any other character.
    """
    assert isinstance(error, UnicodeEncodeError)
    sign = _SIGNS.get(error.object[error.start])
    if sign is None:
        return codecs.backslashreplace_errors(error)
    return sign, error.start + 1


def _open_closed() -> None:
    """Open /dev/null in place of stdin, stdout or stderr, if one is closed."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # it gets the lowest free number: this one


def _text(number: int, before: TextIO | None) -> io.TextIOWrapper:
    """Return stdout (1) or stderr (2) as a text stream, in the encoding of `before` or, if that is None, the locale's.

    It is flushed after each line, except stdout if that is not a terminal.
    """
    encoding = None if before is None else before.encoding
    by_line = number == 2 or os.isatty(number)
    buffer: io.BufferedWriter = io.BufferedWriter(Output(number))
    return io.TextIOWrapper(buffer, encoding, PLAIN, line_buffering=by_line)
