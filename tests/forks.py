"""Python processes that begin with all loaded: forks of servers of one thread that have imported what they need.

To begin anew takes most of the CPU time of a small run and of a zygote, and shows the same every time.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from subprocess import DEVNULL as DEVNULL
from subprocess import CompletedProcess, TimeoutExpired
from tempfile import TemporaryFile
from typing import Any, NoReturn

ARE_POSSIBLE = sys.platform == "linux"
ORDER_BYTES = 1 << 17
LOADED = {
    "behavesim": (
        *("behavesim_cli.app", "behavesim_cli.evaluate", "behavesim_cli.report", "behavesim_cli.run"),
        *("behavesim_cli.runs", "behavesim_cli.verify", "behavesim.analysis.provenance", "behavesim.methods.funsearch"),
        *("behavesim_offline.proposer", "behavesim.proposers.openai_endpoint", "behavesim_cli.run"),
        *("behavesim.store.folder", "behavesim_tasks.tsp", "rich.progress", "scipy.cluster.hierarchy"),
    ),
    "behavesim.sandbox.zygote": (
        *("behavesim.sandbox.program", "behavesim.sandbox.isolation", "behavesim.trajectory", "behavesim_tasks.tsp"),
        *("numpy.fft", "numpy.ma", "numpy.polynomial", "statistics"),
    ),
    "behavesim.sandbox.keeper": (
        *("behavesim.evaluators.evaluation", "behavesim.evaluators.conventions.classes", "behavesim.sandbox.isolation"),
        "behavesim.sandbox.layers",
    ),
    "behavesim.programs.extract": ("behavesim.programs.extract", "resource"),
}
"""What `python -m` of each would import, or most of it."""
SERVED_BY = {
    "behavesim.application.experiment.execution": "behavesim",
    "behavesim.sandbox.referee": "behavesim.sandbox.zygote",
}
"""Modules that need what another has loaded, and have no server of their own."""
ENVIRONMENT = {"PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""What is read while Python starts and libraries load; all else comes with each order."""


class Popen:
    """`python [-FLAGS] -m MODULE ARGUMENTS` in a session of its own, as subprocess would start it and tell of it.

    It is killed when nobody holds this any more.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        stdout: int,
        stderr: int,
        env: Mapping[str, str],
        cwd: str,
        stdin: int = DEVNULL,
        pass_fds: Sequence[int] = (),
        start_new_session: bool = True,
    ) -> None:
        at = command.index("-m")
        module, *arguments = command[at + 1 :]
        wanted = ((0, stdin), (1, stdout), (2, stderr), *((fd, fd) for fd in pass_fds))
        fds = {to: fd for to, fd in wanted if fd != DEVNULL}  # where the server's own leads already
        order = {
            "module": module,
            "arguments": arguments,
            "env": dict(env),
            "cwd": str(Path(cwd).resolve()),
            "fds": list(fds),
        }
        self._status, theirs = _connected()
        with theirs:
            socket.send_fds(
                _server(SERVED_BY.get(module, module))[0],
                [json.dumps(order).encode()],
                [theirs.fileno(), *fds.values()],
            )
        self.pid = int(self._status.recv(16))
        self.returncode: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        """The exit code once it has ended; raises TimeoutExpired where it has not after so many seconds."""
        if self.returncode is None:
            poll = select.poll()
            poll.register(self._status, select.POLLIN)
            if not poll.poll(None if timeout is None else 1000 * timeout):
                raise TimeoutExpired("a fork", timeout or 0.0)
            self.returncode = int(self._status.recv(16))
            self._status.close()
        return self.returncode

    def poll(self) -> int | None:
        """The exit code, or None while it goes on."""
        with contextlib.suppress(TimeoutExpired):
            self.wait(0)
        return self.returncode

    def kill(self) -> None:
        """Kill it, unless it has just ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)


def run(
    command: Sequence[str],
    *,
    input: bytes,  # noqa: A002 (subprocess calls it so)
    capture_output: bool,
    timeout: float,
    env: Mapping[str, str],
    cwd: str,
    start_new_session: bool,
) -> CompletedProcess[bytes]:
    """Run such a process to its end, as subprocess would."""
    with TemporaryFile() as given, TemporaryFile() as out, TemporaryFile() as said:
        given.write(input)
        given.seek(0)
        process = Popen(command, stdin=given.fileno(), stdout=out.fileno(), stderr=said.fileno(), env=env, cwd=cwd)
        code = process.wait(timeout)
        for each in (out, said):
            each.seek(0)
        return CompletedProcess(command, code, out.read(), said.read())


