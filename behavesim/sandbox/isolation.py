"""Finds the isolation level: children try what each layer forbids, since a layer that was applied need not hold."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from behavesim.sandbox import kernel, namespaces, processes
from behavesim.sandbox.layers import Confinement

if TYPE_CHECKING:
    from behavesim.sandbox.tree.confinement import TreeConfinement

LEVELS = ("process", "partial", "strong", "strong+")
"""The isolation levels, weakest first: only resource limits; Landlock or seccomp; both; both within namespaces."""
_REMEDIES = {
    "landlock": "Landlock does not hold; it needs Linux 5.13 or later with `landlock` in /sys/kernel/security/lsm",
    "seccomp": "seccomp does not hold; it needs Linux on x86-64 or arm64, and a container that allows its use",
    "namespaces": "namespaces do not hold; they need user namespaces for all (sysctl user.max_user_namespaces, "
    "kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0)",
}
"""For each layer that the self-test tries, the note on what it needs."""
Attempt = Callable[[], object]
"""Does something forbidden; raises OSError if a layer prevents it."""


@contextlib.contextmanager
def attempts_to_reach_outside() -> Iterator[tuple[Attempt, ...]]:
    """Yield attempts, for confined children, to reach two sockets of this process, the process itself, and /proc.

    Enter the context before any layer is applied, so that sockets and process lie outside. Leaving it closes them.
    """
    outside = os.getpid()
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as abstract:
        if processes.LINUX:
            abstract.bind("")  # the kernel finds a free name
            abstract.listen()
        yield (
            # asked for here: a child has closed the sockets, and the question would fail in place of the attempt
            partial(_connect, socket.AF_INET, tcp.getsockname()),
            partial(_connect, socket.AF_UNIX, abstract.getsockname()),
            partial(os.kill, outside, 0),  # signal 0 has no effect; the kernel only checks whether it may be sent
            Path("/proc/self").stat,
        )


def find(confinement: Confinement, reaching_outside: Sequence[Attempt]) -> tuple[str, Confinement]:
    """Try each layer; return the level, one of LEVELS, and the confinement without the layers that do not hold.

    Namespaces stay in the confinement: the zygote has entered them already. The confinement's notes say what keeps the
    level from "strong+". `reaching_outside` is what `attempts_to_reach_outside` yields. Raises OSError if no child can
    be forked.
    """
    own_pids, rules, calls = confinement.own_pids, confinement.rules, confinement.calls
    bare = replace(confinement, rules=None, calls=None)
    holds = {
        "landlock": rules is not None and prevents(replace(bare, rules=rules), (_list_root, _make_file)),
        "seccomp": calls is not None and prevents(replace(bare, calls=calls), (socket.socket, _fork, _signal_parent)),
        "namespaces": own_pids is not None and prevents(bare, reaching_outside),
    }
    notes = (*confinement.notes, *_remedies(holds))
    proven = replace(
        bare, rules=rules if holds["landlock"] else None, calls=calls if holds["seccomp"] else None, notes=notes
    )
    # namespaces alone raise no level: they hide neither files nor the kernel's calls
    return LEVELS[holds["landlock"] + holds["seccomp"] + all(holds.values())], proven


def find_of_tree(confined: TreeConfinement, reaching_outside: Sequence[Attempt]) -> tuple[str, tuple[str, ...]]:
    """Try each layer around an evaluator's processes; return the isolation level, and notes of one line each.

    The level is "strong+" if all layers hold, else "partial" if Landlock or seccomp holds, else "process". The notes
    say what keeps it from "strong+". `reaching_outside` is what `attempts_to_reach_outside` yields, in its order.
    Raises OSError if no child can be forked.
    """
    bare = replace(confined, has_landlock=False, calls=None)
    *sockets_and_signals, _ = reaching_outside  # the last asks for /proc, which a tree has a view of its own of
    world = (*sockets_and_signals, _write_outside)
    holds = {
        "landlock": confined.has_landlock and prevents(replace(bare, has_landlock=True), (_write_setting,)),
        "seccomp": confined.calls is not None and prevents(replace(bare, calls=confined.calls), (_internet, _unshare)),
        "namespaces": confined.own_pids is not None and prevents(bare, world),
    }
    level = LEVELS[-1] if all(holds.values()) else LEVELS[min(holds["landlock"] + holds["seccomp"], 1)]
    return level, (*confined.notes, *_remedies(holds))


def _remedies(holds: Mapping[str, bool]) -> tuple[str, ...]:
    """Return what the machine needs for each layer that does not hold, a line each."""
    return tuple(_REMEDIES[layer] for layer, held in holds.items() if not held)


def prevents(confinement: Confinement, attempts: Sequence[Attempt]) -> bool:
    """Return True if every attempt raises OSError in a forked child under the confinement.

    Return False if an attempt succeeds or raises another error, or if a layer of the confinement cannot be applied.
    Raises OSError if no child can be forked.
    """
    child = confinement.fork()
    if child == 0:
        try:
            confinement.enclose(2)
            os._exit(0 if all(map(_fails, attempts)) else 1)
        finally:
            os._exit(2)
    return os.waitpid(child, 0)[1] == 0


def _fails(attempt: Attempt) -> bool:
    """Whether an attempt raises OSError, which means that a layer prevented it."""
    try:
        attempt()
    except OSError:
        return True
    return False


def _connect(family: socket.AddressFamily, address: object) -> None:
    with socket.socket(family) as client:
        client.settimeout(1)
        client.connect(address)  # type: ignore[arg-type]  # of the family's own form


def _list_root() -> None:
    os.listdir("/")  # noqa: PTH208


def _make_file() -> None:
    name = f"/tmp/behavesim-{os.getpid()}"
    os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    os.unlink(name)  # noqa: PTH108


def _fork() -> None:
    if os.fork() == 0:
        os._exit(0)


def _signal_parent() -> None:
    os.kill(os.getppid(), 0)


def _write_outside() -> None:
    os.close(os.open("/usr/behavesim-test", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    Path("/usr/behavesim-test").unlink()


def _write_setting() -> None:
    Path("/proc/self/comm").write_text("x")


def _internet() -> None:
    socket.socket(socket.AF_INET).close()


def _unshare() -> None:
    kernel.prepared("unshare", namespaces.NEW_USER)()
