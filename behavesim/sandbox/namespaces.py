"""Linux namespaces: an empty network, no view of other processes, and rights that have no effect outside.

Evaluations get a root folder of their own there: only listed files exist in it, and only SCRATCH can be written to.
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
import signal
import socket
import stat
import struct
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path

from behavesim.base.errors import SandboxError
from behavesim.sandbox import kernel, processes
from behavesim.sandbox.limits import MEGABYTE

NEW_MOUNTS, NEW_UTS, NEW_IPC, NEW_USER, NEW_PIDS, NEW_NET = (
    0x00020000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000,
)  # fmt: skip
"""Flags of clone(2) for new namespaces: of mounts, host name, shared memory by name, users, processes, network."""
# The machine's name inside the namespaces.
HOSTNAME = "sandbox"
# Folders that `enter` covers, so that they are empty and read-only; one that does not exist is skipped.
#
# Outside, /proc has the kernel's data on processes, and /dev/shm the memory that processes share by name.
COVERED = ("/proc", "/dev/shm")
_PRIVATE, RECURSIVE = 1 << 18, 1 << 14
"""Flags of mount(2): later mounts show in this namespace only; act on all mounts below, too."""
READ_ONLY, NO_SETUID, NO_DEVICES, _NO_EXECUTION = 1, 2, 4, 8
"""Flags of mount(2): nothing can be written; programs get no rights of their owners; no devices; no programs start."""


def enter() -> int:
    """Enter new namespaces of mounts, host name, shared memory, users, processes and network, and cover COVERED.

    Returns a descriptor of the new namespace of processes. Only a child process returns, as process 1 of that; the
    calling process waits for it and exits with it. Raises OSError in the calling process if the machine forbids a step.
    """
    try_in_child(_rehearse)
    return enter_untried()


def _rehearse() -> None:
    own = enter_untried()
    next_child_alone()()
    next_child_as_usual(own)()


def next_child_alone() -> kernel.Call:
    """Return a prepared call after which this process's next child is process 1 of a new namespace of processes."""
    return kernel.prepare_call("unshare", NEW_PIDS)


def next_child_as_usual(own: int) -> kernel.Call:
    """Return a prepared call that undoes `next_child_alone`; `own` is a descriptor of this process's own namespace."""
    return kernel.prepare_call("setns", own, NEW_PIDS)


def enter_untried() -> int:
    """Do what `enter` does, but without the trial: if it raises OSError, earlier steps are done."""
    own = _move(NEW_USER | NEW_MOUNTS | NEW_UTS | NEW_IPC | NEW_NET | NEW_PIDS, Path("/proc/self"))
    socket.sethostname(HOSTNAME)
    # what is mounted below shows in this namespace only
    mount("none", "/", "none", _PRIVATE | RECURSIVE)
    for folder in COVERED:
        if Path(folder).is_dir():
            mount_memory(folder, READ_ONLY | NO_SETUID | NO_DEVICES | _NO_EXECUTION, size=4096, entries=2)
    return own


def mount_memory(folder: str, flags: int, size: int, entries: int, mode: str = "755") -> None:
    """Mount an empty folder in memory for `size` bytes and `entries` files and folders; raises OSError if it fails."""
    # the number, too: an empty file has no bytes, and takes the kernel 1 kB that is charged to no process
    mount("tmpfs", folder, "tmpfs", flags, f"size={size},nr_inodes={entries},mode={mode}")


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    """Mount a file system of type `kind` by mount(2), with `flags` such as READ_ONLY and its own options `data`."""
    kernel.prepare_call("mount", source.encode(), target.encode(), kind.encode(), flags, data.encode())()


def nest(proc: int) -> int:
    """Enter further namespaces of users, mounts and processes; return a descriptor of the new one of processes.

    Only a child process returns, as from `enter`. There, earlier mounts can be neither changed nor removed. `proc` is a
    descriptor of a writable /proc. Raises OSError if the machine forbids a step; earlier ones are then done.
    """
    return _move(NEW_USER | NEW_MOUNTS | NEW_PIDS, Path(f"/proc/self/fd/{proc}/self"))


