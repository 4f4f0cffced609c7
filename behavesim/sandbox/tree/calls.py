"""The seccomp filters of evaluations and of the nursery: listed system calls are refused, all others are allowed.

The first profile lists what is allowed. Compilers, shells and libraries make too many calls for that, so this profile
lists what is refused. Those calls are for administrators, or have a long history of faults in the kernel. Some take
memory that no process is charged for, or take from what all programs of a user share.
"""

from __future__ import annotations

import socket

from behavesim.sandbox import namespaces, seccomp

_NEW_NAMESPACES = 0x7E020080
"""The flags of clone(2) for namespaces: mounts, control groups, hostname, IPC, users, processes, network, time."""
_ALWAYS = (
    *("pivot_root", "chroot", "fsopen", "fsconfig", "fsmount", "fspick", "move_mount"),
    *("open_tree", "mount_setattr", "swapon", "swapoff", "quotactl", "acct", "reboot", "kexec_load"),
    *("kexec_file_load", "init_module", "finit_module", "delete_module", "bpf", "perf_event_open", "userfaultfd"),
    *("keyctl", "add_key", "request_key", "io_uring_setup", "io_uring_enter", "io_uring_register"),
    *("open_by_handle_at", "ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd"),
    *("settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "sethostname", "setdomainname", "syslog"),
    *("vhangup", "iopl", "ioperm", "personality", "lookup_dcookie", "nfsservctl", "move_pages", "migrate_pages"),
    *("fanotify_init", "kcmp"),
)
"""Calls that both filters refuse with EPERM, whatever their arguments."""
_MISSING = ("memfd_create", "memfd_secret", "shmget", "msgget", "mq_open", "inotify_init", "inotify_init1")
"""Calls that both filters answer with ENOSYS, as a kernel that lacks them; libraries then use other calls.

All but the last two make memory that belongs to no process, so that no limit sees it; files below /dev/shm serve
instead. A user has 128 inotify instances for all programs.
"""
_ENCLOSING = ("mount", "umount2", "unshare", "setns")
"""Calls that a nursery needs to isolate its children. The children themselves are refused them."""


def program(may_connect: bool) -> bytes:
    """Return the filter of evaluations as BPF code; raises OSError if the machine's system call numbers are not known.

    Only sockets of the family AF_UNIX can be made. `may_connect` is whether connect(2) is allowed: an evaluation in a
    root folder and a network of its own can connect to no other program.
    """
    refused = dict.fromkeys((*_ALWAYS, *_ENCLOSING, *(() if may_connect else ("connect",))), (seccomp.REFUSE,))
    return seccomp.compiled({**refused, **_delicate()}, otherwise=(seccomp.GRANT,))


def nursery_program() -> bytes:
    """Return the filter of the process that loads an evaluator, as BPF code; raises OSError as `program`.

    It allows connect(2), mounts, and what `unshare` and `setns` need to isolate the children that it forks.
    """
    enclosing = {
        "unshare": seccomp.one_of(0, (namespaces.NEW_PIDS, namespaces.NEW_MOUNTS | namespaces.NEW_IPC)),
        "setns": seccomp.one_of(1, (namespaces.NEW_PIDS,)),
    }
    refused = dict.fromkeys(_ALWAYS, (seccomp.REFUSE,))
    return seccomp.compiled({**refused, **_delicate(), **enclosing}, otherwise=(seccomp.GRANT,))


def _delicate() -> dict[str, seccomp.Answer]:
    only_local = seccomp.one_of(0, (socket.AF_UNIX,))
    return {
        **dict.fromkeys(_MISSING, (seccomp.UNKNOWN,)),
        "clone": (seccomp.argument(0), (seccomp.IF_ANY_BIT, 0, 1, _NEW_NAMESPACES), seccomp.REFUSE, seccomp.GRANT),
        "clone3": (seccomp.UNKNOWN,),  # its flags lie in memory, which a filter cannot read; libraries then use clone
        "socket": only_local,
        "socketpair": only_local,
    }
