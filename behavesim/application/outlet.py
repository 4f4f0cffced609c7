"""Text on its way to a terminal, which may be slow, stopped, full or gone, and holds nobody up."""

from __future__ import annotations

import io
import os
import select
import threading
from collections import deque
from typing import TextIO

LIMIT = 1 << 16
"""Characters that may wait to be written; while there are more, what comes is dropped."""
PATIENCE_S = 1.0
"""How long `close` waits for what was written last to arrive."""


class Outlet(io.TextIOBase):
    """A text stream whose writes never wait and never fail: a thread passes on what a file descriptor takes.

    A search and what shows it share one thread: a terminal stopped by Ctrl-S would stop the search.
    """

    def __init__(self, stream: TextIO) -> None:
        """Write to the file of `stream`, and not through it: a thread that waits would keep the lock of its buffer."""
        self._stream = stream
        self._descriptor = stream.fileno()
        self._waiting: deque[str] = deque()
        self._size = 0
        self._is_open = True
        self._changed = threading.Condition()
        threading.Thread(target=self._pass_on, daemon=True).start()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """That of the stream."""
        return self._stream.encoding

    def isatty(self) -> bool:
        """Whether a person reads it on a terminal."""
        return self._stream.isatty()

    def fileno(self) -> int:
        """The stream's descriptor."""
        return self._descriptor

    def write(self, text: str) -> int:
        """Take some text, all of it or nothing; returns its length."""
        with self._changed:
            if self._size + len(text) <= LIMIT or not self._waiting:
                self._waiting.append(text)
                self._size += len(text)
                self._changed.notify_all()
        return len(text)

    def close(self) -> None:
        """Take no more text, and wait PATIENCE_S at most until what was taken is written."""
        with self._changed:
            self._is_open = False
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._waiting, PATIENCE_S)

    def _pass_on(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or not self._is_open)
                if not self._waiting:
                    return
                text = self._waiting[0]
            self._write(text.encode(self.encoding, "backslashreplace"))
            with self._changed:
                self._waiting.popleft()
                self._size -= len(text)
                self._changed.notify_all()

    def _write(self, data: bytes) -> None:
        """Write all bytes, or drop those that the file refuses."""
        while data:
            try:
                data = data[os.write(self._descriptor, data) :]
            except BlockingIOError:  # another process has made the file non-blocking
                select.select((), (self._descriptor,), ())
            except OSError:
                return
