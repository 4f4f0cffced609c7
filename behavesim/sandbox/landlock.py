"""Landlock: the kernel lets a process open only files below given folders, and only for reading."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from behavesim.sandbox import kernel

_ASK_VERSION = 1
_RULE_PATH_BENEATH = 1
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
_FILE_RIGHTS = ((1, (1 << 13) - 1), (2, 1 << 13), (3, 1 << 14), (5, 1 << 15))
"""(version of Landlock, rights over files that it added): the first 13, then rename, truncate and ioctl."""
_TCP = (1 << 0) | (1 << 1)
_SCOPES = (1 << 0) | (1 << 1)
"""Connections to abstract sockets, and signals, of processes outside."""


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


def ruleset(readable: Iterable[Path], hidden: Collection[Path] = ()) -> int:
    """Return a descriptor of rules under which only the `readable` files and folders can be read, and nothing written.

    Of these, the `hidden` ones cannot be read. Readable paths that do not exist are skipped. Raises OSError if the
    kernel has no Landlock.
    """
    version = kernel.syscall("landlock_create_ruleset", None, 0, _ASK_VERSION)
    files = sum(rights for since, rights in _FILE_RIGHTS if version >= since)
    network, scoped = _TCP if version >= 4 else 0, _SCOPES if version >= 6 else 0
    size = 24 if version >= 6 else 16 if version >= 4 else 8  # older kernels refuse a longer structure
    rules = kernel.syscall("landlock_create_ruleset", _Ruleset(files, network, scoped), size, 0)
    for path in readable:
        for part, allowed in _parts(path, hidden):
            with contextlib.suppress(FileNotFoundError):
                _allow(rules, part, allowed)
    return rules


def restriction(rules: int) -> kernel.Call:
    """Return a prepared call that puts this process, and the children and threads it starts later, under the rules."""
    return kernel.prepared_syscall("landlock_restrict_self", rules, 0)


def _parts(path: Path, hidden: Collection[Path]) -> Iterator[tuple[Path, int]]:
    """Yield (path, rights) to allow, so that everything below `path` can be read except the hidden paths.

    Rules can only allow. So a folder that contains something hidden may be listed, and the rest of its content is
    allowed entry by entry.
    """
    if not any(each.is_relative_to(path) for each in hidden):
        yield path, _READ_FILE | _READ_DIR if path.is_dir() else _READ_FILE
    elif path not in hidden:
        yield path, _READ_DIR
        for child in path.iterdir():
            if not child.is_symlink():  # a rule would allow its target, which may be elsewhere
                yield from _parts(child, hidden)


def _allow(rules: int, path: Path, allowed: int) -> None:
    at = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        kernel.syscall("landlock_add_rule", rules, _RULE_PATH_BENEATH, _PathBeneath(allowed, at), 0)
    finally:
        os.close(at)
