"""The seccomp filters of evaluations and of the nursery: listed system calls are refused, all others are allowed.

The first profile lists what is allowed. Compilers, shells and libraries make too many calls for that, so this profile
refuses what `kernel` lists as RISKY, UNCHARGED and ENCLOSING, and some others with some arguments.
"""

from __future__ import annotations

import socket

from behavesim.sandbox import kernel, namespaces, seccomp

_NEW_NAMESPACES = 0x7E020080
"""The flags of clone(2) for namespaces: mounts, control groups, hostname, IPC, users, processes, network, time."""


def program(may_connect: bool) -> bytes:
    """Return the filter of evaluations as BPF code; raises OSError if the machine's system call numbers are not known.

    Only sockets of the family AF_UNIX can be made. `may_connect` is whether connect(2) is allowed: an evaluation in a
    root folder and a network of its own can connect to no other program.
    """
    refused = (*kernel.ENCLOSING, *(() if may_connect else ("connect",)))
    return seccomp.compiled({**_common(), **dict.fromkeys(refused, (seccomp.REFUSE,))}, otherwise=(seccomp.GRANT,))


def nursery_program() -> bytes:
    """Return the filter of the process that loads an evaluator, as BPF code; raises OSError as `program`.

    It allows connect(2), mounts, and what `unshare` and `setns` need to isolate the children that it forks.
    """
    enclosing = {
        "unshare": seccomp.one_of(0, (namespaces.NEW_PIDS, namespaces.NEW_MOUNTS | namespaces.NEW_IPC)),
        "setns": seccomp.one_of(1, (namespaces.NEW_PIDS,)),
    }
    return seccomp.compiled({**_common(), **enclosing}, otherwise=(seccomp.GRANT,))


def _common() -> dict[str, seccomp.Answer]:
    """Return the answers of both filters, by call."""
    only_local = seccomp.one_of(0, (socket.AF_UNIX,))
    return {
        **dict.fromkeys(kernel.RISKY, (seccomp.REFUSE,)),
        # as a kernel that lacks them: libraries then use other calls, and files below /dev/shm as shared memory
        **dict.fromkeys(kernel.UNCHARGED, (seccomp.UNKNOWN,)),
        "clone": (seccomp.argument(0), (seccomp.IF_ANY_BIT, 0, 1, _NEW_NAMESPACES), seccomp.REFUSE, seccomp.GRANT),
        "clone3": (seccomp.UNKNOWN,),  # its flags lie in memory, which a filter cannot read; libraries then use clone
        "socket": only_local,
        "socketpair": only_local,
    }
