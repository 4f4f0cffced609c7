"""The isolation level, found by trying in children what the layers forbid: what the kernel promised is not asked."""

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
"""Weakest first: limits alone; one of Landlock and seccomp; both; both within namespaces."""
_REMEDIES = {
    "landlock": "Landlock does not hold; it needs Linux 5.13 or later with `landlock` in /sys/kernel/security/lsm",
    "seccomp": "seccomp does not hold; it needs Linux on x86-64 or arm64, and a container that allows its use",
    "namespaces": "namespaces do not hold; they need user namespaces for all (sysctl user.max_user_namespaces, "
    "kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0)",
}

Attempt = Callable[[], object]
"""Something forbidden: it raises OSError where it is prevented."""


@dataclass(frozen=True)
class Isolation:
    """A level, the layers that reach it (without those that do not hold), and what keeps it from being the best."""

    level: str
    confinement: Confinement
    notes: tuple[str, ...]


class ReachableTargets:
    """What there is to reach outside the sandbox: opened before any layer is put on, and tried from within."""

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
        """Reach the machine's own network."""
        socket.create_connection(self._tcp.getsockname(), timeout=1).close()

    def connect_abstract(self) -> None:
        """Reach a socket that lies in no folder."""
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(self._abstract.getsockname())

    def signal(self) -> None:
        """Reach a process outside."""
        os.kill(self.process, 0)


def find(confinement: Confinement, targets: ReachableTargets) -> Isolation:
    """Try each layer on its own, and name the level of those that hold."""
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
    """Whether every attempt fails in a child within the confinement."""
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