def _move(kinds: int, about: Path) -> int:
    # `about` is /proc/self, in a /proc that can be written to. Only a child process returns, with a descriptor of its
    # namespace of processes.
    uid, gid = os.geteuid(), os.getegid()
    kernel.prepare_prctl(kernel.PR_SET_DUMPABLE, 1)()  # otherwise, after a change of user, root owns the files below
    kernel.prepare_call("unshare", kinds)()
    (about / "setgroups").write_text("deny")  # the kernel demands it before a group is mapped
    (about / "uid_map").write_text(f"{uid} {uid} 1")
    (about / "gid_map").write_text(f"{gid} {gid} 1")
    _continue_inside()
    return os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)


def _continue_inside() -> None:
    """Fork, and return only in the child; the calling process waits for it and exits with its exit code."""
    # The child is process 1 of the new namespace: when it dies, the kernel kills all processes in it. If a signal ends
    # the child, the exit code is the signal's number.
    inside = os.fork()
    if inside == 0:
        processes.die_with_parent(signal.SIGKILL)
        return
    os.closerange(3, 1 << 16)  # so that the zygote's socket closes when the zygote itself ends
    _, status = os.waitpid(inside, 0)
    os._exit(abs(os.waitstatus_to_exitcode(status)))


def try_in_child(steps: Callable[[], object]) -> None:
    """Take `steps` in a forked child, which may enter namespaces; raises OSError, with advice, if one fails."""
    # a step that fails half-way cannot be undone, so a process tries all of them in a child first
    ours, theirs = os.pipe()
    trial = os.fork()
    if trial == 0:
        code = 1
        try:
            steps()
            code = 0
        except OSError as error:
            about = f": {error.filename}" if error.filename else ""
            os.write(theirs, f"{error.errno or 0} {error.strerror or error}{about}".encode())
        finally:
            os._exit(code)
    os.close(theirs)
    with open(ours, "rb") as reading:  # noqa: PTH123 (a descriptor)
        number, _, said = reading.read().decode().partition(" ")
    if os.waitpid(trial, 0)[1]:
        raise OSError(int(number or 0), _why_not(int(number or 0), said))


def _why_not(number: int, said: str) -> str:
    if number in (errno.ENOSPC, errno.EUSERS):
        with contextlib.suppress(OSError):
            most = Path("/proc/sys/user/max_user_namespaces").read_text().strip()
            return f"no user namespaces here (user.max_user_namespaces is {most})"
    if number in (errno.EPERM, errno.EACCES):
        return (
            f"no user namespaces here ({said}; see kernel.unprivileged_userns_clone, "
            "kernel.apparmor_restrict_unprivileged_userns, or the profile of the container)"
        )
    return f"no namespaces here ({said or 'a trial of them was killed'})"


# Programs and libraries of the machine, so that an evaluator can start compilers and other tools.
SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt"),
    *("/etc/alternatives", "/etc/fonts", "/etc/group", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d"),
    *("/etc/localtime", "/etc/nsswitch.conf", "/etc/passwd"),
)
# The devices that programs expect. None of them holds data of other processes, or passes data on to them.
DEVICES = ("/dev/full", "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero")
# The folders that an evaluation can write to: its temporary files, and memory that its processes share by name.
SCRATCH = ("/tmp", "/dev/shm")
# Folders of SYSTEM in which people install programs by hand, some of them with keys beside their code.
SHARED = ("/opt", "/usr/local")
# Levels below each of SHARED at which `unreadable` looks for keys; looking through all of /opt can take seconds.
SHARED_DEPTH = 3
# Names of files that hold passwords for package indexes and clouds, besides hidden ones such as .netrc and .pypirc.
KEY_FILES = frozenset(
    ("pip.conf", "pip.ini", "uv.toml", "condarc", "netrc", "_netrc", "npmrc", "credentials", "credentials.json")
)
# Most files and folders that `secrets` looks at, which takes about a second; a larger folder is refused.
MOST_ENTRIES = 1_000_000
# Most files and folders in each folder of SCRATCH: enough to unpack a data set, and 70 MB of the kernel's memory.
SCRATCH_ENTRIES = 1 << 16
_BIND, _REMOUNT = 1 << 12, 1 << 5
"""Flags of mount(2): show a folder or file in a second place; change the flags of a mount."""
# The flag of umount2(2) with which a mount may still be in use.
_DETACH = 2
_HERE, _WITH_ALL_BELOW = -100, 0x8000
"""Arguments of mount_setattr(2): paths start in this process's folder; what is mounted below a path changes, too."""


