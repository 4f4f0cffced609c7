"""The files and folders of Python and its libraries: all that a candidate may read."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

_SYSTEM = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache", "/dev/urandom")


def readable_paths() -> tuple[Path, ...]:
    """Return the files and folders that a candidate may read, without those below another of them.

    These are the standard library, site-packages, shared libraries, and the folders of packages that this process has
    imported. Other folders of `sys.path` are left out: a project's folder may contain more than code.
    """
    standard = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    sites = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages", "lib-dynload")]
    packages = [
        folder
        for name, module in tuple(sys.modules.items())
        if "." not in name
        for folder in getattr(module, "__path__", ())
    ]
    shared = [f"{sys.base_prefix}/lib", *filter(os.path.isabs, os.environ.get("LD_LIBRARY_PATH", "").split(":"))]
    found = {Path(path).resolve() for path in (*standard, *sites, *packages, *shared, *_SYSTEM) if path}
    return tuple(sorted(path for path in found if path.exists() and not _below(path, found)))


def open_to_everybody(paths: tuple[Path, ...]) -> bool:
    """Whether any user can read the paths: they are readable, and the folders above them let everybody pass."""
    return all(_passable(folder) for path in paths for folder in path.parents) and all(map(_readable, paths))


def _below(path: Path, others: set[Path]) -> bool:
    return any(parent in others for parent in path.parents)


def _passable(folder: Path) -> bool:
    return bool(folder.stat().st_mode & 0o001)


def _readable(path: Path) -> bool:
    return bool(path.stat().st_mode & 0o004)
