"""System calls of Linux that the layers need, through the C library: Python has no functions for most of them.

A function named `prepare_…` makes no call. It returns a `Call`, which makes it when it is called.
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import struct
from collections.abc import Callable, Sequence

# The machines whose call numbers are listed here, in the order of each pair of numbers below.
ARCHITECTURES = ("x86_64", "aarch64")

# Calls that affect nothing except the process and its open files, and the number of each per architecture.
#
# Here and below a pair has the numbers on ARCHITECTURES, None where one does not have the call.
ALLOWED = {
    # reading
    "read": (0, 63), "readv": (19, 65), "pread64": (17, 67), "lseek": (8, 62), "close": (3, 57), "fstat": (5, 80),
    "stat": (4, None), "lstat": (6, None), "newfstatat": (262, 79), "statx": (332, 291), "access": (21, None),
    "faccessat": (269, 48), "faccessat2": (439, 439), "readlink": (89, None), "readlinkat": (267, 78),
    "getdents": (78, None), "getdents64": (217, 61), "getcwd": (79, 17),
    # writing to open files, pipes, waiting for files: no new file can be opened for writing
    "write": (1, 64), "writev": (20, 66), "pwrite64": (18, 68), "pipe": (22, None), "pipe2": (293, 59),
    "dup": (32, 23), "dup2": (33, None), "dup3": (292, 24), "select": (23, None), "pselect6": (270, 72),
    "poll": (7, None), "ppoll": (271, 73),
    # memory
    "mmap": (9, 222), "mprotect": (10, 226), "munmap": (11, 215), "mremap": (25, 216), "brk": (12, 214),
    # the process's own signals and timers
    "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139), "rt_sigtimedwait": (128, 137),
    "rt_sigpending": (127, 136), "rt_sigsuspend": (130, 133), "sigaltstack": (131, 132), "pause": (34, None),
    "restart_syscall": (219, 128), "getitimer": (36, 102), "setitimer": (38, 103), "alarm": (37, None),
    # time
    "nanosleep": (35, 101), "gettimeofday": (96, 169), "time": (201, None), "times": (100, 153),
    # what the process is, and its end
    "getpid": (39, 172), "getppid": (110, 173), "gettid": (186, 178), "getuid": (102, 174), "geteuid": (107, 175),
    "getgid": (104, 176), "getegid": (108, 177), "getrlimit": (97, 163), "getrusage": (98, 165), "uname": (63, 160),
    "sysinfo": (99, 179), "getcpu": (309, 168), "getrandom": (318, 278), "exit": (60, 93), "exit_group": (231, 94),
    # what the C library does for threads, also in a process that has one
    "futex": (202, 98), "set_robust_list": (273, 99), "rseq": (334, 293), "set_tid_address": (218, 96),
    "arch_prctl": (158, None), "sched_yield": (24, 124),
}  # fmt: skip
# Calls that are harmless only with some arguments, and the number of each per architecture.
ALLOWED_BY_ARGUMENT = {
    "open": (2, None), "openat": (257, 56), "openat2": (437, 437), "madvise": (28, 233), "prlimit64": (302, 261),
    "sched_getaffinity": (204, 123), "clock_gettime": (228, 113), "clock_getres": (229, 114),
    "clock_nanosleep": (230, 115), "ioctl": (16, 29), "fcntl": (72, 25),
}  # fmt: skip
# Calls for administrators, or with a long history of faults in the kernel; see `seccomp`.
DENIED = {
    "pivot_root": (155, 41), "chroot": (161, 51), "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432),
    "fspick": (433, 433), "move_mount": (429, 429), "open_tree": (428, 428), "mount_setattr": (442, 442),
    "swapon": (167, 224), "swapoff": (168, 225), "quotactl": (179, 60), "acct": (163, 89), "reboot": (169, 142),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "init_module": (175, 105), "finit_module": (313, 273),
    "delete_module": (176, 106), "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218), "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "open_by_handle_at": (304, 265),
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "pidfd_getfd": (438, 438),
    "settimeofday": (164, 170), "clock_settime": (227, 112), "clock_adjtime": (305, 266), "adjtimex": (159, 171),
    "sethostname": (170, 161), "setdomainname": (171, 162), "syslog": (103, 116), "vhangup": (153, 58),
    "iopl": (172, None), "ioperm": (173, None), "personality": (135, 92), "lookup_dcookie": (212, 18),
    "nfsservctl": (180, 42), "move_pages": (279, 239), "migrate_pages": (256, 238), "fanotify_init": (300, 262),
    "kcmp": (312, 272),
}  # fmt: skip
# Calls that take what is charged to no process. All but the last two make memory that no limit sees.
#
# A user has 128 inotify instances for all programs.
UNACCOUNTED = {
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "shmget": (29, 194), "msgget": (68, 186),
    "mq_open": (240, 180), "inotify_init": (253, None), "inotify_init1": (294, 26),
}  # fmt: skip
# Calls that make and enter namespaces, and mount folders in them, and the number of each per architecture.
NAMESPACE_CALLS = {"mount": (165, 40), "umount2": (166, 39), "unshare": (272, 97), "setns": (308, 268)}
# Other calls that layers make, or that a filter refuses with some arguments or in some profiles.
_OTHERS = {
    "landlock_create_ruleset": (444, 444), "landlock_add_rule": (445, 445), "landlock_restrict_self": (446, 446),
    "clone": (56, 220), "clone3": (435, 435), "socket": (41, 198), "socketpair": (53, 199), "connect": (42, 203),
}  # fmt: skip
# The option of prctl(2) that names the signal which the kernel sends this process when its parent dies.
PR_SET_PDEATHSIG = 1
# The option of prctl(2) that sets whether other processes of the user may read this one's memory: 1 or 0.
PR_SET_DUMPABLE = 4
# `struct __user_cap_header_struct`: version 3, and process 0, which means the calling one.
_OWN_CAPABILITIES = struct.pack("=Ii", 0x20080522, 0)
# The bit of the capability to mount, and to make and enter namespaces.
SYS_ADMIN = 1 << 21
_LARGE_BLOCKS, _SMALL_BLOCKS = [1 << power for power in range(16, 10, -1)], range(1032, 8, -16)
"""Sizes (bytes) of the blocks by which free memory of the heap is found, each list from the largest."""
# Distance in bytes below the heap's end from which a block counts as outside the heap.
_LARGEST_HEAP = 1 << 30
# The numbers of all calls in this module.
_NUMBERS = {**ALLOWED, **ALLOWED_BY_ARGUMENT, **DENIED, **UNACCOUNTED, **NAMESPACE_CALLS, **_OTHERS}
# An argument of a C function; structures are passed by address.
Argument = int | bytes | ctypes.Structure | None
# A prepared call of a C function: it makes the call and returns its result, or raises OSError if that is negative.
#
# The arguments are already converted. Python writes to every object that it uses, and a forked process copies each page
# that it writes to. A call prepared before the fork costs the child a tenth of one prepared in it.
Call = Callable[[], int]


def call_number(call: str) -> int | None:
    """Return the number of a system call on this machine; None if it has none, or is not one of ARCHITECTURES.

    Raises KeyError for a call that is not listed in this module.
    """
    machine = platform.machine()
    return _NUMBERS[call][ARCHITECTURES.index(machine)] if machine in ARCHITECTURES else None


def prepare_call(function: str, *arguments: Argument) -> Call:
    """Return a prepared call of a C library function that returns an int; raises AttributeError if there is none."""
    return _checked(function, getattr(_libc(), function), arguments)


def prepare_syscall(call: str, *arguments: Argument) -> Call:
    """Return a prepared system call, by its name; raises OSError and KeyError where `call_number` has no number."""
    if (at := call_number(call)) is None:
        raise OSError(f"no {call} on {platform.machine()}")
    return _checked(call, _libc().syscall, (at, *arguments))


def _checked(name: str, function: Callable[..., int], arguments: Sequence[Argument]) -> Call:
    converted = tuple(map(_as_register, arguments))

    def call() -> int:
        result = function(*converted)
        if result < 0:
            code = ctypes.get_errno()
            raise OSError(code, f"{name}: {os.strerror(code)}")
        return result

    return call


def prepare_prctl(option: int, *arguments: Argument) -> Call:
    """Return a prepared call of prctl(2); of its four arguments, those that are not given are 0."""
    return prepare_call("prctl", option, *arguments, *[0] * (4 - len(arguments)))


def trim_memory() -> None:
    """Return free memory to the system by malloc_trim(3); does nothing if the C library lacks it."""
    if trim := getattr(_libc(), "malloc_trim", None):
        trim(0)


def fill_holes() -> None:
    """Take all free blocks of glibc's heap for good, so that what is allocated later lies together at its end."""
    # libraries leave such blocks all over the heap, and a forked process copies each page that it writes to
    libc = _libc()
    if not hasattr(libc, "malloc_trim"):
        return
    libc.sbrk.restype = libc.malloc.restype = ctypes.c_void_p
    end = libc.sbrk(_as_register(0))
    # small blocks of each size, because glibc keeps them by size; the others are cut from larger ones
    for size in (*_LARGE_BLOCKS, *_SMALL_BLOCKS):
        while 0 < end - (libc.malloc(_as_register(size)) or end) < _LARGEST_HEAP:
            pass


def prepare_capability_drop(kept: int = 0) -> Call:
    """Return a prepared call that gives up all capabilities(7) of this process except the bits in `kept`."""
    # they cannot come back unless the process can start another program
    return prepare_call("capset", _OWN_CAPABILITIES, struct.pack("=III", kept, kept, 0) + bytes(12))


@functools.cache
def _libc() -> ctypes.CDLL:
    """Return the C library, loaded once; its functions keep their error numbers for `ctypes.get_errno`."""
    return ctypes.CDLL(None, use_errno=True)


def _as_register(argument: Argument) -> object:
    """Return an argument for ctypes: integers with 64 bits (ctypes would cut them to 32), structures by address."""
    if isinstance(argument, int):
        return ctypes.c_long(argument)
    return ctypes.byref(argument) if isinstance(argument, ctypes.Structure) else argument
