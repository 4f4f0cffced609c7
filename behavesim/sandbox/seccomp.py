"""Filters of system calls: a call that a filter refuses fails, and the kernel does not carry it out.

The filter of candidates allows what is known to be harmless. It is made from two lists that a reader can check line by
line, `kernel.ALLOWED` and `_ALLOWED_BY_ARGUMENT` below. Evaluations need compilers, shells and libraries, which make
too many calls for that. Their filters, the second profile's, refuse what `kernel` lists as DENIED, UNACCOUNTED and
NAMESPACE_CALLS, and some others with some arguments.
A filter is a program for the kernel's classic packet filter (BPF).
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import platform
import socket
import struct
from collections.abc import Iterator, Mapping, Sequence

from behavesim.sandbox import kernel, namespaces

# The kernel's numbers (AUDIT_ARCH_…) for the 64-bit system calls of each machine.
_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_LOAD, _IF_EQUAL, _IF_AT_LEAST, _IF_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
"""BPF operations: load 32 bits of the data, three comparisons of these with the operand, end with a decision."""
_CALL, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
"""Offsets of call number, architecture and arguments in the data of a filter (`struct seccomp_data`), in bytes."""
# The least number of a system call of the x32 kind, on x86-64; no call has such a number elsewhere.
_X32 = 0x40000000
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
"""Decisions: carry out the call, kill the process, fail with the error number in the lower 16 bits."""
_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
"""The option of prctl(2), and its argument, that put a process under a filter."""
# The flags of open(2) that need more than reading.
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# The commands of fcntl(2) that the filter allows: they copy a descriptor, or read and set its flags.
_HARMLESS_FCNTL = (fcntl.F_DUPFD, fcntl.F_GETFD, fcntl.F_SETFD, fcntl.F_GETFL, fcntl.F_SETFL, fcntl.F_DUPFD_CLOEXEC)
# The flags of clone(2) for namespaces: mounts, control groups, hostname, IPC, users, processes, network, time.
_NEW_NAMESPACES = 0x7E020080
# The advice that madvise(2) may be given: how memory will be used, that it can be freed, and on huge pages.
#
# They are numbers since Python on macOS has no names for some of them.
_HARMLESS_ADVICE = (0, 1, 2, 3, 4, 8, 14, 15)

# One BPF instruction: operation, how many instructions to skip if true and if false, operand.
Instruction = tuple[int, int, int, int]
# The instructions that decide about one call; every path through them ends with a decision.
Answer = tuple[Instruction, ...]


class _Program(ctypes.Structure):
    """`struct sock_fprog`: the number of instructions of a filter, and their address."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def program() -> bytes:
    """Return the filter of candidates as BPF code; raises OSError if this machine's call numbers are not known."""
    return _compiled({**dict.fromkeys(kernel.ALLOWED, (_GRANT,)), **_ALLOWED_BY_ARGUMENT}, otherwise=(_REFUSE,))


def tree_program(may_connect: bool) -> bytes:
    """Return the filter of evaluations as BPF code; raises OSError if the machine's system call numbers are not known.

    `may_connect` is whether connect(2) is allowed: from a root folder and a network of its own it reaches no other
    program.
    """
    refused = (*kernel.NAMESPACE_CALLS, *(() if may_connect else ("connect",)))
    return _compiled({**_common(), **dict.fromkeys(refused, (_REFUSE,))}, otherwise=(_GRANT,))


def nursery_program() -> bytes:
    """Return the filter of the process that loads an evaluator, as BPF code; raises OSError as `tree_program` does."""
    # it allows connect(2), mounts, and what `unshare` and `setns` need to isolate the children that the process forks
    enclosing = {
        "unshare": _one_of(0, (namespaces.NEW_PIDS, namespaces.NEW_MOUNTS | namespaces.NEW_IPC)),
        "setns": _one_of(1, (namespaces.NEW_PIDS,)),
    }
    return _compiled({**_common(), **enclosing}, otherwise=(_GRANT,))


def _compiled(answers: Mapping[str, Answer], otherwise: Answer) -> bytes:
    """Return a filter as BPF code: the answer for each call, by its name, and `otherwise` for all other calls."""
    # Calls that this machine does not have are skipped.
    if platform.machine() not in _AUDIT:
        raise OSError(f"no list of system calls for {platform.machine()}")
    numbered = {at: answer for call, answer in answers.items() if (at := kernel.call_number(call)) is not None}
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in _instructions(numbered, otherwise))


