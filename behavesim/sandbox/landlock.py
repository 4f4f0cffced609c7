"""Landlock: the kernel opens nothing for a process but what lies below a few folders, and these for reading alone."""

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
"""Rights over files by the version of Landlock that knows them: all of the first, then rename, truncate and ioctl."""
_TCP = (1 << 0) | (1 << 1)
_SCOPES = (1 << 0) | (1 << 1)
"""Abstract sockets and signals that leave the process."""


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


def ruleset(readable: Iterable[Path], hidden: Collection[Path] = ()) -> int:
    """A descriptor of rules that let only `readable` files and folders be read, but for the `hidden` ones below them.

    Raises OSError without Landlock.
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
    """The call that puts a process, and its children and threads to come, under the rules."""
    return kernel.prepared_syscall("landlock_restrict_self", rules, 0)


def _parts(path: Path, hidden: Collection[Path]) -> Iterator[tuple[Path, int]]:
    """What is to be allowed so that all below a path can be read but the hidden: a rule allows, and none forbids, so
    that a folder with something hidden in it may be listed, and what else is in it is allowed one by one."""
    if not any(each.is_relative_to(path) for each in hidden):
        yield path, _READ_FILE | _READ_DIR if path.is_dir() else _READ_FILE
    elif path not in hidden:
        yield path, _READ_DIR
        for child in path.iterdir():
            if not child.is_symlink():  # what it points to has a rule of its own, or none
                yield from _parts(child, hidden)


def _allow(rules: int, path: Path, allowed: int) -> None:
    at = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        kernel.syscall("landlock_add_rule", rules, _RULE_PATH_BENEATH, _PathBeneath(allowed, at), 0)
    finally:
        os.close(at)
