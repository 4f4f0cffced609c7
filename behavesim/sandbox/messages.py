"""What the search's process and its zygotes send each other through sockets; both sides are trusted.

The search sends requests of a fixed size: fork and kill. A fork carries the candidate's socket, and also the link to
the program if that runs apart. A zygote sends lines of JSON: one `Ready`, then one `ProcessEnd` for each candidate's
process; and {"error": …} if it cannot start or go on.

Programs go through the candidates' own sockets: the first part of this file.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import socket
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

from behavesim.base.errors import BehavesimError
from behavesim.sandbox.limits import Limits

if TYPE_CHECKING:
    from behavesim.task import Split

# The number of bytes that follow, such as those of a program's source.
SIZE = struct.Struct("<Q")


def send(fd: int, frame: bytes) -> None:
    """Write all bytes of `frame` to a socket; raises OSError if the other end is closed."""
    # by write(2): the seccomp filter forbids send(2)
    rest = memoryview(frame)
    while rest:
        rest = rest[os.write(fd, rest) :]


def receive(fd: int, data: bytes, size: int) -> bytes:
    """Return `data` and what follows it at the socket `fd`: `size` bytes in all, and more if they have arrived.

    To read what has arrived with them saves a system call for each short message. Raises ConnectionError if the other
    end closes before there are `size` bytes.
    """
    while len(data) < size:
        chunk = os.read(fd, max(1 << 16, size - len(data)))
        if not chunk:
            raise ConnectionError("the other process ended")
        data += chunk
    return data


def receive_message(fd: int) -> bytearray:
    """Return what follows a SIZE at the socket `fd`; raises ConnectionError if it is closed before the end."""
    # nothing behind the message is read with it: another one may follow; and into one place, since it may be large
    (size,) = SIZE.unpack(_receive_exactly(fd, SIZE.size))
    return _receive_exactly(fd, size)


def _receive_exactly(fd: int, size: int) -> bytearray:
    data = bytearray(size)
    rest = memoryview(data)
    while rest:
        if not (count := os.readv(fd, [rest])):
            raise ConnectionError("the other process ended")
        rest = rest[count:]
    return data


def encode_source(source: str) -> bytes:
    """Return a program's bytes for `receive_source`: a SIZE, then UTF-8, with ? for what that cannot encode."""
    encoded = source.encode(errors="replace")
    return SIZE.pack(len(encoded)) + encoded


def receive_source(fd: int) -> str:
    """Return the program that arrives at the socket `fd`; raises ConnectionError if it is closed before the end."""
    return receive_message(fd).decode()


def encode_pair(head: bytes, rest: bytes) -> bytes:
    """Return a message to or from a referee: a SIZE, a line, and any bytes."""
    return b"".join((SIZE.pack(len(head) + 1 + len(rest)), head, b"\n", rest))


def decode_pair(body: bytes | bytearray) -> tuple[bytes, memoryview]:
    """Return both parts of a message, from what follows its SIZE."""
    at = body.index(b"\n")
    return bytes(body[:at]), memoryview(body)[at + 1 :]


# A request: FORK or KILL, the daemon's number for the candidate's process, and the `Block` that a fork is for.
REQUEST = struct.Struct("<cQQQd")
# In place of a block, the instances of the split.
NO_BLOCK = (0, 0, 1.0)
FORK, KILL = b"f", b"k"
"""Requests: fork a child for the candidate whose sockets come with the message; kill the candidate's process."""
# Most sockets that come with a request.
MOST_SOCKETS = 32
# Share of the CPU time from which a message names the first call's.
_NOTABLE = 0.2
# The exit status of a candidate's process that had too little memory left to send its failure.
OUT_OF_MEMORY = 77
# Longest CPU time (s) for loading an evaluator, unless another is given: large libraries take 10 s.
LOAD_S = 60.0


@dataclass(frozen=True, kw_only=True)
class Instructions:
    """What a trusted process needs to start, sent to it as JSON; `limits` are those of each program that it runs."""

    limits: Limits

    def to_json(self) -> str:
        """Return the instructions as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the instructions from what `to_json` returned; sequences become lists."""
        fields = json.loads(text)
        return cls(**{**fields, "limits": Limits(**fields["limits"])})


@dataclass(frozen=True, kw_only=True)
class Assignment(Instructions):
    """What every zygote needs to start; it is sent as an argument of the command line."""

    module: ClassVar[str]
    """The module that the zygote runs."""
    content: ClassVar[str]
    """Words for what runs in the zygote, such as "programs"; they begin a message for people."""
    is_trusted: ClassVar[bool] = False
    """Whether its children run no program: then it has the environment and the folder of the search."""
    layers: Sequence[str]  # names of those to apply
    hidden: Sequence[str] = ()  # files and folders that programs must not read
    wall: str = ""  # a command through which the zygote is started
    # what it then tries to reach (see `isolation.outside_of_wall`)
    outside: Mapping[str, Any] = field(default_factory=dict)

    @property
    def wall_kill_s(self) -> float:
        """Most seconds by the clock that a child may live."""
        return self.limits.wall_kill_s


