"""A text stream to a terminal that never blocks, though the terminal may be slow, stopped or gone."""

from __future__ import annotations

import io
import os
import select
import threading
from collections import deque
from typing import TextIO

LIMIT = 1 << 16
"""Most characters that wait to be written: a text that would exceed this is dropped. That is many screens of text."""
PATIENCE_S = 1.0
"""Seconds that `close` waits at most for the waiting text to be written."""


class Outlet(io.TextIOBase):
    """A text stream whose writes never wait and never fail: a thread writes the text to a file descriptor.

    A search and its display share one thread. Without this, a terminal stopped by Ctrl-S would stop the search.
    """

    def __init__(self, stream: TextIO) -> None:
        """Write to the file descriptor of `stream`; raises OSError if it has none.

        The stream itself is not written to: a waiting thread would hold the lock of its buffer.
        """
        self._stream = stream
        self._descriptor = os.dup(stream.fileno())  # the thread may outlive the stream, whose number is then reused
        self._waiting: deque[str] = deque()
        self._size = 0
        self._is_open = True
        self._changed = threading.Condition()
        threading.Thread(target=self._pass_on, daemon=True).start()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The encoding of the stream given at the start."""
        return self._stream.encoding

    def isatty(self) -> bool:
        """Whether the stream is a terminal."""
        return self._stream.isatty()

    def fileno(self) -> int:
        """Return the file descriptor of the stream."""
        return self._stream.fileno()

    def write(self, text: str) -> int:
        """Queue the text for the thread, or drop all of it if too much is waiting; return its length in either case."""
        with self._changed:
            if self._size + len(text) <= LIMIT or not self._waiting:
                self._waiting.append(text)
                self._size += len(text)
                self._changed.notify_all()
        return len(text)

    def close(self) -> None:
        """End the thread, once all queued text is written; wait for that for PATIENCE_S at most.

        The stream given at the start stays open.
        """
        with self._changed:
            self._is_open = False
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._waiting, PATIENCE_S)

    def _pass_on(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or not self._is_open)
                if not self._waiting:
                    os.close(self._descriptor)
                    return
                text = self._waiting[0]
            self._write(text.encode(self.encoding, "backslashreplace"))
            with self._changed:
                self._waiting.popleft()
                self._size -= len(text)
                self._changed.notify_all()

    def _write(self, data: bytes) -> None:
        """Write all bytes, and wait for the file if needed; drop the rest if the file refuses it."""
        while data:
            try:
                data = data[os.write(self._descriptor, data) :]
            except BlockingIOError:  # another process has made the file non-blocking
                select.select((), (self._descriptor,), ())
            except OSError:
                return