def installation(instructions: bytes) -> kernel.Call:
    """Return a prepared call that puts the calling process, and its later children, under a filter for good."""
    return kernel.prepare_prctl(_PR_SET_SECCOMP, _MODE_FILTER, _Program(len(instructions) // 8, instructions))


def _instructions(answers: Mapping[int, Answer], otherwise: Answer) -> Iterator[Instruction]:
    """Yield a filter's instructions: the answer to each call, by its number here, and `otherwise` to all others."""
    # calls of another architecture, such as 32-bit ones, kill the process: their numbers mean other calls, and no
    # honest program makes any
    yield (_LOAD, 0, 0, _ARCHITECTURE)
    yield (_IF_EQUAL, 1, 0, _AUDIT[platform.machine()])
    yield (_RETURN, 0, 0, _KILL)
    yield (_LOAD, 0, 0, _CALL)
    yield from _halved(_spans(answers, otherwise))


def _spans(answers: Mapping[int, Answer], otherwise: Answer) -> list[tuple[int, Answer]]:
    """Return (first call number, answer), ascending, for each range of numbers with one answer."""
    # `answers` are by call number; `otherwise` is the answer to all other calls. Calls of the x32 kind are refused.
    spans: list[tuple[int, Answer]] = [(-1, ())]
    for call in range(max(answers) + 2):
        if (answer := answers.get(call, otherwise)) != spans[-1][1]:
            spans.append((call, answer))
    # every call has a second number there, for 32-bit pointers: a list of refused numbers would miss it
    return [*spans[1:], (_X32, (_REFUSE,))] if spans[-1][1] != (_REFUSE,) else spans[1:]


def _halved(spans: Sequence[tuple[int, Answer]]) -> Answer:
    """Return instructions that find the loaded call number's answer in `spans` (see `_spans`) by binary search."""
    # the kernel runs the filter once for each call number when a child installs it: a linear list took twice as long
    if len(spans) == 1:
        return spans[0][1]
    lower, upper = spans[: len(spans) // 2], spans[len(spans) // 2 :]
    below = _halved(lower)
    return ((_IF_AT_LEAST, len(below), 0, upper[0][0]), *below, *_halved(upper))


# Ends with the decision that the kernel carries out the call.
_GRANT: Instruction = (_RETURN, 0, 0, _ALLOW)
# Ends with the decision that the call fails with EPERM, as for lack of rights.
_REFUSE: Instruction = (_RETURN, 0, 0, _ERROR | errno.EPERM)
# Ends with the decision that the call fails with ENOSYS, as on an older kernel: programs then use another call.
_UNKNOWN: Instruction = (_RETURN, 0, 0, _ERROR | errno.ENOSYS)


def _argument(position: int, half: int = 0) -> Instruction:
    # loads 32 bits of an argument, counted from 0
    # They are the lower half, or the upper one if `half` is 1.
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * position + 4 * half)


def _one_of(position: int, values: Sequence[int]) -> Answer:
    # grants the call if the lower 32 bits of the argument are one of the values
    # Otherwise the call is refused with EPERM. 32 bits are enough where the kernel reads no more of the argument.
    tests = ((_IF_EQUAL, left, 0, value) for left, value in zip(range(len(values), 0, -1), values, strict=True))
    return (_argument(position), *tests, _REFUSE, _GRANT)


_ALLOWED_BY_ARGUMENT: dict[str, Answer] = {
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


def _common() -> dict[str, Answer]:
    only_local = _one_of(0, (socket.AF_UNIX,))
    return {
        **dict.fromkeys(kernel.DENIED, (_REFUSE,)),
        # as a kernel that lacks them: libraries then use other calls, and files below /dev/shm as shared memory
        **dict.fromkeys(kernel.UNACCOUNTED, (_UNKNOWN,)),
        "clone": (_argument(0), (_IF_ANY_BIT, 0, 1, _NEW_NAMESPACES), _REFUSE, _GRANT),
        "clone3": (_UNKNOWN,),  # its flags lie in memory, which a filter cannot read; libraries then use clone
        "socket": only_local,
        "socketpair": only_local,
    }
