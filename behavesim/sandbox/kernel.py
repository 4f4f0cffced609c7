"""The Linux kernel's own interface, as far as the layers need it: libc has no names for some of it, Python for most."""

from __future__ import annotations

import ctypes
import functools
import os
import platform
from collections.abc import Callable
from dataclasses import dataclass, replace

ARCHITECTURES = ("x86_64", "aarch64")

_READING = {
    "read": (0, 63), "readv": (19, 65), "pread64": (17, 67), "lseek": (8, 62), "close": (3, 57), "fstat": (5, 80),
    "stat": (4, None), "lstat": (6, None), "newfstatat": (262, 79), "statx": (332, 291), "access": (21, None),
    "faccessat": (269, 48), "faccessat2": (439, 439), "readlink": (89, None), "readlinkat": (267, 78),
    "getdents": (78, None), "getdents64": (217, 61), "getcwd": (79, 17),
}  # fmt: skip
_PLUMBING = {
    "write": (1, 64), "writev": (20, 66), "pwrite64": (18, 68), "pipe": (22, None), "pipe2": (293, 59),
    "dup": (32, 23), "dup2": (33, None), "dup3": (292, 24), "select": (23, None), "pselect6": (270, 72),
    "poll": (7, None), "ppoll": (271, 73),
}  # fmt: skip
_MEMORY = {
    "mmap": (9, 222), "mprotect": (10, 226), "munmap": (11, 215), "mremap": (25, 216), "brk": (12, 214),
}  # fmt: skip
_OWN_SIGNALS = {
    "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139), "rt_sigtimedwait": (128, 137),
    "rt_sigpending": (127, 136), "rt_sigsuspend": (130, 133), "sigaltstack": (131, 132), "pause": (34, None),
    "restart_syscall": (219, 128), "getitimer": (36, 102), "setitimer": (38, 103), "alarm": (37, None),
}  # fmt: skip
_TIME = {
    "nanosleep": (35, 101), "gettimeofday": (96, 169), "time": (201, None), "times": (100, 153),
}  # fmt: skip
_SELF = {
    "getpid": (39, 172), "getppid": (110, 173), "gettid": (186, 178), "getuid": (102, 174), "geteuid": (107, 175),
    "getgid": (104, 176), "getegid": (108, 177), "getrlimit": (97, 163), "getrusage": (98, 165), "uname": (63, 160),
    "sysinfo": (99, 179), "getcpu": (309, 168), "getrandom": (318, 278), "exit": (60, 93), "exit_group": (231, 94),
}  # fmt: skip
_LOCKS = {
    "futex": (202, 98), "set_robust_list": (273, 99), "rseq": (334, 293), "set_tid_address": (218, 96),
    "arch_prctl": (158, None), "sched_yield": (24, 124),
}  # fmt: skip
HARMLESS = {**_READING, **_PLUMBING, **_MEMORY, **_OWN_SIGNALS, **_TIME, **_SELF, **_LOCKS}
"""Calls that reach nothing beyond the process, its open files and what it may read: the number on each architecture."""
DELICATE = {
    "open": (2, None), "openat": (257, 56), "openat2": (437, 437), "madvise": (28, 233), "prlimit64": (302, 261),
    "sched_getaffinity": (204, 123), "clock_gettime": (228, 113), "clock_getres": (229, 114),
    "clock_nanosleep": (230, 115), "ioctl": (16, 29), "fcntl": (72, 25),
}  # fmt: skip
"""Calls whose harm depends on their arguments."""
_LAYERS_OWN = {
    "landlock_create_ruleset": (444, 444), "landlock_add_rule": (445, 445),
    "landlock_restrict_self": (446, 446),
}  # fmt: skip
_CAPABILITY_VERSION_3 = 0x20080522
_NUMBERS = {**HARMLESS, **DELICATE, **_LAYERS_OWN}


Argument = int | bytes | ctypes.Structure | None


class _CapabilityHeader(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Capabilities(ctypes.Structure):
    _fields_ = (("words", ctypes.c_uint32 * 6),)


def number(call: str) -> int | None:
    """A system call's number on this machine; None where it has no such call, or its numbers are not written here."""
    machine = platform.machine()
    return _NUMBERS[call][ARCHITECTURES.index(machine)] if machine in ARCHITECTURES else None


@dataclass(frozen=True)
class Call:
    """A call of the C library's with its arguments laid out; made, it raises OSError as the kernel answers.

    A process that was just forked copies each page that it writes to, and Python writes to all that it looks at: what
    is laid out before the fork costs the child a tenth of what it costs to be put together there.
    """

    name: str
    _function: Callable[..., int]
    _arguments: tuple[object, ...]

    def __call__(self) -> int:
        """Make it."""
        result = self._function(*self._arguments)
        if result < 0:
            code = ctypes.get_errno()
            raise OSError(code, f"{self.name}: {os.strerror(code)}")
        return result


def prepared(function: str, *arguments: Argument) -> Call:
    """A call of a function of the C library's."""
    return Call(function, getattr(_libc(), function), tuple(map(_as_register, arguments)))


def prepared_syscall(call: str, *arguments: Argument) -> Call:
    """A system call that libc has no name for; raises OSError where its number is not known."""
    if (at := number(call)) is None:
        raise OSError(f"no {call} on {platform.machine()}")
    return replace(prepared("syscall", at, *arguments), name=call)


def prepared_prctl(option: int, *arguments: Argument) -> Call:
    """A call of prctl(2)."""
    return prepared("prctl", option, *arguments, *[0] * (4 - len(arguments)))


def prepared_fork() -> Call:
    """A call of fork(2), for a process of one thread: Python's own then mends in the child, for a fifth of what an
    evaluation costs, what other threads could have left half done."""
    return prepared("fork")


def trim_memory() -> None:
    """malloc_trim(3): give back what is free, where the C library can."""
    if trim := getattr(_libc(), "malloc_trim", None):
        trim(0)


def syscall(call: str, *arguments: Argument) -> int:
    """Make a system call that libc has no name for; raises OSError as the kernel answers."""
    return prepared_syscall(call, *arguments)()


def prctl(option: int, *arguments: Argument) -> int:
    """prctl(2); raises OSError."""
    return prepared_prctl(option, *arguments)()


def unshare(flags: int) -> None:
    """unshare(2); raises OSError."""
    prepared("unshare", flags)()


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    """mount(2); raises OSError."""
    prepared("mount", source.encode(), target.encode(), kind.encode(), flags, data.encode())()


def prepared_to_drop_capabilities() -> Call:
    """A call that gives up all of capabilities(7), for good where no program can be started."""
    return prepared("capset", _CapabilityHeader(_CAPABILITY_VERSION_3, 0), _Capabilities())


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _as_register(argument: Argument) -> object:
    """Whole numbers fill a register (ctypes would cut them to 32 bits), structures are passed by address."""
    if isinstance(argument, int):
        return ctypes.c_long(argument)
    return ctypes.byref(argument) if isinstance(argument, ctypes.Structure) else argument