def _connected() -> tuple[socket.socket, socket.socket]:
    """Both ends of a connection that keeps messages apart."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


@cache
def _server(module: str) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """The connection to a module's server, which ends with this process and knows nothing of its environment."""
    ours, theirs = _connected()
    with theirs:
        fd = theirs.fileno()
        return ours, subprocess.Popen(
            [sys.executable, "-sP", __file__, str(fd), module],
            stdin=DEVNULL,
            stdout=DEVNULL,
            pass_fds=[fd],
            env={**ENVIRONMENT, "PYTHONPATH": os.pathsep.join(sys.path)},
            start_new_session=True,
        )


def serve(orders: socket.socket) -> None:
    """Carry out each order in a grandchild, which the child waits for, until nobody gives any."""
    while True:
        order, fds, _, _ = socket.recv_fds(orders, ORDER_BYTES, 8)
        if not order:
            return
        if os.fork() == 0:
            orders.close()
            if (pid := os.fork()) == 0:
                return _carry_out(json.loads(order), *fds)
            _see_it_end(pid, *fds)
        for fd in fds:
            os.close(fd)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG) != (0, 0):  # whose processes have ended
                pass


def _see_it_end(pid: int, status: int, *fds: int) -> NoReturn:
    """Tell how a process ended; it is killed when nobody wants to know any more."""
    for fd in fds:
        os.close(fd)  # or whoever reads what it writes would wait for this process, too
    poll = select.poll()
    ending = os.pidfd_open(pid)
    poll.register(ending, select.POLLIN)
    poll.register(status, 0)  # its hanging up is reported in any case
    if ending not in dict(poll.poll()):
        os.kill(pid, signal.SIGKILL)
    _, ended = os.waitpid(pid, 0)
    with contextlib.suppress(BrokenPipeError):
        os.write(status, b"%d" % os.waitstatus_to_exitcode(ended))
    os._exit(0)


def _carry_out(order: dict[str, Any], status: int, *fds: int) -> None:
    """Be what was ordered, to the end of this process."""
    os.setsid()
    os.write(status, b"%d" % os.getpid())
    os.close(status)
    for fd, to in zip(fds, order["fds"], strict=True):
        if fd != to:
            os.dup2(fd, to)
            os.close(fd)
    os.environ.clear()
    os.environ.update(order["env"])
    sys.path[:] = dict.fromkeys([*filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)), *sys.path])
    sys.argv[1:] = order["arguments"]
    os.chdir(order["cwd"])
    try:
        runpy.run_module(order["module"], run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        if not isinstance(ended.code, int | None):
            raise
        _leave(ended.code or 0)
    _leave(0)


def _leave(code: int) -> NoReturn:
    """End as Python does, but leave it to the kernel to free all that is loaded."""
    threading._shutdown()
    atexit._run_exitfuncs()
    for each in (sys.stdout, sys.stderr):
        each.flush()
    os._exit(code)


def _compare() -> None:
    """Load the kernels of tours, with all of numba that a first call imports."""
    from behavesim.similarity import BehaveSim
    from behavesim.trajectory import Trajectory

    BehaveSim(2).one_vs_many([Trajectory.prefixes([0, 1])], [[Trajectory.prefixes([1, 0])]])


def _share_zygotes() -> None:
    """Let the zygotes of all forks of this process be forks, too, of one server."""
    from behavesim.sandbox import connection

    _server("behavesim.sandbox.zygote")
    connection.subprocess = sys.modules[__name__]


if __name__ == "__main__":
    for name in LOADED[sys.argv[2]]:
        import_module(name)
    if sys.argv[2] == "behavesim":
        _compare()
        _share_zygotes()
    sysconfig.get_config_vars()  # a zygote asks where libraries lie
    gc.collect()
    gc.freeze()  # or a fork's first collection would touch, and so copy, all that is loaded
    serve(socket.socket(fileno=int(sys.argv[1])))
