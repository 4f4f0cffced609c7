"""The layers between a candidate and everything else: one function for each, with its reason."""

from __future__ import annotations

import math
import os
import resource
from dataclasses import dataclass

from behavesim.sandbox import processes
from behavesim.sandbox.limits import MEGABYTE, Limits

LAYERS: tuple[str, ...] = ()


@dataclass(frozen=True)
class Shell:
    """The layers as this zygote was able to put them on, and what a self-test found them to be worth."""

    limits: Limits
    address_space: int
    isolation: str = "process"
    notes: tuple[str, ...] = ()

    @classmethod
    def build(cls, wanted: tuple[str, ...], limits: Limits) -> Shell:
        processes.adopt_orphans()
        return cls(limits, processes.address_space())

    def before_fork(self) -> None:
        pass

    def after_fork(self) -> None:
        pass

    def enclose(self) -> None:
        limit_resources(self.limits, self.address_space)


def detach(fd: int) -> int:
    """Leave the zygote's session and every file but the candidate's own socket, which becomes file 3."""
    import signal

    signal.set_wakeup_fd(-1)
    for each in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
        signal.signal(each, signal.SIG_DFL)
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(fd, 3, inheritable=False) if fd != 3 else None
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    os.closerange(4, 1 << 16)
    return 3


def limit_resources(limits: Limits, address_space: int) -> None:
    """Bound memory, CPU, files and dumps, whatever else holds; soft and hard alike, or a program could raise them."""
    cpu = math.ceil(limits.timeout_s) + 1  # the zygote is more exact; this holds if it is gone
    for kind, bound in (
        (resource.RLIMIT_AS, address_space + limits.memory_mb * MEGABYTE),
        (resource.RLIMIT_CPU, cpu),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 64),
    ):
        resource.setrlimit(kind, (bound, bound))
