"""Landlock, and which files and folders it opens: Python, its libraries, and no others.

The kernel lets a process and its children open only files below given folders, most only for reading.
"""

from __future__ import annotations

import contextlib
import os
import struct
import sys
import sysconfig
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from behavesim.sandbox import kernel

# The flag with which landlock_create_ruleset(2) returns the kernel's version of Landlock and makes no rules.
_ASK_VERSION = 1
# The type of a rule about a path and all below it.
_RULE_PATH_BENEATH = 1
EXECUTE, _WRITE_FILE, _READ_FILE, _LIST = 1 << 0, 1 << 1, 1 << 2, 1 << 3
"""The rights to execute, to write and to read files, and to list folders."""
# The rights to read everything below a folder, and to list it; of a file, that to read it.
READ = _READ_FILE | _LIST
# All rights over files and folders.
EVERYTHING = (1 << 16) - 1
# The rights that a rule on a file, and not on a folder, may have; the last is that to truncate.
_RIGHTS_OF_FILES = EXECUTE | _WRITE_FILE | _READ_FILE | 1 << 14
# (version of Landlock, rights over files that it added): the first 13, then rename, truncate and ioctl.
#
# A right that the rules name is forbidden wherever they do not allow it.
_FILE_RIGHTS = ((1, (1 << 13) - 1), (2, 1 << 13), (3, 1 << 14), (5, 1 << 15))
# The rights to bind and to connect TCP sockets, since version 4.
_TCP = (1 << 0) | (1 << 1)
# What may not leave a process and its children: connections to abstract sockets, and signals; since version 6.
_SCOPES = (1 << 0) | (1 << 1)


def restriction(allowed: Iterable[tuple[Path, int]]) -> kernel.Call:
    """Return a prepared call that puts the calling process, and its later children and threads, under rules.

    The rules allow, at and below each path, its rights (bits such as READ), and no others. Newer kernels also forbid
    TCP, and signals and abstract sockets to the outside. Paths that do not exist are skipped.

    Raises OSError if the kernel has no Landlock.
    """
    version = kernel.prepare_syscall("landlock_create_ruleset", None, 0, _ASK_VERSION)()
    known = sum(rights for since, rights in _FILE_RIGHTS if version >= since)
    network, scoped = _TCP if version >= 4 else 0, _SCOPES if version >= 6 else 0
    attributes = struct.pack("=QQQ", known, network, scoped)  # `struct landlock_ruleset_attr`
    size = 24 if version >= 6 else 16 if version >= 4 else 8  # older kernels refuse a longer structure
    rules = kernel.prepare_syscall("landlock_create_ruleset", attributes, size, 0)()
    for path, rights in allowed:
        with contextlib.suppress(FileNotFoundError):
            _allow(rules, path, rights & known & (EVERYTHING if path.is_dir() else _RIGHTS_OF_FILES))
    return kernel.prepare_syscall("landlock_restrict_self", rules, 0)


def readable(paths: Iterable[Path], hidden: Collection[Path]) -> Iterator[tuple[Path, int]]:
    """Yield each (path, rights) to allow, so that files at and below `paths` can be read, but not below `hidden` ones.

    The names in a hidden folder can still be listed, and one of `paths` below it can be read. Of a folder with
    something hidden that this process may not list, nothing is allowed.
    """
    # rules can only allow: of a folder with something hidden, the other entries are allowed one by one
    above = {place for each in hidden for place in (each, *each.parents)}

    def allow(places: Iterable[Path]) -> Iterator[tuple[Path, int]]:
        for path in places:
            if path not in above:
                yield path, READ
            elif path not in hidden:
                yield path, _LIST
                with contextlib.suppress(PermissionError):
                    # a rule for a link would allow its target, which may be elsewhere
                    yield from allow(child for child in path.iterdir() if not child.is_symlink())

    yield from allow(paths)


def _allow(rules: int, path: Path, allowed: int) -> None:
    at = os.open(path, os.O_PATH | os.O_CLOEXEC)
    rule = struct.pack("=Qi", allowed, at)  # `struct landlock_path_beneath_attr`
    try:
        kernel.prepare_syscall("landlock_add_rule", rules, _RULE_PATH_BENEATH, rule, 0)()
    finally:
        os.close(at)


# Files and folders that interpreters and libraries need on most systems.
_SYSTEM = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache", "/dev/urandom")
# Patterns of the files and folders of a Python's root folder that it and the programs beside it use.
_INTERPRETER = (
    *("bin", "include", "lib", "lib32", "lib64", "libexec", "pyvenv.cfg", "sbin", "share", "ssl"),
    "*-linux-gnu",  # conda's compilers
)
_MAY_ENTER, _MAY_READ = 0o001, 0o004
"""Bits of a file's mode: any user may pass through the folder, and read the file."""


def readable_paths() -> tuple[Path, ...]:
    """Return the existing files and folders that a candidate may read, sorted, without those below another of them.

    They are the standard library, site-packages, shared libraries, and the folders of imported packages. Other folders
    of `sys.path` are left out: a project's folder may contain more than code.
    """
    folders = sysconfig.get_paths()
    standard = [folders[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    sites = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages", "lib-dynload")]
    top = [module for name, module in tuple(sys.modules.items()) if "." not in name]
    packages = [folder for module in top for folder in getattr(module, "__path__", ())]
    shared = [f"{sys.base_prefix}/lib", *filter(os.path.isabs, os.environ.get("LD_LIBRARY_PATH", "").split(":"))]
    found = {Path(path).resolve() for path in {*standard, *sites, *packages, *shared, *_SYSTEM} if path}
    return tuple(sorted(path for path in found if path.exists() and found.isdisjoint(path.parents)))


def project_folders() -> tuple[Path, ...]:
    """Return those of `readable_paths` that belong neither to Python nor to the system: projects under development."""
    others = {*map(Path, (*_SYSTEM, "/usr")), Path(sys.prefix).resolve(), Path(sys.base_prefix).resolve()}
    return tuple(path for path in readable_paths() if others.isdisjoint((path, *path.parents)))


def interpreter_paths() -> tuple[Path, ...]:
    """Return what an evaluator needs of the virtual environment and of its Python to start programs there."""
    # only the usual folders of each: the root folder may also hold a whole project, or a pip.conf with keys
    roots = {Path(sys.prefix).resolve(), Path(sys.base_prefix).resolve()}
    found = (path for root in roots for name in _INTERPRETER for path in root.glob(name))
    return tuple(sorted(found))


def open_to_everybody(paths: tuple[Path, ...]) -> bool:
    """Whether any user can read these paths and pass the folders above; FileNotFoundError if one does not exist."""
    modes = [(folder, _MAY_ENTER) for path in paths for folder in path.parents] + [(path, _MAY_READ) for path in paths]
    return all(path.stat().st_mode & bit for path, bit in modes)
