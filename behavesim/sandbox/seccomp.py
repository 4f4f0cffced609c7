"""A filter of system calls: what is not known to be harmless is answered with an error and never reaches the kernel.

The filter is a program of the kernel's classic packet filter, written here and not by a library: it comes from two
lists (`kernel.HARMLESS` and the answers below), which a reader can check line by line.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import platform
import struct
from collections.abc import Iterator, Mapping, Sequence

from behavesim.sandbox import kernel

_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_LOAD, _IF_EQUAL, _IF_AT_LEAST, _IF_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_CALL, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_HARMLESS_FCNTL = (fcntl.F_DUPFD, fcntl.F_GETFD, fcntl.F_SETFD, fcntl.F_GETFL, fcntl.F_SETFL, fcntl.F_DUPFD_CLOEXEC)
_HARMLESS_ADVICE = (0, 1, 2, 3, 4, 8, 14, 15)
"""How memory will be used, that it will not be, and the size of its pages; macOS knows no names for all of these."""

Instruction = tuple[int, int, int, int]
"""Operation, how many instructions to skip if true and if false, operand."""
Answer = tuple[Instruction, ...]
"""What decides about a call, and ends with its decision."""


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def program() -> bytes:
    """The filter for this machine; raises OSError where its system calls' numbers are not known."""
    if platform.machine() not in _AUDIT:
        raise OSError(f"no list of system calls for {platform.machine()}")
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in _instructions())


def installation(instructions: bytes) -> kernel.Call:
    """The call that filters a process's calls from then on."""
    return kernel.prepared_prctl(_PR_SET_SECCOMP, _MODE_FILTER, _Program(len(instructions) // 8, instructions))


def _instructions() -> Iterator[Instruction]:
    yield (_LOAD, 0, 0, _ARCHITECTURE)
    yield (_IF_EQUAL, 1, 0, _AUDIT[platform.machine()])
    yield (_RETURN, 0, 0, _KILL)  # 32-bit calls have other numbers, and no honest program makes any
    yield (_LOAD, 0, 0, _CALL)
    answers = {**dict.fromkeys(kernel.HARMLESS, (_GRANT,)), **_DELICATE}
    yield from _halved(_spans({at: answers[call] for call in answers if (at := kernel.number(call)) is not None}))


def _spans(answers: Mapping[int, Answer]) -> list[tuple[int, Answer]]:
    """From which number on which answer is given; what has none is refused."""
    spans: list[tuple[int, Answer]] = [(-1, ())]
    for call in range(max(answers) + 2):
        if (answer := answers.get(call, (_REFUSE,))) != spans[-1][1]:
            spans.append((call, answer))
    return spans[1:]


def _halved(spans: Sequence[tuple[int, Answer]]) -> Answer:
    """The answer for the number that is loaded, found by halving: the kernel goes through the filter once for each
    number when it is installed, which each child waits for, and a list took it twice as long."""
    if len(spans) == 1:
        return spans[0][1]
    lower, upper = spans[: len(spans) // 2], spans[len(spans) // 2 :]
    below = _halved(lower)
    return ((_IF_AT_LEAST, len(below), 0, upper[0][0]), *below, *_halved(upper))


_GRANT: Instruction = (_RETURN, 0, 0, _ALLOW)
_REFUSE: Instruction = (_RETURN, 0, 0, _ERROR | errno.EPERM)
_UNKNOWN: Instruction = (_RETURN, 0, 0, _ERROR | errno.ENOSYS)


def _argument(position: int, half: int = 0) -> Instruction:
    """Load the lower half (or the upper, 1) of an argument."""
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * position + 4 * half)


def _one_of(position: int, values: Sequence[int]) -> Answer:
    """Grant the call if the lower half of an argument, all the kernel reads of it, is one of the values."""
    tests = ((_IF_EQUAL, left, 0, value) for left, value in zip(range(len(values), 0, -1), values, strict=True))
    return (_argument(position), *tests, _REFUSE, _GRANT)


_DELICATE: dict[str, Answer] = {
    # Files are read, never written; Landlock says which.
    "open": (_argument(1), (_IF_ANY_BIT, 0, 1, _WRITING), _REFUSE, _GRANT),
    "openat": (_argument(2), (_IF_ANY_BIT, 0, 1, _WRITING), _REFUSE, _GRANT),
    "openat2": (_UNKNOWN,),
    # Its own limits are looked up (the new ones are a null pointer), not changed, and nobody else's.
    "prlimit64": (
        *(_argument(0), (_IF_EQUAL, 0, 5, 0)),
        *(_argument(2), (_IF_EQUAL, 0, 3, 0), _argument(2, 1), (_IF_EQUAL, 0, 1, 0)),
        *(_GRANT, _REFUSE),
    ),
    "sched_getaffinity": _one_of(0, (0,)),
    # The world's time and its own; a negative clock is another process's time on the CPU.
    **dict.fromkeys(
        ("clock_gettime", "clock_getres", "clock_nanosleep"),
        (_argument(0), (_IF_ANY_BIT, 0, 1, 0xFFFFFFF0), _REFUSE, _GRANT),
    ),
    # Devices are not asked to do anything; opening a file asks whether it is a terminal.
    "ioctl": ((_RETURN, 0, 0, _ERROR | errno.ENOTTY),),
    # Descriptors are copied and flagged; other commands of fcntl send signals or take leases.
    "fcntl": _one_of(1, _HARMLESS_FCNTL),
    # Memory is hinted about, not poisoned, shared with other processes or cut out of a file.
    "madvise": _one_of(2, _HARMLESS_ADVICE),
}
