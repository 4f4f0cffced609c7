"""Extracts the program from a model's reply, or the reason why there is none, within limits of time and memory.

A reply that may be costly to read is read in a process of its own, which runs this module.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from behavesim.base.errors import BehavesimError, TaskError
from behavesim.programs.parsing import NeedsLimits
from behavesim.programs.reading import FunctionForm, Program, Request
from behavesim.programs.whole import WholeForm
from behavesim.task import Task
from behavesim.task.evaluated import EvaluatorTask
from behavesim.task.verdict import Failure

READ_HERE = 40_000
"""Longest reply (characters) that is read in this process: a longer one would block the event loop for too long."""
CPU_S = 10
"""Limit of CPU seconds for one reply. The limits on the text are normally reached first; this is for other causes."""
MEMORY_BYTES = 1 << 30
"""Limit of address space for one reply, on Linux alone. The interpreter and its libraries take 150 MB of it."""
WALL_S = 300.0
"""Limit of wall-clock seconds for one reply, in case the process gets no core. It is large, for busy machines."""
_READY = b"ready\n"
"""Written by the process once its limits are set. If a process ends before that, the reply is not the cause."""
# one thread, since each takes address space; the same hashes in every process
_ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}


def form_of(task: Task) -> FunctionForm | WholeForm:
    """Return the form of a task's programs: whole texts for an evaluator that calls no function, else functions.

    Raises TaskError if a whole first program's EVOLVE-BLOCK markers are not in pairs, or its files have faulty paths.
    """
    if isinstance(task, EvaluatorTask) and not task.calls_a_function:
        return WholeForm(task.template, task.file.suffix, task.file.edits)
    return FunctionForm(task.template, task.entry_point)


def extract(form: FunctionForm | WholeForm, request: Request) -> Program | Failure:
    """Return the program in a reply by the rules of `form.read`, or a Failure.

    A short reply with plain code is read here, any other in a process with limits, which takes 0.2 s more. Raises
    TaskError if the template of a FunctionForm does not define the entry point. Raises BehavesimError if that process
    cannot be started, is ended by the machine or has not ended after WALL_S.
    """
    if len(request.text) <= READ_HERE:
        with suppress(NeedsLimits):
            return form.read(request, has_limits=False)
    return read_within_limits(form, request)


def read_within_limits(form: FunctionForm | WholeForm, request: Request) -> Program | Failure:
    """Return what `form.read` finds in a new process; a Failure `too-complex` if the process reaches a limit.

    Raises BehavesimError if no process can be started, if the machine ends it, or if it has not ended after WALL_S.
    Raises TaskError if the template does not define the entry point.
    """
    try:
        done = _carried_out(json.dumps([asdict(form), asdict(request)]).encode())
    except subprocess.TimeoutExpired:
        raise BehavesimError(f"the process that reads a reply did not end in {WALL_S:g} s; it had no core") from None
    except OSError as error:
        raise BehavesimError(f"no process to read a reply in: {error.strerror}; raise ulimit -u and -n") from error
    ready, begun, found = done.stdout.partition(_READY)
    if ready or not begun:
        raise BehavesimError(f"the process that reads replies did not start: {done.stderr.decode()[-500:]}")
    if done.returncode == -signal.SIGKILL:
        raise BehavesimError(
            "the process that reads a reply was killed, as if the machine had no memory left; free some"
        )
    if done.returncode:
        return Failure("too-complex", f"to read the reply takes more than {CPU_S} s of CPU time or 1 GB of memory")
    document = json.loads(found)
    if "error" in document:
        raise TaskError(document["error"])
    return Program(**document) if "hash" in document else Failure(**document)


def _carried_out(document: bytes) -> subprocess.CompletedProcess[bytes]:
    """Run a process that reads a form and a request, in JSON, and return it when it has ended.

    Of environment variables it has PYTHONPATH and `_ENVIRONMENT` alone, so it sees no keys. Raises OSError if it cannot
    be started, TimeoutExpired after WALL_S.
    """
    found = os.pathsep.join(path for path in sys.path if Path(path).is_absolute())  # import what this process imports
    return subprocess.run(
        [sys.executable, "-sP", "-m", "behavesim.programs.extract"],
        input=document,
        capture_output=True,
        timeout=WALL_S,
        env=_ENVIRONMENT | {"PYTHONPATH": found},
        cwd="/",
        start_new_session=True,
    )


def main() -> None:
    """Limit this process, then read one reply: form and request in JSON from stdin, Program or Failure to stdout.

    A TaskError is written as `{"error": message}`.
    """
    # at the first limit of CPU time comes SIGXCPU, so that SIGKILL says that the machine ran out of memory
    limits = {resource.RLIMIT_CORE: (0, 0), resource.RLIMIT_CPU: (CPU_S, CPU_S + 5)}
    if sys.platform == "linux":  # elsewhere the kernel refuses it, or does nothing
        limits[resource.RLIMIT_AS] = (MEMORY_BYTES, MEMORY_BYTES)
    for kind, most in limits.items():
        _, hard = resource.getrlimit(kind)
        soft, last = most if hard == resource.RLIM_INFINITY else (min(each, hard) for each in most)
        resource.setrlimit(kind, (soft, last))
    fields, request = json.load(sys.stdin.buffer)
    form = WholeForm(**fields) if "initial" in fields else FunctionForm(**fields)
    sys.stdout.buffer.write(_READY)
    sys.stdout.buffer.flush()
    try:
        found = asdict(form.read(Request(**request), has_limits=True))
    except TaskError as error:
        found = {"error": str(error)}
    sys.stdout.buffer.write(json.dumps(found).encode())


if __name__ == "__main__":
    main()
