"""A filter of system calls: a call that is not known to be harmless fails, and the kernel does not carry it out.

The filter is a program for the kernel's classic packet filter (BPF). It is made from two lists that a reader can check
line by line, `kernel.HARMLESS` and `_DELICATE` below, and needs no library.
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
"""Advice to madvise(2) on how memory will be used, that it can be freed, and on huge pages.

They are numbers since Python on macOS has no names for some of them.
"""

Instruction = tuple[int, int, int, int]
"""One BPF instruction: operation, how many instructions to skip if true and if false, operand."""
Answer = tuple[Instruction, ...]
"""The instructions that decide about one call; every path through them ends with a decision."""


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def program() -> bytes:
    """Return the filter as BPF code; raises OSError if this machine's system call numbers are not known."""
    if platform.machine() not in _AUDIT:
        raise OSError(f"no list of system calls for {platform.machine()}")
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in _instructions())


def installation(instructions: bytes) -> kernel.Call:
    """Return a prepared call that puts this process under the filter for good; `instructions` are BPF code."""
    return kernel.prepared_prctl(_PR_SET_SECCOMP, _MODE_FILTER, _Program(len(instructions) // 8, instructions))


def _instructions() -> Iterator[Instruction]:
    yield (_LOAD, 0, 0, _ARCHITECTURE)
    yield (_IF_EQUAL, 1, 0, _AUDIT[platform.machine()])
    yield (_RETURN, 0, 0, _KILL)  # 32-bit calls have other numbers; no honest program makes any
    yield (_LOAD, 0, 0, _CALL)
    answers = {**dict.fromkeys(kernel.HARMLESS, (_GRANT,)), **_DELICATE}
    yield from _halved(_spans({at: answers[call] for call in answers if (at := kernel.call_number(call)) is not None}))


def _spans(answers: Mapping[int, Answer]) -> list[tuple[int, Answer]]:
    """Return (first call number, answer) for each range of numbers with one answer; other calls are refused."""
    spans: list[tuple[int, Answer]] = [(-1, ())]
    for call in range(max(answers) + 2):
        if (answer := answers.get(call, (_REFUSE,))) != spans[-1][1]:
            spans.append((call, answer))
    return spans[1:]


def _halved(spans: Sequence[tuple[int, Answer]]) -> Answer:
    """Return instructions that find the loaded number's answer by binary search.

    The kernel runs the filter once for each call number when a child installs it. A linear list took twice as long.
    """
    if len(spans) == 1:
        return spans[0][1]
    lower, upper = spans[: len(spans) // 2], spans[len(spans) // 2 :]
    below = _halved(lower)
    return ((_IF_AT_LEAST, len(below), 0, upper[0][0]), *below, *_halved(upper))


_GRANT: Instruction = (_RETURN, 0, 0, _ALLOW)
_REFUSE: Instruction = (_RETURN, 0, 0, _ERROR | errno.EPERM)
_UNKNOWN: Instruction = (_RETURN, 0, 0, _ERROR | errno.ENOSYS)


def _argument(position: int, half: int = 0) -> Instruction:
    """Load 32 bits of an argument of the call: the lower half, or the upper one if `half` is 1."""
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * position + 4 * half)


def _one_of(position: int, values: Sequence[int]) -> Answer:
    """Grant the call if an argument's lower half is one of the values; the kernel reads no more of it."""
    tests = ((_IF_EQUAL, left, 0, value) for left, value in zip(range(len(values), 0, -1), values, strict=True))
    return (_argument(position), *tests, _REFUSE, _GRANT)


_DELICATE: dict[str, Answer] = {
    # Files are opened for reading only; Landlock says which files.
    "open": (_argument(1), (_IF_ANY_BIT, 0, 1, _WRITING), _REFUSE, _GRANT),
    "openat": (_argument(2), (_IF_ANY_BIT, 0, 1, _WRITING), _REFUSE, _GRANT),
    "openat2": (_UNKNOWN,),
    # A process may read its own limits: process id 0, and a null pointer for new limits.
    "prlimit64": (
        *(_argument(0), (_IF_EQUAL, 0, 5, 0)),
        *(_argument(2), (_IF_EQUAL, 0, 3, 0), _argument(2, 1), (_IF_EQUAL, 0, 1, 0)),
        *(_GRANT, _REFUSE),
    ),
    "sched_getaffinity": _one_of(0, (0,)),
    # Clocks of the system and of the own process; a negative number is another process's CPU time.
    **dict.fromkeys(
        ("clock_gettime", "clock_getres", "clock_nanosleep"),
        (_argument(0), (_IF_ANY_BIT, 0, 1, 0xFFFFFFF0), _REFUSE, _GRANT),
    ),
    # Opening a file asks whether it is a terminal: the answer is no. Devices take no other requests.
    "ioctl": ((_RETURN, 0, 0, _ERROR | errno.ENOTTY),),
    # Commands that copy descriptors and set their flags; others send signals or take leases.
    "fcntl": _one_of(1, _HARMLESS_FCNTL),
    # Hints about memory; other advice marks it as broken, shares it or cuts it out of a file.
    "madvise": _one_of(2, _HARMLESS_ADVICE),
}
