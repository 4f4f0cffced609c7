"""The files and folders of Python and its libraries: all that a candidate may read."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

_SYSTEM = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache", "/dev/urandom")
"""Files and folders that interpreters and libraries need on most systems."""
_INTERPRETER = (
    *("bin", "include", "lib", "lib32", "lib64", "libexec", "pyvenv.cfg", "sbin", "share", "ssl"),
    "*-linux-gnu",  # conda's compilers
)
"""Patterns of the files and folders of a Python's root folder that it and the programs beside it use."""
_ENTER, _READ = 0o001, 0o004
"""Bits of a file's mode: any user may pass through the folder, and read the file."""


def readable_paths() -> tuple[Path, ...]:
    """Return the existing files and folders that a candidate may read, sorted, without those below another of them.

    These are the standard library, site-packages, shared libraries, and the folders of packages that this process has
    imported. Other folders of `sys.path` are left out: a project's folder may contain more than code.
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
    """Return what an evaluator needs of the virtual environment and of its Python to start programs there.

    These are only the usual folders of each: the root folder may also hold a whole project, or a pip.conf with keys.
    """
    roots = {Path(sys.prefix).resolve(), Path(sys.base_prefix).resolve()}
    found = (path for root in roots for name in _INTERPRETER for path in root.glob(name))
    return tuple(sorted(found))


def open_to_everybody(paths: tuple[Path, ...]) -> bool:
    """Whether any user can read these paths: they are readable, and the folders above them let everybody pass.

    Whether the folders among them can be entered, and what they contain, is not checked. Raises FileNotFoundError at a
    path that does not exist, unless an earlier check failed.
    """
    modes = [(folder, _ENTER) for path in paths for folder in path.parents] + [(path, _READ) for path in paths]
    return all(path.stat().st_mode & bit for path, bit in modes)