def check_devices(devices: Iterable[Path]) -> None:
    """Raise SandboxError for a path that is no device which an evaluation may use, such as a GPU's."""
    for path in devices:
        try:
            about = path.stat()
        except OSError as error:
            raise SandboxError(
                f"the device {path} cannot be used: {error.strerror}; change the setting devices"
            ) from error
        # block devices are disks, and devices of the kernel's own kind 1 include the machine's memory
        if not path.is_absolute() or not stat.S_ISCHR(about.st_mode) or os.major(about.st_rdev) == 1:
            raise SandboxError(f"{path} is no device that evaluations may use; name such as /dev/nvidia0 in devices")


def unreadable(folders: Iterable[Path]) -> Iterator[Path]:
    """Yield the `secrets` in these folders at any depth, and in SHARED at SHARED_DEPTH levels; raises as it does."""
    for folder in folders:
        yield from secrets(folder)
    for shared in SHARED:
        yield from secrets(Path(shared), SHARED_DEPTH)


def is_key(name: str, is_file: bool) -> bool:
    """Whether a file or folder of this name may hold keys: it is hidden, or one of KEY_FILES."""
    return name.startswith(".") or (is_file and name in KEY_FILES)


def secrets(folder: Path, depth: float = math.inf) -> Iterator[Path]:
    """Yield the paths at most `depth` levels below a folder that evaluations must not see: keys, sockets and pipes.

    Hidden folders and links are not entered, and folders that this process may not list are skipped. Raises
    SandboxError if there are more than MOST_ENTRIES files and folders.
    """
    waiting, looked_at = [(folder, 1)], 0
    while waiting:
        place, level = waiting.pop()
        with contextlib.suppress(FileNotFoundError, NotADirectoryError, PermissionError), os.scandir(place) as entries:
            for entry in entries:
                looked_at += 1
                is_file, is_folder = entry.is_file(follow_symlinks=False), entry.is_dir(follow_symlinks=False)
                # a socket or pipe leads to another program, even through a read-only folder
                if is_key(entry.name, not is_folder) or not (is_file or is_folder or entry.is_symlink()):
                    yield Path(entry.path)
                elif is_folder and level < depth:
                    waiting.append((Path(entry.path), level + 1))
        # what was not looked at might be readable
        if looked_at > MOST_ENTRIES:
            raise SandboxError(
                f"{folder} has more than {MOST_ENTRIES:,} files, too many to look for keys among them; "
                "put the evaluator into a folder of its own"
            )


def enter_root(readable: Iterable[Path], hidden: Iterable[Path]) -> int:
    """Make a new read-only root folder with SYSTEM, DEVICES and `readable` at their own paths, and move into it.

    The process must have entered namespaces. Paths that do not exist are skipped. A readable path at or below a
    `hidden` one is shown, with all in it, if it is also below another readable path. Returns a descriptor of a writable
    /proc. Raises OSError if the machine forbids a step, SandboxError for a path that is not absolute.
    """
    place = Path("/proc")  # the folder that surely exists and holds nothing to be shown
    # each file and folder that is shown takes an entry, and an empty folder or file takes no more
    mount_memory(str(place), NO_SETUID | NO_DEVICES, MEGABYTE, MOST_ENTRIES)
    kept = sorted({*map(Path, SYSTEM), *map(Path, DEVICES), *readable})
    without = {path.resolve() for path in hidden}
    for path in kept:
        above = next((other for other in kept if other in path.parents and not other.is_symlink()), None)
        if path.exists() and (above is None or without.intersection((path, *path.parents))):
            _show(path, place, set() if above else without)
    for folder in (*SCRATCH, "/proc"):
        _inside(place, Path(folder)).mkdir(parents=True, exist_ok=True)
    proc = str(_inside(place, Path("/proc")))
    mount("proc", proc, "proc", NO_SETUID | NO_DEVICES)
    writable = os.open(proc, os.O_PATH | os.O_DIRECTORY)
    kernel.prepare_syscall("umount2", proc.encode(), _DETACH)()
    # read-only: root may change the whole machine's settings there. An existing proc is what lets each evaluation mount
    # one of its own.
    mount("proc", proc, "proc", READ_ONLY | NO_SETUID | NO_DEVICES)
    os.chdir(place)
    kernel.prepare_syscall("pivot_root", b".\0", b".\0")()
    kernel.prepare_syscall("umount2", b".\0", _DETACH)()
    os.chdir("/")
    mount("none", "/", "none", _REMOUNT | READ_ONLY | NO_SETUID | NO_DEVICES)
    return writable


