"""Finds the isolation level: children try what each layer forbids, so that the level does not rest on promises."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self

from behavesim.sandbox import processes
from behavesim.sandbox.layers import Confinement

LEVELS = ("process", "partial", "strong", "strong+")
"""The isolation levels, weakest first: only resource limits; Landlock or seccomp; both; both within namespaces."""
_REMEDIES = {
    "landlock": "Landlock does not hold; it needs Linux 5.13 or later with `landlock` in /sys/kernel/security/lsm",
    "seccomp": "seccomp does not hold; it needs Linux on x86-64 or arm64, and a container that allows its use",
    "namespaces": "namespaces do not hold; they need user namespaces for all (sysctl user.max_user_namespaces, "
    "kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0)",
}

Attempt = Callable[[], object]
"""Does something forbidden; raises OSError if a layer prevents it."""


@dataclass(frozen=True)
class Isolation:
    """The level found, the layers that hold, and `notes` on what keeps the level from the best, a line each."""

    level: str
    confinement: Confinement
    notes: tuple[str, ...]


class ReachableTargets:
    """Sockets of this process, and the process itself, for confined children to try to reach; a context manager.

    Enter it before any layer is applied.
    """

    def __enter__(self) -> Self:
        self.process = os.getpid()
        self._tcp = socket.create_server(("127.0.0.1", 0))
        self._abstract = socket.socket(socket.AF_UNIX)
        if processes.LINUX:
            self._abstract.bind("")  # the kernel finds a free name
            self._abstract.listen()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._tcp.close()
        self._abstract.close()

    def connect(self) -> None:
        """Connect to a TCP port of this machine; raises OSError if that is prevented."""
        socket.create_connection(self._tcp.getsockname(), timeout=1).close()

    def connect_abstract(self) -> None:
        """Connect to a Unix socket that has no file; raises OSError if that is prevented."""
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(self._abstract.getsockname())

    def signal(self) -> None:
        """Send signal 0, which has no effect, to the process outside; raises OSError if that is prevented."""
        os.kill(self.process, 0)


def find(confinement: Confinement, targets: ReachableTargets) -> Isolation:
    """Try each layer by itself, and return the level and the confinement of those that hold.

    Raises OSError if no child can be forked.
    """
    bare = replace(confinement, rules=None, calls=None)
    holds = {
        "landlock": confinement.rules is not None
        and _prevents(replace(bare, rules=confinement.rules), (_list_root, _make_file)),
        "seccomp": confinement.calls is not None
        and _prevents(replace(bare, calls=confinement.calls), (socket.socket, _fork, _signal_parent)),
        "namespaces": confinement.own_pids is not None
        and _prevents(bare, (targets.connect, targets.connect_abstract, targets.signal, _list_processes)),
    }
    proven = replace(
        confinement,
        rules=confinement.rules if holds["landlock"] else None,
        calls=confinement.calls if holds["seccomp"] else None,
    )
    notes = (*confinement.notes, *(_REMEDIES[layer] for layer, held in holds.items() if not held))
    return Isolation(_level(**holds), proven, notes)


def _level(landlock: bool, seccomp: bool, namespaces: bool) -> str:
    if landlock and seccomp:
        return "strong+" if namespaces else "strong"
    return "partial" if landlock or seccomp else "process"


def _prevents(confinement: Confinement, attempts: Sequence[Attempt]) -> bool:
    """Whether every attempt fails in a child under the confinement."""
    child = confinement.fork()
    if child == 0:
        try:
            confinement.enclose(2)
            os._exit(0 if all(map(_fails, attempts)) else 1)
        finally:
            os._exit(2)
    return os.waitpid(child, 0)[1] == 0


def _fails(attempt: Attempt) -> bool:
    try:
        attempt()
    except OSError:
        return True
    return False


def _list_root() -> None:
    os.listdir("/")  # noqa: PTH208


def _list_processes() -> None:
    Path("/proc/self").stat()


def _make_file() -> None:
    name = f"/tmp/behavesim-{os.getpid()}"
    os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    os.unlink(name)  # noqa: PTH108


def _fork() -> None:
    if os.fork() == 0:
        os._exit(0)


def _signal_parent() -> None:
    os.kill(os.getppid(), 0)
