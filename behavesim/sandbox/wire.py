"""Sends programs and the arguments of calls through sockets between trusted processes and children.

Arguments are pickles, which only trusted code writes. Other bytes, such as frames, are written by `send`.
The search and the referee exchange parts of bytes, each with its length; see `encode_parts`.
"""

from __future__ import annotations

import os
import pickle
import struct
from typing import Any

SIZE = struct.Struct("<Q")
"""The number of bytes that follow: of a program's source, or of a question's pickle."""
ADVICE = "call it with numbers, arrays and plain containers of them"
"""The end of a message about arguments that cannot be sent to a program apart."""
Question = tuple[tuple[Any, ...], dict[str, Any]]
"""The positional and the named arguments of one call."""


def send(fd: int, frame: bytes) -> None:
    """Write all bytes of `frame` to a socket; raises OSError if the other end is closed.

    It uses write(2), since the seccomp filter forbids send(2).
    """
    rest = memoryview(frame)
    while rest:
        rest = rest[os.write(fd, rest) :]


def receive(fd: int, data: bytes, size: int, at_once: int = 1 << 16) -> bytes:
    """Return `data`, which was received before, and what follows it at the socket `fd`: at least `size` bytes in all.

    The result is longer if more bytes have arrived: up to `at_once` bytes are read together, which saves a system call
    for each short message. If `at_once` is 0, nothing is read beyond `size`. If `data` is long enough, it is returned
    as it is. Raises ConnectionError if the other end closes before there are `size` bytes.
    """
    while len(data) < size:
        chunk = os.read(fd, max(at_once, size - len(data)))
        if not chunk:
            raise ConnectionError("the other process ended")
        data += chunk
    return data


def encode_source(source: str) -> bytes:
    """Return the bytes to write to a socket for a program, which `receive_source` reads: its length, then its text.

    The length is a SIZE, the text is in UTF-8. Characters that UTF-8 cannot encode become question marks.
    """
    encoded = source.encode(errors="replace")
    return SIZE.pack(len(encoded)) + encoded


def receive_source(fd: int) -> str:
    """Return the program that arrives at the socket `fd`, as `encode_source` encodes it.

    Raises ConnectionError if the sender closes the socket before the end.
    """
    # nothing behind the program is read with it: calls may follow, for another reader
    (size,) = SIZE.unpack(receive(fd, b"", SIZE.size, at_once=0))
    return receive(fd, b"", size, at_once=0).decode()


def encode_parts(*parts: bytes) -> bytes:
    """Return the bytes to write to a socket for parts of bytes: the length of all that follows, then each part's.

    A reader takes the first SIZE.size bytes, then as many as they say, and gives these to `decode_parts`.
    """
    body = b"".join(piece for part in parts for piece in (SIZE.pack(len(part)), part))
    return SIZE.pack(len(body)) + body


def decode_parts(body: bytes) -> list[bytes]:
    """Return the parts of bytes that `encode_parts` joined; `body` is what it wrote behind the first length."""
    parts, start = list[bytes](), 0
    while start < len(body):
        (size,) = SIZE.unpack_from(body, start)
        start += SIZE.size
        parts.append(body[start : start + size])
        start += size
    return parts


def encode_question(arguments: tuple[Any, ...], named: dict[str, Any] | None = None) -> bytes:
    """Return the bytes to write to a socket for one call, which `receive_question` reads: a length, then a pickle.

    `arguments` are the positional ones; `named` None means no others. Raises what pickle raises for objects it cannot
    hold: PicklingError, TypeError, AttributeError or RecursionError.
    """
    pickled = pickle.dumps((arguments, named or {}), protocol=5)
    return SIZE.pack(len(pickled)) + pickled


def receive_question(fd: int) -> Question | None:
    """Return the next call's arguments from the socket `fd`; None if the other end closes before their end.

    Raises FrameError if they contain an object whose class cannot be imported here, such as one of the task's file.
    """
    try:
        # nothing behind the question is read with it: another one may follow
        (size,) = SIZE.unpack(receive(fd, b"", SIZE.size, at_once=0))
        data = receive(fd, b"", size, at_once=0)
    except ConnectionError:
        return None
    try:
        asked: Question = pickle.loads(data)
    except (ImportError, AttributeError) as error:
        from behavesim.sandbox.frames import FrameError  # numpy comes with it, which a tree's keeper does not need

        what = f"what only the task's file knows ({error})"
        raise FrameError(f"`solve` calls the function with {what}; {ADVICE}") from error
    return asked