@dataclass(frozen=True)
class TaskAssignment(Assignment):
    """What a zygote of programs that are functions needs to start.

    One with an empty `task` has no instances: its programs answer calls (see `program`). Only that one uses
    `entry_point` and `hidden`; the others find theirs in the task.
    """

    module = "behavesim.sandbox.zygote"
    content = "programs"
    task: str  # where its code lies (`TaskReference.place`)
    split: Split
    preloaded: Sequence[str]  # modules to import
    entry_point: str = ""  # the name of the program's function
    starts: int = 1  # most versions of each instance (`begin_instances`)
    further: int = 0  # instances beyond the split's, for races (`further_instances`)


@dataclass(frozen=True)
class RefereeAssignment(Assignment):
    """What the referee needs to start: a zygote whose children judge what programs sent.

    `limits` are those of a program, and say what scoring may take, too. No layers are applied: no program runs here.
    """

    module = "behavesim.sandbox.referee"
    content = "the task's score"
    is_trusted = True
    task: str  # the text of a TaskReference
    split: Split
    starts: int = 1  # most versions of each instance
    further: int = 0  # instances beyond the split's, for races

    @property
    def wall_kill_s(self) -> float:
        """No limit: a process judges one program after another, each within a limit of its own (see `judge`)."""
        return math.inf


@dataclass(frozen=True)
class TreeAssignment(Assignment):
    """What a zygote of evaluations, the keeper, needs to start."""

    module = "behavesim.sandbox.keeper"
    content = "the evaluator and its programs"
    # "module:name" of a function. A confined process calls it with the text `given`, and gets the function that its
    # children run: from a program's text to the bytes to send back.
    loader: str
    given: str
    # what may be read besides Python and the machine's programs; where namespaces hold, not the `hidden` ones below
    readable: Sequence[str] = ()
    load_s: float = LOAD_S  # CPU time for loading
    workers: int = 1  # evaluations at once
    devices: Sequence[str] = ()  # paths of character devices


@dataclass(frozen=True)
class Ready:
    """A zygote's first message: it is ready for requests."""

    isolation: str  # the level that its self-test found
    notes: Sequence[str]  # what keeps that from "strong+", a line each
    instances: int  # solutions of a program (`begin_instances`): 0 without a task, 1 for an evaluator
    # from the task: how many processes without instances run a program, 0 if it runs where they are (see `program`);
    # and paths that programs must not read
    apart: int = 0
    entry_point: str = ""
    hidden: Sequence[str] = ()


@dataclass(frozen=True)
class ProcessEnd:
    """How the process of a candidate ended."""

    job: int  # the daemon's number
    status: int  # as os.wait gives it
    # Why the zygote killed it: "cpu", "wall" (by the clock), "asleep" (by the clock, as would happen on a quiet machine
    # too), "waited" (by the clock, without a core most of the time) or "cancelled"; for an evaluation also "memory",
    # "processes" or "files". "machine" if the kernel killed it while it had less than half of the machine's memory,
    # never for an evaluation. Otherwise "".
    killed: str
    cpu_s: float
    peak_bytes: int  # of resident memory
    # The process itself says how far it got: the last instance and call that it began, from 1 (0 is unknown), and the
    # CPU time of its first call (s).
    instance: int = 0
    calls: int = 0
    first_s: float = 0.0
    # Whether other processes kept the machine busy meanwhile (`runner.MachineLoad`); known of a run alone.
    beside_others: bool = False

    def is_killed(self, limits: Limits) -> bool:
        """Whether the kernel killed it within its CPU time, as it does for lack of memory."""
        by_kernel = not self.killed and os.waitstatus_to_exitcode(self.status) == -signal.SIGKILL
        return by_kernel and self.cpu_s <= limits.limit_s(self.first_s)

    def reached(self, free_s: float = 0.0) -> str:
        """Return how far the program got, as the end of a sentence: ", at call 3, on instance 2"; "" if unknown.

        `free_s` is how much of its first call (s) the limit on CPU time leaves out.
        """
        where = f", on instance {self.instance}" if self.instance else ""
        if not self.calls:
            return where
        if self.calls == 1:
            return f", in its first call{where}"
        said = f", at call {self.calls}{where}"
        if self.first_s < _NOTABLE * self.cpu_s:
            return said
        free = f" (of which {free_s:.3g} s do not count)" if free_s else ""
        return f"{said}; the first call took {self.first_s:.3g} s{free}, all else {self.cpu_s - self.first_s:.3g} s"


def in_words(error: BaseException) -> str:
    """Return the text of an error that is sent; with its type's name before it unless it is a BehavesimError."""
    return str(error) if isinstance(error, BehavesimError) else f"{type(error).__name__}: {error}"


@contextlib.contextmanager
def send_errors(control: socket.socket, usage: type[Exception] | tuple[()] = ()) -> Iterator[None]:
    """Send an Exception that the block raises to the daemon, as {"error": text, …}, and raise it again.

    Errors of the class `usage` say that what the process had to load is at fault, and not the sandbox.
    """
    try:
        yield
    except Exception as error:  # the task's code may raise anything, and the daemon would only see that this one died
        control.sendall(line({"error": in_words(error), "is_usage": isinstance(error, usage)}))
        raise


def line(message: Ready | ProcessEnd | dict[str, Any]) -> bytes:
    """Return a zygote's message as a line of JSON.

    {"error": text} reports that the zygote ends; its "is_usage" is true if what it had to load is at fault.
    """
    return json.dumps(message if isinstance(message, dict) else vars(message)).encode() + b"\n"
