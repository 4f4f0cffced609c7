"""A text stream to a terminal that never blocks, though the terminal may be slow, stopped or gone."""

from __future__ import annotations

import os
import select
import threading
from queue import SimpleQueue
from typing import TextIO

LIMIT = 1 << 16
"""Largest number of characters that wait to be written: many screens. A text that would exceed it is dropped, unless
nothing else waits."""
PATIENCE_S = 1.0
"""Seconds that `close` waits at most for the waiting text to be written: a stopped terminal must not delay the end."""


class Outlet:
    """A text stream whose writes never wait and never fail: a thread writes the text to a file descriptor.

    A search and its display share a thread, so without this a terminal stopped by Ctrl-S would stop the search.
    """

    def __init__(self, stream: TextIO) -> None:
        """Write to the file descriptor of `stream`; raises OSError if it has none.

        The stream itself is not written to: a waiting thread would hold the lock of its buffer.
        """
        self._stream = stream
        self._descriptor = os.dup(stream.fileno())  # the thread may outlive the stream, whose number is then reused
        self._waiting: SimpleQueue[str | None] = SimpleQueue()
        self._size = 0  # characters that wait; both threads change it
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._pass_on, daemon=True)
        self._thread.start()

    @property
    def encoding(self) -> str:
        """The encoding of the stream given at the start."""
        return self._stream.encoding

    def isatty(self) -> bool:
        """Whether the stream is a terminal."""
        return self._stream.isatty()

    def fileno(self) -> int:
        """Return the file descriptor of the stream."""
        return self._stream.fileno()

    def write(self, text: str) -> int:
        """Queue the text for the thread, or drop all of it if it would exceed LIMIT; return its length in either case.

        A single text is queued, however long it is, if nothing else waits.
        """
        with self._lock:
            if self._size + len(text) <= LIMIT or not self._size:
                self._waiting.put(text)
                self._size += len(text)
        return len(text)

    def flush(self) -> None:
        """Do nothing: the thread writes what is queued as soon as the file takes it."""

    def close(self) -> None:
        """Let the thread end once all queued text is written, and wait for that for PATIENCE_S at most.

        The stream given at the start stays open.
        """
        self._waiting.put(None)
        self._thread.join(PATIENCE_S)

    def _pass_on(self) -> None:
        """Write the queued texts until None comes, in the thread, and close the descriptor."""
        while (text := self._waiting.get()) is not None:
            self._write(text.encode(self.encoding, "backslashreplace"))
            with self._lock:
                self._size -= len(text)
        os.close(self._descriptor)

    def _write(self, data: bytes) -> None:
        """Write all bytes, and wait for the file if needed; drop the rest if the file refuses it."""
        while data:
            try:
                data = data[os.write(self._descriptor, data) :]
            except BlockingIOError:  # another process has made the file non-blocking
                select.select((), (self._descriptor,), ())
            except OSError:
                return
