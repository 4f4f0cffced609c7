"""The streams of the process: a command goes on where one is closed, full, or of a small alphabet."""

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
"""The name of our codec error handler: a sign of one column where there is one, else an escape."""
_SIGNS = dict(zip("▁▂▃▄▅▆▇█→…−–·×━╸╺─│┌┐└┘├┤┬┴┼", "...:::##>.--.x----|+++++++++", strict=True))
"""What stands for the characters of charts and progress bars where an encoding lacks them; widths stay."""
LOST = 1
"""The exit code where a result could not be written."""


class Output(io.FileIO):
    """Stdout or stderr without a buffer: what cannot be written is dropped, and `loss` says why."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor, "wb", closefd=False)
        self.loss: OSError | None = None

    def write(self, data: Any) -> int:
        """Write some bytes, or drop all; returns how many are dealt with."""
        try:
            while (written := super().write(data)) is None:  # another process has made the stream non-blocking
                select.select((), (self,), ())
        except OSError as error:
            self.loss = error
            return len(data)
        return written


@contextmanager
def lenient_streams() -> Iterator[None]:
    """Give the process streams that raise nothing; in the end a result that was lost is said, and is exit code 1.

    A closed stream becomes /dev/null: a file that is opened later would take its number, and libuv aborts on that.
    Characters that a stream's encoding lacks are written as a plain sign, or else as escapes.
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
    """Return what has kept stdout from being written, once; None where all was written, and outside the command."""
    stream = sys.__stdout__
    raw = getattr(getattr(stream, "buffer", None), "raw", None)
    if stream is None or not isinstance(raw, Output):
        return None
    stream.flush()
    loss, raw.loss = raw.loss, None
    return loss


def _is_lost() -> bool:
    loss = take_loss()
    if loss is not None and loss.errno != errno.EPIPE:  # whoever closes a pipe has read enough, and knows
        print(f"behavesim: stdout cannot be written: {loss.strerror}", file=sys.stderr)  # noqa: T201
    return loss is not None


def _plain(error: UnicodeError) -> tuple[str | bytes, int]:
    """Replace one character that cannot be encoded; the rest of the text is tried again."""
    assert isinstance(error, UnicodeEncodeError)
    sign = _SIGNS.get(error.object[error.start])
    if sign is None:
        return codecs.backslashreplace_errors(error)
    return sign, error.start + 1


def _open_closed() -> None:
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # it gets the lowest number that is free


def _text(number: int, before: TextIO | None) -> io.TextIOWrapper:
    """Stdout or stderr as text, in the encoding it had; flushed by the line, but for results that go to a file."""
    encoding = None if before is None else before.encoding
    by_line = number == 2 or os.isatty(number)
    buffer: io.BufferedWriter = io.BufferedWriter(Output(number))
    return io.TextIOWrapper(buffer, encoding, PLAIN, line_buffering=by_line)
