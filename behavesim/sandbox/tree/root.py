"""A root folder for evaluations: only listed files exist in it, and only the folders SCRATCH can be written to."""

from __future__ import annotations

import contextlib
import math
import os
import stat
import struct
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from behavesim.base.errors import SandboxError
from behavesim.sandbox import kernel, namespaces
from behavesim.sandbox.limits import MEGABYTE
from behavesim.sandbox.namespaces import NO_DEVICES, NO_SETUID, READ_ONLY, RECURSIVE, mount, mount_memory

SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt"),
    *("/etc/alternatives", "/etc/fonts", "/etc/group", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d"),
    *("/etc/localtime", "/etc/nsswitch.conf", "/etc/passwd"),
)
"""Programs and libraries of the machine, so that an evaluator can start compilers and other tools."""
DEVICES = ("/dev/full", "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero")
"""The devices that programs expect. None of them holds data of other processes, or passes data on to them."""
SCRATCH = ("/tmp", "/dev/shm")
"""The folders that an evaluation can write to: its temporary files, and memory that its processes share by name."""
SHARED = ("/opt", "/usr/local")
"""Folders of SYSTEM in which people install programs by hand, some of them with keys beside their code."""
SHARED_DEPTH = 3
"""Levels below each of SHARED at which `unreadable` looks for keys; looking through all of /opt can take seconds."""
KEY_FILES = frozenset(
    ("pip.conf", "pip.ini", "uv.toml", "condarc", "netrc", "_netrc", "npmrc", "credentials", "credentials.json")
)
"""Names of files that hold passwords for package indexes and clouds, besides hidden ones such as .netrc and .pypirc."""
MOST_ENTRIES = 1_000_000
"""Most files and folders that `secrets` looks at, which takes about a second; a larger folder is refused."""
SCRATCH_ENTRIES = 1 << 16
"""Most files and folders in each folder of SCRATCH: enough to unpack a data set, and 70 MB of the kernel's memory."""
_BIND, _REMOUNT = 1 << 12, 1 << 5
"""Flags of mount(2): show a folder or file in a second place; change the flags of a mount."""
_DETACH = 2
"""The flag of umount2(2) with which a mount may still be in use."""
_HERE, _WITH_ALL_BELOW = -100, 0x8000
"""Arguments of mount_setattr(2): paths start in this process's folder; what is mounted below a path changes, too."""


def check_devices(devices: Iterable[Path]) -> None:
    """Raise SandboxError for a path that is no device which an evaluation may use, such as a GPU's.

    Block devices are disks, and devices of the kernel's own kind 1 include the machine's memory.
    """
    for path in devices:
        try:
            about = path.stat()
        except OSError as error:
            raise SandboxError(
                f"the device {path} cannot be used: {error.strerror}; change the setting devices"
            ) from error
        if not path.is_absolute() or not stat.S_ISCHR(about.st_mode) or os.major(about.st_rdev) == 1:
            raise SandboxError(f"{path} is no device that evaluations may use; name such as /dev/nvidia0 in devices")


def unreadable(folders: Iterable[Path]) -> Iterator[Path]:
    """Yield the `secrets` in these folders, which hold people's own files, at any depth, and in SHARED.

    Of SHARED it looks at SHARED_DEPTH levels. Raises SandboxError as `secrets` does.
    """
    for folder in folders:
        yield from secrets(folder)
    for shared in SHARED:
        yield from secrets(Path(shared), SHARED_DEPTH)


def is_key(name: str, is_file: bool) -> bool:
    """Whether a file or folder of this name may hold keys: it is hidden, or one of KEY_FILES."""
    return name.startswith(".") or (is_file and name in KEY_FILES)


def secrets(folder: Path, depth: float = math.inf) -> Iterator[Path]:
    """Yield the paths at most `depth` levels below a folder that evaluations must not see: keys, sockets and pipes.

    A socket leads to another program even through a read-only folder. Hidden folders are yielded but not entered, as
    are links, and folders that this process may not list are skipped. Raises SandboxError if there are more than
    MOST_ENTRIES files and folders.
    """
    waiting, looked_at = [(folder, 1)], 0
    while waiting:
        place, level = waiting.pop()
        with contextlib.suppress(FileNotFoundError, NotADirectoryError, PermissionError), os.scandir(place) as entries:
            for entry in entries:
                looked_at += 1
                is_file, is_folder = entry.is_file(follow_symlinks=False), entry.is_dir(follow_symlinks=False)
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


def enter(readable: Iterable[Path], hidden: Iterable[Path]) -> int:
    """Make a new read-only root folder with SYSTEM, DEVICES and `readable` at their own paths, and move into it.

    The process must have entered namespaces. Paths that do not exist are skipped. A folder with a `hidden` path below
    it is bound entry by entry, so that the hidden path does not exist, even if it is made later. A readable path at or
    below a hidden one is shown, with all in it, if it is also below another readable path. /proc is read-only: root may
    change the whole machine's settings there. Returns a descriptor of another /proc that can be written to. Raises
    OSError if the machine forbids a step, SandboxError for a path that is not absolute.
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
    kernel.prepared_syscall("umount2", proc.encode(), _DETACH)()
    # an existing proc is what lets each evaluation mount one of its own
    mount("proc", proc, "proc", READ_ONLY | NO_SETUID | NO_DEVICES)
    os.chdir(place)
    kernel.prepared_syscall("pivot_root", b".\0", b".\0")()
    kernel.prepared_syscall("umount2", b".\0", _DETACH)()
    os.chdir("/")
    mount("none", "/", "none", _REMOUNT | READ_ONLY | NO_SETUID | NO_DEVICES)
    return writable


def enter_scratch(size_mb: int, readable: Iterable[Path], has_own_processes: bool = True) -> None:
    """Give this process empty SCRATCH folders to write to, which hold `size_mb` MB each and are seen by it alone.

    Each takes SCRATCH_ENTRIES files and folders at most. `readable` paths below them stay visible. `has_own_processes`
    is whether the process is in a new namespace of processes; it then gets a /proc that shows only these. Raises
    OSError if the machine forbids a step.
    """
    kernel.prepared("unshare", namespaces.NEW_MOUNTS | namespaces.NEW_IPC)()
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
    inside = _inside(place, path)
    if path in hidden:
        return
    if path.is_symlink():
        inside.parent.mkdir(parents=True, exist_ok=True)
        inside.symlink_to(path.readlink())
    elif any(path in each.parents for each in hidden):
        inside.mkdir(parents=True, exist_ok=True)
        for child in path.iterdir():
            _show(child, place, hidden)
    else:
        _bind(path, inside)


def _bind(path: Path, inside: Path) -> None:
    """Show a file or folder, with all mounts below it, read-only at the path `inside`."""
    _make(inside, path.is_dir())
    mount(str(path), str(inside), "none", _BIND | RECURSIVE)
    # other file systems may be mounted below the path; a remount would leave these as they are
    attributes = struct.pack("=QQQQ", READ_ONLY | NO_SETUID, 0, 0, 0)  # `struct mount_attr`
    kernel.prepared_syscall(
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
    """Return an absolute path below the new root `place`; raises SandboxError if it is not absolute."""
    if not path.is_absolute():
        raise SandboxError(f"a path in the sandbox must be absolute, not {path}")
    return place / path.relative_to("/")
