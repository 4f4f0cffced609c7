"""Connections to Dask's schedulers and workers whose messages are read as plain data, and never as pickles.

Dask's own connections unpickle whatever a message asks for. So the daemon (the process that searches) reads the wire
itself. A message begins with two numbers as `<Q`: the size of what follows, up to the first frame that is sent on its
own, and the number of frames. The size of each frame follows as `<Q`, then the frames. The first frame is the message
as MessagePack. Further frames hold what Dask serialises its own way; they are skipped.
"""

from __future__ import annotations

import asyncio
import pickle
import ssl
import struct
import sys
from contextlib import suppress
from typing import Any, NoReturn
from urllib.parse import urlsplit

import msgpack

NUMBER = struct.Struct("<Q")
"""A size or a count on the wire."""
SMALL = 1 << 26
"""Largest message (bytes) besides programs' results; the list of a thousand workers has 2 MB."""
CONNECT_S = 10.0
"""Time limit in seconds for making a connection and exchanging greetings, both together."""
HANDSHAKE = {"compression": None, "python": tuple(sys.version_info[:3]), "pickle-protocol": pickle.HIGHEST_PROTOCOL}
"""The greeting that Dask's connections expect. It asks for messages without compression."""
MOST_FRAMES = 1000
"""Most frames of a message."""


class LineLost(OSError):
    """The connection cannot be made, or was closed."""


class Garbage(ValueError):
    """What came is no message, or not one that could come here; the text says why."""


class Line:
    """A connection to a scheduler or worker of Dask. Make one by `open`; `most` is the largest message in bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, most: int) -> None:
        self._reader = reader
        self._writer = writer
        self._most = most

    @classmethod
    async def open(cls, address: str, context: ssl.SSLContext | None, most: int = SMALL) -> Line:
        """Connect to an address such as "tcp://10.0.0.1:8786" or "tls://…", and exchange greetings.

        `context` is for addresses that begin with tls, `most` the largest message in bytes. Raises LineLost if no
        connection can be made or nobody answers within CONNECT_S, Garbage if the other side does not speak Dask's
        protocol.
        """
        parts = urlsplit(address)
        try:
            async with asyncio.timeout(CONNECT_S):
                given = context if parts.scheme == "tls" else None
                line = cls(*await asyncio.open_connection(parts.hostname, parts.port, ssl=given), most)
                try:
                    await line.send(HANDSHAKE)
                    if not isinstance(await line.receive(), dict):
                        raise Garbage("its greeting is none of Dask's")
                except BaseException:
                    await line.close()
                    raise
                return line
        except TimeoutError:
            raise LineLost(f"{address} does not answer within {CONNECT_S:g} s") from None
        except OSError as error:  # ssl.SSLError is one, too
            raise LineLost(f"{address} cannot be reached: {error}") from None

    async def send(self, message: Any) -> None:
        """Send a message of plain values; raises LineLost if the connection is closed."""
        frame = msgpack.packb(message)
        prelude = NUMBER.pack(1) + NUMBER.pack(len(frame))
        self._writer.write(b"".join((NUMBER.pack(len(prelude) + len(frame)), prelude, frame)))
        try:
            await self._writer.drain()
        except OSError as error:
            raise LineLost(str(error) or "its connection was closed") from None

    async def receive(self) -> Any:
        """Return the next message, a plain value with lists for arrays.

        Raises LineLost if the connection is closed, Garbage if the message is too large or cannot be read.
        """
        try:
            size = await self._number()
            self._refuse_above(size)
            count = await self._number()
            if not 0 < count <= MOST_FRAMES:
                raise Garbage(f"a message of {count} frames came")
            sizes = [number for (number,) in NUMBER.iter_unpack(await self._reader.readexactly(count * NUMBER.size))]
            self._refuse_above(sum(sizes))
            frame = await self._reader.readexactly(sizes[0])
            # what Dask serialised its own way: it could be a pickle, and is not looked at
            await self._reader.readexactly(sum(sizes[1:]))
        except asyncio.IncompleteReadError:
            raise LineLost("its connection was closed") from None
        except OSError as error:
            raise LineLost(str(error) or "its connection was closed") from None
        return _unpacked(frame)

    async def close(self) -> None:
        """Close the connection."""
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()

    async def _number(self) -> int:
        """Return the next size or count on the wire; raises IncompleteReadError if the connection is closed."""
        (number,) = NUMBER.unpack(await self._reader.readexactly(NUMBER.size))
        return int(number)

    def _refuse_above(self, size: int) -> None:
        """Raise Garbage if a message of `size` bytes is larger than any that is expected."""
        if size > self._most + (MOST_FRAMES + 1) * NUMBER.size:
            raise Garbage(f"a message of {size} bytes came; at most {self._most} were expected")


def _unpacked(frame: bytes) -> Any:
    """Return the plain value that MessagePack bytes stand for.

    Raises Garbage if they cannot be read, or hold a value of an extension type.
    """
    try:
        return msgpack.unpackb(frame, strict_map_key=False, ext_hook=_refuse_extension)
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise Garbage(f"a message came that cannot be read: {type(error).__name__}: {error}"[:300]) from None


def _refuse_extension(code: int, data: bytes) -> NoReturn:
    raise Garbage(f"a message came with a value of the unknown kind {code}")