def enter_scratch(size_mb: int, readable: Iterable[Path], has_own_processes: bool = True) -> None:
    """Give this process empty SCRATCH folders of `size_mb` MB each; `readable` paths below them stay visible.

    With `has_own_processes`, in a new namespace of processes, it gets a /proc that shows only these. Raises OSError if
    the machine forbids a step.
    """
    kernel.prepare_call("unshare", NEW_MOUNTS | NEW_IPC)()
    paths = set(readable)
    highest = (path for path in sorted(paths) if paths.isdisjoint(path.parents))
    covered = [(os.open(path, os.O_PATH), path) for path in highest if any(map(path.is_relative_to, SCRATCH))]
    for folder in SCRATCH:
        mount_memory(folder, NO_SETUID | NO_DEVICES, size_mb * MEGABYTE, SCRATCH_ENTRIES, "1777")
    for fd, path in covered:
        _make(path, stat.S_ISDIR(os.fstat(fd).st_mode))
        mount(f"/proc/self/fd/{fd}", str(path), "none", _BIND | RECURSIVE)
        os.close(fd)
    if has_own_processes:
        mount("proc", "/proc", "proc", READ_ONLY | NO_SETUID | NO_DEVICES)


def _show(path: Path, place: Path, hidden: Collection[Path]) -> None:
    """Bind a path read-only to the same path below `place`, without `hidden` paths; symbolic links are copied."""
    # a folder with a hidden path below is bound entry by entry: the path does not exist, even if it is made later
    inside = _inside(place, path)
    if path in hidden:
        return
    if path.is_symlink():
        inside.parent.mkdir(parents=True, exist_ok=True)
        inside.symlink_to(path.readlink())
    elif any(path in each.parents for each in hidden):
        inside.mkdir(parents=True, exist_ok=True)
        if not os.access(path, os.R_OK | os.X_OK):
            return  # root looked into it for keys, and this process is no longer root: no program could read it either
        for child in path.iterdir():
            try:
                _show(child, place, hidden)
            except FileNotFoundError:
                # others may work in that folder: what they delete meanwhile is no fault of the machine
                if os.path.lexists(child):
                    raise
    else:
        _bind(path, inside)


def _bind(path: Path, inside: Path) -> None:
    """Show a file or folder, with all mounts below it, read-only at the path `inside`."""
    _make(inside, path.is_dir())
    mount(str(path), str(inside), "none", _BIND | RECURSIVE)
    # other file systems may be mounted below the path; a remount would leave these as they are
    attributes = struct.pack("=QQQQ", READ_ONLY | NO_SETUID, 0, 0, 0)  # `struct mount_attr`
    kernel.prepare_syscall(
        "mount_setattr", _HERE, f"{inside}\0".encode(), _WITH_ALL_BELOW, attributes, len(attributes)
    )()


def _make(path: Path, is_folder: bool) -> None:
    """Make an empty folder or file, unless it exists, and the folders above it: a target for a mount."""
    if is_folder:
        path.mkdir(parents=True, exist_ok=True)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def _inside(place: Path, path: Path) -> Path:
    if not path.is_absolute():
        raise SandboxError(f"a path in the sandbox must be absolute, not {path}")
    return place / path.relative_to("/")
