"""What the search's process and a Dask worker say to each other, and the connection on which they say it.

Dask's own connections unpickle whatever a message asks for. So the search reads the wire itself, as plain data. A
message begins with two numbers as `<Q`: the size of what follows, up to the first frame that is sent on its own, and
the number of frames. The size of each frame follows as `<Q`, then the frames. The first frame is the message as
MessagePack. Further frames hold what Dask serialises its own way; they are skipped.

The search opens with an `Order`. The worker answers {"facts": …}. Where the search accepts them, it sends the task's
files: {"file": [path, piece]} for each piece, then {"file": null}. The worker answers {"ready": [isolation, notes,
places]} or {"refused": text}. Then the search sends {"run": [[job, source, alone, *block], …]} and {"cancel": [job,
…]}, and the worker {"ran": [[job, ending, frame, endings of the program's own processes], …]} and {"failed": [[job,
text], …]}. All the time the worker sends {"beat": 1}, so that its silence means something. The search believes nothing
that a worker sends: see `results_of`.
"""

from __future__ import annotations

import asyncio
import pickle
import ssl
import struct
import sys
from contextlib import suppress
from dataclasses import astuple, dataclass
from typing import Any, Literal, NoReturn
from urllib.parse import urlsplit

import msgpack

from behavesim.sandbox.connection import RawResult
from behavesim.sandbox.messages import MOST_SOCKETS, Instructions, ProcessEnd
from behavesim.task import Split

# A size or a count on the wire.
NUMBER = struct.Struct("<Q")
# Largest message (bytes) besides programs' results; the list of a thousand workers has 2 MB.
SMALL = 1 << 26
# Time limit in seconds for making a connection and exchanging greetings, both together.
CONNECT_S = 10.0
# The greeting that Dask's connections expect. It asks for messages without compression.
HANDSHAKE = {"compression": None, "python": tuple(sys.version_info[:3]), "pickle-protocol": pickle.HIGHEST_PROTOCOL}
# Most frames of a message.
MOST_FRAMES = 1000


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
                except BaseException:  # also at the time limit: nobody else knows of the open connection
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
        (number,) = NUMBER.unpack(await self._reader.readexactly(NUMBER.size))
        return int(number)

    def _refuse_above(self, size: int) -> None:
        if size > self._most + (MOST_FRAMES + 1) * NUMBER.size:
            raise Garbage(f"a message of {size} bytes came; at most {self._most} were expected")


def _unpacked(frame: bytes) -> Any:
    try:
        return msgpack.unpackb(frame, strict_map_key=False, ext_hook=_refuse_extension)
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise Garbage(f"a message came that cannot be read: {type(error).__name__}: {error}"[:300]) from None


def _refuse_extension(code: int, data: bytes) -> NoReturn:
    raise Garbage(f"a message came with a value of the unknown kind {code}")


# The operation under which a Dask worker serves us.
HANDLER = "behavesim"
# Seconds between two signs of life of a worker.
BEAT_S = 2.0
# Bytes of results after which a worker begins another message.
ENOUGH = 1 << 22
# The values of `ProcessEnd.killed` that a worker may report: all but "cancelled".
KILLED = ("", "cpu", "wall", "asleep", "waited", "machine", "memory", "processes", "files")
# Bound on CPU seconds that a worker may report: 30 years.
_LONGEST_S = 1e9


@dataclass(frozen=True)
class Order(Instructions):
    """What a worker needs to know before it runs programs."""

    profile: Literal["functions", "evaluator"]  # the second: evaluator and program together
    # Where the task's code lies: MODULE:NAME, or the name of its file among the shipped ones. For an evaluator it is
    # its EvaluatorFile as JSON, with paths relative to the shipped files.
    task: str
    split: Split
    allow_weak_isolation: bool
    files_hash: str  # of the shipped files
    task_hash: str  # hashes of the task's file and instances, which the worker must find, too; "" for an evaluator
    further: int = 0  # instances beyond the split's, for races


def as_values(job: int, ran: RawResult) -> list[Any]:
    """Return what came of a program as plain values: [job, ending, frame, endings of its own processes]."""
    # without each ending's number of the job, which the daemon knows
    ending, *apart = (list(astuple(each)[1:]) for each in (ran.end, *ran.program_ends))
    return [job, ending, ran.frame, apart]


def results_of(values: Any, most: int) -> list[tuple[int, RawResult]]:
    """Return the number of each job and what came of it, from the list that a worker sent as "ran".

    Nothing in it is believed. Raises Garbage for anything that is no list of what `as_values` returns, and for a frame
    of more than `most` bytes.
    """
    if not isinstance(values, list):
        raise Garbage(f"a list of results was expected, not {values!r:.100}")
    return [_read_result(each, most) for each in values]


def _read_result(values: Any, most: int) -> tuple[int, RawResult]:
    """Return the job's number and what came of it, from one entry of the list of results; raises Garbage for others."""
    match values:
        case [int(job), list(ending), bytes() | None as frame, list(apart)] if len(apart) <= MOST_SOCKETS:
            if frame is not None and len(frame) > most:
                raise Garbage(f"a frame of {len(frame)} bytes came; at most {most} were expected")
            return job, RawResult(_read_ending(job, ending), frame, tuple(_read_ending(job, each) for each in apart))
    raise Garbage(f"a result came that is none: {values!r:.100}")


def _read_ending(job: int, values: Any) -> ProcessEnd:
    """Return how a process ended; raises Garbage unless types and ranges are those that a zygote can report."""
    match values:
        case [int(status), str(killed), float(cpu_s), int(peak), int(instance), int(calls), float(first_s), bool(busy)]:
            known = 0 <= status < 1 << 16 and killed in KILLED and min(peak, instance, calls) >= 0
            # 0x7F marks a process that was stopped and has not ended
            if known and (status & 0x7F) != 0x7F and 0 <= first_s <= cpu_s < _LONGEST_S:  # no NaN passes
                return ProcessEnd(job, status, killed, cpu_s, peak, instance, calls, first_s, busy)
    raise Garbage(f"a process is said to have ended as none can: {values!r:.100}")


def failures_of(values: Any) -> list[tuple[int, str]]:
    """Return (job's number, error's text up to 2000 characters) of each failure; raises Garbage for anything else."""
    if isinstance(values, list) and all(isinstance(each, list) and [*map(type, each)] == [int, str] for each in values):
        return [(job, text[:2000]) for job, text in values]
    raise Garbage(f"a list of failures was expected, not {values!r:.100}")
