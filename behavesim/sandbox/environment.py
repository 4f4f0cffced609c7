"""The environments of the processes that the search starts: zygotes, which must not get keys, and the referee."""

from __future__ import annotations

import os
import sys
from pathlib import Path

INHERITED = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONHOME")
"""Environment variables of this process that a zygote gets: without them some interpreters find no libraries."""
VARIABLES = {
    **{f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "NUMBA", "VECLIB")},
    "PYTHONHASHSEED": "0",
    "LD_BIND_NOW": "1",  # resolve C functions once in the zygote and not again in each child
    "PYTHONDONTWRITEBYTECODE": "1",
    "PATH": "/usr/bin:/bin",
    "HOME": "/nonexistent",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
}
"""A zygote's other environment variables, besides PYTHONPATH: one thread for each library, equal hashes, no secret."""


def trusted_environment() -> dict[str, str]:
    """Return this process's environment for a trusted process, with one thread for each library and equal hashes."""
    alike = {name: value for name, value in VARIABLES.items() if name.endswith("_THREADS") or name == "PYTHONHASHSEED"}
    return {**os.environ, **alike, "PYTHONPATH": bare_environment()["PYTHONPATH"]}


def bare_environment() -> dict[str, str]:
    """Return the environment of a process that must not get keys: VARIABLES, PYTHONPATH, and INHERITED if set."""
    inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
    found = os.pathsep.join(path for path in sys.path if Path(path).is_absolute())  # import what this process imports
    return VARIABLES | inherited | {"PYTHONPATH": found}
