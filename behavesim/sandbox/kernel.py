"""System calls of Linux that the layers need, through the C library: Python has no functions for most of them."""

from __future__ import annotations

import ctypes
import functools
import os
import platform
from collections.abc import Callable
from dataclasses import dataclass, replace

ARCHITECTURES = ("x86_64", "aarch64")
"""The machines whose call numbers are listed here, in the order of each pair of numbers below."""

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
"""Calls that affect nothing except the process and its open files, and the number of each per architecture."""
DELICATE = {
    "open": (2, None), "openat": (257, 56), "openat2": (437, 437), "madvise": (28, 233), "prlimit64": (302, 261),
    "sched_getaffinity": (204, 123), "clock_gettime": (228, 113), "clock_getres": (229, 114),
    "clock_nanosleep": (230, 115), "ioctl": (16, 29), "fcntl": (72, 25),
}  # fmt: skip
"""Calls that are harmless only with some arguments, and the number of each per architecture."""
_LAYERS_OWN = {
    "landlock_create_ruleset": (444, 444), "landlock_add_rule": (445, 445),
    "landlock_restrict_self": (446, 446),
}  # fmt: skip
PR_SET_DUMPABLE = 4
"""The option of prctl(2) that says whether other processes of the user may read this one's memory."""
_CAPABILITY_VERSION_3 = 0x20080522
_NUMBERS = {**HARMLESS, **DELICATE, **_LAYERS_OWN}


Argument = int | bytes | ctypes.Structure | None
"""An argument of a C function; structures are passed by address."""


class _CapabilityHeader(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Capabilities(ctypes.Structure):
    _fields_ = (("words", ctypes.c_uint32 * 6),)


def call_number(call: str) -> int | None:
    """Return the number of a system call on this machine.

    None if this architecture does not have the call, or is not one of ARCHITECTURES. Raises KeyError for a call that is
    not listed in this module.
    """
    machine = platform.machine()
    return _NUMBERS[call][ARCHITECTURES.index(machine)] if machine in ARCHITECTURES else None


@dataclass(frozen=True)
class Call:
    """A prepared call of a C function, with its arguments already converted.

    Python writes to every object that it uses, and a forked process copies each page that it writes to. A call prepared
    before the fork costs the child a tenth of one prepared in it.
    """

    name: str
    _function: Callable[..., int]
    _arguments: tuple[object, ...]

    def __call__(self) -> int:
        """Make the call and return its result; raises OSError if that is negative."""
        result = self._function(*self._arguments)
        if result < 0:
            code = ctypes.get_errno()
            raise OSError(code, f"{self.name}: {os.strerror(code)}")
        return result


def prepared(function: str, *arguments: Argument) -> Call:
    """Return a prepared call of a function of the C library; raises AttributeError if the library lacks it."""
    return Call(function, getattr(_libc(), function), tuple(map(_as_register, arguments)))


def prepared_syscall(call: str, *arguments: Argument) -> Call:
    """Return a prepared system call, by number; raises OSError if this machine's number is not known."""
    if (at := call_number(call)) is None:
        raise OSError(f"no {call} on {platform.machine()}")
    return replace(prepared("syscall", at, *arguments), name=call)


def prepared_prctl(option: int, *arguments: Argument) -> Call:
    """Return a prepared call of prctl(2)."""
    return prepared("prctl", option, *arguments, *[0] * (4 - len(arguments)))


def prepared_fork() -> Call:
    """Return a prepared call of fork(2), for a process with one thread only.

    `os.fork` also repairs in the child what other threads may have left unfinished, which takes a fifth of the time of
    an evaluation.
    """
    return prepared("fork")


def trim_memory() -> None:
    """Return free memory to the system by malloc_trim(3); does nothing if the C library lacks it."""
    if trim := getattr(_libc(), "malloc_trim", None):
        trim(0)


def syscall(call: str, *arguments: Argument) -> int:
    """Make a system call by number and return its result; raises OSError if it fails or its number is not known."""
    return prepared_syscall(call, *arguments)()


def prctl(option: int, *arguments: Argument) -> int:
    """Call prctl(2) and return its result; raises OSError if it fails."""
    return prepared_prctl(option, *arguments)()


def unshare(flags: int) -> None:
    """Move this process to new namespaces by unshare(2); `flags` say which kinds. Raises OSError if it fails."""
    prepared("unshare", flags)()


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    """Mount a file system of type `kind` at `target` by mount(2); raises OSError if it fails."""
    prepared("mount", source.encode(), target.encode(), kind.encode(), flags, data.encode())()


def prepared_to_drop_capabilities() -> Call:
    """Return a prepared call that gives up all capabilities(7) of this process.

    They cannot come back unless the process can start another program.
    """
    return prepared("capset", _CapabilityHeader(_CAPABILITY_VERSION_3, 0), _Capabilities())


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _as_register(argument: Argument) -> object:
    """Return an argument for ctypes: integers with 64 bits (ctypes would cut them to 32), structures by address."""
    if isinstance(argument, int):
        return ctypes.c_long(argument)
    return ctypes.byref(argument) if isinstance(argument, ctypes.Structure) else argument
