"""Reads a reply in a process of its own, with limits of time and memory. A reply that reaches a limit is rejected."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from behavesim.base.errors import BehavesimError, TaskError
from behavesim.programs.parsing import Parser
from behavesim.programs.reading import Program, Request, read
from behavesim.state.verdict import Failure

CPU_S = 10
"""Limit of CPU seconds for one reply. The limits on the text are normally reached first; this is for other causes."""
MEMORY_BYTES = 1 << 30
"""Limit of address space for one reply. The interpreter and its libraries take 150 MB of it."""
WALL_S = 300.0
"""Limit of wall-clock seconds for one reply, in case the process hangs. It is large, for very busy machines."""
_READY = b"ready\n"
_ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}


def read_within_limits(request: Request) -> Program | Failure:
    """Return the program of a reply, or why there is none: `too-complex` if the process reaches a limit.

    Raises BehavesimError if no process can be started, TaskError if the template does not define the entry point.
    """
    try:
        done = _carried_out(json.dumps(asdict(request)).encode())
    except subprocess.TimeoutExpired:
        return Failure("too-complex", f"the reply could not be read within {WALL_S:g} s")
    except OSError as error:
        raise BehavesimError(f"no process to read a reply in: {error.strerror}; raise ulimit -u and -n") from error
    ready, begun, found = done.stdout.partition(_READY)
    if ready or not begun:
        raise BehavesimError(f"the process that reads replies did not start: {done.stderr.decode()[-500:]}")
    if done.returncode:
        return Failure("too-complex", f"to read the reply takes more than {CPU_S} s of CPU time or 1 GB of memory")
    return _decoded(json.loads(found))


def _carried_out(document: bytes) -> subprocess.CompletedProcess[bytes]:
    """Return the ended process that read the document. It gets only the environment listed here, and so no keys."""
    found = os.pathsep.join(path for path in sys.path if Path(path).is_absolute())  # import what this process imports
    return subprocess.run(
        [sys.executable, "-sP", "-m", "behavesim.programs.limited"],
        input=document,
        capture_output=True,
        timeout=WALL_S,
        env=_ENVIRONMENT | {"PYTHONPATH": found},
        cwd="/",
        start_new_session=True,
    )


def _decoded(document: dict[str, Any]) -> Program | Failure:
    if "error" in document:
        raise TaskError(document["error"])
    return Program(**document) if "hash" in document else Failure(**document)


def main() -> None:
    """Read one reply: take a Request in JSON from stdin, and write the Program or Failure in JSON to stdout."""
    limits = {resource.RLIMIT_CORE: 0, resource.RLIMIT_CPU: CPU_S}
    if sys.platform == "linux":  # elsewhere the kernel refuses it, or does nothing
        limits[resource.RLIMIT_AS] = MEMORY_BYTES
    for kind, most in limits.items():
        _, hard = resource.getrlimit(kind)
        limit = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (limit, limit))
    request = Request(**json.load(sys.stdin.buffer))
    sys.stdout.buffer.write(_READY)
    sys.stdout.buffer.flush()
    try:
        found = asdict(read(request, Parser(has_limits=True)))
    except TaskError as error:
        found = {"error": str(error)}
    sys.stdout.buffer.write(json.dumps(found).encode())


if __name__ == "__main__":
    main()
